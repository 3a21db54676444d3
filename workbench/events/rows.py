"""Rows of a log, whatever its format: what readers make of them.

The rule of this module: nothing is guessed and nothing skipped. Which columns a log may have, and how an event that
cannot be read is refused, is said here, for a file that is read as a whole as for a part that a worker of Spark's
reads.
"""

from __future__ import annotations

import io
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, ClassVar, cast

from workbench.core.domain import Domain, Value
from workbench.core.fields import Nullable, Tuple
from workbench.core.program import Ported
from workbench.errors import InputError
from workbench.events.account import BLANK, BadRow, Reporter
from workbench.events.batch import Columns, EventArray, batches
from workbench.events.clock import Times, with_clock
from workbench.events.column_map import ColumnMap, ColumnPlaces, has_arrays, has_cells, match, missing, see_inputs
from workbench.events.lines import is_whole
from workbench.events.parts import WHOLE, FilePart
from workbench.events.reading import Reading
from workbench.events.text_streams import DroppedLines
from workbench.events.values import UnreadableError, Words, in_words, padding

BLOCK = 4096
"""Rows of a block of a file, where the format does not say how many."""
InputEvents = dict[str, Value]
"""What a row holds: input name to event."""
Taker = Callable[[Sequence[Any]], "Value | None"]
"""What reads an event from the cells of a row."""


@dataclass(frozen=True)
class LogBlock:
    """Successive rows of a log. It owns them: they are read as well when blocks behind it have been asked for.

    Attributes
    ----------
    steps: reads them one by one, with every rule and message that there is.
    columns: reads the events of every input, where each cell is plainly an event or none; None where rows must tell.
    rows: how many there are, lines that are no steps among them; None where only reading them tells.
    file: where they are from, as messages call it.
    """

    steps: Callable[[], Iterator[InputEvents]]
    columns: Callable[[], Columns | None] = lambda: None
    rows: int | None = None
    file: str = ""


class RowReader(ABC):
    """Makes steps of the rows of one file.

    Parameters
    ----------
    program: its inputs take the columns.
    reading: what the user says about them.
    reporter: has the account of the rows.

    Attributes
    ----------
    columns: which make the events of which input; None before the first row.
    takers: what reads the event of each input from the cells of a row.
    part: that of the file which is read.
    dropped: the lines of a text that are no rows.
    """

    noun = "column"
    """What messages call a column."""
    part = WHOLE
    dropped: DroppedLines | None = None
    typed: ClassVar[bool] = False
    """Whether cells have types of their own, so that a text that looks like a number is a text."""

    def __init__(self, program: Ported, reading: Reading | None = None, reporter: Reporter | None = None) -> None:
        self.reading, self.reporter = reading or Reading(), reporter or Reporter()
        self.account = self.reporter.account
        ports = with_clock(program.ports, self.reading.clock)
        self.ports = in_words(ports) if self.reading.words else ports
        self.domains = self.ports.domains
        for domain in self.domains.values():
            if isinstance(domain, Times) and reporter is not None:
                domain.clock.reader.say = reporter.say
        self.only = next(iter(self.domains)) if len(self.domains) == 1 else None
        self.columns: ColumnMap | None = None
        self.takers: dict[str, Taker] = {}

    def begin(self, start: bytes) -> None:  # noqa: B027 - most have nothing to do
        """Find in the first bytes of a file how its rows are written."""

    @abstractmethod
    def rows(self, lines: io.TextIOWrapper, shown: str) -> Iterator[tuple[int, Any]]:
        """The rows as they lie in a file (its bytes are `lines.buffer`), with their numbers; `shown` is its name.

        Raises
        ------
        InputError: what they lie in is damaged, or a column is missing, and where.
        """

    @abstractmethod
    def cell(self, cell: Any, domain: Domain) -> Value | None:
        """The event in a cell; None where it is empty.

        Raises
        ------
        UnreadableError: there is none of the domain in it.
        """

    @abstractmethod
    def shown(self, cell: Any) -> str:
        """A cell as messages show it."""

    def key_domain(self, file: IO[bytes], name: str, shown: str) -> Domain:
        """What the keys in a column of a file, of which nothing has been read, are: texts, where no types tell."""
        del file, name, shown
        return Words()

    def parts(self, file: IO[bytes], shown: str, size: int) -> Iterable[FilePart]:
        """Where a file that is not compressed can be cut, into parts of about so many bytes."""
        del file, shown, size
        return [WHOLE]

    def cells(self, row: Any) -> Sequence[Any] | None:
        """What a row holds, in the order of the columns; None for one that is no step, none for one without events.

        Raises
        ------
        InputError: it is no row; where it lies is left to be added.
        """
        return cast("Sequence[Any]", row)

    def step(self, row: Any) -> InputEvents | None:
        """The events of a row; None for one that is no step.

        Raises
        ------
        InputError: it cannot be read; where it lies is left to be added.
        """
        cells = self.cells(row)
        return None if cells is None else self.events(cells)

    def events(self, cells: Sequence[Any]) -> InputEvents:
        """Those in some cells."""
        found: InputEvents = {}
        for name, take in self.takers.items() if cells else ():
            event = take(cells)
            if event is not None:
                found[name] = event
        if len(found) < len(self.domains) and self.reading.null == "error":
            raise self._empty(next(name for name in self.domains if name not in found))
        return found

    def open(self, columns: ColumnMap) -> None:
        """Read the rows from now on as this says."""
        self.columns = columns
        self.takers = {name: self._taker(name, each, self.domains[name]) for name, each in columns.inputs.items()}

    def set_columns(self, names: Sequence[str]) -> None:
        """Read the rows from now on under these names.

        Raises
        ------
        InputError: a column is missing, is there twice, or is refused.
        """
        found = self.match_columns(names)
        self.open(found)
        self.reporter.ignore_columns(found.ignored)

    def match_columns(self, names: Sequence[str]) -> ColumnMap:
        """What columns of these names are for; InputError as `opened`."""
        return match(names, self.ports, self.reading, what=self.noun)

    def sample(self, lines: io.TextIOWrapper, shown: str, count: int) -> tuple[dict[str, str], dict[str, list[Any]]]:
        """The types that columns have in the file, by their names, and their cells in the first rows."""
        found: dict[str, list[Any]] = {}
        for number, (_, row) in enumerate(itertools.islice(self.rows(lines, shown), count)):
            try:
                cells = self.cells(row)
            except InputError:
                continue
            assert self.columns is not None
            for name in self.columns.names if cells is not None else ():
                found.setdefault(name, [None] * number)
            here = dict(zip(self.columns.names, cells or (), strict=False))
            for name, each in found.items():
                each += [None] * (number - len(each)) + [here.get(name)]
        return {}, found or {name: [] for name in (self.columns.names if self.columns else ())}

    def _taker(self, path: str, columns: ColumnPlaces, domain: Domain) -> Taker:
        """What reads the event of an input, or of a field of one, from the cells of a row."""
        read, shown = self.cell, self.shown
        if isinstance(columns, int):
            whose = self.whose(columns, path)

            def leaf(cells: Sequence[Any]) -> Value | None:
                try:
                    return read(cells[columns], domain)
                except UnreadableError as error:
                    raise error.refusal(whose, shown(cells[columns])) from error

            return leaf
        if columns is None:  # a key that is not there
            return lambda _: None
        assert isinstance(domain, Tuple)
        fields = list(zip(domain.names(), columns, domain.fields, strict=True))
        takers = [self._taker(f"{path}.{label}", each, field) for label, each, field in fields]
        needed = tuple(i for i, field in enumerate(domain.fields) if not isinstance(field, Nullable))
        fill = [padding(field) if self.pads else None for field in domain.fields]

        def event(cells: Sequence[Any]) -> Value | None:
            found = tuple(take(cells) for take in takers)
            if None not in found:
                return found
            if all(part is None for part in found):
                return None
            for i in needed:
                if found[i] is None and fill[i] is None:
                    if columns[i] is None and self.columns is not None:
                        paths = see_inputs(self.ports, self.reading)
                        raise missing(f"{path}.{domain.names()[i]}", self.columns.names, paths, self.noun)
                    filled = padding(domain.fields[i]) is not None
                    raise InputError(
                        f"'{path}.{domain.names()[i]}' is empty, and other fields are not",
                        hint="--null zero reads empty fields as 0, false or the empty text" if filled else "",
                    )
            return tuple(fill[i] if part is None else part for i, part in enumerate(found))

        return event

    def whose(self, column: int, path: str) -> str:
        """A column as messages call it, which is for this input, or field of one."""
        assert self.columns is not None
        del path
        return f"column '{self.columns.names[column]}'"

    def _empty(self, path: str) -> InputError:
        return InputError(f"'{path}' is empty", hint="without --null error there is no event then")

    def located(self, rows: Iterator[tuple[int, Any]], shown: str) -> Iterator[InputEvents]:
        """The steps of these rows.

        Raises
        ------
        InputError: one cannot be read, and where it lies.
        """
        for number, row in rows:
            try:
                step = self.step(row)
            except InputError as error:
                self.bad(error, shown, number, row)
                if self.account.rows == self.reading.head:
                    return
                continue
            if step is not None:
                yield step
            else:
                self.account.ignored[BLANK] += 1

    def bad(self, error: InputError, shown: str, number: int, row: Any) -> None:
        """A row cannot be read: it is passed over, or an error."""
        if self.reading.bad_rows == "error":
            raise error.retold(where=self.place(shown, number)) from error
        self.reporter.report_bad(BadRow(shown, self.in_file(number), error.what, self.text(number, row)))

    def in_file(self, number: int) -> int:
        """The number of a row or line as the file has them."""
        return number if self.dropped is None else self.dropped.number(number)

    def place(self, shown: str, number: int) -> str:
        """Where a row or line is, for messages."""
        return f"{shown}:{self.in_file(number)}"

    def text(self, number: int, row: Any) -> str:
        """A row as it stands in the file."""
        del number
        return str(row).rstrip("\r\n")

    def end(self) -> None:  # noqa: B027 - most have nothing to do
        """All rows of the file have been read.

        Raises
        ------
        InputError: none of them had what was asked for.
        """

    def blocks(self, lines: io.TextIOWrapper, shown: str) -> Iterator[LogBlock]:
        """All rows of a file, in blocks of columns where the format has them and all inputs have arrays.

        Threads may read a block while others read the next ones: what its columns are does not change the reader.
        """
        size = BLOCK if is_whole(cast(io.BufferedReader, lines.buffer)) else 1  # nobody waits for the next row
        for some in batches(self.rows(lines, shown), size):
            yield self.block(some, shown)

    def block(self, rows: Sequence[tuple[int, Any]], shown: str) -> LogBlock:
        """These rows, with their numbers."""
        return LogBlock(lambda: self.located(iter(rows), shown), rows=len(rows))

    def arrays(
        self, given: Callable[[int, Domain], EventArray | None], columns: ColumnMap | None = None
    ) -> Columns | None:
        """The events of all inputs, from those of single columns; None where rows must tell.

        Parameters
        ----------
        columns: what they are for, where that differs from block to block.
        """
        columns = columns or self.columns
        assert columns is not None
        found = columns.arrays(given, self.pads)
        if found is not None and self.reading.null == "error":
            all_there = len(found) == len(self.domains) and all(each.present is None for each in found.values())
            return found if all_there else None
        return found

    @property
    def pads(self) -> bool:
        """Whether an empty field of a record is 0, false or the empty text."""
        return self.reading.null == "zero"

    @property
    def flat(self) -> bool:
        """Whether all single values in the events of all inputs are plain cells."""
        return bool(self.domains) and all(map(has_cells, self.domains.values()))

    @property
    def plain(self) -> bool:
        """Whether the events of all inputs have arrays."""
        return bool(self.domains) and all(map(has_arrays, self.domains.values()))
