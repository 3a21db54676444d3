"""Read events from files of any format.

The rule of this module: files are streamed; the modules of the formats define what these allow. The ending of a name
determines the format, and an unknown ending is refused; without one the first bytes decide.
"""

from __future__ import annotations

import io
import os
from collections.abc import Generator, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, cast

from workbench.core.domain import BOOL, INT, Domain
from workbench.core.program import Ported, Ports
from workbench.errors import InputError, WorkbenchError
from workbench.events.account import Account, Reporter
from workbench.events.clock import Times
from workbench.events.column_map import see_inputs
from workbench.events.date_formats import AUTO
from workbench.events.decoding import count_blocks, enough
from workbench.events.files import BUFFER, display_name, format_of, open_bytes, sniff_format
from workbench.events.inputs import LogPath, list_named_files, log_files
from workbench.events.reading_options import LINES, SHAPES, Reading
from workbench.events.rows import InputEvents, LogBlock, RowReader
from workbench.events.table import FormatRow, format_row
from workbench.events.text_streams import DroppedLines, find_marked_encoding, text_stream
from workbench.events.values import CopiedCells, KeyTexts

SAMPLED = 1000
"""Number of rows from which the form of dates is inferred."""


def read_events(
    path: LogPath | Sequence[LogPath],
    program: Ported,
    reading: Reading | None = None,
    *,
    stdin: IO[bytes] | None = None,
    reporter: Reporter | None = None,
) -> Iterator[InputEvents]:
    """Yield the steps in a log, each a mapping from input name to event; `-` is the standard input.

    Parameters
    ----------
    path: `.csv`, `.jsonl`, `.parquet`, ... (`table.endings`), also with `.gz` or `.zst`; without an ending the first
        bytes decide. A folder or a pattern stands for its files; several are read one after the other, as one log.
    reading: the user's options about columns and rows.
    reporter: has the account of the rows.

    Raises
    ------
    InputError: a row cannot be read; with the file, the line, the column, the text and what was expected.
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
    """Yield the steps in blocks, for consumers of columns; they read a block's columns before the next block.

    Rows that are read one by one are counted in the account; the consumer counts those of columns.
    """
    reading, reporter = reading or Reading(), reporter or Reporter()
    for file, stream in _files(path, program, reading, reporter.account, stdin):
        with (
            stream as byte_stream,
            log_reader(byte_stream, file, program, reading, reporter) as (reader, lines, file_name),
        ):
            yield from count_blocks(reader.blocks(lines, file_name), file_name, reading, reporter.account)
            if not enough(reading, reporter.account):  # errors about the whole log are found after all rows
                yield LogBlock(partial(_read_end, reader, file_name), rows=0)


def _read_end(reader: RowReader, file_name: str) -> Iterator[InputEvents]:
    try:
        reader.end()
    except InputError as error:
        raise error.retold(where=file_name) from error
    return iter(())


def _files(
    path: LogPath | Sequence[LogPath], program: Ported, reading: Reading, account: Account, stdin: IO[bytes] | None
) -> Iterator[tuple[LogPath, AbstractContextManager[io.BufferedReader]]]:
    """Yield the files of a log, each with a context that opens it, as long as rows are read."""
    see_inputs(program.ports, reading)
    streams: Iterator[tuple[LogPath, AbstractContextManager[io.BufferedReader]]]
    if reading.follow is None:
        streams = ((file, open_bytes(file, stdin)) for file in log_files(path))
    else:
        followed = reading.follow
        streams = ((followed.path, io.BufferedReader(file, BUFFER)) for file in followed.files())
    while not enough(reading, account) and (entry := next(streams, None)) is not None:
        yield entry


def share_columns(path: object, ports: Ports, reading: Reading, key: str | None = None) -> Ports:
    """Return the ports for reading a log of several files, each of which may lack what another one has (`shared`).

    The first rows of files show the columns. Those of a pipe are unknown: it cannot be inspected beforehand.

    Parameters
    ----------
    path: the log, which has several files, or is not a file.
    key: the column of keys, which each file needs, like the times.
    """
    names = {port.name for port in ports.inputs if not (port.optional or port.clock or port.name == key)}
    lenient_inputs, present = lenient_ports(_share(ports, names)), set[str]()
    files = log_files(cast(Sequence[LogPath], list_named_files(path) or ())) if reading.follow is None else []
    for file in filter(os.path.isfile, files) if len(files) > 1 else ():
        if names <= present:
            break
        log = _open_log(file, lenient_inputs, lenient(reading), Reporter(), None)
        with suppress(WorkbenchError), log as (reader, lines, _):
            present |= reader.match_columns(list(reader.sample(lines, str(file), SAMPLED)[1])).inputs.keys()
    return _share(ports, names & present)


def _share(ports: Ports, names: AbstractSet[str]) -> Ports:
    return replace(ports, inputs=tuple(replace(port, shared=port.name in names) for port in ports.inputs))


def key_domain(path: LogPath | Sequence[LogPath], name: str, reading: Reading) -> Domain:
    """Return the domain of the keys in a column: by the types of the first file, or else texts."""
    return as_key(cell_domain(path, name, reading))


def as_key(domain: Domain) -> Domain:
    """Return the domain of the keys in a column with these cells."""
    return domain if domain in (BOOL, INT) else KeyTexts()


def cell_domain(path: LogPath | Sequence[LogPath], name: str, reading: Reading) -> Domain:
    """Return the domain of the cells in a column, for copying them: by the types of the first file."""
    file = next(iter(log_files(path)))
    if not Path(file).is_file():  # a pipe cannot be inspected beforehand
        return CopiedCells()
    reading = replace(reading, head=0, follow=None)
    with open_log(file, Ports("keys", ()), reading, Reporter()) as (reader, lines, file_name):
        return reader.cell_domain(cast(IO[bytes], lines.buffer), name, file_name)


@contextmanager
def open_log(
    path: LogPath, program: Ported, reading: Reading, reporter: Reporter, stdin: IO[bytes] | None = None
) -> Iterator[tuple[RowReader, io.TextIOWrapper, str]]:
    """Open one file of a log: its reader, its lines, and its name for messages; check the end of the file."""
    with _open_log(path, program, reading, reporter, stdin) as (reader, lines, file_name):
        yield reader, lines, file_name
        if not enough(reading, reporter.account):
            _read_end(reader, file_name)


@contextmanager
def _open_log(
    path: LogPath, program: Ported, reading: Reading, reporter: Reporter, stdin: IO[bytes] | None
) -> Iterator[tuple[RowReader, io.TextIOWrapper, str]]:
    with open_bytes(path, stdin) as stream, log_reader(stream, path, program, reading, reporter) as log:
        yield log


@contextmanager
def log_reader(
    stream: io.BufferedReader, path: LogPath, program: Ported, reading: Reading, reporter: Reporter
) -> Iterator[tuple[RowReader, io.TextIOWrapper, str]]:
    """Yield the reader of a file of a log, its lines, and its name for messages."""
    file_name, dropped = display_name(path), DroppedLines()
    encoding = reading.encoding or find_marked_encoding(stream)
    if encoding and not reading.encoding:
        reporter.report_once(f"the text is read as {encoding}, as its first bytes show (--encoding names another one)")
    stream = text_stream(stream, encoding, reading.skip_lines, reading.comment, dropped)
    lines = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    try:
        row = format_row(reading.format or format_of(path) or sniff_format(stream))
        if foreign := next((name for name in SHAPES if getattr(reading, name) and name not in row.takes), None):
            flag = "null TEXT" if foreign == "nulls" else foreign.replace("_", "-")
            raise InputError(f"--{flag} does not apply to this file", where=file_name, hint=f"the format is {row.name}")
        if reading.follow is not None and LINES[0] not in row.takes:
            raise InputError(f"--follow reads lines, and {row.name} has none", where=file_name, hint="leave it out")
        reader = row.reader(program, reading, reporter)
        reader.dropped = dropped
        if row.text:
            reader.begin(stream.peek())
        _sample_dates(reader, row, program, stream)
        yield reader, lines, file_name
    finally:
        lines.detach()


def _sample_dates(reader: RowReader, row: FormatRow, program: Ported, stream: io.BufferedReader) -> None:
    """Infer the form of dates from the first rows of a file that have arrived."""
    for name, domain in {} if reader.typed else reader.domains.items():
        if isinstance(domain, Times) and domain.clock.format == AUTO and domain.clock.reader.day_first is None:
            domain.clock.reader.sample = partial(_first_texts, row, program, reader.reading, stream.peek(), name)


def _first_texts(row: FormatRow, program: Ported, reading: Reading, data: bytes, name: str) -> list[str]:
    """Return the texts of an input in the first bytes of a file."""
    reader = row.reader(lenient_ports(program), lenient(reading))
    reader.begin(data)
    with suppress(WorkbenchError):
        rows = io.TextIOWrapper(io.BytesIO(data[: data.rfind(b"\n") + 1]), encoding="utf-8-sig", newline="")
        cells = reader.sample(rows, "", SAMPLED)[1]
        index = reader.match_columns(list(cells)).inputs.get(name)
        return [cell for cell in [*cells.values()][index] if isinstance(cell, str)] if isinstance(index, int) else []
    return []


def lenient(reading: Reading) -> Reading:
    """Return a reading without avoidable errors."""
    return replace(reading, strict=False, null="absent", bad_rows="skip", follow=None)


def lenient_ports(program: Ported) -> Ports:
    """Return the ports of a program, all of them optional."""
    return replace(program.ports, inputs=tuple(replace(port, optional=True) for port in program.ports.inputs))
