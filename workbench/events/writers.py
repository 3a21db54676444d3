"""The base classes of writers of rows.

The rule of this module: rows that a reader may wait for are written soon, and only behind complete rows.
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

from workbench.core.domain import Value
from workbench.core.program import Ported
from workbench.events.files import is_stream, open_bytes
from workbench.events.packing import COMPRESSIONS

NEWLINE = b"\n"
SCANNED = 1 << 20
"""Number of bytes that are scanned together."""


class EventWriter(ABC):
    """Writes the outputs of a program, one row (or object) for each step.

    Attributes
    ----------
    live: whether a reader may wait for rows.
    """

    live: bool

    @abstractmethod
    def write(self, outputs: Mapping[str, Sequence[Value]]) -> None:
        """Write the events of one step; several events of one output (at the end of a stream) take several rows."""

    @abstractmethod
    def row(self, events: Mapping[str, Value]) -> None:
        """Write one row."""

    def table(self, table: Any) -> None:
        """Write the rows of an Arrow table (`output_columns.outputs_to_table`)."""
        self.ready(table)()

    @abstractmethod
    def ready(self, table: Any) -> Callable[[], object]:
        """Prepare the rows of a table, and return a function that writes them, and owns their bytes.

        All work without a fixed order is done here: several threads may prepare tables at the same time.
        """

    @abstractmethod
    def flush(self) -> None:
        """Make written rows visible, if a reader may wait for them."""

    @abstractmethod
    def drain(self) -> None:
        """Write all rows to the file."""


class RowWriter(EventWriter):
    """Writes rows into a file in a format; see `write_events`."""

    quotes = False
    """Whether cells may be quoted, and contain line ends."""

    def __init__(self, program: Ported, stream: IO[str], *, file_name: str = "") -> None:
        self.domains, self.stream, self.shown = program.ports.outputs_by_name, stream, file_name
        self.live = is_stream(file_name)

    def write(self, outputs: Mapping[str, Sequence[Value]]) -> None:
        rows = max((len(values) for values in outputs.values()), default=0)
        for i in range(rows):
            self.row({name: values[i] for name, values in outputs.items() if i < len(values)})

    def ready(self, table: Any) -> Callable[[], object]:
        return partial(self._by_rows, table)

    def _by_rows(self, table: Any) -> None:
        from workbench.events.output_columns import table_rows

        for row in table_rows(table, self.domains):
            self.row(row)

    def flush(self) -> None:
        if self.live:
            self.drain()

    def drain(self) -> None:
        self.settle()
        self.stream.flush()

    def settle(self) -> None:
        """Write the rows that are buffered to be written together."""

    def resume(self, path: Path) -> None:
        """Append to the rows of a file; a warning names a row that has no end.

        Raises
        ------
        InputError: the file has other columns, or compressed data has no end, so that appended rows would be lost.
        """
        lines, marks, last = 1, 0, b""
        with open_bytes(path) as file:
            if path.suffix not in COMPRESSIONS and not self.quotes:
                file.seek(-1, io.SEEK_END)
                if file.read() == NEWLINE:
                    return
                file.seek(0)
            while data := file.read(SCANNED):
                lines, marks, last = lines + data.count(NEWLINE), marks + data.count(b'"'), data[-1:]
        within = self.quotes and marks % 2
        if last != NEWLINE or within:  # an earlier run was killed while it wrote
            import logging

            self.stream.write('"\n' if within else "\n")
            what = f"{path}:{lines - (last == NEWLINE)}: this row has no end, and may have been cut"
            logging.getLogger("workbench").warning(f"{what}; it is ended here, and others follow it")

    def end(self) -> None:
        """Write what remains, when there was no error."""

    def close(self) -> None:
        """Release the file, with or without an error."""
