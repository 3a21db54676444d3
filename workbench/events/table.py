"""The table of formats: everything that speaks of several of them reads it.

The rule of this module: a format is one file in `events/formats`, or in the folder `formats` of an extension, with its
reader, its writer and a `ROW`, and is called like its file. So its name is known before it is imported. Plugins have
others.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench.errors import InputError, did_you_mean
from workbench.extensions import PartTable, files, rows

if TYPE_CHECKING:
    from workbench.events.rows import RowReader
    from workbench.events.writers import RowWriter

FORMATS = "workbench.events.formats"
USUAL = "csv"
"""The format where nothing tells it."""
PIPED = "jsonl"
"""The format that is written where another one cannot be: to a pipe, or to a terminal."""
PYARROW = {"pyarrow": "pip install 'streamproof[lab]'"}


@dataclass(frozen=True)
class FormatRow:
    """One format of logs.

    Parameters
    ----------
    name, what: what it is called, and what stands in it, in a line.
    endings: what names of such files end with, before what names compressed ones.
    reader, writer: what reads and writes it; without a writer it is only read.
    begins: whether a file that begins with these bytes may be one; the last row that says so has it. Without it only
        a name or `--format` tells.
    piped: whether it can be read from a pipe and written to one.
    text: whether people can read it; other formats are not written to a terminal.
    takes: the options of a `Reading` that only such formats have.
    needs: Python packages that it cannot do without, and how each is installed.
    row_bytes: what a row takes in a file, about, that is not compressed.
    spark: what Spark calls it, where that is not its name; of one that is no text, if Spark writes it.
    rank: its place among the others.
    """

    name: str
    what: str
    endings: tuple[str, ...]
    reader: type[RowReader]
    writer: type[RowWriter] | None = None
    begins: Callable[[bytes], bool] = lambda _: False
    piped: bool = True
    text: bool = False
    takes: tuple[str, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict)
    row_bytes: float = 25
    spark: str = ""
    rank: int = 5


@functools.cache
def format_rows() -> Mapping[str, FormatRow]:
    """The formats by name, in the order in which they are shown."""
    return rows(FORMATS)


def format_names() -> list[str]:
    """Their names, none of workbench's own imported."""
    own = files(importlib.import_module(FORMATS).__path__)
    return list(PartTable(dict.fromkeys(own), FormatRow))


def format_row(name: str) -> FormatRow:
    """The format of that name; InputError with a suggestion if there is none."""
    try:
        return format_rows()[name]
    except KeyError:
        raise InputError(f"there is no format '{name}'", hint=did_you_mean(name, format_rows())) from None


def format_of_options(*given: str) -> str | None:
    """The format of the first of these options of a `Reading` that one format only has; None if there is none."""
    for option in given:
        found = [row.name for row in format_rows().values() if option in row.takes]
        if len(found) == 1:
            return found[0]
    return None


def endings() -> dict[str, str]:
    """What names end with, and the formats that they tell."""
    return {ending: name for name, row in format_rows().items() for ending in row.endings}
