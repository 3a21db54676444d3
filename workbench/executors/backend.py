"""The interface of every executor, and the check that runs before the first event.

The rule of this module: an executor refuses a pipeline as a whole, before it has seen an event, with the
reason that the processor's class declares (`Processor.refusal`). Nothing is refused during a run, or approximated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from workbench.core.domain import Value
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Maybe
from workbench.core.program import Program
from workbench.errors import Refused
from workbench.executors.table import backend_row, backend_rows
from workbench.processors.held.group import flatten

Steps = Iterable[Mapping[str, Value]]
"""A trace of inputs: per step, input name to its event; an absent input has none in this step."""
Oracle = Callable[[str], Value | None]
"""The outcome of a fault: called with an oracle's name whenever its fault could strike; returns a value, or None."""


@dataclass(frozen=True)
class StepRecord:
    """The record of one step.

    Parameters
    ----------
    pipes: every pipe of the flattened pipeline, and the event it carried.
    outputs: output name to the events it emitted (at most one, except at the end of the stream).
    queues: queue name to the number of events that wait at the end of the step.
    """

    pipes: Mapping[str, Maybe]
    outputs: Mapping[str, list[Value]]
    queues: Mapping[str, int]


@runtime_checkable
class Backend(Protocol):
    """A running program. Events go in step by step; `end` closes the inputs, `reset` starts afresh."""

    @property
    def pipeline(self) -> Program:
        """The program that runs."""

    def step(self, events: Mapping[str, Value]) -> StepRecord:
        """Run one step with these events."""

    def run(self, streams: Any) -> dict[str, list[Value]]:
        """Return the whole output streams for whole input streams, including what the end of the streams causes."""

    def trace(self, steps: Steps) -> list[StepRecord]:
        """Return the records of several steps."""

    def end(self, name: str | None = None) -> dict[str, list[Value]]:
        """End one input or all of them; return the events that this causes."""

    def reset(self) -> None:
        """Return to the state before the first event."""


@runtime_checkable
class SavedBackend(Backend, Protocol):
    """A running program whose state between two steps can be saved."""

    def snapshot(self) -> bytes:
        """Return the state, for `restore`; Refused where it has no form as data."""

    def restore(self, snapshot: bytes) -> None:
        """Resume from a saved state; StateError if it is damaged, or of another program."""


def check_support(pipeline: Program, backend: str) -> Pipeline:
    """Return the flat pipeline; Refused if `backend` cannot run it, naming the processor and the backends that can."""
    flat, form = flatten(pipeline), backend_row(backend).form
    for node in flat.nodes:
        processor = flat.typed[node.name]
        reason = processor.refusal(form)
        if reason:
            others = [
                row.name for row in backend_rows().values() if row.takes(flat.kind) and not processor.refusal(row.form)
            ]
            raise Refused(
                f"`{processor}` (processor '{node.name}') is not supported by backend '{backend}': {reason}; "
                f"available on: {', '.join(others) or 'no backend'}.",
                where=node.where,
            )
    return flat
