"""Read lines of text by a pattern.

The rule of this format: each line matches the pattern as a whole, and is a row with a column for each named group; a
group that does not match, or matches nothing, is an empty cell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from workbench.core.domain import Domain, Value
from workbench.core.program import Ported
from workbench.errors import InputError
from workbench.events.account import Reporter
from workbench.events.cells import read_cell
from workbench.events.line_rows import LineReader
from workbench.events.patterns import PATTERN_OPTION
from workbench.events.reading_options import LINES, Reading
from workbench.events.table import FormatRow
from workbench.events.values import short


class TextReader(LineReader):
    """A reader of lines that match a pattern."""

    noun = "group"

    def __init__(self, program: Ported, reading: Reading | None = None, reporter: Reporter | None = None) -> None:
        super().__init__(program, reading, reporter)
        if not self.reading.pattern:
            what = "lines of text have no columns of their own: --pattern defines them"
            raise InputError(what, hint=f"for example {PATTERN_OPTION}")
        try:
            self._match = re.compile(self.reading.pattern).fullmatch
        except re.error as error:
            raise InputError(f"--pattern {self.reading.pattern}: {error}") from error
        groups = re.compile(self.reading.pattern).groupindex
        if not groups:
            raise InputError("no group of --pattern has a name", hint="a column named user: (?P<user>\\w+)")
        self._groups = tuple(groups.values())
        self.set_columns(tuple(groups))

    def cells(self, row: str) -> Sequence[str] | None:
        text = row.rstrip("\r\n")
        match = self._match(text)
        if match is None:
            if not text.strip():
                return None
            hint = "--bad-rows skip leaves out lines that do not match"
            raise InputError(f"the line does not match --pattern: {short(text)}", hint=hint)
        return [match[group] or "" for group in self._groups]

    def cell(self, cell: str | None, domain: Domain) -> Value | None:
        return read_cell(cell, domain, self.reading) if cell else None

    def format_cell(self, cell: str) -> str:
        return f"'{short(cell)}'"


ROW = FormatRow(
    "text",
    "a line a step, with a column for each named group of `--pattern`",
    (".log",),
    TextReader,
    text=True,
    takes=("pattern", "decimal", "thousands", "nulls", *LINES),
    rank=3,
)
