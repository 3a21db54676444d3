"""Read logs of text in which each line is a row.

The rule of this module: a line is a row wherever it is read, from a file, a pipe or a part of a file, and has the
number that it has in the whole file. Empty lines are ignored.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from functools import partial
from types import EllipsisType
from typing import IO, cast

from workbench.core.program import Ported
from workbench.errors import InputError, suggest_option
from workbench.events.account import Reporter
from workbench.events.column_map import ColumnMap
from workbench.events.lines import BOM, count_lines, number_lines, whole_lines
from workbench.events.parts import FilePart, parts_of_lines
from workbench.events.reading_options import Reading
from workbench.events.rows import InputEvents, LogBlock, RowReader, Taker
from workbench.events.values import CopiedCells, KeyTexts

MAXIMUM = 1000
"""Maximum number of key sets whose column maps are cached."""


class LineReader(RowReader):
    """A reader with a step for each line, which `cells` splits."""

    def rows(self, lines: Iterable[str], file_name: str) -> Iterator[tuple[int, str]]:
        return enumerate(lines, 1)

    def blocks(self, lines: io.TextIOWrapper, file_name: str) -> Iterator[LogBlock]:
        """Yield blocks of the lines that have arrived."""
        first = self.part.skipped
        for block in whole_lines(cast(io.BufferedReader, lines.buffer), file_name):
            block = block if first else block.removeprefix(BOM)
            count = count_lines(block)
            yield self.lines_block(block, file_name, first, count)
            first += count

    def lines_block(self, lines: bytes, file_name: str, first: int, count: int) -> LogBlock:
        """Return a block of `count` whole lines, after the first `first` lines of the file."""
        return LogBlock(partial(self.line_steps, lines, file_name, first), rows=count)

    def line_steps(self, lines: bytes, file_name: str, first: int) -> Iterator[InputEvents]:
        """Yield the steps of some lines, one by one."""
        return self.located(number_lines(lines, first), file_name)

    def parts(self, file: IO[bytes], file_name: str, size: int) -> Iterator[FilePart]:
        return parts_of_lines(file, size, b"", lambda rows: rows.rfind(b"\n") + 1)


class RecordReader(LineReader):
    """A reader with a step for each line, in which values have keys, which are its columns."""

    noun = "key"

    def __init__(self, program: Ported, reading: Reading | None = None, reporter: Reporter | None = None) -> None:
        super().__init__(program, reading, reporter)
        self._seen: dict[str, None] = {}
        shared = {port.name for port in self.ports.inputs if port.shared}
        self.named = [key for path, key in self.reading.columns.items() if path.partition(".")[0] not in shared]
        """The keys that the user names, and that no other file of the log has."""
        self.inner: dict[str, list[str]] = {}
        """The keys of the object in which a key was not found."""
        self._keys: tuple[str, ...] | EllipsisType | None = ...
        self._known: dict[tuple[str, ...] | None, tuple[ColumnMap, dict[str, Taker]]] = {}

    def turn_to(self, keys: tuple[str, ...] | None) -> None:
        """Read cells under these keys from now on; for None, one cell that is the event of the only input.

        Raises
        ------
        InputError: a key is refused.
        """
        if keys == self._keys:
            return
        known = self._known.get(keys)
        if known is not None:
            self.columns, self.takers = known
        elif keys is None:
            self.open(ColumnMap((), {str(self.only): 0}, self.domains))
        else:
            self.set_columns(keys)
            self._seen.update(dict.fromkeys(keys))
        assert self.columns is not None
        if len(self._known) < MAXIMUM:
            self._known[keys] = self.columns, self.takers
        self._keys = keys

    def end(self) -> None:
        inputs = [port for port in self.ports.inputs if not (port.copied or isinstance(port.domain, KeyTexts))]
        needed = [port.name for port in inputs if not (port.optional or port.clock)]
        keys = self.named or [self.reading.columns.get(name, name) for name in needed]
        missing = [key for key in keys if key not in self._seen]
        fed = any(not columns.inputs.keys().isdisjoint(needed) for columns, _ in self._known.values())
        if missing and self._seen and (self.named or (len(missing) == len(keys) and not fed)):
            raise InputError(f"no row has a key '{missing[0]}'", hint=self.suggest(missing[0]))
        for key, domain in self.domains.items() if self._seen else ():
            if isinstance(domain, CopiedCells) and key not in self._seen:
                what = f"--carry {key}: no row has this key, and the output has no values for it"
                self.reporter.report_once(f"{what} ({self.suggest(key)})")

    def suggest(self, key: str) -> str:
        """Return a hint for a key that no row has."""
        path = next((path for path, column in self.reading.columns.items() if column == key), key)
        remedy = next((port.remedy for port in self.ports.inputs if port.name == path), "")
        own = [each for each in self._seen if each not in self.domains or "." not in each]  # no path of an option
        return suggest_option(key, self.inner.get(key) or own, remedy or f"write --column {path}=NAME", "there are: ")

    def whose(self, column: int, path: str) -> str:
        del column
        copied = {port.name for port in self.ports.inputs if port.copied}
        return f"{'key' if path in copied else 'input'} '{path}'"
