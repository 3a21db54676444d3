"""JSON lines, read and written.

The rule of this format: one object for each line, input to value, where a missing or null input carries no event; empty
lines are ignored. A program with one input may have the bare value instead; the keys of objects are columns. JSON has
neither NaN nor infinities: they are written as null, and read as Python writes them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

from workbench.core.domain import Domain, Value
from workbench.core.fields import Tuple
from workbench.core.program import Ported
from workbench.errors import InputError
from workbench.events import lines as lines_of
from workbench.events.account import Reporter
from workbench.events.batch import Columns, column_steps
from workbench.events.clock import Times
from workbench.events.column_map import ColumnMap, list_paths
from workbench.events.columns import arrow_type, as_json
from workbench.events.line_rows import RecordReader
from workbench.events.lines import count_braced_lines, is_text
from workbench.events.packing import ready_bytes
from workbench.events.reading_options import LINES, Reading
from workbench.events.rows import InputEvents, LogBlock
from workbench.events.table import FormatRow
from workbench.events.values import (
    CopiedCells,
    KeyTexts,
    Unheld,
    dump_json,
    from_json,
    parse_json,
    short,
    short_json,
    standard_json,
    to_json,
)
from workbench.events.writers import RowWriter

NOT_STANDARD = ("NaN", "Infinity")
"""What Python's `json` writes for floats that JSON does not have."""
LINES_OF_JSON = "a row is one line: jq -c '.[]' FILE makes lines of an array, jq -c . FILE of objects on several lines"
_MINUS_ZERO = re.compile(rb"-0[\s,}]")
"""A pattern for whole numbers that Arrow reads as the float -0.0, and Python as 0."""
_AS_WRITTEN = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)


class JsonReader(RecordReader):
    """A reader of one JSON value for each line."""

    typed = True

    def __init__(self, program: Ported, reading: Reading | None = None, reporter: Reporter | None = None) -> None:
        super().__init__(program, reading, reporter)
        columns = self.reading.columns
        keyed = [name for name, each in self.domains.items() if isinstance(each, KeyTexts)]
        others = {path for n, each in self.domains.items() if n not in keyed for path in list_paths(n, each)}
        read = {columns.get(path, path.rpartition(".")[2]) for path in others}
        self._texts = [key for name in keyed if (key := columns.get(name, name)) not in read]
        keys = [columns.get(name, name) for name in self.domains] + list(columns.values())
        self._paths = {key: split_path(key) for key in keys if "." in key or "[" in key}
        outer = {path[0] for path in self._paths.values()}
        self._outer = outer.difference(
            keys, *(each.names() for each in self.domains.values() if isinstance(each, Tuple))
        )
        self._rows_in: dict[str, list[str]] = {}
        """The arrays of objects in the first row, with the keys of their first object."""

    def lines_block(self, lines: bytes, file_name: str, first: int, count: int) -> LogBlock:
        """Return a block of lines, with columns if each line is certainly one object."""
        return replace(super().lines_block(lines, file_name, first, count), columns=partial(self._arrays, lines))

    def line_steps(self, lines: bytes, file_name: str, first: int) -> Iterator[InputEvents]:
        columns = self._arrays(lines) if self.flat else None
        return super().line_steps(lines, file_name, first) if columns is None else column_steps(columns, self.domains)

    def _arrays(self, block: bytes) -> Columns | None:
        table, columns = self._table(block) if self.plain else (None, None)
        if table is None:
            return None
        from workbench.events.input_columns import decode_column

        return self.arrays(lambda i, domain: decode_column(domain, table.column(i).combine_chunks()), columns)

    def _table(self, lines: bytes) -> tuple[Any, ColumnMap | None]:
        """Return the events as an Arrow table, and the map of its columns; None if Arrow's result may differ from ours.

        For Arrow an object may span several lines, and a line may have several objects. This is excluded if each line
        begins and ends with a brace, and there are as many objects as lines.
        """
        if (
            len(lines) < lines_of.MIN_COLUMN_BYTES or not find_spec("pyarrow") or not is_text(lines)
            or any(isinstance(domain, Tuple) or as_json(domain) for domain in self.domains.values())
            or (count := count_braced_lines(lines)) is None or (b"-0" in lines and _MINUS_ZERO.search(lines))
        ):  # fmt: skip
            return None, None
        import pyarrow as pa

        first = _first(lines)
        keys = {name: self.reading.columns.get(name, name) for name in self.domains}
        names = list(keys.values())
        if any(f'"{path[0]}"'.encode() in lines for path in self._paths.values()):  # these keys may be in objects
            return None, None
        others = self._others(first, set(names))
        unseen = [key for key in names if key not in self._seen]
        new_keys = [key for key in unseen if f'"{key}"'.encode() in lines]
        untold = len(unseen) > len(new_keys) and (self.named or (not new_keys and len(unseen) == len(names)))
        if others is None or len(set(names)) < len(names) or untold:  # the rows show which keys there are
            return None, None
        kinds = [_kind(domain, first.get(key)) for key, domain in zip(names, self.domains.values(), strict=True)]
        if None in kinds:
            return None, None
        # unused keys are not read: those that occur in one line only would be columns of all lines
        unexpected = "ignore" if others else "error"
        table = _parse_lines(lines, pa.schema(zip(names, kinds, strict=True)), unexpected)
        if table is None and (timed := _with_fractions(self.domains.values(), kinds)) != kinds:
            table = _parse_lines(lines, pa.schema(zip(names, timed, strict=True)), unexpected)
        if table is None or table.num_rows != count:
            return None, None
        if any(table.column(key).null_count == count for key in new_keys):
            return None, None  # the key may be a value, or a key of an inner object
        columns = self.match_columns([*table.column_names, *others])
        self.reporter.ignore_columns(columns.ignored)
        self._seen.update(dict.fromkeys([*others, *new_keys]))
        return table, columns

    def _others(self, first: Collection[str], names: set[str]) -> Collection[str] | None:
        """Return keys that no input needs, of the first line, or of earlier ones; None if rows must be read singly."""
        if not first:
            return None
        known = list(self.reporter.columns)  # other threads may add to it
        others = [key for key in first if key not in names] or [key for key in known if key not in names]
        return None if others and self.reading.strict else others

    def cells(self, row: str) -> Sequence[Any] | None:
        return self.cells_of(read_line(row), row) if row.strip() else None

    def cells_of(self, data: Any, line: str) -> Sequence[Any]:
        """Return the items of a line in the order of its keys, which are the columns from now on."""
        bare = not isinstance(data, dict)
        if bare and (self.only is None or (isinstance(data, list) and not as_json(self.domains[self.only]))):
            raise self.no_object(line)
        if not bare and not self._seen:
            arrays = {key: value[0] for key, value in data.items() if value and isinstance(value, list)}
            self._rows_in = {key: list(first) for key, first in arrays.items() if isinstance(first, dict)}
        if self._paths and not bare:
            self._lift(data)
        if (
            not bare
            and line
            and (numbers := [key for key in self._texts if type(data.get(key)) in (int, float, Unheld)])
        ):
            written = _AS_WRITTEN.decode(line)
            self._lift(written)
            data |= {key: written[key] for key in numbers}
        self.turn_to(None if bare else tuple(data))
        return (data,) if bare else list(data.values())

    def _lift(self, data: dict[str, Any]) -> None:
        """Add the values in nested objects and arrays under keys that name their paths, such as `users.0.id`."""
        for key, path in self._paths.items():
            node: Any = None if key in data else data
            for i, part in enumerate(path):
                at, inner = path[:i], node
                if isinstance(node, list) and node and not part.isdecimal():
                    at, inner = [*at, "0"], node[0]
                if i and isinstance(inner, dict) and (inner is not node or part not in node) and key not in self.inner:
                    self.inner[key] = [".".join((*at, each)) for each in inner]
                    self.reporter.near |= dict.fromkeys(self.inner[key])
                node = _item(node, part)
            if node is not None:
                data[key] = node
        for outer in self._outer.intersection(data):
            del data[outer]  # a path uses it
            self._seen[outer] = None

    def no_object(self, line: str) -> InputError:
        """Return the error for a line that should be an object."""
        expected = ", ".join(f'"{name}": ...' for name in self.domains)
        hint = LINES_OF_JSON if line.lstrip().startswith("[") else ""
        return InputError(f"expected an object {{{expected}}}, not {short(line)}", hint=hint)

    def suggest(self, key: str) -> str:
        array = next((array for array, keys in self._rows_in.items() if key in keys), None)
        if array is None:
            return super().suggest(key)
        path = f".{array}[]" if array.isidentifier() else f".[{json.dumps(array)}][]"
        return f"a row is one line: jq -c '{path}' FILE makes lines of the array '{array}'"

    def cell(self, cell: Any, domain: Domain) -> Value | None:
        return None if cell is None else from_json(cell, domain)

    def format_cell(self, cell: Any) -> str:
        return short_json(cell)


def split_path(key: str) -> list[str]:
    """Return the steps of a path such as `items.0.price`, or `items[0].price`."""
    return re.sub(r"\[(\d+)\]", r".\1", key).split(".")


def _item(value: Any, name: str) -> Any:
    """Return the value of a key of an object, or the item of an array, counted from 0; None if there is none."""
    if isinstance(value, dict):
        return value.get(name)
    if isinstance(value, list) and name.isdecimal() and int(name) < len(value):
        return value[int(name)]
    return None


def _first(lines: bytes) -> dict[str, Any]:
    """Return the data of the first line, a whole one in braces; empty if it is not JSON."""
    try:
        record: dict[str, Any] = parse_json(lines[: lines.index(b"\n")].decode())
    except ValueError:
        return {}
    return record


def _kind(domain: Domain, first: Any) -> Any:
    """Return the Arrow type of the values of a key; for times and copied cells, that of the first one.

    None where Arrow reads values of this type otherwise than we do: whole numbers among floats become floats.
    """
    import pyarrow as pa

    if isinstance(domain, CopiedCells):
        kinds = {bool: pa.bool_(), int: pa.int64(), str: pa.string(), type(None): pa.string()}
        return kinds.get(type(first))
    if isinstance(domain, Times) and isinstance(first, int | float):
        return pa.int64() if isinstance(first, int) else pa.float64()
    return arrow_type(domain)


def _with_fractions(domains: Iterable[Domain], kinds: Sequence[Any]) -> list[Any]:
    """Return the types with floats for times, where the first time only was a whole number."""
    import pyarrow as pa

    pairs = zip(domains, kinds, strict=True)
    return [pa.float64() if isinstance(each, Times) and pa.types.is_int64(kind) else kind for each, kind in pairs]


def _parse_lines(lines: bytes, schema: Any, unexpected: str) -> Any:
    """Parse a table of these types; None if Arrow finds others."""
    import pyarrow as pa
    from pyarrow import json as arrow

    options = arrow.ParseOptions(schema, unexpected_field_behavior=unexpected)
    try:
        whole = arrow.ReadOptions(use_threads=False, block_size=len(lines) + 1)
        return arrow.read_json(pa.BufferReader(lines), whole, options)
    except pa.ArrowInvalid:
        return None


def read_line(line: str) -> Any:
    """Parse a line; InputError if it is not JSON."""
    try:
        return parse_json(line)
    except ValueError as error:
        raise InputError(str(error), hint=LINES_OF_JSON if line.rstrip()[-1:] in ("[", "{", ",") else "") from error


class JsonWriter(RowWriter):
    """A writer of one object for each line."""

    def ready(self, table: Any) -> Callable[[], object]:
        from workbench.events.output_columns import is_texts_of_numbers
        from workbench.events.texts import holds_text, join_texts, json_lines

        ready = [
            name for name, domain in self.domains.items() if as_json(domain) or is_texts_of_numbers(domain, table[name])
        ]
        odd = any(holds_text(table[name], mark) for name in ready for mark in NOT_STANDARD)
        lines = json_lines(table, ready) if hasattr(self.stream, "buffer") and not odd else None
        return super().ready(table) if lines is None else ready_bytes(self.stream, [join_texts(lines)])

    def row(self, events: Mapping[str, Value]) -> None:
        record = {name: to_json(events[name], domain) for name, domain in self.domains.items() if name in events}
        text = dump_json(record)
        if any(mark in text for mark in NOT_STANDARD):
            text = dump_json(standard_json(record))
        self.stream.write(text + "\n")


_BEGINS = re.compile(rb'\s*(?:[{[]|"(?:[^"\\]|\\.)*+"?+[ \t]*(?:[\r\n]|$))')
"""A pattern for the beginning of JSON lines; a line that continues behind a quoted text is one of CSV."""

ROW = FormatRow(
    "jsonl",
    "an object a step, from names to events",
    (".jsonl", ".ndjson", ".json"),
    JsonReader,
    JsonWriter,
    lambda start: _BEGINS.match(start) is not None,
    text=True,
    takes=LINES,
    row_bytes=70,
    spark="json",
    rank=2,
)
