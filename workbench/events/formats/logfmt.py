"""logfmt: lines of `key=value`, read and written.

The rule of this format: spaces separate pairs; a value with spaces, `=` or quotation marks is in quotation
marks, with the escapes of JSON. `key=` and `key=null` carry no event, a key alone is `true`. Tuples and records are
JSON text. Sources: the grammar of github.com/kr/logfmt; the errors, escapes and `null` of github.com/go-logfmt/logfmt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from workbench.core.domain import Domain, Texts, Value
from workbench.core.program import Ported
from workbench.errors import InputError
from workbench.events.account import Reporter
from workbench.events.cells import has_plain_cells, read_cell
from workbench.events.line_rows import RecordReader
from workbench.events.reading_options import LINES, Reading
from workbench.events.table import FormatRow
from workbench.events.values import from_text, is_encodable, short, to_text
from workbench.events.writers import RowWriter

_BEGINS = re.compile(rb' *+[^\0- =",;{\[<]++=(?:"|[^\0- =",;]*+(?: |\r?\n|\Z))')
"""A pattern for a pair at the beginning of a line that is no CSV, JSON or XML."""
_PAIR = re.compile(
    r'[\0- ]*+(?:([^\0- ="]++)(?:(=)(?:("(?:[^"\\]|\\.)*+")|([^\0- ="]*+)))?(?=[\0- ]|\Z)|(.))', re.DOTALL
)
"""A pattern for a key, its `=`, and its value, quoted or not; or for a wrong character."""
_QUOTED = re.compile(r'[\0- ="\x7f\ufffd]|\A(?:null)?\Z')
"""A pattern for values that must be quoted."""
_DECODER = json.JSONDecoder(strict=False)


class LogfmtReader(RecordReader):
    """A reader with a step for each line of pairs."""

    def __init__(self, program: Ported, reading: Reading | None = None, reporter: Reporter | None = None) -> None:
        super().__init__(program, reading, reporter)
        self._is_plain = has_plain_cells(self.reading)

    def cells(self, row: str) -> Sequence[str | None] | None:
        fields: dict[str, str | None] = {}
        line = row.rstrip("\0\r\n\t ")
        for pair in _PAIR.finditer(line):
            key, equals, quoted, plain, wrong = pair.groups("")
            if wrong:
                raise InputError(f"expected key=value, not {short(line[pair.start(5) :])}")
            if key in fields:
                raise InputError(f"the key '{key}' occurs twice in one line")
            value = _unquote(quoted) if quoted else plain
            empty = equals and not quoted and value in ("", "null")
            fields[key] = None if empty else value if equals else "true"
        if not fields:
            return None
        self.turn_to(tuple(fields))
        return list(fields.values())

    def cell(self, cell: str | None, domain: Domain) -> Value | None:
        if self._is_plain or not cell:
            return None if cell is None else from_text(cell, domain)
        return read_cell(cell, domain, self.reading)

    def format_cell(self, cell: str) -> str:
        return f"'{short(cell)}'"


def _unquote(value: str) -> str:
    """Decode a quoted value; InputError if it has an invalid escape."""
    if "\\" not in value:
        return value[1:-1]
    try:
        text: str = _DECODER.decode(value)
    except ValueError:
        raise InputError(f"not a value of logfmt, it has an invalid escape: {short(value)}") from None
    if not is_encodable(text):
        raise InputError(f"half of a surrogate pair is not a character of Unicode: {short(value)}")
    return text


class LogfmtWriter(RowWriter):
    """A writer of a line of pairs for each step; a step without events is a key without a value."""

    def row(self, events: Mapping[str, Value]) -> None:
        pairs = [f"{name}={_text(events[name], domain)}" for name, domain in self.domains.items() if name in events]
        self.stream.write(" ".join(pairs or [f"{next(iter(self.domains))}="]) + "\n")


def _text(value: Value, domain: Domain) -> str:
    text: str = value if isinstance(domain, Texts) else to_text(value, domain)
    return json.dumps(text, ensure_ascii=False) if _QUOTED.search(text) else text


ROW = FormatRow(
    "logfmt",
    "a line of `key=value` a step; a key that is not there, or has no value, means no event",
    (".logfmt",),
    LogfmtReader,
    LogfmtWriter,
    lambda start: _BEGINS.match(start) is not None,
    text=True,
    takes=("decimal", "thousands", "nulls", *LINES),
    row_bytes=40,
    rank=2,
)
