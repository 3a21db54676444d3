"""Reading events from files of any format.

The rule of this module: files are streamed; what the formats allow, their modules say. What a name ends with tells the
format, and an ending that tells none is refused; without one the first bytes tell.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, cast

from workbench.core.domain import Domain
from workbench.core.program import Ported, Ports
from workbench.events.files import format_of, opened, readable, shown_name, sniffed
from workbench.events.reading import Reading, Tally
from workbench.events.rows import InputEvents, LogBlock, RowReader
from workbench.events.table import format_row
from workbench.events.values import Words


def read_events(
    path: str | Path,
    program: Ported,
    reading: Reading | None = None,
    *,
    stdin: IO[bytes] | None = None,
    tally: Tally | None = None,
) -> Iterator[InputEvents]:
    """The steps in a file, each a mapping from input name to event; `-` is the standard input.

    Parameters
    ----------
    path: `.csv`, `.jsonl`, `.parquet`, ... (`table.endings`), also with `.gz` or `.zst`; without an ending the first
        bytes tell.
    reading: what the user says about columns and rows.
    tally: is told what becomes of them.

    Raises
    ------
    InputError: what cannot be read, with the file, the line, the column, the text and what was expected.
    """
    with _opened(path, program, reading or Reading(), tally, stdin) as (reader, lines, shown):
        for block in reader.blocks(lines, shown):
            yield from block.steps()


def read_blocks(
    path: str | Path, program: Ported, reading: Reading | None = None, *, tally: Tally | None = None
) -> Iterator[LogBlock]:
    """The same in blocks, for who can take columns; those of a block are read before the next block is asked for."""
    with _opened(path, program, reading or Reading(), tally) as (reader, lines, shown):
        for block in reader.blocks(lines, shown):
            yield LogBlock(partial(_readably, block.steps, shown), block.columns)


def key_domain(path: str | Path, name: str, reading: Reading) -> Domain:
    """What the keys in a column are: whole numbers or truth values where the file says so, else texts."""
    if not Path(path).is_file():  # what is read once is not looked at before
        return Words()
    with _opened(path, Ports("keys", ()), reading, None) as (reader, lines, shown):
        return reader.key_domain(cast(IO[bytes], lines.buffer), name, shown)


@contextmanager
def _opened(
    path: str | Path, program: Ported, reading: Reading, tally: Tally | None, stdin: IO[bytes] | None = None
) -> Iterator[tuple[RowReader, io.TextIOWrapper, str]]:
    with opened(path, stdin) as stream:
        lines = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        try:
            row = format_row(reading.format or format_of(path) or sniffed(stream))
            yield row.reader(program, reading, tally), lines, shown_name(path)
        finally:
            lines.detach()


def _readably(steps: Callable[[], Iterator[InputEvents]], shown: str) -> Iterator[InputEvents]:
    with readable(shown):
        yield from steps()
