"""A running program as the runner steps it: batches of rows go in, and the output of each batch comes out.

The rule of this module: however a log is cut into batches, the concatenated outputs are the same. An error at a row is
reported after the outputs of the rows before it.
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
"""Rows of a batch of Python values."""
ROWS, COLUMNS = "rows", "columns"
"""The forms that the rows of a batch may have."""


class OutputEvents(Protocol):
    """The events of one output, in the form that compiled code produces."""

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
    """The output of a batch, in one of four forms.

    Attributes
    ----------
    rows: each row as the events of the outputs, in their order.
    columns: the events of each output, and their steps where there are several outputs.
    lists: the events of the only output.
    table: an Arrow table of rows; a null means no event.
    causes: the row of the batch, from 0 on, that caused each of `rows`, or of the table, if `tells_causes`.
    computed: the number of rows of the batch that have run.
    ignored: the number of rows that belong to no run, by the reason.
    events_in: the number of events of the batch for the program; None: all.
    events_out: the number of emitted events.
    failed: the error after that; the row that raised it and the rows after it have not run.
    notes: lines for the user, after the rows.
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

    def as_table(self, domains: Mapping[str, Domain]) -> Any:
        """Return an Arrow table of output in columns or in a table; None for output in Python values."""
        if self.columns is None:
            return self.table
        from workbench.events.output_columns import outputs_to_table

        return outputs_to_table(self.columns, domains)


class Session(ABC):
    """A running program.

    Attributes
    ----------
    outputs: the columns of the output.
    takes: the forms of batches that it accepts; rows always.
    size: maximum number of rows in a batch of Python values.
    row_by_row: whether it runs columns row by row, too, so that batches of columns are no larger than others.
    numbered: whether it needs row numbers.
    tells_causes: whether it reports which rows caused the output; columns then have their steps, counted from
        the first row of the batch, and there are no lists.
    threads: the number of threads that may read, run and write a log for it.
    stops_at_errors: whether its state after an error is that before the failing row; otherwise some rows have run in
    part, or out of order.
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
        """Return the number of rows of a block of `rows` that it takes at once; 0: as many as of Python values."""
        return rows

    @property
    def is_done(self) -> bool:
        """Whether further input has no effect."""
        return False

    def step_parts(self, batch: LogBatch) -> Iterable[BatchOutput]:
        """Run the rows of a batch; each part of the output is computed when the caller takes it."""
        return (self.step_batch(batch),)

    def step_rows(self, rows: Iterator[RowEvents]) -> Iterator[BatchOutput] | None:
        """Run rows one by one, and yield the output of each before the next is read; None: it runs only batches.

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
        """End the streams of the program; rules emit nothing at the end."""

    def advance_clock(self, time: int) -> BatchOutput:
        """Advance the clock up to and including `time`.

        Raises
        ------
        Refused: the program has no clock of its own.
        """
        del time
        raise Refused(f"{self.outputs.of} has no clock", hint="leave out --until")

    def save(self) -> bytes:
        """Return the state between two batches, for `restore` of a session of the same program.

        Raises
        ------
        Refused: the state has no form as data.
        """
        raise Refused(f"the state of {self.outputs.of} cannot be saved in such a run", hint="leave out --state")

    def restore(self, state: bytes) -> None:
        """Resume from a saved state.

        Raises
        ------
        StateError: the state is damaged, or of another program.
        """
        del state
        self.save()

    def notes(self) -> Iterable[str]:
        """Return lines for the user at the end of the log."""
        return ()

    def share(self, pool: Pool) -> None:  # noqa: B027 - most have nothing to share
        """Run costly work in a pool that also reads and writes the log."""


def spread(outputs: Mapping[str, Sequence[Value]], *, idle: bool = False) -> Iterator[dict[str, Value]]:
    """Yield the rows of a step: one for each event of an output.

    Parameters
    ----------
    idle: whether a step without output has a row, without events.
    """
    rows = max(map(len, outputs.values()), default=0)
    if rows == 1:
        yield {name: events[0] for name, events in outputs.items() if events}
        return
    for i in range(rows or idle):
        yield {name: events[i] for name, events in outputs.items() if i < len(events)}


def spread_steps(
    step_outputs: Iterable[Mapping[str, Sequence[Value]]], *, idle: bool = False
) -> tuple[list[RowEvents], list[int]]:
    """Return the rows of successive steps, and the step of each, from 0 on; `idle` as for `spread`."""
    rows, steps = list[RowEvents](), list[int]()
    for step, outputs in enumerate(step_outputs):
        rows.extend(spread(outputs, idle=idle))
        steps.extend([step] * (len(rows) - len(steps)))
    return rows, steps
