"""JSON lines, read and written.

The rule of this format: one object a line, input to value, where a missing or null input carries no event; empty lines
are passed over. A program with one input may have the bare value instead; objects hold keys, each a column of the row.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.core.domain import Domain, Value
from workbench.core.program import Ported
from workbench.errors import InputError
from workbench.events.column_map import ColumnMap
from workbench.events.reading import Reading, Tally
from workbench.events.rows import RowReader, RowWriter, Taker
from workbench.events.values import dump_json, from_json, parse_json, short, short_json, to_json

MOST = 1000
"""Sets of keys whose meaning is kept."""


class JsonReader(RowReader):
    """One JSON value a line."""

    noun = "key"

    def __init__(self, program: Ported, reading: Reading | None = None, tally: Tally | None = None) -> None:
        super().__init__(program, reading, tally)
        self._known: dict[tuple[str, ...], tuple[ColumnMap, dict[str, Taker]]] = {}

    def rows(self, lines: io.TextIOWrapper, shown: str) -> Iterator[tuple[int, str]]:
        return enumerate(lines, 1)

    def cells(self, row: str) -> Sequence[Any] | None:
        return self.cells_of(read_line(row), row) if row.strip() else None

    def cells_of(self, data: Any, line: str) -> Sequence[Any]:
        """The items of a line, from its data, in the order of its keys, which are the columns from now on."""
        bare = not isinstance(data, dict)
        if bare and self.only is None:
            raise self.no_object(line)
        keys = () if bare else tuple(data)
        if self.columns is None or keys != self.columns.names:
            known = self._known.get(keys)
            if known is None:
                if bare:
                    self.open(ColumnMap((), {str(self.only): 0}, self.domains))
                else:
                    self.opened(keys)
                assert self.columns is not None
                if len(self._known) < MOST:
                    self._known[keys] = self.columns, self.takers
            else:
                self.columns, self.takers = known
        return (data,) if bare else list(data.values())

    def no_object(self, line: str) -> InputError:
        """The error for a line that should be one."""
        expected = ", ".join(f'"{name}": ...' for name in self.domains)
        return InputError(f"expected an object {{{expected}}}, not {short(line)}")

    def cell(self, cell: Any, domain: Domain) -> Value | None:
        return None if cell is None else from_json(cell, domain)

    def shown(self, cell: Any) -> str:
        return short_json(cell)

    def whose(self, column: int, path: str) -> str:
        del column
        return f"input '{path}'"


def read_line(line: str) -> Any:
    """The data of a line; InputError if it is no JSON."""
    try:
        return parse_json(line)
    except ValueError as error:
        raise InputError(str(error)) from error


class JsonWriter(RowWriter):
    """An object a line."""

    def row(self, events: Mapping[str, Value]) -> None:
        found = {name: to_json(events[name], domain) for name, domain in self.domains.items() if name in events}
        self.stream.write(dump_json(found) + "\n")
