"""What a user says about the columns and rows of a log.

The rule of this module: it is known before a row is read and holds for all files of a log, whatever their formats.
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
"""What an empty cell or a null is: no event at this step, or an error; or in a record that has others, 0 or no text."""
CELLS = ("delimiter", "quote", "decimal", "nulls")
"""What says how the cells of a row are written."""
LINES = ("encoding", "skip_lines", "comment")
"""What says which lines of a text are rows."""
SHAPES = ("header", "pattern", "xml", *CELLS, *LINES)
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
    delimiter: what separates cells (CSV); empty: the header tells, or the format.
    quote: what stands around cells (CSV), or nothing; None: quotation marks.
    decimal: the decimal mark in numbers of texts; empty: a point.
    nulls: the texts of cells that are empty, too.
    encoding: of a text; empty: UTF-8, or what its first bytes name.
    skip_lines: how many lines at the beginning of a text are no rows.
    comment: what lines of a text begin with that are no rows.
    follow: reads the file, which grows.
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
    delimiter: str = ""
    quote: str | None = None
    decimal: str = ""
    nulls: tuple[str, ...] = ()
    encoding: str = ""
    skip_lines: int = 0
    comment: str = ""
    follow: Follower | None = None


def nulls_of(given: str | Iterable[str]) -> tuple[Null, tuple[str, ...]]:
    """What empty cells are, and the texts of those that are empty, too; a user gives both in any order.

    Raises
    ------
    InputError: empty cells are two things, or a text is nearly one of these words.
    """
    words: list[Any] = [given] if isinstance(given, str) else list(given)
    meanings = [word for word in words if word in get_args(Null)]
    texts = tuple(word for word in words if word not in meanings)
    for text in texts:
        if (hint := did_you_mean(text, get_args(Null))).startswith("did"):
            raise InputError(f"there is no meaning '{text}' of nulls", hint=hint)
    if len(set(meanings)) > 1:
        raise InputError(
            f"--null is given two meanings for empty cells: {' and '.join(meanings)}", hint="leave one out"
        )
    return (meanings[0] if meanings else "absent"), texts


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
