"""Writing events as CSV, JSON lines and Parquet; they read back with `events`.

The rule of this module: a file appears under its name only when it is complete, and what fails before its first row
writes nothing.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any, cast

from workbench.core.domain import Value
from workbench.core.program import Program
from workbench.errors import InputError
from workbench.events.formats import Format, format_of
from workbench.events.values import dump_json, to_json, to_text
from workbench.events.whole import replacing


def output_format(output: str | Path, given: Format | None, read: str | Path) -> Format:
    """The format to write: what the output's name tells, else what is `given`, else that of the input.

    To what is no file, Parquet cannot be written: there it is JSON lines.
    """
    target = Path(output)
    no_file = str(output) == "-" or (target.exists() and not target.is_file())
    try:
        named = None if no_file else format_of(output)
    except InputError:
        if given is None:
            raise
        named = None
    found = named or given or format_of(read) or "csv"
    return "jsonl" if no_file and found == "parquet" else found


class Writer:
    """Writes what the outputs of a program show, one row (or object) a step; see `write_events`."""

    def __init__(self, program: Program, *, idle: bool) -> None:
        self.idle = idle
        self.domains = program.ports.shown

    def write(self, outputs: Mapping[str, Sequence[Value]]) -> None:
        """The events of one step; several events of one output (the end of a stream) take several rows."""
        rows = max((len(values) for values in outputs.values()), default=0)
        for i in range(max(rows, 1) if self.idle else rows):
            self._row({name: values[i] for name, values in outputs.items() if i < len(values)})

    def end(self) -> None:
        """What is still to be written, when no error has come between."""

    def _row(self, events: Mapping[str, Value]) -> None:
        raise NotImplementedError


class _JsonWriter(Writer):
    def __init__(self, stream: IO[str], program: Program, *, idle: bool) -> None:
        super().__init__(program, idle=idle)
        self.stream = stream

    def _row(self, events: Mapping[str, Value]) -> None:
        row = {n: to_json(events[n], d) for n, d in self.domains.items() if n in events}
        self.stream.write(dump_json(row) + "\n")


class _CsvWriter(Writer):
    """The header comes with the first row: what fails before it writes nothing."""

    def __init__(self, stream: IO[str], program: Program, *, idle: bool) -> None:
        super().__init__(program, idle=idle)
        self.stream, self.csv = stream, csv.writer(stream, lineterminator="\n")
        self.begun = False

    def end(self) -> None:
        if not self.begun:
            self.csv.writerow(self.domains)
            self.begun = True

    def _row(self, events: Mapping[str, Value]) -> None:
        self.end()
        if events or len(self.domains) > 1:
            self.csv.writerow([to_text(events[n], d) if n in events else "" for n, d in self.domains.items()])
        else:  # a row with one empty cell: csv would write "" there, which reads as a text
            self.stream.write("\n")


class _ParquetWriter(Writer):
    def __init__(self, file: IO[bytes], program: Program, where: str, *, idle: bool) -> None:
        from workbench.events.parquet import ParquetRows

        super().__init__(program, idle=idle)
        self.rows = ParquetRows(file, self.domains, where)

    def end(self) -> None:
        self.rows.flush()

    def _row(self, events: Mapping[str, Value]) -> None:
        self.rows.add(events)


@contextmanager
def write_events(
    path: str | Path, program: Program, *, format: Format | None = None, idle: bool = False
) -> Iterator[Writer]:
    """A writer into a file that appears, complete, when the block ends without an error.

    `-` (the standard output) and whatever is no ordinary file (a pipe, a device) are written as events come.

    Parameters
    ----------
    format: overrides what the name says; CSV where neither says anything.
    idle: whether a step without output takes a row too.
    """
    chosen = format or output_format(path, None, "-")
    made = _JsonWriter if chosen == "jsonl" else _CsvWriter
    target = Path(os.path.realpath(path))
    if str(path) == "-" or (target.exists() and not target.is_file()):
        if chosen == "parquet":
            raise InputError("Parquet is written to a file", where=str(path), hint="--output out.parquet")
        with nullcontext(sys.stdout) if str(path) == "-" else _device(target, path) as stream:
            writer: Writer = made(stream, program, idle=idle)
            yield writer
            writer.end()
            stream.flush()
        return
    with (
        replacing(target) as name, io.BufferedWriter(_Written(name, path)) as file, _zipped(file, target) as raw,
    ):  # fmt: skip
        if chosen == "parquet":
            rows = _ParquetWriter(raw, program, str(path), idle=idle)
            with closing(rows.rows):
                yield rows
                rows.end()
            return
        text = io.TextIOWrapper(raw, encoding="utf-8", newline="")
        try:
            writer = made(text, program, idle=idle)
            yield writer
            writer.end()
            text.flush()
        finally:
            with suppress(ValueError, OSError):
                text.detach()


def _device(target: Path, shown: str | Path) -> io.TextIOWrapper:
    """What is no ordinary file, opened to be written as events come."""
    device = io.BufferedWriter(_Written(target, shown))
    return io.TextIOWrapper(device, "utf-8", newline="", line_buffering=device.isatty())


class _Written(io.FileIO):
    """A file that says which it is where it cannot be written; `shown` is what the user calls it."""

    def __init__(self, path: Path, shown: str | Path) -> None:
        super().__init__(path, "w")
        self._shown = str(shown)

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:  # whoever reads it has had enough
            raise
        except OSError as error:
            raise InputError(f"cannot write there: {error.strerror}", where=self._shown) from error


@contextmanager
def _zipped(file: IO[bytes], target: Path) -> Iterator[IO[bytes]]:
    if target.suffix != ".gz":
        yield file
        return
    # no time stamp in the header: the same events make the same file
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as zipped:
        yield cast(IO[bytes], zipped)
