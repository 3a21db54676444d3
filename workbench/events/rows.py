"""Read the rows of a log, whatever its format.

The rule of this module: nothing is guessed and nothing skipped. The allowed columns of a log, and the errors of events
that cannot be read, are defined here, for a file that is read as a whole as for a part that a worker of Spark
reads.
"""

from __future__ import annotations

import io
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO, Any, ClassVar, cast

from workbench.core.domain import Domain, Value
from workbench.core.fields import Nullable, Tuple, without_null
from workbench.core.program import Port, Ported
from workbench.errors import InputError, listed, suggest_option
from workbench.events.account import BLANK, BadRow, Reporter
from workbench.events.batch import Columns, EventArray, batches
from workbench.events.clock import Clock, Times, with_clock
from workbench.events.column_map import ColumnMap, ColumnPlaces, has_arrays, has_cells, match, missing, see_inputs
from workbench.events.lines import is_whole
from workbench.events.parts import WHOLE, FilePart
from workbench.events.reading_options import Reading
from workbench.events.text_streams import DroppedLines
from workbench.events.values import (
    DATE_REMEDY,
    CopiedCells,
    KeyTexts,
    UnreadableError,
    date_to_seconds,
    limit_to_64_bits,
    padding,
)

BLOCK = 4096
"""Number of rows of a block, where the format does not define it."""
InputEvents = dict[str, Value]
"""The events of a row, by input name."""
Taker = Callable[[Sequence[Any]], "Value | None"]
"""Reads an event from the cells of a row."""


@dataclass(frozen=True)
class LogBlock:
    """Successive rows of a log. The block owns them: they can still be read when later blocks have been requested.

    Attributes
    ----------
    steps: reads the rows one by one, with all checks and messages.
    columns: reads the events of all inputs, if all cells are clearly events or empty; None if rows must be read singly.
    rows: the number of rows, lines that are not steps included; None if it is unknown before reading.
    file: the origin of the rows, for messages.
    """

    steps: Callable[[], Iterator[InputEvents]]
    columns: Callable[[], Columns | None] = lambda: None
    rows: int | None = None
    file: str = ""


def zero_event(port: Port) -> Value | None:
    """Return the event of an empty cell of an input with `--null zero`; None: it has none, as an empty record."""
    domain = without_null(port.domain)
    return None if port.copied or port.clock or isinstance(domain, Tuple | KeyTexts) else padding(domain)


class RowReader(ABC):
    """Reads the steps in the rows of one file.

    Parameters
    ----------
    program: the program whose inputs take the columns.
    reading: the user's options about them.
    reporter: has the account of the rows.

    Attributes
    ----------
    columns: the map from columns to inputs; None before the first row.
    takers: the functions that read the event of each input from the cells of a row.
    part: the part of the file that is read.
    dropped: the lines of a text that are not rows.
    """

    noun = "column"
    """The word for a column in messages."""
    part = WHOLE
    dropped: DroppedLines | None = None
    typed: ClassVar[bool] = False
    """Whether cells have types of their own, so that a text that looks like a number is a text."""

    def __init__(self, program: Ported, reading: Reading | None = None, reporter: Reporter | None = None) -> None:
        self.reading, self.reporter = reading or Reading(), reporter or Reporter()
        self.account = self.reporter.account
        ports = with_clock(program.ports, self.reading.clock)
        self.ports = limit_to_64_bits(ports) if self.reading.only_64_bits else ports
        self.domains = self.ports.domains
        self._required = [port for port in self.ports.inputs if port.required is not None]
        self._report_shared_columns()
        for name, domain in self.domains.items():
            if isinstance(domain, Nullable):
                self.reporter.report_once(
                    f"input '{name}' is of type {domain}, but a null or an empty cell of a log means no event; fields"
                    " of records may be null, --null zero reads it as a value, and --null error refuses it"
                )
        for domain in self.domains.values():
            if isinstance(domain, Times) and reporter is not None:
                self._attach(domain.clock, in_order=not domain.kind)
        zeros = {port.name: zero_event(port) for port in self.ports.inputs} if self.pads else {}
        self._zeros = {name: zero for name, zero in zeros.items() if zero is not None}
        self.only = next(iter(self.domains)) if len(self.domains) == 1 else None
        self.columns: ColumnMap | None = None
        self._clocks: dict[str, Clock] = {}
        self.takers: dict[str, Taker] = {}

    def begin(self, start: bytes) -> None:  # noqa: B027 - most have nothing to do
        """Infer the form of rows from the first bytes of a file."""

    @abstractmethod
    def rows(self, lines: io.TextIOWrapper, file_name: str) -> Iterator[tuple[int, Any]]:
        """Yield the raw rows of a file (its bytes are `lines.buffer`) with their numbers; `file_name` is its name.

        Raises
        ------
        InputError: the file is damaged, or a column is missing; with the place.
        """

    @abstractmethod
    def cell(self, cell: Any, domain: Domain) -> Value | None:
        """Return the event in a cell; None where it is empty.

        Raises
        ------
        UnreadableError: the cell has no value of the domain.
        """

    @abstractmethod
    def format_cell(self, cell: Any) -> str:
        """Return a cell in the form of messages."""

    def cell_domain(self, file: IO[bytes], name: str, file_name: str) -> Domain:
        """Return the domain of the cells in a column of an unread file, for copying them."""
        del file, name, file_name
        return CopiedCells()

    def parts(self, file: IO[bytes], file_name: str, size: int) -> Iterable[FilePart]:
        """Cut a file that is not compressed into parts of about `size` bytes."""
        del file, file_name, size
        return [WHOLE]

    def cells(self, row: Any) -> Sequence[Any] | None:
        """Return the cells of a row in the order of the columns; None for a row that is no step, none without events.

        Raises
        ------
        InputError: it is not a row; the caller adds the place.
        """
        return cast("Sequence[Any]", row)

    def step(self, row: Any) -> InputEvents | None:
        """Return the events of a row; None for a row that is not a step.

        Raises
        ------
        InputError: it cannot be read; the caller adds the place.
        """
        cells = self.cells(row)
        return None if cells is None else self.events(cells)

    def events(self, cells: Sequence[Any]) -> InputEvents:
        """Return the events in some cells."""
        events: InputEvents = {}
        for name, take in self.takers.items() if cells else ():
            event = take(cells)
            if event is not None:
                events[name] = event
        for name, zero in self._zeros.items():
            events.setdefault(name, zero)
        if len(events) < len(self.domains) and self.reading.null == "error":
            for port in self.ports.inputs:
                if port.name not in events and not port.copied:
                    raise self._empty(port.name)
        for port in self._required if len(events) < len(self.domains) else ():
            if port.name not in events and port.required is not None and port.required(events):
                in_python = port.remedy and port.remedy == port.data_remedy
                skip = 'bad_rows="skip"' if in_python else "--bad-rows skip"
                name = self.reading.columns.get(port.name, port.name)
                others = [each for each in (self.columns.names if self.columns else ()) if each not in self.domains]
                remedy = suggest_option(name, others, port.remedy) or port.remedy
                hint = f"{remedy}{'; ' * bool(remedy)}{skip} leaves out such rows"
                raise InputError(f"this row has no '{name}'", hint=hint)
        return events

    def open(self, columns: ColumnMap) -> None:
        """Read the rows from now on with this map of columns."""
        self.columns = columns
        self.takers = {name: self._taker(name, each, self.domains[name]) for name, each in columns.inputs.items()}

    def set_columns(self, names: Sequence[str], where: str = "a file") -> None:
        """Read the rows from now on under these names.

        Parameters
        ----------
        where: the place of the names, for reports.

        Raises
        ------
        InputError: a column is missing, duplicate, or refused.
        """
        columns = self.match_columns(names)
        self.open(columns)
        self.reporter.ignore_columns(columns.ignored)
        if (lacking := self._lacking(columns)) and self.noun == "column":
            what = f"{where}: there is no column for {listed(lacking)}, but another file has one"
            self.reporter.report_once(f"{what}; in the rows of this file it is empty", "lacking")

    def _lacking(self, columns: ColumnMap) -> list[str]:
        """Return the inputs for which another file of the log has a column."""
        return [port.name for port in self.ports.inputs if port.shared and port.name not in columns.inputs]

    def match_columns(self, names: Sequence[str]) -> ColumnMap:
        """Map columns of these names to inputs; InputError as in `set_columns`."""
        return match(names, self.ports, self.reading, what=self.noun)

    def sample(
        self, lines: io.TextIOWrapper, file_name: str, count: int
    ) -> tuple[dict[str, str], dict[str, list[Any]]]:
        """Return the types of columns in the file, by their names, and their cells in the first rows."""
        samples: dict[str, list[Any]] = {}
        for number, (_, row) in enumerate(itertools.islice(self.rows(lines, file_name), count)):
            try:
                cells = self.cells(row)
            except InputError:
                continue
            assert self.columns is not None
            for name in self.columns.names if cells is not None else ():
                samples.setdefault(name, [None] * number)
            here = dict(zip(self.columns.names, cells or (), strict=False))
            for name, each in samples.items():
                each += [None] * (number - len(each)) + [here.get(name)]
        return {}, samples or {name: [] for name in (self.columns.names if self.columns else ())}

    def _taker(self, path: str, columns: ColumnPlaces, domain: Domain) -> Taker:
        """Return a function that reads the event of an input, or of a field of one, from the cells of a row."""
        read, describe = self.cell, self.format_cell
        if isinstance(columns, int):
            whose = self.whose(columns, path)

            def leaf(cells: Sequence[Any]) -> Value | None:
                try:
                    return read(cells[columns], domain)
                except UnreadableError as error:
                    try:
                        return self.read_date(cells[columns], domain, whose, error)
                    except UnreadableError as final:
                        raise final.refusal(whose, describe(cells[columns])) from error

            return leaf
        if columns is None:  # the key is missing
            return lambda _: None
        assert isinstance(domain, Tuple)
        fields = list(zip(domain.names(), columns, domain.fields, strict=True))
        takers = [self._taker(f"{path}.{label}", each, field) for label, each, field in fields]
        needed = tuple(i for i, field in enumerate(domain.fields) if not isinstance(field, Nullable))
        fill = [padding(field) if self.pads else None for field in domain.fields]

        def event(cells: Sequence[Any]) -> Value | None:
            parts = tuple(take(cells) for take in takers)
            if None not in parts:
                return parts
            if all(part is None for part in parts):
                return None
            for i in needed:
                if parts[i] is None and fill[i] is None:
                    if columns[i] is None and self.columns is not None:
                        paths = see_inputs(self.ports, self.reading)
                        raise missing(f"{path}.{domain.names()[i]}", self.columns.names, paths, self.noun)
                    filled = padding(domain.fields[i]) is not None
                    raise InputError(
                        f"'{path}.{domain.names()[i]}' is empty, and other fields are not",
                        hint="--null zero reads empty fields as 0, false or the empty text" if filled else "",
                    )
            return tuple(fill[i] if part is None else part for i, part in enumerate(parts))

        return event

    def read_date(self, cell: Any, domain: Domain, whose: str, error: UnreadableError) -> Value:
        """Return the seconds of a date that stands in place of a number, where the user allows that.

        Parameters
        ----------
        whose: the column, for reports.
        error: the error of the cell; it, or a better one, is raised where the cell is no such date.
        """
        try:
            if (seconds := self._seconds(whose, cell, domain)) is not None:
                return seconds
        except UnreadableError as other:
            error = other if error.hint in ("", DATE_REMEDY) else error
        if self.reading.dated and error.hint == DATE_REMEDY:
            error.hint = "within objects and arrays dates are texts: declare it as str"
        raise error

    def _seconds(self, whose: str, cell: Any, domain: Domain) -> Value | None:
        """Return a date as seconds, where the user allows dates in place of numbers; UnreadableError if it is none."""
        clock = self.reading.clock
        if clock is None or not self.reading.dated:
            return None
        if whose not in self._clocks:
            self._clocks[whose] = replace(clock, column=whose.partition("'")[2][:-1], unit=None, late=None)
            self._attach(self._clocks[whose])
        seconds = date_to_seconds(cell, domain, self._clocks[whose])
        if seconds is not None:
            self.reporter.report_once(f"dates in {whose} are read as seconds since 1970-01-01 (UTC)")
        return seconds

    def _attach(self, clock: Clock, *, in_order: bool = False) -> None:
        """Let dates be reported, and their years continue from the file before, if files are in the order of time."""
        clock.reader.report, last_days = self.reporter.report, self.reporter.last_days
        clock.reader.last_days = last_days if in_order or self.reading.follow or last_days is None else {}

    def whose(self, column: int, path: str) -> str:
        """Return the name of a column for messages, given the input, or field, that it belongs to."""
        assert self.columns is not None
        del path
        return f"column '{self.columns.names[column]}'"

    def _report_shared_columns(self) -> None:
        """Report a column that two inputs read, which is rarely intended where each has a file of its own."""
        clocks = {port.name for port in self.ports.inputs if port.clock}
        readers: dict[str, str] = {}
        for path, column in self.reading.columns.items():
            if path not in clocks and (first := readers.setdefault(column, path)) != path:
                self.reporter.report_once(f"inputs {first} and {path} read the same column '{column}'")

    def _empty(self, path: str) -> InputError:
        return InputError(f"'{path}' is empty", hint="without --null error, this means no event")

    def located(self, rows: Iterator[tuple[int, Any]], file_name: str) -> Iterator[InputEvents]:
        """Yield the steps of these rows.

        Raises
        ------
        InputError: a row cannot be read; with its place.
        """
        for number, row in rows:
            try:
                step = self.step(row)
            except InputError as error:
                self.bad(error, file_name, number, row)
                if self.account.rows == self.reading.head:
                    return
                continue
            if step is not None:
                yield step
            else:
                self.account.ignored[BLANK] += 1

    def bad(self, error: InputError, file_name: str, number: int, row: Any) -> None:
        """Handle a row that cannot be read: skip and report it, or raise its error."""
        if self.reading.bad_rows == "error":
            raise error.retold(where=self.place(file_name, number)) from error
        self.reporter.report_bad(BadRow(file_name, self.in_file(number), error.what, self.text(number, row)))

    def in_file(self, number: int) -> int:
        """Return the number of a row or line in the file."""
        return number if self.dropped is None else self.dropped.number(number)

    def place(self, file_name: str, number: int) -> str:
        """Return the place of a row or line, for messages."""
        return f"{file_name}:{self.in_file(number)}"

    def text(self, number: int, row: Any) -> str:
        """Return a row as it is in the file."""
        del number
        return str(row).rstrip("\r\n")

    def end(self) -> None:  # noqa: B027 - most have nothing to do
        """Check the file after all of its rows have been read.

        Raises
        ------
        InputError: a requested column occurred in no row.
        """

    def blocks(self, lines: io.TextIOWrapper, file_name: str) -> Iterator[LogBlock]:
        """Yield all rows of a file, in blocks of columns where the format has them and all inputs have arrays.

        Threads may read a block while others read the next ones: reading its columns does not change the reader.
        """
        size = BLOCK if is_whole(cast(io.BufferedReader, lines.buffer)) else 1  # no consumer waits for the next row
        for some in batches(self.rows(lines, file_name), size):
            yield self.block(some, file_name)

    def block(self, rows: Sequence[tuple[int, Any]], file_name: str) -> LogBlock:
        """Return a block of these rows, with their numbers."""
        return LogBlock(lambda: self.located(iter(rows), file_name), rows=len(rows))

    def arrays(
        self, column_events: Callable[[int, Domain], EventArray | None], columns: ColumnMap | None = None
    ) -> Columns | None:
        """Combine the events of single columns into those of all inputs; None where rows must be read singly.

        Parameters
        ----------
        columns: the map of columns, where it differs from block to block.
        """
        columns = columns or self.columns
        assert columns is not None
        arrays = columns.arrays(column_events, self.pads)
        lacking = {*self._lacking(columns), *self._zeros}.difference(columns.inputs)
        if arrays and lacking:  # consumers of columns need those of all inputs
            from workbench.events.input_columns import decode_nulls

            rows = next(iter(arrays.values())).rows
            arrays |= {name: decode_nulls(self.domains[name], rows) for name in lacking}
        if arrays:
            arrays |= {name: arrays[name].padded() for name in self._zeros}
        needed = [port.name for port in self._required]
        if self.reading.null == "error":
            needed += [port.name for port in self.ports.inputs if not port.copied]
        if arrays is None or any(arrays[name].present is not None for name in needed if name in arrays):
            return None
        return arrays if arrays.keys() >= set(needed) else None

    @property
    def pads(self) -> bool:
        """Whether an empty cell is read as 0, false or the empty text."""
        return self.reading.null == "zero"

    @property
    def flat(self) -> bool:
        """Whether all single values in the events of all inputs are plain cells."""
        return bool(self.domains) and all(map(has_cells, self.domains.values()))

    @property
    def plain(self) -> bool:
        """Whether the events of all inputs have arrays."""
        return bool(self.domains) and all(map(has_arrays, self.domains.values()))
