"""The options of a user about the columns and rows of a log.

The rule of this module: they are known before a row is read, and hold for all files of a log, whatever their formats.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from workbench.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from workbench.events.clock import Clock
    from workbench.events.follow import Follower

Null = Literal["absent", "error", "zero"]
"""The meaning of an empty cell or null: no event, an error, or 0, false or the empty text."""
CELLS = ("delimiter", "quote", "decimal", "thousands", "nulls")
"""The options about the form of cells."""
LINES = ("encoding", "skip_lines", "comment")
"""The options about the lines of a text that are rows."""
SHAPES = ("header", "pattern", "xml", *CELLS, *LINES)
"""The options about the form of rows in files that do not define it."""


@dataclass(frozen=True)
class Reading:
    """The options for reading a log.

    Parameters
    ----------
    columns: the column of an input, or of a field of a record on one (`e.user`), where it has another name.
    strict: whether columns that no input needs are an error; else they are ignored.
    null: the meaning of an empty cell or a null.
    bad_rows: the handling of rows that cannot be read: `error`, `skip`, or the name of a file to write them to.
    head: the maximum number of rows to read; None: all.
    only_64_bits: whether whole numbers have at most 64 bits, as in compiled code.
    format: the format of the files; None: that of their names or first bytes.
    clock: the form of the times of steps; None: numbers that are taken as they are.
    dated: whether a date in place of a number is read as seconds since 1970, in the form of the clock.
    header: the names of columns in files (CSV) that begin with a row; empty: they begin with a line of names.
    pattern: the pattern that each line of a text matches as a whole, with a named group for each column.
    xml: the name of the XML elements that are rows.
    delimiter: the character between cells (CSV); empty: that of the header, or of the format.
    quote: the quotation mark of cells (CSV), empty for none; None: `"`.
    decimal: the decimal mark in numbers of texts; empty: a point.
    thousands: the separator of thousands in numbers of texts; empty: none.
    nulls: further texts of empty cells.
    encoding: the encoding of a text; empty: UTF-8, or that of its first bytes.
    skip_lines: the number of lines at the beginning of a text that are not rows.
    comment: the beginning of lines of a text that are not rows.
    follow: reads a file that grows.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    strict: bool = False
    null: Null = "absent"
    bad_rows: str = "error"
    head: int | None = None
    only_64_bits: bool = False
    format: str | None = None
    clock: Clock | None = None
    dated: bool = False
    header: tuple[str, ...] = ()
    pattern: str = ""
    xml: str = ""
    delimiter: str = ""
    quote: str | None = None
    decimal: str = ""
    thousands: str = ""
    nulls: tuple[str, ...] = ()
    encoding: str = ""
    skip_lines: int = 0
    comment: str = ""
    follow: Follower | None = None


def nulls_of(nulls: str | Iterable[str]) -> tuple[Null, tuple[str, ...]]:
    """Split the values of `--null` into the meaning of empty cells and further texts of empty cells, in any order.

    Raises
    ------
    InputError: there are two meanings, or a text is nearly one of these words.
    """
    words: list[Any] = [nulls] if isinstance(nulls, str) else list(nulls)
    meanings = [word for word in words if word in get_args(Null)]
    texts = tuple(word for word in words if word not in meanings)
    for text in texts:
        if (hint := did_you_mean(text, get_args(Null))).startswith("did"):
            raise InputError(f"nulls have no meaning '{text}'", hint=hint)
    if len(set(meanings)) > 1:
        raise InputError(
            f"--null is given two meanings for empty cells: {' and '.join(meanings)}", hint="leave one out"
        )
    return (meanings[0] if meanings else "absent"), texts


def columns_of(columns: Mapping[str, str] | Iterable[str]) -> Mapping[str, str]:
    """Parse the columns of inputs from texts such as `x=temperature`."""
    if isinstance(columns, Mapping):
        return columns
    inputs: dict[str, str] = {}
    for text in [columns] if isinstance(columns, str) else columns:
        name, equals, column = text.partition("=")
        if not (name and equals and column):
            raise InputError(f"--column {text}: expected INPUT=COLUMN", hint="for example --column x=temperature")
        if name in inputs:
            raise InputError(f"--column names two columns for '{name}': {inputs[name]} and {column}")
        inputs[name] = column
    return inputs
