"""The choice of the executor that runs a pipeline for each key, on the workers of Spark.

The rule of this module: the compiled executor runs what it can, and the reference executor the rest. The choice is made
once, before the first event, and reported.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.core.program import Program
from workbench.errors import Refused
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.compiled.keyed.tables import make_compiled_keys
from workbench.executors.keyed import KeyedRuns
from workbench.executors.reference.executor import Reference
from workbench.executors.reference.keyed import ReferenceKeys
from workbench.executors.table import ALIASES

_opened: dict[str, KeyedRuns] = {}


@dataclass(frozen=True)
class Choice:
    """The executor that runs a pipeline.

    Attributes
    ----------
    pipeline: the pipeline.
    backend: `compiled` or `reference`.
    reason: why the compiled executor does not run it; empty if it does.
    fingerprint: the fingerprint of its states, in hexadecimal digits.
    """

    pipeline: Program
    backend: str
    reason: str
    fingerprint: str

    def open(self) -> KeyedRuns:
        """Open the runs of successive keys, without any key; a worker process has one instance for all its tasks."""
        if self.fingerprint not in _opened:
            _opened[self.fingerprint] = (
                make_compiled_keys(Compiled(self.pipeline, maps=False))
                if self.backend == Compiled.name
                else ReferenceKeys(Reference(self.pipeline))
            )
        runs = _opened[self.fingerprint]
        runs.begin()
        return runs


def choose(pipeline: Program, backend: str = "auto") -> Choice:
    """Choose the executor for a pipeline.

    Parameters
    ----------
    backend: `compiled`, `reference`, or `auto` for the first of the two that runs it.

    Raises
    ------
    Refused: neither runs it.
    """
    reason = ""
    running: Compiled | Reference
    try:
        if backend == "reference":
            raise Refused("the reference executor was requested")
        running = Compiled(pipeline, maps=False)
    except Refused as error:
        if ALIASES.get(backend, backend) == Compiled.name:
            raise
        running, reason = Reference(pipeline), error.what
    return Choice(pipeline, running.name, reason, running.fingerprint.hex())
