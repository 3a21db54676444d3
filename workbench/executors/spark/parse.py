"""Lines as Spark's workers get them, as the rows of a log: the key, the order, the place, and an event per input.

The rule of this module: lines are read as `events` reads those of a file; what is known here is where they lie.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from workbench.core.domain import INT, Domain, Value
from workbench.core.program import Port, Ported, Ports
from workbench.errors import DomainError, InputError
from workbench.events.column_map import match
from workbench.events.columns import Where, arrow_type, as_json, to_column
from workbench.events.csv import CsvReader, names
from workbench.events.jsonl import JsonReader, read_line
from workbench.events.lines import BOM
from workbench.events.order import order_columns
from workbench.events.reading import Reading
from workbench.events.rows import InputEvents
from workbench.events.values import Words, short
from workbench.executors.spark.carry import carried
from workbench.executors.spark.runner import LOCAL_FILE, Layout, place_of

PlacedRow = tuple[InputEvents, InputEvents]
"""What says where a row belongs, and its events."""


class _Piece(NamedTuple):
    """Lines of one block of one file that come together.

    Attributes
    ----------
    lines: an Arrow array of their bytes.
    first: the number of the first one in the block.
    """

    lines: Any
    path: str
    block: int
    first: int

    def where(self, line: int) -> str:
        """The place of one of them."""
        return place_of(self.path, self.block, self.first + line)

    def joined(self) -> bytes:
        """All of them, each with its end."""
        import pyarrow as pa
        import pyarrow.compute as pc

        every = pa.ListArray.from_arrays(pa.array([0, len(self.lines)], pa.int32()), self.lines)
        return bytes(pc.binary_join(every, b"\n")[0].as_py()) + b"\n"

    def texts(self) -> list[tuple[int, str]]:
        """Those that are not blank, with their positions; Spark itself would change what is not UTF-8."""
        found = []
        for position, line in enumerate(self.lines.to_pylist()):
            try:
                found.append((position, line.decode()))
            except UnicodeDecodeError as error:
                raise InputError(
                    f"this is not UTF-8 text: {short(repr(line)[1:])}",
                    where=self.where(position),
                    hint="convert the file: iconv -f latin1 -t utf-8, for example",
                ) from error
        return [(position, line) for position, line in found if line.strip()]

    def behind(self, count: int) -> _Piece:
        """Those behind some of them."""
        return self._replace(lines=self.lines[count:], first=self.first + count)


def _parts(batch: Any) -> Iterator[tuple[str, int, Any]]:
    """The lines of a batch by their files and blocks."""
    import pyarrow.compute as pc

    lines, *places = batch.columns
    runs = [pc.run_end_encode(column).run_ends.to_pylist() for column in places]
    for first, last in itertools.pairwise(sorted({0, *itertools.chain(*runs)})):
        path, block = (column[first].as_py() for column in places)
        yield re.sub(LOCAL_FILE, "/", path), block, lines[first:last]


class Parser:
    """Reads lines: the function for `mapInArrow`.

    What it gets is a line as bytes, the file's name (none where there is but one file), and the byte at which the part
    of the file that it comes from begins. Arrow reads lines where it can; where there is doubt they are read one by
    one, which says what is wrong.

    Parameters
    ----------
    format: `csv` or `jsonl`.
    program: its inputs are columns.
    header: the names of the columns of all files, if they are known; else each file is read from its beginning.
    """

    def __init__(self, format: str, program: Ported, layout: Layout, header: Sequence[str] | None = None) -> None:
        self.format, self.layout, self.header = format, layout, header
        self.inputs = program.ports
        self.words = Ports("log", tuple(Port(name, Words()) for name in dict.fromkeys((layout.key, *layout.orders))))
        self.numbers = {path: number for number, path in enumerate(layout.files)}

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The rows of a partition."""
        with carried():
            yield from self._rows(batches)

    def header_of(self, line: str, where: str) -> list[str]:
        """The names of the columns of a CSV file, from its first line.

        Raises
        ------
        InputError: one that is needed is missing, or there twice; or they are not those of all files.
        """
        found = names(next(csv.reader([line.removeprefix("\ufeff")]), []))
        try:
            for ports in (self.words, self.inputs):
                match(found, ports, Reading())
        except InputError as error:
            raise error.retold(where=where) from error
        if self.header is not None and list(self.header) != found:
            shown = ", ".join(self.header)
            raise InputError("its columns are not those of the other files", where=where, hint=f"they have: {shown}")
        return found

    def _rows(self, batches: Iterator[Any]) -> Iterator[Any]:
        part, row, header = None, 0, self.header
        for batch in batches:
            for named, block, lines in _parts(batch):
                path = named or self.layout.files[0]
                if part != (path, block):
                    part, row, header = (path, block), 0, self.header
                piece = _Piece(lines, path, block, row)
                row += len(lines)
                if block == 0 and piece.first == 0:
                    header, piece = self._begun(piece)
                if self.format == "csv" and not header:
                    raise InputError(
                        "the file is read in blocks, and what its columns are stands in the first one",
                        where=piece.where(0),
                        hint="make spark.sql.files.maxPartitionBytes larger than the file",
                    )
                found = self._plainly(piece, header or ()) or self._one_by_one(piece, header or ())
                if found is not None:
                    yield found

    def _begun(self, piece: _Piece) -> tuple[Sequence[str] | None, _Piece]:
        """What the first line of a file says of the columns, and the lines behind it."""
        import pyarrow as pa

        first = pa.array([piece.lines[0].as_py().removeprefix(BOM)], pa.binary())
        if self.format != "csv":
            return self.header, piece._replace(lines=pa.concat_arrays([first, piece.lines[1:]]))
        ((_, text),) = piece._replace(lines=first).texts() or [(0, "")]
        return self.header_of(text, piece.where(0)), piece.behind(1)

    def _readers(self, header: Sequence[str]) -> list[Any]:
        """Those of what says where a row belongs, and of its events."""
        if self.format != "csv":
            return [JsonReader(self.words), JsonReader(self.inputs)]
        readers = [CsvReader(self.words), CsvReader(self.inputs)]
        for reader in readers:
            reader.open(match(header, reader.ports, Reading()))
        return readers

    def _plainly(self, piece: _Piece, header: Sequence[str]) -> Any:
        """The rows of some lines as Arrow reads them; None where there is doubt."""
        if any(map(as_json, self.inputs.domains.values())):
            return None
        import numpy as np
        import pyarrow as pa

        from workbench.events.buffers import shown_column

        data, count = piece.joined(), len(piece.lines)
        words, events = (reader.columns_in(data, count) for reader in self._readers(header))
        if words is None or events is None or any(column.null_count for column in words.values()):
            return None
        domains = self.inputs.domains.items()
        columns = [events[name] if name in events else pa.nulls(count, arrow_type(domain)) for name, domain in domains]
        return self._batch(piece, words, columns, shown_column(INT, np.arange(piece.first, piece.first + count)))

    def _one_by_one(self, piece: _Piece, header: Sequence[str]) -> Any:
        """The rows of some lines as our readers read them; None where there are none.

        Raises
        ------
        InputError: one cannot be read, and where it lies.
        """
        import pyarrow as pa

        words, inputs = self._readers(header)

        def cells(line: str) -> PlacedRow:
            row = _cells(line)
            return words.events(words.cells(row)), inputs.events(inputs.cells(row))

        def items(line: str) -> PlacedRow:
            data = read_line(line)
            if not isinstance(data, dict):
                raise words.no_object(line)
            return words.events(words.cells_of(data, line)), inputs.events(inputs.cells_of(data, line))

        texts = piece.texts()
        if not texts:
            return None

        def where(row: int) -> str:
            return piece.where(texts[row][0])

        rows = _each(cells if self.format == "csv" else items, [line for _, line in texts], where)
        told = {name: [row.get(name) for row, _ in rows] for name in self.words.domains}
        keys = told[self.layout.key]
        if None in keys:
            hint = "each row needs its key; filter the others out"
            raise InputError(f"the row has no key '{self.layout.key}'", where=where(keys.index(None)), hint=hint)
        for name in self.layout.orders:
            if None in told[name]:
                raise InputError(f"the row has no '{name}', which orders the rows", where=where(told[name].index(None)))
        domains = self.inputs.domains.items()
        columns = [_column(name, domain, [row.get(name) for _, row in rows], where) for name, domain in domains]
        numbers = pa.array([piece.first + position for position, _ in texts], pa.int64())
        return self._batch(
            piece, {name: pa.array(each, pa.string()) for name, each in told.items()}, columns, numbers, where
        )

    def _batch(self, piece: _Piece, words: Any, events: Sequence[Any], numbers: Any, where: Where | None = None) -> Any:
        """The columns of the layout; for a place that nobody tells, that of a line of the piece."""
        import pyarrow as pa

        order = [each for name in self.layout.orders for each in order_columns(name, words[name], where or piece.where)]
        file = self.numbers.get(piece.path, piece.path)
        kind = pa.string() if isinstance(file, str) else pa.int32()
        parts = {"file": pa.scalar(file, kind), "block": pa.scalar(piece.block)}
        place = [numbers if part == "row" else pa.repeat(parts[part], len(numbers)) for part in self.layout.places]
        titles = replace(self.layout, parts=len(order)).names(len(events))
        return pa.RecordBatch.from_arrays([words[self.layout.key], *order, *place, *events], names=titles)


def _each(read: Callable[[str], PlacedRow], lines: Sequence[str], where: Where) -> list[PlacedRow]:
    found = []
    for i, line in enumerate(lines):
        try:
            found.append(read(line))
        except InputError as error:
            raise error.retold(where=where(i)) from error
    return found


def _column(name: str, domain: Domain, values: Sequence[Value | None], where: Where) -> Any:
    """Events of an input as an Arrow array; InputError for a number that is none of a column's."""
    try:
        return to_column(domain, values, f"input '{name}'", where)
    except DomainError as error:
        raise InputError(error.what, where=error.where, hint=error.hint) from error


def _cells(line: str) -> list[str]:
    """The cells of a line."""
    try:
        (row,) = csv.reader([line], strict=True)
    except csv.Error as error:
        hint = "cells with line breaks need Parquet"
        raise InputError(f"not a line of CSV: {error}: {short(line)}", hint=hint) from error
    return row
