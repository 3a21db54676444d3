"""Lines as Spark's workers get them, as the rows of a log: the key, the order, the place, and an event per input.

The rule of this module: lines are read as `events` reads those of a file; what is known here is where they lie.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from workbench.core.domain import Domain, Value
from workbench.core.program import Port, Ported, Ports
from workbench.errors import DomainError, InputError
from workbench.events.column_map import match
from workbench.events.columns import Where, plain_integers, to_column
from workbench.events.csv import CsvReader, names, see_width
from workbench.events.jsonl import JsonReader, read_line
from workbench.events.order import order_columns
from workbench.events.reading import Reading
from workbench.events.rows import InputEvents
from workbench.events.values import Words, short
from workbench.executors.spark.carry import carried
from workbench.executors.spark.runner import Layout, place_of

T = TypeVar("T")
U = TypeVar("U")


class _Piece(NamedTuple):
    """Lines of one block of one file that come together."""

    lines: list[bytes]
    path: str
    file: Any
    """An Arrow scalar: what the layout calls the file by."""
    block: int

    def numbered(self, first: int) -> list[tuple[int, str]]:
        """The lines as texts, with their numbers in the block; Spark itself would change what is not UTF-8."""
        found = []
        for number, line in enumerate(self.lines, first):
            try:
                found.append((number, line.decode()))
            except UnicodeDecodeError as error:
                raise InputError(
                    f"this is not UTF-8 text: {short(repr(line)[1:])}",
                    where=place_of(self.path, self.block, number),
                    hint="convert the file: iconv -f latin1 -t utf-8, for example",
                ) from error
        return found


def _pieces(batch: Any) -> Iterator[_Piece]:
    import numpy as np

    lines = batch.column(0).to_pylist()
    paths, blocks = (batch.column(i).dictionary_encode() for i in (1, 3))
    path, block = (column.indices.to_numpy() for column in (paths, blocks))
    cuts: Any = np.flatnonzero((path[1:] != path[:-1]) | (block[1:] != block[:-1])) + 1
    for first, last in itertools.pairwise([0, *cuts.tolist(), len(lines)]):
        if first < last:
            yield _Piece(lines[first:last], paths[first].as_py(), batch.column(2)[first], blocks[first].as_py())


class Parser:
    """Reads lines: the function for `mapInArrow`.

    What it gets is a line as bytes, the file's name, the number (or the name) to call the file by, and the byte at
    which the part of the file that it comes from begins.

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
            for piece in _pieces(batch):
                if part != (piece.path, piece.block):
                    part, row, header = (piece.path, piece.block), 0, self.header
                numbered = piece.numbered(row)
                row += len(numbered)
                if piece.block == 0 and numbered[0][0] == 0:
                    numbered[0] = (0, numbered[0][1].removeprefix("\ufeff"))
                    if self.format == "csv":
                        header = self.header_of(numbered.pop(0)[1], place_of(piece.path, 0, 0))
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

        lines = [line for _, line in numbered]
        words, events = self._csv(lines, header, where) if self.format == "csv" else self._json(lines, where)
        keys, count = words[self.layout.key], len(numbered)
        if None in keys:
            hint = "each row needs its key; filter the others out"
            raise InputError(f"the row has no key '{self.layout.key}'", where=where(keys.index(None)), hint=hint)
        order = [each for name in self.layout.orders for each in order_columns(name, words[name], where)]
        numbers = pa.array([number for number, _ in numbered], pa.int64())
        place = [pa.repeat(piece.file, count), pa.repeat(pa.scalar(piece.block, pa.int64()), count), numbers]
        titles = replace(self.layout, parts=len(order)).names(len(events))
        return pa.RecordBatch.from_arrays([pa.array(keys, pa.string()), *order, *place, *events], names=titles)

    def _csv(self, lines: list[str], header: Sequence[str], where: Where) -> tuple[dict[str, list[Any]], list[Any]]:
        """The words by column, and the columns of the inputs."""
        cells = _cells(lines, len(header), where)
        words = {
            name: [text if text.strip() else None for text in cells[header.index(name)]] for name in self.words.domains
        }
        reader = CsvReader(self.inputs)
        columns = match(header, self.inputs, Reading())
        reader.open(columns)
        rows: list[Sequence[str]] = []
        found = []
        for name, domain in self.inputs.domains.items():
            place = columns.inputs[name]
            column = plain_integers(domain, cells[place]) if isinstance(place, int) else None
            if column is None:
                rows = rows or list(zip(*cells, strict=True))
                column = _column(name, domain, _each(reader.takers[name], rows, where), where)
            found.append(column)
        return words, found

    def _json(self, lines: list[str], where: Where) -> tuple[dict[str, list[Any]], list[Any]]:
        words, inputs = JsonReader(self.words), JsonReader(self.inputs)

        def read(line: str) -> tuple[InputEvents, InputEvents]:
            data = read_line(line)
            if not isinstance(data, dict):
                raise words.no_object(line)
            found = words.events(words.cells_of(data, line))
            return found, inputs.events(inputs.cells_of(data, line))

        rows = _each(read, lines, where)
        made = {name: [row.get(name) for row, _ in rows] for name in self.words.domains}
        domains = self.inputs.domains.items()
        return made, [_column(name, domain, [row.get(name) for _, row in rows], where) for name, domain in domains]


def _each(read: Callable[[T], U], rows: Sequence[T], where: Where) -> list[U]:
    found = []
    for i, row in enumerate(rows):
        try:
            found.append(read(row))
        except InputError as error:
            raise error.retold(where=where(i)) from error
    return found


def _column(name: str, domain: Domain, values: Sequence[Value | None], where: Where) -> Any:
    """Events of an input as an Arrow array; InputError for a number that is none of a column's."""
    try:
        return to_column(domain, values, f"input '{name}'", where)
    except DomainError as error:
        raise InputError(error.what, where=error.where, hint=error.hint) from error


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
            see_width(row, width)
        except csv.Error as error:
            hint = "cells with line breaks need Parquet"
            raise InputError(f"not a line of CSV: {error}: {short(line)}", where=where(i), hint=hint) from error
        except InputError as error:
            raise error.retold(where=where(i)) from error
    raise AssertionError("one of the lines is wrong")
