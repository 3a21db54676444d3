"""Samples of processors for which the generator has no rule of its own.

The rule of this module: random pipelines include every registered processor, by its `samples`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import product

from workbench.core.domain import Domain, Integer
from workbench.core.form import Form
from workbench.core.processor import Processor
from workbench.errors import WorkbenchError
from workbench.processors import CLASSES


def fitting(domains: Sequence[Domain], ruled: Collection[type[Processor]]) -> list[tuple[Processor, tuple[int, ...]]]:
    """Return the samples that have a model on pipes of these domains, each with the positions of its input pipes."""
    integers = next((domain for domain in reversed(domains) if isinstance(domain, Integer)), Integer(4))
    samples = (sample for kind in CLASSES.values() if kind not in ruled for sample in kind.samples())
    able = [sample.resolve(integers) for sample in samples if not sample.refusal(Form.MODEL)]
    indices = range(len(domains) - 1, -1, -1)
    tried = ((sample, read) for sample in able for read in product(indices, repeat=sample.in_arity))
    return [(sample, read) for sample, read in tried if _suits(sample, tuple(domains[index] for index in read))]


def _suits(processor: Processor, inputs: tuple[Domain, ...]) -> bool:
    try:
        processor.specialise(inputs).machine(inputs)
    except WorkbenchError:
        return False
    return True
