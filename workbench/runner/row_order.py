"""Put the rows of a pipeline's log in the order of time, where `--time` names the column of times.

The rule of this module: a row is a step of its own, also at equal times, and the column of times is removed again where
it is not an input. Each log is read with an account of its own; at the end, the accounts of unreadable, ignored and
late rows are added up.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.core.domain import INT, Domain
from workbench.core.program import Port, Ports
from workbench.errors import InputError
from workbench.events.account import Account, Reporter
from workbench.events.batch import Columns, EventArray, RowEvents, batches, column_steps, join_events
from workbench.events.clock import Clock, Times, is_timed, time_domain, time_port
from workbench.events.date_formats import UntimedError
from workbench.events.decoding import count_blocks
from workbench.events.rows import LogBlock
from workbench.runner.order import HoldBack, LateRows, PieceForm, merge_streams

if TYPE_CHECKING:
    from workbench.events.reading_options import Reading
    from workbench.executors.table import Start
    from workbench.runner.source import LogSource


class RowAtTime(NamedTuple):
    """A row with its time."""

    time: int
    events: RowEvents


@dataclass(frozen=True, eq=False)
class ColumnsAtTimes:
    """Successive rows as columns, with their times."""

    times: Any
    columns: Columns

    def __len__(self) -> int:
        return len(self.times)

    def part(self, first: int, last: int) -> ColumnsAtTimes:
        """Return the rows in the range from `first` to before `last`."""
        return self.take(slice(first, last))

    def take(self, order: Any) -> ColumnsAtTimes:
        """Return the rows at some indices, in the order of the indices."""
        return ColumnsAtTimes(self.times[order], {name: each.part(order) for name, each in self.columns.items()})

    def singly(self, domains: Mapping[str, Domain]) -> list[RowAtTime]:
        """Return the rows one by one; `domains` are those of the inputs."""
        return list(map(RowAtTime, self.times.tolist(), column_steps(self.columns, domains)))


RowPiece = ColumnsAtTimes | Iterator[RowAtTime]


class RowOrder:
    """The rows of a pipeline's log in the order of time.

    Parameters
    ----------
    ports: the ports that rows are read for.
    column: the name under which the column of times is read, that of an input or another one.
    source: the log; each of its files, folders or patterns is a log of its own, and has a watermark.
    clock: interprets the column of times.
    with_times: whether rows have their times, where the column is not an input: whole numbers, which `clock` formats.

    Attributes
    ----------
    late: takes the late rows.
    """

    def __init__(
        self, ports: Ports, column: str, source: LogSource, reading: Reading, clock: Clock, start: Start, *,
        with_times: bool = False,
    ) -> None:  # fmt: skip
        self._ports, self._source, self._start = ports, source, start
        self._clock, self._reading = clock, replace(reading, clock=clock)
        self._column, self._beside = column, column not in ports.domains
        self._is_clock = any(port.clock for port in ports.inputs)
        self._kept, self._shown = with_times and self._beside, clock.column if self._beside else column
        self._form = PieceForm[ColumnsAtTimes, RowAtTime](
            lambda block: block.singly(ports.domains), lambda _: None, _join_blocks, tuple, RowAtTime
        )
        self.late = LateRows[RowAtTime](start, self._clock, self._late_ports, self._late_row, lambda _: "a row", "row")

    def blocks(self, reporter: Reporter, *, again: bool = False) -> Generator[LogBlock]:
        """Yield the rows in order; `again`: late rows have been handled before."""
        logs = self._source.logs()
        several = len(logs) > 1
        reading = replace(self._reading, head=None) if several else self._reading  # times decide which rows are first
        mixed = replace(reporter, last_days=None) if several else reporter
        own = [replace(mixed, keep=lambda row: reporter.keep(row), account=Account()) for _ in logs]
        late = (lambda *_: None) if again else self.late
        with ExitStack() as closing:
            pieces = [self._log(log, reading, each, closing, late) for log, each in zip(logs, own, strict=True)]
            ordered = self._blocks(merge_streams(pieces, self._form) if several else pieces[0])
            head = self._reading.head if several else None
            yield from count_blocks(ordered, self._source.log_name, replace(reading, head=head), reporter.account)
        _add_lost(reporter.account, [each.account for each in own])
        for note in () if again else self.late.notes():
            reporter.report(note)

    def _log(
        self, log: LogSource, reading: Reading, reporter: Reporter, closing: ExitStack, late: Callable[..., Any]
    ) -> Iterator[RowPiece]:
        """Yield the rows of one log in the order of time."""
        times = self._clock.of_rows()
        ports = add_times(self._ports, self._column, times)
        blocks = log.blocks(ports, reading, reporter)
        closing.callback(blocks.close)
        pieces = self._pieces(blocks, None if self._is_clock else times, log, reporter.account)
        if self._clock.late is None:
            return pieces
        return HoldBack(self._form, self._clock, lambda row, number: late(row, number, log.log_name)).order_pieces(
            pieces
        )

    def _pieces(
        self, blocks: Iterator[LogBlock], times: Times | None, log: LogSource, account: Account
    ) -> Iterator[RowPiece]:
        for block in blocks:
            columns = block.columns()
            piece = None if columns is None else self._of_columns(columns, times)
            if piece is None:
                for some in batches(block.steps(), log.size):
                    yield (self._of_row(row, times, log.log_name) for row in some)
            elif columns:
                account.take(columns)
                yield piece

    def _of_columns(self, columns: Columns, times: Times | None) -> ColumnsAtTimes | None:
        """Return columns with their times; None where rows must be read one by one."""
        column = columns.get(self._column)
        if column is None or column.total < column.rows:
            return None
        row_times = column.events if self._beside or times is None else column.events * self._clock.scale
        if times is not None and not times.follow(row_times):
            return None
        return ColumnsAtTimes(
            row_times, {n: each for n, each in columns.items() if n != self._column or not self._beside}
        )

    def _of_row(self, row: RowEvents, times: Times | None, log_name: str) -> RowAtTime:
        time: Any = row[self._column]
        if self._beside:
            return RowAtTime(time, {name: event for name, event in row.items() if name != self._column})
        try:
            return RowAtTime(time if times is None else times.read(str(time)), row)
        except UntimedError as error:
            raise InputError(f"'{self._shown}': expected {error}", where=log_name, hint=error.hint) from error

    def _blocks(self, pieces: Iterator[RowPiece]) -> Iterator[LogBlock]:
        """Convert pieces to blocks, which own their rows."""
        for piece in pieces:
            if isinstance(piece, ColumnsAtTimes):
                times = {self._column: EventArray(piece.times, None)} if self._kept else {}
                columns = {**times, **piece.columns}
                steps = partial(column_steps, columns, {self._column: INT, **self._ports.domains})
                yield LogBlock(steps, partial(_same, columns), rows=len(piece))
                continue
            for some in batches(piece, self._source.size):
                events = [{self._column: row.time, **row.events} if self._kept else row.events for row in some]
                yield LogBlock(partial(_steps, events), rows=len(events))

    def _late_ports(self) -> Ports:
        """Return the columns of late rows."""
        ports = tuple(port for port in self._ports.inputs if port.name != self._shown)
        return replace(self._ports, outputs=(Port(self._shown, time_domain(self._clock)), *ports))

    def _late_row(self, row: RowAtTime) -> dict[str, Any]:
        return {**row.events, self._shown: self._clock.show(row.time)}


def add_times(ports: Ports, column: str, times: Times) -> Ports:
    """Add the column of times to the ports that rows are read for, where it is not an input."""
    if column in ports.domains:
        inputs = (replace(port, required=is_timed) if port.name == column else port for port in ports.inputs)
        return replace(ports, inputs=tuple(inputs))
    return replace(ports, inputs=(replace(time_port(column, times), copied=True), *ports.inputs))


def _same(columns: Columns) -> Columns:
    return columns


def _steps(rows: Sequence[RowEvents]) -> Iterator[dict[str, Any]]:
    return map(dict, rows)


def _add_lost(account: Account, logs: Sequence[Account]) -> None:
    """Add what logs have read and lost before ordering to the account of the ordered rows."""
    total = sum(logs, Account())
    account.add(
        Account(
            read=total.read - account.read, rows=total.rows - account.rows, bad=total.bad, ignored=total.ignored,
            first_bad=total.first_bad, reasons=total.reasons, is_exact=total.is_exact,
        )
    )  # fmt: skip


def _join_blocks(blocks: Sequence[ColumnsAtTimes]) -> ColumnsAtTimes:
    """Concatenate blocks; a log may lack the column of an input that another log has."""
    import numpy as np

    some = [block for block in blocks if len(block)] or blocks[:1]
    times = np.concatenate([block.times for block in some])
    columns = {}
    for name, first in {name: each for block in some for name, each in block.columns.items()}.items():
        parts = [block.columns.get(name) or _nothing(first, len(block)) for block in some]
        columns[name] = join_events(parts)
    return ColumnsAtTimes(times, columns)


def _nothing(like: EventArray, rows: int) -> EventArray:
    """Return an array of the same kind for `rows` rows without events."""
    import numpy as np

    return like.part(np.zeros(rows, np.int64))._replace(present=np.zeros(rows, bool))
