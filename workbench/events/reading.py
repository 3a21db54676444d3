"""What a user says about the columns and rows of a log.

The rule of this module: it is known before a row is read and holds for all files of a log, whatever their formats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.events.clock import Clock

Null = Literal["absent", "error", "zero"]
"""What an empty cell or a null is: no event at this step, or an error; or in a record that has others, 0 or no text."""
SHAPES = ("header", "pattern", "xml")
"""What says how rows lie in files that do not say it."""


@dataclass(frozen=True)
class Reading:
    """How a log is read.

    Parameters
    ----------
    columns: the column for an input, or for a field of a record on one (`e.user`), where it is not called like that.
    strict: whether columns that no input needs are an error; else they are passed over.
    null: what an empty cell or a null is.
    bad_rows: what becomes of rows that cannot be read: `error`, `skip`, or the name of a file that they are written to.
    head: how many rows are read at most; None: all.
    words: whether whole numbers have at most 64 bits, as in compiled code.
    format: of the files; None: what their names or first bytes say.
    clock: how the log writes the times of steps; None: as numbers that are taken as they are.
    header: the names of columns in files (CSV) that begin with a row; empty: they begin with a line of names.
    pattern: what each line of a text matches as a whole, with a named group for each column.
    xml: the name of the elements of XML that are rows.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    strict: bool = False
    null: Null = "absent"
    bad_rows: str = "error"
    head: int | None = None
    words: bool = False
    format: str | None = None
    clock: Clock | None = None
    header: tuple[str, ...] = ()
    pattern: str = ""
    xml: str = ""


def columns_of(given: Mapping[str, str] | Iterable[str]) -> Mapping[str, str]:
    """The columns of inputs, as texts say them: `x=temperature`."""
    if isinstance(given, Mapping):
        return given
    found: dict[str, str] = {}
    for text in [given] if isinstance(given, str) else given:
        name, equals, column = text.partition("=")
        if not (name and equals and column):
            raise InputError(f"--column {text}: expected INPUT=COLUMN", hint="for example --column x=temperature")
        if name in found:
            raise InputError(f"--column says twice where '{name}' comes from: {found[name]} and {column}")
        found[name] = column
    return found
