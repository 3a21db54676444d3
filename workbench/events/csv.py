"""CSV, read and written.

The rule of this format: the first line names the inputs; an empty cell (or line) carries no event. A program with one
input may do without the header: a first line that is not the input's name is an event. Tuples and records are JSON
text in a cell.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from workbench.core.domain import Domain, Texts, Value
from workbench.errors import InputError, WorkbenchError
from workbench.events import lines as lines_of
from workbench.events.clock import Times
from workbench.events.column_map import ColumnMap, see_inputs
from workbench.events.columns import arrow_type
from workbench.events.files import not_text
from workbench.events.lines import BOM, BegunRow, arriving, count_rows, is_text, whole_rows
from workbench.events.parts import FilePart, parts_of_lines
from workbench.events.rows import InputEvents, LogBlock, RowReader
from workbench.events.values import UnreadableError, from_text, short

if TYPE_CHECKING:
    from workbench.events.arrays import EventArray


PIECE = 1 << 15
"""Bytes that are read at a time where some rows are odd."""


class _Rows(NamedTuple):
    """Rows that are found in a text."""

    rows: list[tuple[int, list[str] | InputError]]
    """With the number of the line in which each ends."""
    lines: int
    used: int
    """Bytes that they take."""
    error: WorkbenchError | None
    """What ends them."""


class CsvReader(RowReader):
    """Rows of cells under a header."""

    between = ","
    _many: frozenset[str] = frozenset()
    """The columns in which there are many different texts, which are told apart later."""
    _odd = False
    """Whether some rows were no columns."""

    def rows(
        self, lines: Iterable[str], shown: str, first: int = 0, *, whole: bool = True
    ) -> Iterator[tuple[int, list[str] | InputError]]:
        """As in every format; an error stands for a row that is none.

        Parameters
        ----------
        first: how many lines of the file come before these.
        whole: whether nothing comes after them.
        """
        kept = None if self.reading.bad_rows == "error" else KeptLines(lines)
        found = csv.reader(kept or lines, strict=True, delimiter=self.between)
        while True:
            try:
                for row in found:
                    number = first + (kept.number if kept else found.line_num)
                    row = KeptRow(row, kept.taken()) if kept else row
                    if self.columns is not None or not self._is_header(row, f"{shown}:{first + 1}"):
                        yield number, row
                return
            except csv.Error as error:
                problem = InputError(f"not a line of CSV: {error}")
                self.tally.exact = False  # its lines are rows, or none
                if kept is None:
                    raise problem.retold(where=f"{shown}:{first + found.line_num}") from error
                if kept.over and not whole:
                    return
                text = kept.first()
                yield first + kept.number, OddLine(problem.what, text)

    def text(self, number: int, row: object) -> str:
        assert isinstance(row, KeptRow | OddLine)
        return row.text

    def blocks(self, lines: io.TextIOWrapper, shown: str) -> Iterator[LogBlock]:
        """Rows that are there, in columns where it is beyond doubt what the rows are."""
        first, begun_row = 0, BegunRow(shown)
        for data, last in arriving(cast(io.BufferedReader, lines.buffer)):
            rest = begun_row.followed(data, last=last)
            if rest is None:
                continue
            if not first:
                rest = rest.removeprefix(BOM)
            if last and rest and not rest.endswith(b"\n"):
                rest += b"\n"
            if self.columns is None:
                begun = self._header(rest, shown, last=last)
                if begun is None:
                    begun_row.keep(rest)
                    continue
                first, rest = begun[0] + self.part.skipped, rest[begun[1] :]
            cut = whole_rows(rest, self.between)
            if cut is None or (last and cut < len(rest)):
                found = self._found(rest, shown, first, last=last)
                if found.rows or found.error:
                    yield LogBlock(partial(self._told, found, shown), rows=len(found.rows))
                    if found.error:
                        return
                first, rest = found.lines, rest[found.used :]
            elif cut:
                for block in self._pieces(rest[:cut]):
                    yield LogBlock(
                        partial(self._steps, block, shown, first),
                        partial(self._arrays, block),
                        partial(self._lists, block),
                        rows=count_rows(block),
                    )
                    first += block.count(b"\n")
                rest = rest[cut:]
            begun_row.keep(rest)

    def _pieces(self, rows: bytes) -> Iterator[bytes]:
        """Whole rows: all, or some at a time where there have been odd ones, which others then need not go with."""
        while self._odd and len(rows) > PIECE and (cut := whole_rows(rows[:PIECE], self.between)):
            yield rows[:cut]
            rows = rows[cut:]
        yield rows

    def parts(self, file: IO[bytes], shown: str, size: int) -> Iterator[FilePart]:
        data = file.read(size)
        mark = len(BOM) if data.startswith(BOM) else 0
        begun = self._header(data[mark:], shown, last=len(data) < size)
        header = data[: mark + begun[1]] if begun else b""
        return parts_of_lines(file, size, header, lambda rows: whole_rows(rows, self.between) if begun else None)

    def _header(self, data: bytes, shown: str, *, last: bool) -> tuple[int, int] | None:
        """The lines and the bytes that the names of the columns take, if any; None where they have not come yet."""
        whole = io.BytesIO(data[: data.rfind(b"\n") + 1])
        taken, there = itertools.tee(line for lines in whole for line in lines.splitlines(keepends=True))
        found = csv.reader(map(bytes.decode, there), strict=True, delimiter=self.between)
        try:
            row = next(found, None)
        except csv.Error as error:
            if next(there, None) is None and not last:
                return None
            raise InputError(f"not a line of CSV: {error}", where=f"{shown}:{found.line_num}") from error
        if row is None:
            return None
        begins = self._is_header(row, f"{shown}:1")
        return (found.line_num, sum(map(len, itertools.islice(taken, found.line_num)))) if begins else (0, 0)

    def _found(self, data: bytes, shown: str, first: int, *, last: bool) -> _Rows:
        """The rows of a text, but for one at its end that may go on."""
        texts = data[: data.rfind(b"\n") + 1].splitlines(keepends=True)
        taken = 0

        def lines() -> Iterator[str]:
            nonlocal taken
            for taken, text in enumerate(texts, 1):  # noqa: B007
                yield text.decode()
            taken += 1

        rows: list[tuple[int, list[str] | InputError]] = []
        try:
            for row in self.rows(lines(), shown, first, whole=last):
                rows.append(row)
        except (InputError, UnicodeDecodeError) as error:
            if taken <= len(texts) or last:
                told = error if isinstance(error, InputError) else not_text(error, f"{shown}:{first + taken}")
                return _Rows(rows, first + taken, len(data), told)
        used = rows[-1][0] if rows else first
        return _Rows(rows, used, sum(map(len, texts[: used - first])), None)

    def _told(self, found: _Rows, shown: str) -> Iterator[InputEvents]:
        yield from self.located(iter(found.rows), shown)
        if found.error:
            raise found.error

    def _steps(self, block: bytes, shown: str, first: int) -> Iterator[InputEvents]:
        table = self._table(block) if self.flat else None
        steps = None if table is None else self.steps_of(lambda i: table[str(i)])
        if steps is not None:
            return steps
        if self._odd and len(block) > PIECE and len(pieces := list(self._pieces(block))) > 1:
            return itertools.chain.from_iterable(self._pieced(pieces, shown, first))
        lines = io.TextIOWrapper(io.BytesIO(block), "utf-8", newline="")
        return self.located(self.rows(lines, shown, first), shown)

    def _pieced(self, pieces: Sequence[bytes], shown: str, first: int) -> Iterator[Iterator[InputEvents]]:
        for piece in pieces:
            if self.tally.rows == self.reading.head:  # the last row that is asked for was a bad one
                return
            yield self._steps(piece, shown, first)
            first += piece.count(b"\n")

    def _lists(self, block: bytes) -> Mapping[str, list[Value]] | None:
        table = self._table(block) if self.flat else None
        return self.lists_of(None if table is None else lambda i: table[str(i)])

    def _arrays(self, block: bytes) -> dict[str, EventArray] | None:
        if not self.plain:
            return None
        table = self._table(block)
        if table is None:
            return None
        import pyarrow as pa

        from workbench.events.arrays import given_array, given_texts

        def given(place: int, domain: Domain) -> EventArray | None:
            column = table[str(place)].combine_chunks()
            apart = type(domain) is Texts and pa.types.is_string(column.type)
            return given_texts(column) if apart else given_array(domain, column, stored=True)

        return self.arrays(given)

    def _table(self, lines: bytes) -> Any:
        """The columns that are used, by position; None where Arrow finds less in the lines, or more, than we do."""
        if len(lines) < lines_of.FEW or lines.startswith(BOM) or not find_spec("pyarrow") or not is_text(lines):
            return None
        import pyarrow as pa

        from workbench.events.tables import are_spelt, blank, many_texts, odd_floats

        assert self.columns is not None
        types = {str(i): arrow_type(domain) for i, domain in self.columns.used.items()}
        letters = b"x" in lines or b"X" in lines  # which are found sooner
        if letters and pa.int64() in types.values() and (b"0x" in lines or b"0X" in lines):  # Arrow knows such numbers
            return None
        texts, used = pa.dictionary(pa.int32(), pa.string()), self.columns.used  # hardly a time occurs twice
        named = {i for i, kind in types.items() if pa.types.is_string(kind) and not isinstance(used[int(i)], Times)}
        named -= self._many
        table = self._parsed(lines, {i: texts if i in named else kind for i, kind in types.items()})
        if table is None or blank(table):
            self._odd = True
            return None
        self._many |= {i for i in named if many_texts(table[i])}
        if odd := odd_floats(table):
            spelt = self._parsed(lines, dict.fromkeys(odd, pa.string()))
            return table if spelt is not None and are_spelt(table, spelt) else None
        return table

    def _parsed(self, lines: bytes, types: Mapping[str, Any]) -> Any:
        """Columns of these types, by position; None where Arrow finds others."""
        import pyarrow as pa
        from pyarrow import csv as arrow

        assert self.columns is not None
        quoted = b'"' in lines
        names = [str(i) for i in range(len(self.columns.names))]
        try:
            pa.enable_signal_handlers(False)  # its own would take a signal for itself, and may lose it
            return arrow.read_csv(
                pa.BufferReader(lines),
                arrow.ReadOptions(use_threads=False, column_names=names, block_size=len(lines) + 1),
                arrow.ParseOptions(
                    delimiter=self.between, quote_char='"' if quoted else False, newlines_in_values=quoted,
                    ignore_empty_lines=False,
                ),
                arrow.ConvertOptions(
                    column_types=dict(types),
                    include_columns=list(types),
                    null_values=[""],
                    true_values=["true", "True", "TRUE", "1"],
                    false_values=["false", "False", "FALSE", "0"],
                    strings_can_be_null=True,
                ),
            )  # fmt: skip
        except pa.ArrowInvalid:
            return None
        finally:
            pa.enable_signal_handlers(True)

    def cells(self, row: Sequence[str] | InputError) -> Sequence[str]:
        assert self.columns is not None
        if isinstance(row, InputError):
            raise row
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
            if self.reading.header:
                self.opened(self.reading.header)
                return False
            if self._headerless(row):
                self.open(ColumnMap((str(self.only),), {str(self.only): 0}, self.domains))
                return False
            self.opened(names(row))
        except InputError as error:
            known = {path.rpartition(".")[2] for path in see_inputs(self.ports, self.reading)}
            hint = error.hint
            if known.isdisjoint(names(row)) and not self.reading.columns:
                more = "--header A,B,... names the columns of rows without a line of names"
                hint = f"{hint}; {more}" if hint else more
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
            raise InputError(
                f"the first line '{short(row[0])}' is neither the input's name '{self.only}' nor "
                f"a value of {self.domains[self.only]}",
            ) from error
        return True


class KeptRow(list[str]):
    """The cells of a row.

    Attributes
    ----------
    text: as it stands in the file.
    """

    def __init__(self, cells: Iterable[str], text: str) -> None:
        super().__init__(cells)
        self.text = text


class OddLine(InputError):
    """A line that is no row; `text` is it as it stands in the file."""

    def __init__(self, what: str, text: str) -> None:
        super().__init__(what)
        self.text = text


class KeptLines:
    """Lines of which those of the last row are known; of a bad row only the first is given up.

    Attributes
    ----------
    number: of the last line that was taken.
    over: whether there are no more.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._source, self._again, self._lines = iter(lines), list[str](), list[str]()
        self.number, self.over = 0, False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            line = self._again.pop() if self._again else next(self._source)
        except StopIteration:
            self.over = True
            raise
        self._lines.append(line)
        self.number += 1
        return line

    def taken(self) -> str:
        """The lines of a row."""
        found, self._lines = "".join(self._lines), []
        return found.rstrip("\r\n")

    def first(self) -> str:
        """The first of them; the others are read again."""
        bad, *others = self._lines
        self._again += reversed(others)
        self.number -= len(others)
        self._lines, self.over = [], False
        return bad.rstrip("\r\n")


def names(row: Sequence[str]) -> list[str]:
    """The names in a header."""
    return [cell.strip() for cell in row]


def see_width(row: Sequence[str], width: int) -> None:
    """InputError where a row has not as many cells as the header."""
    if len(row) != width:
        raise InputError(f"this line has {len(row)} cells, the header has {width}")


class TsvReader(CsvReader):
    """The same with tabs."""

    between = "\t"
