"""Tolerance: whether a pipeline computes in spite of its faults what it computes without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workbench.core.fault import Fault
from workbench.core.pipeline import Pipeline
from workbench.errors import PipelineError
from workbench.language.faults import faulty
from workbench.processors.held.group import flatten
from workbench.verify.answer.check import Settings
from workbench.verify.answer.equivalence import EquivalenceMode, equivalent
from workbench.verify.answer.verdict import Verdict

TOLERATES = "tolerates"
"""The name of the property."""
FAULTLESS = "faultless"
"""The name of the pipeline that is compared with."""


def faultless(pipeline: Pipeline) -> Pipeline:
    """The pipeline as it is where no fault strikes, its groups in place.

    Raises
    ------
    PipelineError: it has no faults.
    """
    if not flatten(pipeline).oracles:
        raise PipelineError(
            f"pipeline {pipeline.name} has no faults that it could tolerate",
            hint='write fault lose y in it, or --fault "lose y"',
        )
    return replace(flatten(pipeline, faults=False), name=FAULTLESS)


def tolerates(
    pipeline: Pipeline,
    settings: Settings | None = None,
    mode: EquivalenceMode = "sequence",
    faults: Sequence[str | Fault] = (),
) -> Verdict:
    """Whether a pipeline with its faults, and `faults`, is equivalent to itself without them.

    As of any two pipelines, sequence equivalence says that no output is wrong, not that all of them come: ask for
    `response` besides.
    """
    pipeline = faulty(pipeline, *faults)
    verdict = equivalent(pipeline, faultless(pipeline), mode, settings)
    return replace(verdict, pipeline=pipeline.name, property=TOLERATES)
