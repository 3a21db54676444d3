"""A running program as the runner steps it: batches of rows go in, and what each of them causes comes out.

The rule of this module: however a log is cut into batches, its batches emit the same, one after the other. What goes
wrong at a row is carried behind what the rows before it have caused.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from workbench.core.domain import Domain, Value
from workbench.core.program import Ports
from workbench.errors import Refused, WorkbenchError
from workbench.events.batch import LogBatch, RowEvents

if TYPE_CHECKING:
    from workbench.executors.pending import Pool

BATCH = 4096
"""Rows of a batch, where they are Python values."""
ROWS, COLUMNS = "rows", "columns"
"""The forms in which a batch may have its rows."""


class OutputEvents(Protocol):
    """The events of one output, as compiled code gives them."""

    @property
    def fields(self) -> tuple[Any, ...]:
        """An array per scalar field."""

    @property
    def steps(self) -> Any:
        """The step of each event, where there are several outputs."""

    def events(self) -> list[Value]:
        """The events as Python values."""


@dataclass(eq=False, slots=True)  # not frozen, which takes a microsecond for each row that comes alone
class BatchOutput:
    """What a batch has caused, in one of four forms.

    Attributes
    ----------
    rows: each as the events of the outputs, in their order.
    columns: the events of each output, and their steps where there are several outputs.
    lists: the events of the only output.
    table: an Arrow table of rows; a null is no event.
    causes: which row of the batch, from 0 on, has caused each of `rows`, or of the table, if `tells_causes`.
    computed: how many rows of the batch have been run.
    ignored: how many belong to nothing that is run, by the reason.
    events_in: how many events of the batch were for the program; None: all.
    events_out: how many events have come out.
    failed: what went wrong behind that; then neither the row at which it did nor those behind it have been run.
    notes: lines for the user, behind the rows.
    """

    rows: Sequence[RowEvents] = ()
    columns: Mapping[str, OutputEvents] | None = None
    lists: Mapping[str, Sequence[Value]] | None = None
    table: Any = None
    causes: Sequence[int] = ()
    computed: int = 0
    ignored: Mapping[str, int] = field(default_factory=dict)
    events_in: int | None = None
    events_out: int = 0
    failed: WorkbenchError | None = None
    notes: Sequence[str] = ()

    def as_table(self, shown: Mapping[str, Domain]) -> Any:
        """An Arrow table of what came out as columns or as a table; None where that are Python values."""
        if self.columns is None:
            return self.table
        from workbench.events.output_columns import outputs_to_table

        return outputs_to_table(self.columns, shown)


class Session(ABC):
    """A running program.

    Attributes
    ----------
    outputs: the columns of what comes out.
    takes: the forms of batches that it takes; rows it always does.
    size: rows of a batch of Python values, at most.
    row_by_row: whether it runs columns row by row, too, so that its batches of them are no larger than others.
    numbered: whether it asks for the numbers of rows.
    tells_causes: whether it says which rows have caused what comes out; columns have their steps, then, counted from
        the first row of the batch, and there are no lists.
    threads: how many may read, run and write a log for it.
    stops_at_errors: whether its state behind an error is that before the row at which it was; else some rows have been
        run in part, or out of their turn.
    """

    outputs: Ports
    takes: frozenset[str] = frozenset({ROWS})
    size: int = BATCH
    row_by_row: bool = False
    numbered: bool = False
    tells_causes: bool = False
    threads: int = 1
    stops_at_errors: bool = True

    def block_size(self, rows: int) -> int:
        """How many rows of a block of so many it takes at once; 0: as many as of Python values."""
        return rows

    @property
    def is_done(self) -> bool:
        """Whether nothing that comes matters any more."""
        return False

    def step_parts(self, batch: LogBatch) -> Iterable[BatchOutput]:
        """Run the rows of a batch; each part of the output is computed when the caller takes it."""
        return (self.step_batch(batch),)

    def step_rows(self, rows: Iterator[RowEvents]) -> Iterator[BatchOutput] | None:
        """Run rows that come one by one: what each causes, before the next one is read; None: only in batches.

        Raises
        ------
        WorkbenchError: a row cannot be read or run.
        """
        del rows
        return None

    @abstractmethod
    def step_batch(self, batch: LogBatch) -> BatchOutput:
        """Run the rows of a batch."""

    @abstractmethod
    def end(self) -> BatchOutput:
        """End the streams of the program; rules emit nothing because of it."""

    def advance_clock(self, time: int) -> BatchOutput:
        """Let time pass, up to and with this one.

        Raises
        ------
        Refused: the program has no clock of its own.
        """
        del time
        raise Refused(f"{self.outputs.of} has no clock", hint="leave --until out")

    def save(self) -> bytes:
        """The state between two batches, for `restore` of a session of the same program.

        Raises
        ------
        Refused: there is no form for it.
        """
        raise Refused(f"the state of {self.outputs.of} cannot be saved in such a run", hint="leave --state out")

    def restore(self, state: bytes) -> None:
        """Go on from a saved state.

        Raises
        ------
        StateError: it is damaged, or of another program.
        """
        del state
        self.save()

    def notes(self) -> Iterable[str]:
        """Lines for the user at the end of the log."""
        return ()

    def share(self, pool: Pool) -> None:  # noqa: B027 - most have nothing to share
        """Have costly work done by a pool that reads and writes the log, too."""


def spread(outputs: Mapping[str, Sequence[Value]], *, idle: bool = False) -> Iterator[dict[str, Value]]:
    """The rows of a step: one for each event of an output.

    Parameters
    ----------
    idle: whether a step in which nothing came out has a row, without events.
    """
    rows = max(map(len, outputs.values()), default=0)
    if rows == 1:
        yield {name: events[0] for name, events in outputs.items() if events}
        return
    for i in range(rows or idle):
        yield {name: events[i] for name, events in outputs.items() if i < len(events)}


def spread_steps(
    made: Iterable[Mapping[str, Sequence[Value]]], *, idle: bool = False
) -> tuple[list[RowEvents], list[int]]:
    """The rows of successive steps, and the step of each, from 0 on; `idle` as for `spread`."""
    rows, steps = list[RowEvents](), list[int]()
    for step, outputs in enumerate(made):
        rows.extend(spread(outputs, idle=idle))
        steps.extend([step] * (len(rows) - len(steps)))
    return rows, steps
