"""JSON lines, read and written.

The rule of this format: one object a line, input to value, where a missing or null input carries no event; empty lines
are passed over. A program with one input may have the bare value instead (an object is a bare record unless its only
key is the input's name).
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.core.domain import Value
from workbench.core.fields import Record
from workbench.errors import InputError
from workbench.events.columns import Where
from workbench.events.rows import InputEvents, LineReader, RowWriter
from workbench.events.values import UnreadableError, dump_json, from_json, parse_json, short, short_json, to_json


class JsonReader(LineReader):
    """One JSON value a line."""

    def rows(self, lines: io.TextIOWrapper, shown: str) -> Iterator[tuple[int, str]]:
        return enumerate(lines, 1)

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
