"""CSV, read and written.

The rule of this format: the first line names the columns; an empty cell (or line) carries no event. A program with one
input may do without the header: a first line that is not the input's name is an event. Tuples and records are JSON
text in a cell.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING, Any, cast

from workbench.core.domain import Domain, Enum, Value
from workbench.core.program import Ported
from workbench.errors import InputError
from workbench.events.column_map import ColumnMap
from workbench.events.columns import arrow_type
from workbench.events.rows import InputEvents, LogBlock, RowReader, RowWriter
from workbench.events.values import UnreadableError, Words, from_text, short, to_text

if TYPE_CHECKING:
    from workbench.events.arrays import EventArray

SIZE = 1 << 23
"""Bytes that are read as a block."""


class CsvReader(RowReader):
    """Rows of cells under a header."""

    def rows(self, lines: Iterable[str], shown: str, first: int = 0) -> Iterator[tuple[int, list[str]]]:
        """As in every format; `first` lines of the file come before these."""
        found = csv.reader(lines, strict=True)
        try:
            for row in found:
                number = first + found.line_num
                if self.columns is not None or not self._is_header(row, f"{shown}:{number}"):
                    yield number, row
        except csv.Error as error:
            raise InputError(f"not a line of CSV: {error}", where=f"{shown}:{first + found.line_num}") from error

    def blocks(self, lines: io.TextIOWrapper, shown: str) -> Iterator[LogBlock]:
        """Whole lines in columns, as long as no cell is in quotes: it might go over several lines."""
        stream, first = cast(io.BufferedReader, lines.buffer), 0
        rest = stream.readline(SIZE) if self.plain and find_spec("pyarrow") else b""
        if (row := _only_row(rest)) and len(rest) < SIZE:
            if self._is_header(row, f"{shown}:1"):
                rest, first = b"", 1
            read = stream.read if stream.seekable() else stream.read1
            while data := read(SIZE):
                data = rest + data
                cut = data.rfind(b"\n") + 1
                whole, rest = data[:cut], data[cut:]
                if not _simple(whole) or len(rest) >= SIZE:
                    rest = data
                    break
                if whole:
                    yield LogBlock(partial(self._steps, io.BytesIO(whole), shown, first), partial(self._columns, whole))
                    first += whole.count(b"\n")
            else:  # nothing comes any more, and is not asked for again
                if rest:
                    yield LogBlock(partial(self._steps, io.BytesIO(rest), shown, first))
                return
        remaining = io.BufferedReader(_Replayed(rest, stream))
        yield LogBlock(partial(self._steps, remaining, shown, first))

    def _steps(self, stream: IO[bytes], shown: str, first: int) -> Iterator[InputEvents]:
        lines = io.TextIOWrapper(stream, "utf-8" if first else "utf-8-sig", newline="")
        return self.located(self.rows(lines, shown, first), shown)

    def _columns(self, lines: bytes) -> dict[str, EventArray] | None:
        """The columns of lines; None where Arrow finds less in them, or more, than we do."""
        import pyarrow as pa
        import pyarrow.compute as pc
        from pyarrow import csv as arrow

        from workbench.events.arrays import given_array

        assert self.columns is not None
        if b"0x" in lines or b"0X" in lines or not lines.isascii():  # Arrow knows such numbers
            return None
        used = {str(i): domain for i, domain in self.columns.used.items()}
        try:
            table = arrow.read_csv(
                pa.BufferReader(lines),
                arrow.ReadOptions(
                    column_names=[str(i) for i in range(len(self.columns.names))], block_size=len(lines) + 1
                ),
                arrow.ParseOptions(quote_char=False, ignore_empty_lines=False),
                arrow.ConvertOptions(
                    column_types={i: arrow_type(domain) for i, domain in used.items()},
                    include_columns=list(used),
                    null_values=[""],
                    true_values=["true"],
                    false_values=["false"],
                    strings_can_be_null=True,
                ),
            )
        except pa.ArrowInvalid:
            return None
        keys = [table[i] for i, domain in used.items() if isinstance(domain, Words)]
        if any(pc.any(pc.utf8_is_space(column)).as_py() for column in keys):
            return None  # a cell of spaces is empty
        return self.arrays(lambda i, domain: given_array(domain, table[str(i)].combine_chunks()))

    def cells(self, row: Sequence[str]) -> Sequence[str]:
        assert self.columns is not None
        if row:
            see_width(row, len(self.columns.names))
        return row

    def cell(self, cell: str, domain: Domain) -> Value | None:
        return from_text(cell, domain) if cell.strip() else None

    def shown(self, cell: str) -> str:
        return f"'{short(cell)}'"

    def _is_header(self, row: Sequence[str], where: str) -> bool:
        """Whether this first line is one; the columns are known then."""
        try:
            if self._headerless(row):
                self.open(ColumnMap((str(self.only),), {str(self.only): 0}, self.domains))
                return False
            self.opened(names(row))
        except InputError as error:
            raise error.retold(where=where) from error
        return True

    def _headerless(self, row: Sequence[str]) -> bool:
        """Whether this first line is an event of the only input already."""
        if self.only is None or len(row) > 1 or self.reading.columns or names(row) == [self.only]:
            return False
        try:
            if row:
                self.cell(row[0], self.domains[self.only])
        except UnreadableError as error:
            raise InputError(
                f"the first line '{short(row[0])}' is neither the input's name '{self.only}' nor "
                f"a value of {self.domains[self.only]}",
            ) from error
        return True


def _only_row(line: bytes) -> list[str] | None:
    """The cells of a line, which may be in quotes; None where it is no whole row beyond doubt."""
    if not _simple(line.replace(b'"', b"")):
        return None
    try:
        (row,) = csv.reader([line.decode("utf-8-sig")], strict=True)
    except (csv.Error, UnicodeDecodeError, ValueError):
        return None
    return row


def _simple(lines: bytes) -> bool:
    """Whether each line is a row, and each part of it between commas a cell."""
    return not (b'"' in lines or b"\0" in lines or lines.replace(b"\r\n", b"").count(b"\r"))


class _Replayed(io.RawIOBase):
    """Bytes that have been read of a stream, and what comes after them."""

    def __init__(self, begun: bytes, stream: io.BufferedReader) -> None:
        self._begun, self._stream = io.BytesIO(begun), stream

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        return self._begun.readinto(room) or self._stream.readinto1(room)


def names(row: Sequence[str]) -> list[str]:
    """The names in a header."""
    return [cell.strip() for cell in row]


def see_width(row: Sequence[str], width: int) -> None:
    """InputError where a row has not as many cells as the header."""
    if len(row) != width:
        raise InputError(f"this line has {len(row)} cells, the header has {width}")


class CsvWriter(RowWriter):
    """The header comes with the first row: what fails before it writes nothing."""

    def __init__(self, program: Ported, stream: IO[str], *, idle: bool = False, shown: str = "") -> None:
        super().__init__(program, stream, idle=idle, shown=shown)
        self.csv, self.begun = csv.writer(stream, lineterminator="\n"), False

    def end(self) -> None:
        if not self.begun:
            self.csv.writerow(self.domains)
            self.begun = True

    def row(self, events: Mapping[str, Value]) -> None:
        self.end()
        if events or len(self.domains) > 1:
            self.csv.writerow([to_text(events[n], d) if n in events else "" for n, d in self.domains.items()])
        else:  # a row with one empty cell: csv would write "" there, which reads as a text
            self.stream.write("\n")

    def table(self, table: Any) -> None:
        import pyarrow as pa
        from pyarrow import csv as arrow

        raw = getattr(self.stream, "buffer", None)
        if raw is None or any(isinstance(domain, Enum) for domain in self.domains.values()):
            super().table(table)
            return
        for i, column in enumerate(table.columns):
            if pa.types.is_floating(column.type):  # Arrow writes other digits than Python
                cells = [None if value is None else repr(value) for value in column.to_pylist()]
                table = table.set_column(i, table.column_names[i], pa.array(cells, pa.string()))
        self.end()
        self.stream.flush()
        arrow.write_csv(table, raw, arrow.WriteOptions(include_header=False, quoting_style="none"))
