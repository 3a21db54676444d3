"""The table of formats, which all code about several formats uses.

The rule of this module: a format is one file in `events/formats`, or in the folder `formats` of an extension, with its
reader, its writer and a `ROW`, and has the name of its file. So its name is known before it is imported. Plugins
register their formats.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from workbench.errors import InputError, did_you_mean
from workbench.extensions import PartTable, files, rows
from workbench.extras import install_extra

if TYPE_CHECKING:
    from workbench.events.rows import RowReader
    from workbench.events.writers import RowWriter

FORMATS = "workbench.events.formats"
USUAL = "csv"
"""The default format."""
PIPED = "jsonl"
"""The format for pipes and terminals if the chosen one cannot be written to them."""
PYARROW = {"pyarrow": install_extra("lab")}


@dataclass(frozen=True)
class FormatRow:
    """One format of logs.

    Parameters
    ----------
    name, what: its name, and a line about its content.
    endings: the endings of the names of its files, before those of compression.
    reader, writer: the classes that read and write it; without a writer it is only read.
    begins: whether a file with these first bytes may have the format; the last such row is chosen. Without it only
        a name or `--format` chooses the format.
    piped: whether it can be read from a pipe and written to one.
    text: whether it is readable text; other formats are not written to a terminal.
    in_lines: whether, if it is text, each row is a line.
    takes: the options of a `Reading` that only such formats have.
    needs: the Python packages that it requires, and how each is installed.
    row_bytes: the approximate size of an uncompressed row in bytes.
    spark: its name in Spark, if it differs; for a format that is not text, only if Spark writes it.
    rank: its place among the others.
    """

    name: str
    what: str
    endings: tuple[str, ...]
    reader: type[RowReader]
    writer: Callable[..., RowWriter] | None = None
    begins: Callable[[bytes], bool] = lambda _: False
    piped: bool = True
    text: bool = False
    in_lines: bool = True
    takes: tuple[str, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict)
    row_bytes: float = 25
    spark: str = ""
    rank: int = 5

    def delimited(self, delimiter: str, decimal: str = "") -> FormatRow:
        """Return the format with another delimiter between the cells, and decimal mark, that are written.

        Parameters
        ----------
        delimiter, decimal: empty: those of the format.

        Raises
        ------
        InputError: the format has no delimiter.
        """
        if not (delimiter or decimal):
            return self
        if self.writer is None or "delimiter" not in self.takes:
            flag = "delimiter" if delimiter else "decimal"
            hint = "--output-format csv writes cells of text"
            raise InputError(f"--output-{flag} does not apply to the output: it is {self.name}", hint=hint)
        return replace(self, writer=functools.partial(self.writer, between=delimiter, decimal=decimal))


@functools.cache
def format_rows() -> Mapping[str, FormatRow]:
    """Return the formats by name, in the order of lists."""
    return rows(FORMATS)


def format_names() -> list[str]:
    """Return the names of the formats without importing those of workbench."""
    own = files(importlib.import_module(FORMATS).__path__)
    return list(PartTable(dict.fromkeys(own), FormatRow))


def format_row(name: str) -> FormatRow:
    """Return the format of that name; InputError with a suggestion if there is none."""
    try:
        return format_rows()[name]
    except KeyError:
        raise InputError(f"there is no format '{name}'", hint=did_you_mean(name, format_rows())) from None


def format_of_options(*options: str) -> str | None:
    """Return the format of the first of these options of a `Reading` that only one format has; None if none."""
    for option in options:
        names = [row.name for row in format_rows().values() if option in row.takes]
        if len(names) == 1:
            return names[0]
    return None


def endings() -> dict[str, str]:
    """Return the formats by the endings of names."""
    return {ending: name for name, row in format_rows().items() for ending in row.endings}
