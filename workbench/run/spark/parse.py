"""Lines of CSV and JSON as the rows of a log: the key, the order, the place, and an event per input.

The rule of this module: as in `backends/events`, nothing is guessed and nothing skipped; what cannot be read is an
error that names the file and the line. Lines are parsed by the same functions.
"""

from __future__ import annotations

import csv
import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from workbench.core.domain import FLOAT, Domain, Integers, Range, Value
from workbench.errors import InputError, did_you_mean
from workbench.events.arrow import kind, to_column
from workbench.events.values import (
    INTEGER,
    NUMBER,
    UnreadableError,
    from_json,
    from_text,
    parse_json,
    short,
)
from workbench.run.spark.carry import carried
from workbench.run.spark.runner import Layout, place_of

ORDER_TYPES = "o0 double, o1 long, o2 string"
"""What one column of texts becomes, to be ordered by: a number (infinite for a text), it as an integer, the text."""

WORD = Range(-(2**63), 2**63 - 1)
PLAIN = r"^-?[0-9]{1,18}$"
Where = Callable[[int], str]


class _Piece(NamedTuple):
    """Lines of one block of one file that come together."""

    lines: list[str] | list[str | bytes]
    """Bytes are a line that is not UTF-8."""
    path: str
    file: Any
    """An Arrow scalar: what the layout calls the file by."""
    block: int


def _pieces(batch: Any) -> Iterator[_Piece]:
    import numpy as np

    lines = _decoded(batch.column(0))
    paths, blocks = (batch.column(i).dictionary_encode() for i in (1, 3))
    path, block = (column.indices.to_numpy() for column in (paths, blocks))
    cuts: Any = np.flatnonzero((path[1:] != path[:-1]) | (block[1:] != block[:-1])) + 1
    for first, last in itertools.pairwise([0, *cuts.tolist(), len(lines)]):
        if first < last:
            yield _Piece(lines[first:last], paths[first].as_py(), batch.column(2)[first], blocks[first].as_py())


def _decoded(column: Any) -> list[str] | list[str | bytes]:
    """Lines as texts, those as bytes that are not UTF-8 (which Spark itself would change without a word)."""
    import pyarrow as pa

    try:
        texts: list[str] = column.cast(pa.string()).to_pylist()
        return texts
    except pa.ArrowInvalid:
        return [_text(line) for line in column.to_pylist()]


def _text(line: bytes) -> str | bytes:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return line


class Parser:
    """Reads lines: the function for `mapInArrow`.

    What it gets is a line as bytes, the file's name, the number (or the name) to call the file by, and the byte at
    which the part of the file that it comes from begins.

    Parameters
    ----------
    format: `csv` or `jsonl`.
    header: the names of the columns of all files, if they are known; else each file is read from its beginning.
    """

    def __init__(
        self, format: str, inputs: Sequence[tuple[str, Domain]], layout: Layout, header: Sequence[str] | None = None
    ) -> None:
        self.format, self.inputs, self.layout, self.header = format, tuple(inputs), layout, header
        self.ordered = layout.orders[0] if layout.orders else None

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The rows of a partition."""
        with carried():
            yield from self._rows(batches)

    def _rows(self, batches: Iterator[Any]) -> Iterator[Any]:
        part, row, header = None, 0, self.header
        for batch in batches:
            for piece in _pieces(batch):
                if part != (piece.path, piece.block):
                    part, row, header = (piece.path, piece.block), 0, self.header
                numbered = _texts_only(piece, row)
                row += len(numbered)
                if piece.block == 0 and numbered[0][0] == 0:
                    numbered[0] = (0, numbered[0][1].removeprefix("\ufeff"))
                    if self.format == "csv":
                        header = self._header(numbered.pop(0)[1], place_of(piece.path, 0, 0))
                if self.format == "csv" and not header:
                    raise InputError(
                        "the file is read in blocks, and what its columns are stands in the first one",
                        where=place_of(piece.path, piece.block, 0),
                        hint="make spark.sql.files.maxPartitionBytes larger than the file",
                    )
                numbered = [(number, line) for number, line in numbered if line.strip()]
                if numbered:
                    yield self._made(piece, numbered, header or ())

    def _made(self, piece: _Piece, numbered: Sequence[tuple[int, str]], header: Sequence[str]) -> Any:
        """The rows of some lines of one file."""
        import pyarrow as pa

        def where(line: int) -> str:
            return place_of(piece.path, piece.block, numbered[line][0])

        key, order, events = self._columns([line for _, line in numbered], header, where)
        count = len(numbered)
        numbers = pa.array([number for number, _ in numbered], pa.int64())
        place = [pa.repeat(piece.file, count), pa.repeat(pa.scalar(piece.block, pa.int64()), count), numbers]
        names = replace(self.layout, parts=len(order)).names(len(events))
        return pa.RecordBatch.from_arrays([key, *order, *place, *events], names=names)

    def _columns(self, lines: list[str], header: Sequence[str], where: Where) -> tuple[Any, list[Any], list[Any]]:
        import pyarrow as pa

        keys: Sequence[str | None]
        order: Sequence[str] | None = None
        if self.format == "csv":
            cells = _cells(lines, len(header), where)
            at = {name: i for i, name in enumerate(header)}
            keys = [text if text.strip() else None for text in cells[at[self.layout.key]]]
            order = cells[at[self.ordered]] if self.ordered else None
            events = [_texts(name, domain, cells[at[name]], where) for name, domain in self.inputs]
        else:
            rows = [_object(line, i, where) for i, line in enumerate(lines)]
            keys = [_word(row.get(self.layout.key), self.layout.key, i, where) for i, row in enumerate(rows)]
            if self.ordered:
                given = [_word(row.get(self.ordered), self.ordered, i, where) for i, row in enumerate(rows)]
                order = ["" if text is None else text for text in given]
            events = [_data(name, domain, [row.get(name) for row in rows], where) for name, domain in self.inputs]
        if None in keys:
            hint = "each row needs its key; filter the others out"
            raise InputError(f"the row has no key '{self.layout.key}'", where=where(keys.index(None)), hint=hint)
        return pa.array(keys, pa.string()), [] if order is None else _order(self.ordered, order, where), events

    def _header(self, line: str, where: str) -> list[str]:
        found = header_of(line, [self.layout.key, *self.layout.orders], [n for n, _ in self.inputs], where)
        if self.header is not None and list(self.header) != found:
            shown = ", ".join(self.header)
            raise InputError("its columns are not those of the other files", where=where, hint=f"they have: {shown}")
        return found


def _texts_only(piece: _Piece, first: int) -> list[tuple[int, str]]:
    """The lines with their numbers in the block."""
    numbered = []
    for number, line in enumerate(piece.lines, first):
        if isinstance(line, bytes):
            raise InputError(
                f"this is not UTF-8 text: {short(repr(line)[1:])}",
                where=place_of(piece.path, piece.block, number),
                hint="convert the file: iconv -f latin1 -t utf-8, for example",
            )
        numbered.append((number, line))
    return numbered


def header_of(line: str, others: Sequence[str], inputs: Sequence[str], where: str) -> list[str]:
    """The names of the columns of a CSV file, from its first line.

    Raises
    ------
    InputError: one that is needed is missing, or there twice.
    """
    names = [cell.strip() for cell in next(csv.reader([line.removeprefix("\ufeff")]), [])]
    for name in (*others, *inputs):
        what = f"for input '{name}'" if name in inputs else f"'{name}'"
        if name not in names:
            raise InputError(f"there is no column {what}", where=where, hint=did_you_mean(name, names))
        if names.count(name) > 1:
            raise InputError(f"two columns are called '{name}'", where=where)
    return names


def _cells(lines: list[str], width: int, where: Where) -> list[tuple[str, ...]]:
    """The columns of some lines."""
    try:
        rows = list(csv.reader(lines, strict=True))
        if len(rows) == len(lines) and set(map(len, rows)) <= {width}:
            return list(zip(*rows, strict=True))
    except csv.Error:
        pass
    for i, line in enumerate(lines):  # one of them is wrong
        try:
            (row,) = csv.reader([line], strict=True)
        except csv.Error as error:
            raise InputError(
                f"not a line of CSV: {error}: {short(line)}",
                where=where(i),
                hint="cells with line breaks need Parquet",
            ) from error
        if len(row) != width:
            raise InputError(f"this line has {len(row)} cells, the header has {width}", where=where(i))
    raise AssertionError("one of the lines is wrong")


def _object(line: str, row: int, where: Where) -> dict[str, Any]:
    try:
        data = parse_json(line)
    except ValueError as error:
        raise InputError(str(error), where=where(row)) from error
    if not isinstance(data, dict):
        raise InputError(f"expected an object with the key and the inputs, not {short(line)}", where=where(row))
    return data


def _word(value: Any, name: str | None, row: int, where: Where) -> str | None:
    """The value of a key or of what orders rows, as a text."""
    if isinstance(value, dict | list):
        raise InputError(f"'{name}' is {short(json.dumps(value))}, not a text or a number", where=where(row))
    return value if value is None or isinstance(value, str) else json.dumps(value)


# --- events ---------------------------------------------------------------------------------------------------


def _texts(name: str, domain: Domain, cells: Sequence[str], where: Where) -> Any:
    """Cells of CSV as a column of events."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind(domain) == "long":
        given = pa.array(cells, pa.string())
        plain = pc.match_substring_regex(given, PLAIN)
        if pc.all(pc.or_(plain, pc.equal(given, ""))).as_py():
            return pc.if_else(plain, given, pa.scalar(None, pa.string())).cast(pa.int64())
    known: dict[str, Value] = {}
    values = []
    for i, cell in enumerate(cells):
        if cell not in known:
            try:
                known[cell] = from_text(cell, domain) if cell.strip() else None
            except UnreadableError as error:
                raise error.refusal(f"column '{name}'", f"'{short(cell)}'", where(i)) from error
        values.append(known[cell])
    return _column(name, domain, values, where)


def _data(name: str, domain: Domain, items: Sequence[Any], where: Where) -> Any:
    """Values of JSON as a column of events."""
    values = []
    for i, item in enumerate(items):
        try:
            values.append(None if item is None else from_json(item, domain))
        except UnreadableError as error:
            raise error.refusal(f"input '{name}'", short(json.dumps(item)), where(i)) from error
    return _column(name, domain, values, where)


def _column(name: str, domain: Domain, values: Sequence[Value], where: Where) -> Any:
    if isinstance(domain, Integers):
        for i, value in enumerate(values):
            if value is not None and value not in WORD:
                shown = short(str(value))
                raise InputError(
                    f"input '{name}': {shown} is no whole number of 64 bits, which Spark has for int",
                    where=where(i),
                    hint="run it without Spark",
                )
    return to_column(domain, values, name)


def _order(name: str | None, texts: Sequence[str], where: Where) -> list[Any]:
    """The columns by which rows are ordered, from texts: as numbers, or as texts."""
    import pyarrow as pa
    import pyarrow.compute as pc

    given = pa.array(texts, pa.string())
    if pc.all(pc.match_substring_regex(given, PLAIN)).as_py():
        whole = given.cast(pa.int64())
        return [whole.cast(pa.float64(), safe=False), whole, pa.array([""] * len(texts), pa.string())]
    found: list[tuple[float, int, str]] = []
    for i, text in enumerate(texts):
        stripped = text.strip()
        if not stripped:
            raise InputError(f"the row has no '{name}', which orders the rows", where=where(i))
        try:
            if INTEGER.fullmatch(stripped):
                number = from_text(stripped, WORD)
                found.append((float(number), number, ""))
            elif NUMBER.fullmatch(stripped) and not re.search("inf|nan", stripped):
                found.append((from_text(stripped, FLOAT), 0, ""))
            else:
                found.append((float("inf"), 0, text))
        except UnreadableError as error:
            raise error.refusal(f"'{name}'", short(stripped), where(i)) from error
    columns = zip(*found, strict=True)
    return [pa.array(c, t) for c, t in zip(columns, (pa.float64(), pa.int64(), pa.string()), strict=True)]
