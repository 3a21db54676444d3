"""Write CSV.

The rule of this module: `formats/csv` reads a row as it was written, with commas between cells whatever the input has,
unless the user names another delimiter.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from workbench.core.domain import Bool, Domain, Integer, Integers, Range, Reals, Value
from workbench.core.program import Ported
from workbench.errors import InputError, listed
from workbench.events.files import open_bytes
from workbench.events.packing import ready_bytes
from workbench.events.values import to_text
from workbench.events.writers import RowWriter

WRITTEN = 1 << 14
"""Number of rows that are written at a time."""
FAR = 1 << 63
"""The bound beyond which numbers may have more digits than can be written."""


class CsvWriter(RowWriter):
    """A writer of CSV. The header comes with the first row: an error before it writes nothing."""

    between = ","

    def __init__(
        self, program: Ported, stream: IO[str], *, file_name: str = "", between: str = "", decimal: str = ""
    ) -> None:
        super().__init__(program, stream, file_name=file_name)
        usual = ";" if decimal == self.between else self.between
        self.between, self._decimal = between or usual, decimal or "."
        self.csv, self.begun = csv.writer(stream, lineterminator="\n", delimiter=self.between), False
        self._texts = {name: _text_of(domain, self._decimal) for name, domain in self.domains.items()}

    def end(self) -> None:
        if not self.begun:
            self.csv.writerow(self.domains)
            self.begun = True

    def resume(self, path: Path) -> None:
        with open_bytes(path) as file:
            there = next(csv.reader([file.readline().decode()], delimiter=self.between), [])
        if there != list(self.domains):
            hint = f"name another file for {listed(self.domains)}"
            raise InputError(f"there are rows of {listed(there)} already", where=str(path), hint=hint)
        self.begun, self.quotes = True, any(type(domain) not in _PLAIN for domain in self.domains.values())
        super().resume(path)

    def row(self, events: Mapping[str, Value]) -> None:
        cells = [text(events[name]) if name in events else "" for name, text in self._texts.items()]
        self.end()
        if events or len(self.domains) > 1:
            self.csv.writerow(cells)
        else:  # csv would write "" for a row with one empty cell, which reads as a text
            self.stream.write("\n")

    def write(self, outputs: Mapping[str, Sequence[Value]]) -> None:
        if len(self._texts) > 1 or self._decimal != ".":
            super().write(outputs)
            return
        ((name, text),) = self._texts.items()
        if values := outputs[name]:
            self.end()
            try:
                lines = "\n".join(map(_PLAIN[type(self.domains[name])], values))
            except (KeyError, ValueError):  # some values may need quotes, or have too many digits
                self.csv.writerows((text(value),) for value in values)
            else:
                self.stream.write(lines + "\n")

    def ready(self, table: Any) -> Callable[[], object]:
        lines = self._lines(table) if hasattr(self.stream, "buffer") else None
        if lines is None:
            return super().ready(table)
        ready = ready_bytes(self.stream, lines)

        def put() -> None:
            self.end()
            ready()

        return put

    def _lines(self, table: Any) -> Sequence[memoryview] | None:
        """Return the rows of a table as text; None if some must be written one by one."""
        from workbench.events.buffers import one_piece
        from workbench.events.texts import cell_texts, is_quoted, join_texts, line_texts

        arrays = list(map(one_piece, table.columns))
        columns = [cell_texts(column, self.between, self._decimal) for column in arrays]
        if any(column is None for column in columns):
            return None
        if not any(map(is_quoted, columns, arrays)):  # Arrow refuses quotation marks that are there
            import pyarrow as pa
            from pyarrow import csv as arrow

            options = arrow.WriteOptions(
                include_header=False, quoting_style="none", delimiter=self.between, batch_size=WRITTEN
            )
            buffer = pa.BufferOutputStream()
            arrow.write_csv(pa.table(columns, table.column_names), buffer, options)
            return [memoryview(buffer.getvalue())]
        pieces = ([column.slice(at, WRITTEN) for column in columns] for at in range(0, table.num_rows, WRITTEN))
        return [join_texts(line_texts(some, self.between)) for some in pieces]


_PLAIN: Mapping[type[Domain], Callable[[Value], str]] = {
    Bool: {True: "true", False: "false"}.__getitem__,
    **dict.fromkeys((Range, Reals, Integer, Integers), str),
}
"""Functions that format values whose texts are never quoted, by domain."""


def _text_of(domain: Domain, decimal: str) -> Callable[[Value], Any]:
    """Return a function that formats a cell: the fastest with the result of `to_text`."""
    if decimal != ".":
        point = _text_of(domain, ".")
        return lambda value: point(value).replace(".", decimal) if isinstance(value, float) else point(value)
    if isinstance(domain, Bool | Range | Reals | Integer):
        return _PLAIN[type(domain)]
    if isinstance(domain, Integers):
        return lambda value: value if -FAR < value < FAR else to_text(value, domain)
    return lambda value: to_text(value, domain)
