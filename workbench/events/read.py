"""Reading events from files of any format.

The rule of this module: files are streamed; what the formats allow, their modules say. What a name ends with tells the
format, and an ending that tells none is refused; without one the first bytes tell.
"""

from __future__ import annotations

import io
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, cast

from workbench.core.domain import Domain
from workbench.core.program import Ported, Ports
from workbench.errors import InputError
from workbench.events.account import Account, Reporter
from workbench.events.column_map import see_inputs
from workbench.events.decoding import counted_blocks, enough
from workbench.events.files import format_of, opened, shown_name, sniffed
from workbench.events.inputs import LogPath, log_files
from workbench.events.reading import SHAPES, Reading
from workbench.events.rows import InputEvents, LogBlock, RowReader
from workbench.events.table import format_row
from workbench.events.values import Words


def read_events(
    path: LogPath | Sequence[LogPath],
    program: Ported,
    reading: Reading | None = None,
    *,
    stdin: IO[bytes] | None = None,
    reporter: Reporter | None = None,
) -> Iterator[InputEvents]:
    """The steps in a log, each a mapping from input name to event; `-` is the standard input.

    Parameters
    ----------
    path: `.csv`, `.jsonl`, `.parquet`, ... (`table.endings`), also with `.gz` or `.zst`; without an ending the first
        bytes tell. A folder or a pattern stands for its files; several are read one after the other, as one log.
    reading: what the user says about columns and rows.
    reporter: has the account of them.

    Raises
    ------
    InputError: what cannot be read, with the file, the line, the column, the text and what was expected.
    """
    for block in read_blocks(path, program, reading, stdin=stdin, reporter=reporter):
        yield from block.steps()


def read_blocks(
    path: LogPath | Sequence[LogPath],
    program: Ported,
    reading: Reading | None = None,
    *,
    stdin: IO[bytes] | None = None,
    reporter: Reporter | None = None,
) -> Generator[LogBlock]:
    """The same in blocks, for who can take columns; those of a block are read before the next block is asked for.

    Rows that are read one by one count in the account; those of columns are counted by who takes them.
    """
    reading, reporter = reading or Reading(), reporter or Reporter()
    for file in _files(path, program, reading, reporter.account):
        with _opened(file, program, reading, reporter, stdin) as (reader, lines, shown):
            yield from counted_blocks(reader.blocks(lines, shown), shown, reading, reporter.account)
            if not enough(reading, reporter.account):  # what all rows have in common is known when they have been taken
                yield LogBlock(partial(_ended, reader, shown), rows=0)


def _ended(reader: RowReader, shown: str) -> Iterator[InputEvents]:
    try:
        reader.end()
    except InputError as error:
        raise error.retold(where=shown) from error
    return iter(())


def _files(path: LogPath | Sequence[LogPath], program: Ported, reading: Reading, account: Account) -> Iterator[LogPath]:
    """The files of a log, as long as rows are asked for."""
    see_inputs(program.ports, reading)
    for file in log_files(path):
        if not enough(reading, account):
            yield file


def key_domain(path: LogPath | Sequence[LogPath], name: str, reading: Reading) -> Domain:
    """What the keys in a column are: whole numbers or truth values where the first file says so, else texts."""
    file = next(iter(log_files(path)))
    if not Path(file).is_file():  # what is read once is not looked at before
        return Words()
    with opened_log(file, Ports("keys", ()), replace(reading, head=0), Reporter()) as (reader, lines, shown):
        return reader.key_domain(cast(IO[bytes], lines.buffer), name, shown)


@contextmanager
def opened_log(
    path: LogPath, program: Ported, reading: Reading, reporter: Reporter, stdin: IO[bytes] | None = None
) -> Iterator[tuple[RowReader, io.TextIOWrapper, str]]:
    """One file of a log: what reads it, its lines, and what messages call it; it is at its end then."""
    with _opened(path, program, reading, reporter, stdin) as (reader, lines, shown):
        yield reader, lines, shown
        if not enough(reading, reporter.account):
            _ended(reader, shown)


@contextmanager
def _opened(
    path: LogPath, program: Ported, reading: Reading, reporter: Reporter, stdin: IO[bytes] | None
) -> Iterator[tuple[RowReader, io.TextIOWrapper, str]]:
    with opened(path, stdin) as stream, log_reader(stream, path, program, reading, reporter) as found:
        yield found


@contextmanager
def log_reader(
    stream: io.BufferedReader, path: LogPath, program: Ported, reading: Reading, reporter: Reporter
) -> Iterator[tuple[RowReader, io.TextIOWrapper, str]]:
    """What reads the bytes of a file of a log, its lines, and what messages call it."""
    lines = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    try:
        row = format_row(reading.format or format_of(path) or sniffed(stream))
        if foreign := next((name for name in SHAPES if getattr(reading, name) and name not in row.takes), None):
            hint = f"leave it out; the format is {row.name}"
            raise InputError(f"--{foreign} says nothing of this file", where=shown_name(path), hint=hint)
        yield row.reader(program, reading, reporter), lines, shown_name(path)
    finally:
        lines.detach()
