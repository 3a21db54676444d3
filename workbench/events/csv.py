"""CSV, read and written.

The rule of this format: the first line names the inputs; an empty cell (or line) carries no event. A program with one
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

from workbench.core.domain import Enum, Value
from workbench.core.program import Ported
from workbench.errors import InputError
from workbench.events.columns import Where, arrow_type, plain_integers
from workbench.events.rows import InputEvents, LineReader, LogBlock, RowWriter
from workbench.events.values import UnreadableError, Words, from_text, short, to_text

if TYPE_CHECKING:
    from workbench.events.arrays import EventArray

SIZE = 1 << 23
"""Bytes that are read as a block."""


class CsvReader(LineReader):
    """Rows of cells under a header."""

    header: Sequence[str | None] | None = None
    """The input in each column; None before the first row."""

    def rows(self, lines: Iterable[str], shown: str, first: int = 0) -> Iterator[tuple[int, list[str]]]:
        """As in every format; `first` lines of the file come before these."""
        found = csv.reader(lines, strict=True)
        try:
            for row in found:
                yield first + found.line_num, row
        except csv.Error as error:
            raise InputError(f"not a line of CSV: {error}", where=f"{shown}:{first + found.line_num}") from error

    def blocks(self, lines: io.TextIOWrapper, shown: str) -> Iterator[LogBlock]:
        """Whole lines in columns, as long as no cell is in quotes: it might go over several lines."""
        stream, first = cast(io.BufferedReader, lines.buffer), 0
        rest = stream.readline(SIZE) if self.plain and find_spec("pyarrow") else b""
        if (row := _only_row(rest)) and len(rest) < SIZE:
            if next(self.located(iter([(1, row)]), shown), None) is None:
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

        assert self.header is not None
        if b"0x" in lines or b"0X" in lines or not lines.isascii():  # Arrow knows such numbers
            return None
        held = {str(i): name for i, name in enumerate(self.header) if name is not None}
        try:
            table = arrow.read_csv(
                pa.BufferReader(lines),
                arrow.ReadOptions(column_names=[str(i) for i in range(len(self.header))], block_size=len(lines) + 1),
                arrow.ParseOptions(quote_char=False, ignore_empty_lines=False),
                arrow.ConvertOptions(
                    column_types={i: arrow_type(self.domains[name]) for i, name in held.items()},
                    include_columns=list(held),
                    null_values=[""],
                    true_values=["true"],
                    false_values=["false"],
                    strings_can_be_null=True,
                ),
            )
        except pa.ArrowInvalid:
            return None
        found = {name: given_array(self.domains[name], table[i].combine_chunks()) for i, name in held.items()}
        keys = (table[i] for i, name in held.items() if isinstance(self.domains[name], Words))
        if any(pc.any(pc.utf8_is_space(column)).as_py() for column in keys):
            return None  # a cell of spaces is empty
        return None if None in found.values() else cast("dict[str, EventArray]", found)

    def step(self, row: Sequence[str]) -> InputEvents | None:
        if self.header is None:
            if not self._headerless(row):
                self.header = self.held(names(row))
                return None
            self.header = [self.only]
        if not row:
            return {}
        see_width(row, len(self.header))
        found: InputEvents = {}
        for name, cell in zip(self.header, row, strict=True):
            if name is not None and cell.strip():
                try:
                    found[name] = from_text(cell, self.domains[name])
                except UnreadableError as error:
                    raise refused(name, cell, error) from error
        return found

    def _headerless(self, row: Sequence[str]) -> bool:
        """Whether this first line is an event of the only input already."""
        if self.only is None or len(row) > 1 or names(row) == [self.only]:
            return False
        try:
            if row and row[0].strip():
                from_text(row[0], self.domains[self.only])
        except UnreadableError as error:
            raise InputError(
                f"the first line '{short(row[0])}' is neither the input's name '{self.only}' nor "
                f"a value of {self.domains[self.only]}",
            ) from error
        return True

    def values(self, name: str, rows: Sequence[str], where: Where) -> list[Value | None]:
        domain = self.domains[name]
        known: dict[str, Value] = {}  # cells that are alike are read once
        found = []
        for row, cell in enumerate(rows):
            if cell not in known:
                try:
                    known[cell] = from_text(cell, domain) if cell.strip() else None
                except UnreadableError as error:
                    raise refused(name, cell, error, where(row)) from error
            found.append(known[cell])
        return found

    def column(self, name: str, rows: Sequence[str], where: Where) -> Any:
        found = plain_integers(self.domains[name], rows)
        return super().column(name, rows, where) if found is None else found


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


def refused(name: str, cell: str, error: UnreadableError, where: str = "") -> InputError:
    """The error for a cell that cannot be read."""
    return error.refusal(f"column '{name}'", f"'{short(cell)}'", where)


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
