"""Columns of the log in the output of a pipeline: each output row gets cells of the row that caused it.

The rule of this module: the pipeline does not see these columns, unless they are inputs, and the rest of the output
does not change. What the end of the log causes has no such cells.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from workbench.core.domain import BOOL, INT, Value
from workbench.core.program import Port, Ports
from workbench.core.readable import plural
from workbench.errors import InputError, listed
from workbench.events.batch import LogBatch
from workbench.events.clock import Clock, time_domain
from workbench.events.columns import arrow_type, to_column
from workbench.events.values import CopiedCells
from workbench.executors.session import BatchOutput, Session

if TYPE_CHECKING:
    from workbench.executors.pending import Pool

ROW = "row"
"""The name of the column with row numbers."""


@dataclass(frozen=True)
class CarriedColumn:
    """A column of the log that is copied to the output.

    Attributes
    ----------
    port: the port under which the column is read.
    name: the name of the column in the log and in the output.
    is_input: whether the column is an input of the program.
    clock: formats the cells, if they are times.
    leads: whether the column is the first of the output; it is then read in any case.
    """

    port: Port
    name: str
    is_input: bool
    clock: Clock | None = None
    leads: bool = False

    @property
    def output(self) -> Port:
        """The output column; the form of times is known when the first one has been read."""
        return Port(self.name, self.port.domain if self.clock is None else time_domain(self.clock))

    def cells(self, batch: LogBatch) -> Sequence[Value | None]:
        """Return the cell of each row of a batch, in its output form; None for an empty cell."""
        name, cells = self.port.name, list[Any]()
        if batch.columns is None:
            cells = [row.get(name) for row in batch.rows or ()]
        elif name in batch.columns:
            cells = batch.columns[name].values(INT if self.clock is not None else self.port.domain)
        else:  # some files of a log may lack a column
            cells = [None] * len(batch)
        show: Any = None if self.clock is None else self.clock.show
        return cells if show is None else [None if time is None else show(time) for time in cells]

    def is_column(self, batch: LogBatch) -> bool:
        """Whether the cells of a batch have one type, or are written in that of their domain."""
        if not isinstance(self.port.domain, CopiedCells):
            return True
        if batch.columns is None:
            return False
        column = batch.columns.get(self.port.name)
        return column is None or column.is_arrow

    def take(self, batch: LogBatch, indices: Any) -> Any:
        """Return the cells of the rows at these indices as an Arrow array."""
        from workbench.events.output_columns import events_to_arrow
        from workbench.events.times import times_to_arrow

        name = self.port.name
        if batch.columns is None or name not in batch.columns:
            cells = self.cells(batch)
            return to_column(self.output.domain, [cells[index] for index in indices.tolist()], f"column '{self.name}'")
        column = batch.columns[name].part(indices)
        if self.clock is not None:
            return times_to_arrow(column.events, self.clock)
        if column.is_arrow:  # cells as they are
            return column.events if column.present is None else _hide(column.events, column.present)
        return events_to_arrow(self.port.domain, column.fields, column.present)


def _hide(column: Any, present: Any) -> Any:
    """Return an Arrow array with nulls where there is no event."""
    from workbench.events import compute as pc
    from workbench.events.buffers import numbers_to_arrow

    return pc.if_else(numbers_to_arrow(BOOL, present), column, None)


@dataclass(frozen=True)
class CarriedColumns:
    """The columns that are added to the output, and the filter on its rows.

    Attributes
    ----------
    ports: the ports of the program.
    columns: the columns of the log to copy.
    with_row: whether the row number is added, counted from 1.
    only_true: whether only rows in which an output is true are written.
    key: the column of keys, if there is one.

    Raises
    ------
    InputError: two columns have the same name, or no output can be true.
    """

    ports: Ports
    columns: Sequence[CarriedColumn] = ()
    with_row: bool = False
    only_true: bool = False
    key: str | None = None

    def __post_init__(self) -> None:
        added = ([self.key] if self.key else []) + [each.name for each in self.columns] + [ROW] * self.with_row
        for name in added:
            if name in self.ports.outputs_by_name:
                what = "the number of the row" if name == ROW and self.with_row else "a copied column"
                raise InputError(f"an output of {self.ports.of} and {what} are both called '{name}'")
            if added.count(name) > 1:
                raise InputError(f"two columns of the output would be called '{name}'", hint="name each column once")
        if self.only_true and not self.flags:
            what = f"--only-true: no output of {self.ports.of} is a truth value"
            raise InputError(what, hint="leave it out, or return a condition such as x > 3")

    def __bool__(self) -> bool:
        return bool(self.columns) or self.with_row or self.only_true

    @property
    def has_times(self) -> bool:
        """Whether there is a column of times, whose form is unknown before one has been read."""
        return any(each.clock is not None for each in self.columns)

    @property
    def flags(self) -> list[str]:
        """The outputs of type `bool`."""
        return [name for name, domain in self.ports.outputs_by_name.items() if domain == BOOL]

    def read(self, ports: Ports) -> Ports:
        """Return the ports to read: those given, and the carried columns that are not inputs."""
        beside = tuple(each.port for each in self.columns if not each.is_input and not each.leads)
        return replace(ports, inputs=(*beside, *ports.inputs)) if beside else ports

    def show(self, ports: Ports) -> Ports:
        """Return the ports to read and to write, for a session with these ports."""
        keys = self.key is not None
        first = (each.output for each in self.columns if each.leads)
        rows = (Port(ROW, INT),) if self.with_row else ()
        others = (each.output for each in self.columns if not each.leads)
        return replace(self.read(ports), outputs=(*first, *ports.outputs[:keys], *rows, *others, *ports.outputs[keys:]))


class CarryingSession(Session):
    """A session that adds cells of the causing rows to the output rows.

    Parameters
    ----------
    session: runs the program.
    carried: the columns that are added, and the filter on rows.
    """

    def __init__(self, session: Session, carried: CarriedColumns) -> None:
        session.tells_causes = True
        self.session, self._carried = session, carried
        self.takes, self.size, self.row_by_row = session.takes, session.size, session.row_by_row
        self.numbered = session.numbered or carried.with_row
        self.threads, self.stops_at_errors = session.threads, session.stops_at_errors
        self._uncaused = 0
        self._beside = {each.port.name for each in carried.columns if not each.is_input}

    @property
    def outputs(self) -> Ports:  # type: ignore[override]
        """The columns of the output."""
        return self._carried.show(self.session.outputs)

    def step_batch(self, batch: LogBatch) -> BatchOutput:
        inner_batch = self._strip(batch)
        output = self.session.step_batch(inner_batch)
        return replace(
            self._add_cells(output, batch),
            events_in=inner_batch.events if output.events_in is None else output.events_in,
        )

    def end(self) -> BatchOutput:
        return self._without_cause(self.session.end())

    def advance_clock(self, time: int) -> BatchOutput:
        return self._without_cause(self.session.advance_clock(time))

    def notes(self) -> Iterator[str]:
        """Report rows without carried cells."""
        yield from self.session.notes()
        names = [ROW] * self._carried.with_row + [each.name for each in self._carried.columns]
        if names and self._uncaused:
            rows = f"{plural(self._uncaused, 'output row')} came after the end of the log"
            yield f"{rows}, without {listed(names)}, since no row caused that"

    def _without_cause(self, output: BatchOutput) -> BatchOutput:
        """Return outputs that no row of the log has caused, and count them."""
        output = self._add_cells(output, None)
        self._uncaused += len(output.rows) + (0 if output.table is None else len(output.table))
        return output

    def save(self) -> bytes:
        return self.session.save()

    def restore(self, state: bytes) -> None:
        self.session.restore(state)

    def share(self, pool: Pool) -> None:
        self.session.share(pool)

    def _strip(self, batch: LogBatch) -> LogBatch:
        """Remove the columns that are not inputs from a batch."""
        if not self._beside:
            return batch
        if batch.columns is not None:
            return replace(batch, columns={n: each for n, each in batch.columns.items() if n not in self._beside})
        rows = [{n: event for n, event in row.items() if n not in self._beside} for row in batch.rows or ()]
        return replace(batch, rows=rows)

    def _add_cells(self, output: BatchOutput, batch: LogBatch | None) -> BatchOutput:
        """Add cells of the causing rows to the output; without a batch, to the output at the end of the log."""
        if output.columns is not None:
            import pyarrow as pa

            from workbench.events.output_columns import outputs_to_columns

            domains = self.session.outputs.outputs_by_name
            causes, columns = outputs_to_columns(output.columns, domains)
            output = replace(output, columns=None, table=pa.table(columns, list(domains)), causes=causes)
        if output.table is not None and not (
            batch is None or all(each.is_column(batch) for each in self._carried.columns)
        ):
            from workbench.events.output_columns import table_rows

            output = replace(
                output, table=None, rows=list(table_rows(output.table, self.session.outputs.outputs_by_name))
            )
        return self._add_to_rows(output, batch) if output.table is None else self._add_to_table(output, batch)

    def _add_to_rows(self, output: BatchOutput, batch: LogBatch | None) -> BatchOutput:
        carried, added = self._carried, dict[str, Sequence[Value | None]]()
        if batch is not None and output.rows:
            added = {each.name: each.cells(batch) for each in carried.columns}
            if carried.with_row:
                added[ROW] = batch.numbers
        rows, names, flags = list[Mapping[str, Value]](), list(self.outputs.outputs_by_name), carried.flags
        causes = [0] * len(output.rows) if batch is None else output.causes
        for row, cause in zip(output.rows, causes, strict=True):
            if carried.only_true and not any(row.get(name) is True for name in flags):
                continue
            whole = {**row, **{name: cells[cause] for name, cells in added.items()}}
            rows.append({name: whole[name] for name in names if whole.get(name) is not None})
        events = sum(name in row for row in rows for name in carried.ports.outputs_by_name)
        return replace(output, rows=rows, causes=(), events_out=events)

    def _add_to_table(self, output: BatchOutput, batch: LogBatch | None) -> BatchOutput:
        import numpy as np
        import pyarrow as pa

        from workbench.events.buffers import numbers_to_arrow

        carried, table, causes = self._carried, output.table, np.asarray(output.causes, np.int64)
        if carried.only_true:
            mask = _true(table, carried.flags)
            table, causes = table.filter(mask), causes[mask.to_numpy()] if batch is not None else causes
        columns = dict(zip(table.column_names, table.columns, strict=True))
        for each in carried.columns:
            nothing = pa.nulls(len(table), arrow_type(each.output.domain))
            columns[each.name] = nothing if batch is None else each.take(batch, causes)
        if carried.with_row:
            nothing = pa.nulls(len(table), pa.int64())
            columns[ROW] = nothing if batch is None else numbers_to_arrow(INT, batch.number_array()[causes])
        events = sum(len(table) - columns[name].null_count for name in carried.ports.outputs_by_name)
        return replace(
            output,
            table=pa.table({n: columns[n] for n in self.outputs.outputs_by_name}),
            causes=(),
            events_out=events,
        )


def _true(table: Any, names: Sequence[str]) -> Any:
    """Return a mask of the rows in which one of these columns is true, as an Arrow array."""
    from workbench.events import compute as pc

    return functools.reduce(pc.or_, (pc.fill_null(table.column(name), False) for name in names))
