"""CSV, read and written.

The rule of this format: the first line names the inputs; an empty cell (or line) carries no event. A program with one
input may do without the header: a first line that is not the input's name is an event. Tuples and records are JSON
text in a cell.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any

from workbench.core.domain import Value
from workbench.core.program import Ported
from workbench.errors import InputError
from workbench.events.columns import Where, plain_integers
from workbench.events.rows import InputEvents, LineReader, RowWriter
from workbench.events.values import UnreadableError, from_text, short, to_text


class CsvReader(LineReader):
    """Rows of cells under a header."""

    header: Sequence[str | None] | None = None
    """The input in each column; None before the first row."""

    def rows(self, lines: io.TextIOWrapper, shown: str) -> Iterator[tuple[int, list[str]]]:
        found = csv.reader(lines, strict=True)
        try:
            for row in found:
                yield found.line_num, row
        except csv.Error as error:
            raise InputError(f"not a line of CSV: {error}", where=f"{shown}:{found.line_num}") from error

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


def names(row: Sequence[str]) -> list[str]:
    """The names in a header."""
    return [cell.strip() for cell in row]


def refused(name: str, cell: str, error: UnreadableError, where: str = "") -> InputError:
    """The error for a cell that cannot be read."""
    return error.refusal(f"column '{name}'", f"'{short(cell)}'", where)


def see_width(row: Sequence[str], width: int) -> None:
    """See that a row has as many cells as the header.

    Raises
    ------
    InputError: it has not.
    """
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
