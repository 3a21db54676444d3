"""CSV, read and written.

The rule of this format: the first line names the inputs; an empty cell (or line) carries no event. A program with one
input may do without the header: a first line that is not the input's name is an event. Tuples and records are JSON
text in a cell.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from workbench.core.domain import Domain, Value
from workbench.core.program import TABLE, Ported
from workbench.core.readable import plural
from workbench.errors import InputError, WorkbenchError
from workbench.events import lines as lines_of
from workbench.events.account import Reporter
from workbench.events.batch import Columns, column_steps
from workbench.events.cells import certain_delimiter, csv_dialect, has_plain_cells, read_cell
from workbench.events.column_map import ColumnMap, column_option, match, see_inputs
from workbench.events.csv_writer import CsvWriter as CsvWriter
from workbench.events.files import not_text
from workbench.events.lines import (
    BOM,
    BegunRow,
    OddLine,
    RetainedLines,
    RetainedRow,
    arriving,
    count_rows,
    is_text,
    whole_rows,
)  # fmt: skip
from workbench.events.parts import FilePart, parts_of_lines
from workbench.events.patterns import PATTERN_OPTION
from workbench.events.reading_options import CELLS, LINES, Reading
from workbench.events.rows import InputEvents, LogBlock, RowReader
from workbench.events.table import FormatRow
from workbench.events.values import NUMBER, UnreadableError, from_text, short

if TYPE_CHECKING:
    from workbench.events.csv_tables import CsvTables

PIECE = 1 << 15
"""Number of bytes that are read at a time where some rows are odd."""
MAX_SPACES = 2
"""Maximum number of spaces in a name of a column; more are taken for a line of text, for hints."""


class _Rows(NamedTuple):
    """The rows found in a text."""

    rows: list[tuple[int, list[str] | InputError]]
    """The rows, each with the number of the line in which it ends."""
    lines: int
    used: int
    """The number of bytes of the rows."""
    error: WorkbenchError | None
    """The error that ends the rows."""


class CsvReader(RowReader):
    """A reader of rows of cells under a header."""

    between = ","
    _tables: CsvTables | None = None
    """The parser of rows under the header."""

    def __init__(self, program: Ported, reading: Reading | None = None, reporter: Reporter | None = None) -> None:
        super().__init__(program, reading, reporter)
        self.quote = '"' if self.reading.quote is None else self.reading.quote
        usual = ";" if self.reading.decimal == self.between else self.between
        self.between, self._is_plain = self.reading.delimiter or usual, has_plain_cells(self.reading)

    def begin(self, start: bytes) -> None:
        line, end, _ = start.removeprefix(BOM).partition(b"\n")
        if end and not self.reading.delimiter and not self.reading.header and self.between != "\t":
            text = line.decode(errors="replace").rstrip("\r")
            self.between = certain_delimiter(text, self.quote, self.between, self._count_fed)
            if self.between != "," and self.between in text:
                mark = "tabs" if self.between == "\t" else repr(self.between)
                what = f"cells are separated by {mark}, as the header shows"
                self.reporter.report_once(f"{what} (--delimiter names another one)")

    def _count_fed(self, names: Sequence[str]) -> int:
        """Return the number of inputs with columns of these names; less than 0: a required column is missing."""
        try:
            return len(match(names, self.ports, replace(self.reading, strict=False)).inputs)
        except InputError:
            return -1

    @property
    def _odd(self) -> bool:
        """Whether some rows could not be read as columns."""
        return self._tables is not None and self._tables.odd

    def rows(
        self, lines: Iterable[str], file_name: str, first: int = 0, *, whole: bool = True
    ) -> Iterator[tuple[int, list[str] | InputError]]:
        """Yield the rows as in every format; an error stands for a line that is not a row.

        Parameters
        ----------
        first: the number of lines of the file before these.
        whole: whether nothing comes after them.
        """
        line_buffer = None if self.reading.bad_rows == "error" else RetainedLines(lines)
        parser = csv.reader(line_buffer or lines, **csv_dialect(self.between, self.quote))
        while True:
            try:
                for row in parser:
                    number = first + (line_buffer.number if line_buffer else parser.line_num)
                    row = RetainedRow(row, line_buffer.pop_lines()) if line_buffer else row
                    if self.columns is not None or not self._is_header(row, self.place(file_name, first + 1)):
                        yield number, row
                return
            except csv.Error as error:
                problem = InputError(f"not a line of CSV: {error}")
                self.account.is_exact = False  # it is unknown which of its lines are rows
                if line_buffer is None:
                    raise problem.retold(where=self.place(file_name, first + parser.line_num)) from error
                if line_buffer.over and not whole:
                    return
                text = line_buffer.first()
                yield first + line_buffer.number, OddLine(problem.what, text)

    def text(self, number: int, row: object) -> str:
        assert isinstance(row, RetainedRow | OddLine)
        return row.text

    def blocks(self, lines: io.TextIOWrapper, file_name: str) -> Iterator[LogBlock]:
        """Yield blocks of the rows that have arrived, as columns where the rows are certain."""
        first, begun_row = 0, BegunRow(file_name)
        for data, last in arriving(cast(io.BufferedReader, lines.buffer)):
            rest = begun_row.append_bytes(data, last=last)
            if rest is None:
                continue
            if not first:
                rest = rest.removeprefix(BOM)
            if last and rest and not rest.endswith(b"\n"):
                rest += b"\n"
            if self.columns is None:
                header_size = self._header(rest, file_name, last=last)
                if header_size is None:
                    begun_row.keep(rest)
                    continue
                first, rest = header_size[0] + self.part.skipped, rest[header_size[1] :]
            cut = self._cut(rest)
            if cut is None or (last and cut < len(rest)):
                batch = self._find_rows(rest, file_name, first, last=last)
                if batch.rows or batch.error:
                    yield LogBlock(partial(self._read_rows, batch, file_name), rows=len(batch.rows))
                    if batch.error:
                        return
                first, rest = batch.lines, rest[batch.used :]
            elif cut:
                for block in self._pieces(rest[:cut]):
                    yield LogBlock(
                        partial(self._steps, block, file_name, first),
                        partial(self._arrays, block),
                        rows=count_rows(block, self.quote),
                    )
                    first += block.count(b"\n")
                rest = rest[cut:]
            begun_row.keep(rest)

    def _pieces(self, rows: bytes) -> Iterator[bytes]:
        """Split rows: into small pieces after odd ones have occurred, so that fewer rows are read singly."""
        while self._odd and len(rows) > PIECE and (cut := self._cut(rows[:PIECE])):
            yield rows[:cut]
            rows = rows[cut:]
        yield rows

    def _cut(self, rows: bytes) -> int | None:
        """Return the number of bytes that are whole rows; None in doubt."""
        return whole_rows(rows, self.between, self.quote)

    def parts(self, file: IO[bytes], file_name: str, size: int) -> Iterator[FilePart]:
        data = file.read(size)
        mark = len(BOM) if data.startswith(BOM) else 0
        header_size = self._header(data[mark:], file_name, last=len(data) < size)
        header = data[: mark + header_size[1]] if header_size else b""
        return parts_of_lines(file, size, header, lambda rows: self._cut(rows) if header_size else None)

    def _header(self, data: bytes, file_name: str, *, last: bool) -> tuple[int, int] | None:
        """Return the lines and the bytes of the header, 0 if there is none; None if it has not arrived completely."""
        whole = io.BytesIO(data[: data.rfind(b"\n") + 1])
        header_lines, there = itertools.tee(line for lines in whole for line in lines.splitlines(keepends=True))
        parser = csv.reader(map(bytes.decode, there), **csv_dialect(self.between, self.quote))
        try:
            row = next(parser, None)
        except csv.Error as error:
            if next(there, None) is None and not last:
                return None
            raise InputError(f"not a line of CSV: {error}", where=self.place(file_name, parser.line_num)) from error
        if row is None:
            return None
        begins = self._is_header(row, self.place(file_name, 1))
        return (parser.line_num, sum(map(len, itertools.islice(header_lines, parser.line_num)))) if begins else (0, 0)

    def _find_rows(self, data: bytes, file_name: str, first: int, *, last: bool) -> _Rows:
        """Return the rows of a text, except one at its end that may continue."""
        texts = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)
        line_count = 0

        def lines() -> Iterator[str]:
            nonlocal line_count
            for line_count, text in enumerate(texts, 1):  # noqa: B007
                yield text.decode()
            line_count += 1

        rows: list[tuple[int, list[str] | InputError]] = []
        try:
            for row in self.rows(lines(), file_name, first, whole=last):
                rows.append(row)
        except (InputError, UnicodeDecodeError) as error:
            if line_count <= len(texts) or last:
                problem = (
                    error
                    if isinstance(error, InputError)
                    else not_text(error, self.place(file_name, first + line_count))
                )
                return _Rows(rows, first + line_count, len(data), problem)
        used = rows[-1][0] if rows else first
        return _Rows(rows, used, sum(map(len, texts[: used - first])), None)

    def _read_rows(self, batch: _Rows, file_name: str) -> Iterator[InputEvents]:
        yield from self.located(iter(batch.rows), file_name)
        if batch.error:
            raise batch.error

    def _steps(self, block: bytes, file_name: str, first: int) -> Iterator[InputEvents]:
        columns = self._arrays(block) if self.flat else None
        if columns is not None:
            return column_steps(columns, self.domains)
        if self._odd and len(block) > PIECE and len(pieces := list(self._pieces(block))) > 1:
            return itertools.chain.from_iterable(self._read_pieces(pieces, file_name, first))
        lines = io.TextIOWrapper(io.BytesIO(block), "utf-8", newline="")
        return self.located(self.rows(lines, file_name, first), file_name)

    def _read_pieces(self, pieces: Sequence[bytes], file_name: str, first: int) -> Iterator[Iterator[InputEvents]]:
        for piece in pieces:
            if self.account.rows == self.reading.head:  # the last row of --head was a bad one
                return
            yield self._steps(piece, file_name, first)
            first += piece.count(b"\n")

    def _arrays(self, block: bytes) -> Columns | None:
        short = len(block) < lines_of.MIN_COLUMN_BYTES  # single rows are faster than pyarrow
        if not self.plain or short or block.startswith(BOM) or not find_spec("pyarrow") or not is_text(block):
            return None
        from workbench.events.csv_tables import CsvTables

        assert self.columns is not None
        self._tables = self._tables or CsvTables(self.columns, self.reading, self.between, self.quote)
        column_events = self._tables.events(block)
        return None if column_events is None else self.arrays(column_events)

    def cells(self, row: Sequence[str] | InputError) -> Sequence[str]:
        assert self.columns is not None
        if isinstance(row, InputError):
            raise row
        if row:
            see_width(row, len(self.columns.names))
        return row

    def cell(self, cell: str, domain: Domain) -> Value | None:
        if not self._is_plain:
            return read_cell(cell, domain, self.reading)
        return from_text(cell, domain) if cell.strip() else None

    def format_cell(self, cell: str) -> str:
        return f"'{short(cell)}'"

    def _is_header(self, row: Sequence[str], where: str) -> bool:
        """Whether this first line is a header; set the columns in either case."""
        try:
            if self.reading.header:
                self.set_columns(self.reading.header, where)
                return False
            if self._headerless(row):
                self.open(ColumnMap((str(self.only),), {str(self.only): 0}, self.domains))
                return False
            self.set_columns(names(row), where)
        except InputError as error:
            paths = see_inputs(self.ports, self.reading)
            known = [
                path.rpartition(".")[2] for path in paths if not any(each.startswith(f"{path}.") for each in paths)
            ]
            hint = error.hint
            if self.ports.kind != TABLE and not self.reading.columns and any(map(NUMBER.fullmatch, names(row))):
                called = [*known, *(f"column{i}" for i in range(len(known) + 1, len(row) + 1))][: len(row)]
                hint = f"if this file has no line of names, name its columns: --header {','.join(called)}"
            elif any(each.count(" ") > MAX_SPACES for each in row) and not row[0].startswith("#"):
                hint = f"if lines are text, not cells: {PATTERN_OPTION}" + f"; {hint}" * (len(row) > 1)
            raise InputError(error.what, where=where, hint=hint) from error
        return True

    def _headerless(self, row: Sequence[str]) -> bool:
        """Whether this first line is an event of the only input already."""
        if self.only is None or len(row) > 1 or self.reading.columns or names(row) == [self.only]:
            return False
        try:
            if row:
                self.cell(row[0], self.domains[self.only])
        except UnreadableError as error:
            name = row[0].strip()  # names with other characters would need quotes on a command line
            option = column_option(self.only, name, see_inputs(self.ports, self.reading))
            usual = f"read this column as the input: {option}" if name.isidentifier() else ""
            hint = self.ports.inputs[0].remedy or usual
            raise InputError(
                f"the first line '{short(row[0])}' is neither the input's name '{self.only}' nor "
                f"a value of {self.domains[self.only]}",
                hint="--comment '#' leaves out lines that begin with it" if name.startswith("#") else hint,
            ) from error
        return True


def names(row: Sequence[str]) -> list[str]:
    """Return the names in a header."""
    return [cell.strip() for cell in row]


def see_width(row: Sequence[str], width: int) -> None:
    """Raise InputError if a row does not have as many cells as the header."""
    if len(row) != width:
        hint = "put quotation marks around a cell that contains the delimiter" if len(row) > width else ""
        raise InputError(f"this line has {plural(len(row), 'cell')}, the header has {width}", hint=hint)


ROW = FormatRow(
    "csv",
    "a line of names, then one line per step; an empty cell means no event",
    (".csv",),
    CsvReader,
    CsvWriter,
    lambda _: True,
    text=True,
    takes=("header", *CELLS, *LINES),
    rank=0,
)
