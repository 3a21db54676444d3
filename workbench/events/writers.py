"""What formats write rows with.

The rule of this module: rows that somebody may wait for are seen soon, and are written behind whole rows only.
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
"""Bytes that are scanned together."""


class EventWriter(ABC):
    """Takes what the outputs of a program show, one row (or object) a step.

    Attributes
    ----------
    live: whether somebody may wait for rows.
    """

    live: bool

    @abstractmethod
    def write(self, outputs: Mapping[str, Sequence[Value]]) -> None:
        """The events of one step; several events of one output (the end of a stream) take several rows."""

    @abstractmethod
    def row(self, events: Mapping[str, Value]) -> None:
        """A row more."""

    def table(self, table: Any) -> None:
        """The rows of an Arrow table (`output_columns.outputs_to_table`)."""
        self.ready(table)()

    @abstractmethod
    def ready(self, table: Any) -> Callable[[], object]:
        """What writes these rows, which owns their bytes.

        All that needs no turn is done: several threads may have tables made ready at the same time.
        """

    @abstractmethod
    def flush(self) -> None:
        """Show what has been written, where somebody may wait for it."""

    @abstractmethod
    def drain(self) -> None:
        """Have all that has been written in the file."""


class RowWriter(EventWriter):
    """Writes rows into a file in a format; see `write_events`."""

    quotes = False
    """Whether cells may stand in quotation marks, and have ends of lines."""

    def __init__(self, program: Ported, stream: IO[str], *, shown: str = "") -> None:
        self.domains, self.stream, self.shown = program.ports.shown, stream, shown
        self.live = is_stream(shown)

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
        """Write the rows that are kept to be written together."""

    def resume(self, path: Path) -> None:
        """Write behind the rows that there are in a file; a note names one that has no end.

        Raises
        ------
        InputError: there are other rows, or what is compressed has no end, behind which nobody would find rows.
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
        if last != NEWLINE or within:  # somebody was killed as he wrote
            import logging

            self.stream.write('"\n' if within else "\n")
            what = f"{path}:{lines - (last == NEWLINE)}: this row has no end, and may have been cut"
            logging.getLogger("workbench").warning(f"{what}; it is ended here, and others follow it")

    def end(self) -> None:
        """What is still to be written, when no error has come between."""

    def close(self) -> None:
        """Let go of the file, with or without an error."""
