"""A file of Parquet in parts: row groups that are encoded apart, by any thread, and put one behind the other.

The rule of this module: all bytes are Arrow's, but for the places of the row groups in the file, which are moved, and
their number. So the file is the one that Arrow writes of the same tables. What Arrow says of a file at its end is
in Thrift's compact protocol [https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md], with
the fields of [https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift].
"""

from __future__ import annotations

from typing import IO, Any, NamedTuple

MAGIC = b"PAR1"
"""What begins a file, and ends it behind the length of what is said of it."""
TAIL = 4 + len(MAGIC)
ROWS, GROUPS = (3,), (4,)
"""Fields in what is said of a file: how many rows it has, and its row groups."""
PLACES = frozenset(
    [(4, 5), *((4, 1, field) for field in (2, 4, 6)), *((4, 1, 3, field) for field in (9, 10, 11, 14))]
)  # fmt: skip
"""Fields with places in the file: of a row group, of a column in it, of what is said of that."""
BOOLS, BINARY, LIST, SET, STRUCT = (1, 2), 8, 9, 10, 12
"""Kinds of values; those without a size of their own are whole numbers."""
SIZES = {1: 1, 2: 1, 3: 1, 7: 8}
"""Bytes of truth values in a list, of short numbers, and of floats."""


class FoundField(NamedTuple):
    """A field in what is said of a file.

    Attributes
    ----------
    start, end: where its value lies.
    value: a whole number as it is written, which is twice what it is; of a list, the number of its items.
    """

    path: tuple[int, ...]
    start: int
    end: int
    value: int


class ParquetPart(NamedTuple):
    """Row groups of which a file is made.

    Attributes
    ----------
    data: a file with them alone.
    end: where they end in it.
    footer: what is said of them behind that.
    fields: those in there that are of use, by where they end.
    """

    data: memoryview
    end: int
    footer: bytes
    fields: list[FoundField]

    def field(self, path: tuple[int, ...]) -> FoundField:
        """The one that is there once."""
        return next(each for each in self.fields if each.path == path)

    def groups(self, by: int) -> bytes:
        """What is said of the row groups if they lie so many bytes further on."""
        groups = self.field(GROUPS)
        made, at = bytearray(), groups.start
        for _, start, end, place in (each for each in self.fields if each.path in PLACES and each.value):
            made += self.footer[at:start] + _number(place + 2 * by)
            at = end
        return bytes(made + self.footer[at : groups.end])


class ParquetParts:
    """Writes parts that are made of tables into a file.

    Parameters
    ----------
    file: of bytes.
    schema: that of all tables, as Arrow has it.
    options: those of `pyarrow.parquet.ParquetWriter`.
    """

    def __init__(self, file: IO[bytes], schema: Any, **options: Any) -> None:
        self._file, self._schema, self._options = file, schema, options
        self._nothing = self.part(None)
        self._said, self._place = list[bytes](), 0
        self._rows = self._groups = 0

    def part(self, table: Any) -> ParquetPart:
        """The rows of a table, encoded."""
        import pyarrow as pa
        from pyarrow import parquet

        made = pa.BufferOutputStream()
        with parquet.ParquetWriter(made, self._schema, **self._options) as writer:
            if table is not None:
                writer.write_table(table)
        data = memoryview(made.getvalue())
        end = len(data) - TAIL - int.from_bytes(data[-TAIL : -len(MAGIC)], "little")
        footer = bytes(data[end:-TAIL])
        return ParquetPart(data, end, footer, _FieldFinder(footer).found)

    def append(self, part: ParquetPart) -> None:
        """Put it behind the others."""
        if not self._place:
            self._write(MAGIC)
        self._said.append(part.groups(self._place - len(MAGIC)))
        self._rows += part.field(ROWS).value
        self._groups += part.field(GROUPS).value
        self._write(part.data[len(MAGIC) : part.end])

    def close(self) -> None:
        """Say what is in the file."""
        self.append(self._nothing)
        footer, rows, groups = self._nothing.footer, self._nothing.field(ROWS), self._nothing.field(GROUPS)
        few = self._groups < 15
        head = bytes([self._groups << 4 | STRUCT]) if few else bytes([15 << 4 | STRUCT]) + _number(self._groups)
        said = b"".join(
            (footer[: rows.start], _number(self._rows), footer[rows.end : groups.start - 1], head, *self._said,
             footer[groups.end :])
        )  # fmt: skip
        self._write(said + len(said).to_bytes(4, "little") + MAGIC)

    def _write(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self._place += len(data)


class _FieldFinder:
    """Goes through what is said of a file."""

    def __init__(self, footer: bytes) -> None:
        self._footer, self._at = footer, 0
        self.found: list[FoundField] = []
        self._struct(())

    def _struct(self, path: tuple[int, ...]) -> None:
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._number() // 2
            if head & 15 not in BOOLS:  # the kind says which
                self._value(head & 15, (*path, number))

    def _value(self, kind: int, path: tuple[int, ...]) -> None:
        start, value = self._at, 0
        if kind == STRUCT:
            self._struct(path)
        elif kind in (LIST, SET):
            head = self._byte()
            value = head >> 4 if head >> 4 < 15 else self._number()
            start = self._at
            for _ in range(value):
                self._value(head & 15, path)
        elif kind in SIZES or kind == BINARY:
            size = SIZES.get(kind) or self._number()
            self._at += size
        else:
            value = self._number()
        if path in PLACES or (path in (ROWS, GROUPS) and kind != STRUCT):
            self.found.append(FoundField(path, start, self._at, value))

    def _byte(self) -> int:
        self._at += 1
        return self._footer[self._at - 1]

    def _number(self) -> int:
        found = shift = 0
        while (byte := self._byte()) > 127:
            found |= (byte & 127) << shift
            shift += 7
        return found | byte << shift


def _number(value: int) -> bytes:
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)
