"""JSON lines, read and written.

The rule of this format: one object a line, input to value, where a missing or null input carries no event; empty lines
are passed over. A program with one input may have the bare value instead (an object is a bare record unless its only
key is the input's name).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, cast

from workbench.core.domain import Value
from workbench.core.fields import Record
from workbench.errors import InputError
from workbench.events import lines as lines_of
from workbench.events.columns import Where, arrow_type
from workbench.events.lines import BOM, is_text, whole_lines
from workbench.events.rows import InputEvents, LineReader, LogBlock, RowWriter
from workbench.events.values import UnreadableError, dump_json, from_json, parse_json, short, short_json, to_json

if TYPE_CHECKING:
    from workbench.events.arrays import EventArray


class JsonReader(LineReader):
    """One JSON value a line."""

    def rows(self, lines: Iterable[str], shown: str, first: int = 0) -> Iterator[tuple[int, str]]:
        """As in every format; `first` lines of the file come before these."""
        return enumerate(lines, first + 1)

    def blocks(self, lines: io.TextIOWrapper, shown: str) -> Iterator[LogBlock]:
        """Lines that are there, in columns where each is one object beyond doubt."""
        first = 0
        for block in whole_lines(cast(io.BufferedReader, lines.buffer), shown):
            block = block if first else block.removeprefix(BOM)
            yield LogBlock(partial(self._steps, block, shown, first), partial(self._columns, block))
            first += len(block.splitlines()) if b"\r" in block else block.count(b"\n")

    def _steps(self, block: bytes, shown: str, first: int) -> Iterator[InputEvents]:
        if (table := self._table(block)) is not None:
            from workbench.events.tables import table_steps

            if (steps := table_steps(table, self.domains)) is not None:
                return steps
        lines = io.TextIOWrapper(io.BytesIO(block), "utf-8", newline="")
        return self.located(self.rows(lines, shown, first), shown)

    def _columns(self, block: bytes) -> dict[str, EventArray] | None:
        table = self._table(block) if self.plain else None
        if table is None:
            return None
        from workbench.events.tables import given_arrays

        return given_arrays(table, self.domains)

    def _table(self, lines: bytes) -> Any:
        """The events as an Arrow table; None where Arrow finds less in the lines, or more, than we do.

        To Arrow an object may go over several lines, and a line may have several: not where each line begins with a
        brace and ends with one, and there are as many objects as lines.
        """
        count = lines.count(b"\n")
        if (
            len(lines) < lines_of.FEW or not self.flat or not find_spec("pyarrow") or not is_text(lines)
            or not (lines.startswith(b"{") and lines.endswith(b"}\n"))
            or not lines.count(b"\n{") + 1 == lines.count(b"}\n") == count
        ):  # fmt: skip
            return None
        import pyarrow as pa
        from pyarrow import json as arrow

        try:
            table = arrow.read_json(
                pa.BufferReader(lines),
                arrow.ReadOptions(block_size=len(lines) + 1),
                arrow.ParseOptions(
                    pa.schema([(name, arrow_type(domain)) for name, domain in self.domains.items()]),
                    unexpected_field_behavior="infer" if self.ignore else "error",
                ),
            )
        except pa.ArrowInvalid:
            return None
        return table if table.num_rows == count else None

    def step(self, row: str) -> InputEvents | None:
        if not row.strip():
            return None
        data = read_line(row)
        if self.only is not None and not self._keyed(data):
            data = {self.only: data}
        found: InputEvents = {}
        for name, item in self.of_line(data, row).items():
            domain = self.domains.get(name)
            if domain is None:
                if self.ignore:
                    continue
                raise self.unknown("key", name)
            if item is not None:
                try:
                    found[name] = from_json(item, domain)
                except UnreadableError as error:
                    raise refused_item(name, item, error) from error
        return found

    def of_line(self, data: Any, line: str) -> dict[str, Any]:
        """The object of a line, from its data; InputError if it is none."""
        if isinstance(data, dict):
            return data
        expected = ", ".join(f'"{name}": ...' for name in self.domains)
        raise InputError(f"expected an object {{{expected}}}, not {short(line)}")

    def values(self, name: str, rows: Sequence[Any], where: Where) -> list[Value | None]:
        domain, found = self.domains[name], []
        for number, row in enumerate(rows):
            item = row.get(name)
            try:
                found.append(None if item is None else from_json(item, domain))
            except UnreadableError as error:
                raise refused_item(name, item, error, where(number)) from error
        return found

    def _keyed(self, data: Any) -> bool:
        """Whether this is an object of inputs, and not the bare value of the only input."""
        if not isinstance(data, dict):
            return False
        return set(data) <= {self.only} or not isinstance(self.domains[str(self.only)], Record)


def read_line(line: str) -> Any:
    """The data of a line; InputError if it is no JSON."""
    try:
        return parse_json(line)
    except ValueError as error:
        raise InputError(str(error)) from error


def refused_item(name: str, item: Any, error: UnreadableError, where: str = "") -> InputError:
    """The error for an item that is no event of its input."""
    return error.refusal(f"input '{name}'", short_json(item), where)


class JsonWriter(RowWriter):
    """An object a line."""

    def row(self, events: Mapping[str, Value]) -> None:
        found = {name: to_json(events[name], domain) for name, domain in self.domains.items() if name in events}
        self.stream.write(dump_json(found) + "\n")
