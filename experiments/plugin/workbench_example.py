"""What this package adds to workbench: a function, an aggregate, a processor, a format and a backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core import ops
from workbench.core.domain import BOOL, Domain, Value
from workbench.core.function import Function
from workbench.core.processor import Maybe, Processor
from workbench.core.program import Program
from workbench.events.formats.csv import CsvReader, CsvWriter
from workbench.events.table import FormatRow
from workbench.executors.backend import StepRecord, Steps
from workbench.executors.reference.executor import Reference
from workbench.executors.table import BackendRow, Start
from workbench.tesla.aggregate import AggregateRow, of_numbers

PERCENT = Function("percent", 2, lambda part, whole: ops.DIV(ops.MUL(part, 100), whole))

SPREAD = AggregateRow(
    "SPREAD",
    "the greatest of them less the least",
    of_numbers,
    lambda _: lambda values: max(values) - min(values) if values else None,
)


@dataclass(frozen=True)
class Alternate(Processor):
    """Emits every other event, beginning with the first."""

    keyword = "alternate"

    def denote(self, streams: Sequence[Sequence[Value]]) -> tuple[list[Value], ...]:
        return (list(streams[0][::2]),)

    def initial(self) -> tuple[bool, ...]:
        return (True,)

    def slots(self, inputs: Sequence[Domain]) -> tuple[tuple[str, Domain], ...]:
        return (("open", BOOL),)

    def step(self, state: Sequence[Any], front: Sequence[Any]) -> tuple[tuple[Any, ...], tuple[Maybe, ...]]:
        return (ops.NOT(state[0]),), (Maybe(state[0], front[0]),)

    @classmethod
    def samples(cls) -> tuple[Alternate, ...]:
        return (cls(),)


class SemicolonReader(CsvReader):
    """CSV with semicolons."""

    between = ";"


class SemicolonWriter(CsvWriter):
    """The same, written."""

    between = ";"


SEMICOLONS = FormatRow(
    "semicolons", "CSV with semicolons", (".ssv",), SemicolonReader, SemicolonWriter, text=True, takes=("header",)
)


class Tracing:
    """The reference executor, which says what comes in."""

    def __init__(self, program: Program, start: Start) -> None:
        self.pipeline, self._reference, self._say = program, Reference(program), start.report

    def step(self, events: Mapping[str, Value]) -> StepRecord:
        self._say(f"in: {dict(events)}")
        return self._reference.step(events)

    def trace(self, steps: Steps) -> list[StepRecord]:
        return [self.step(events) for events in steps]

    def run(self, streams: Any) -> dict[str, list[Value]]:
        return self._reference.run(streams)

    def end(self, name: str | None = None) -> dict[str, list[Value]]:
        return self._reference.end(name)

    def reset(self) -> None:
        self._reference.reset()


TRACING = BackendRow("tracing", "the reference executor, which says what comes in", Tracing)
