"""Reading events from CSV, JSON lines and Parquet.

The rule of this module: nothing is guessed and nothing skipped. What cannot be read as an event of its
input's domain is an error that names the file, the line, the column, the text and what was expected. Files
are streamed. What a name ends with tells the format, and an ending that tells none is refused; without one the
first bytes tell.

CSV: the first line names the inputs; an empty cell (or line) carries no event. A pipeline with one input may
do without the header: a first line that is not the input's name is an event. Tuples and records are JSON text
in a cell. JSON lines: one object a line, input to value, where a missing or null input carries no event. A
pipeline with one input may have the bare value instead (an object is a bare record unless its only key is the
input's name). Parquet: a column an input, a null is no event (`events_parquet`).
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, cast

from workbench.core.domain import Record, Value
from workbench.core.program import Program
from workbench.errors import InputError, did_you_mean
from workbench.events.values import (
    UnreadableError,
    from_json,
    from_text,
    parse_json,
    short,
)

Format = Literal["csv", "jsonl", "parquet"]
InputEvents = dict[str, Value]

FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
}
GZIP_MAGIC = b"\x1f\x8b"
PARQUET_MAGIC = b"PAR1"


def format_of(path: str | Path) -> Format | None:
    """The format that a file's name tells; None for a name without an ending, a device or a pipe.

    Raises
    ------
    InputError: the name has an ending, of a format that is none of ours.
    """
    name = Path(path)
    ending = Path(name.stem).suffix if name.suffix == ".gz" else name.suffix
    if ending in FORMATS:
        return FORMATS[ending]
    if not ending or (name.exists() and not name.is_file()):
        return None
    hint = f"the formats are {', '.join(FORMATS)}; where the file has one of them, say so: --format csv"
    raise InputError(f"'{ending}' is no format of events", where=str(path), hint=hint)


# --- reading ----------------------------------------------------------------------------------------------


def read_events(
    path: str | Path,
    program: Program,
    *,
    format: Format | None = None,
    extra: Literal["error", "ignore"] = "error",
    stdin: IO[bytes] | None = None,
) -> Iterator[InputEvents]:
    """The steps in a file, each a mapping from input name to event; `-` is the standard input.

    Parameters
    ----------
    path: `.csv`, `.jsonl` (`.ndjson`, `.json`), `.parquet`, also with `.gz`; without an ending the first bytes tell.
    format: overrides what the name says.
    extra: what to do with columns or keys that are no inputs.
    """
    with _opened(path, stdin) as stream:
        lines = io.TextIOWrapper(cast(IO[bytes], stream), encoding="utf-8-sig", newline="")
        shown = "<stdin>" if str(path) == "-" else str(path)
        try:
            chosen = format or format_of(path) or _sniff(stream)
            if chosen == "parquet":
                yield from _Parquet(shown, program, extra == "ignore").read(cast(IO[bytes], stream))
                return
            reader = _Csv if chosen == "csv" else _Json
            yield from reader(shown, program, extra == "ignore").read(lines)
        except UnicodeDecodeError as error:
            raise InputError(f"this is not UTF-8 text: {error}", where=shown) from error
        except (EOFError, gzip.BadGzipFile) as error:
            raise InputError(f"the compressed file is damaged: {error}", where=shown) from error
        finally:
            lines.detach()


@contextmanager
def _opened(path: str | Path, stdin: IO[bytes] | None) -> Iterator[io.BufferedReader]:
    """The file's bytes, decompressed if they are gzip's."""
    if str(path) == "-":
        source = stdin or sys.stdin.buffer
        # no second buffer around the standard input: it would wait to be full before the first event
        yield _unzipped(source if isinstance(source, io.BufferedReader) else io.BufferedReader(_raw(source)))
        return
    try:
        file = open(path, "rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise InputError(f"cannot read the events: {error.strerror}", where=str(path)) from error
    with file:
        yield _unzipped(file)


def _raw(stream: IO[bytes]) -> io.RawIOBase:
    return cast(io.RawIOBase, stream)


def _unzipped(stream: io.BufferedReader) -> io.BufferedReader:
    if stream.peek(2)[:2] == GZIP_MAGIC:
        return io.BufferedReader(_raw(cast(IO[bytes], gzip.GzipFile(fileobj=stream))))
    return stream


def _sniff(stream: io.BufferedReader) -> Format:
    """Parquet has its name in front; JSON lines start with a brace, a bracket or a quote; everything else is CSV."""
    if stream.peek(4)[:4] == PARQUET_MAGIC:
        return "parquet"
    start = stream.peek(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    return "jsonl" if start[:1] in (b"{", b"[", b'"') else "csv"


class _Reader:
    """What the readers of both formats share."""

    def __init__(self, file: str, program: Program, ignore: bool) -> None:
        self.file, self.kind, self.inputs, self.ignore = file, program.kind, program.ports.domains, ignore
        self.only = next(iter(self.inputs)) if len(self.inputs) == 1 else None

    def error(self, line: int, what: str, hint: str = "") -> InputError:
        return InputError(what, where=f"{self.file}:{line}" if line else self.file, hint=hint)

    def unknown(self, line: int, kind: str, name: str) -> InputError:
        return self.error(line, f"{kind} '{name}' is no input of the {self.kind}", did_you_mean(name, self.inputs))

    def header(self, names: Sequence[str], line: int) -> list[str | None]:
        """The input that each column of this name holds."""
        for name in names:
            if name not in self.inputs and not self.ignore:
                raise self.unknown(line, "column", name)
            if name in self.inputs and names.count(name) > 1:
                raise self.error(line, f"two columns are called '{name}'")
        for name in self.inputs:
            if name not in names:
                raise self.error(
                    line,
                    f"there is no column '{name}'",
                    f"there are: {', '.join(names)}; an input without events has an empty column",
                )
        return [name if name in self.inputs else None for name in names]


class _Csv(_Reader):
    """Rows of cells under a header."""

    def read(self, lines: IO[str]) -> Iterator[InputEvents]:
        rows = csv.reader(lines, strict=True)
        columns: list[str | None] | None = None
        while True:
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                raise self.error(rows.line_num, f"not a line of CSV: {error}") from error
            if columns is None:
                if not self.headerless(row, rows.line_num):
                    columns = self.header([cell.strip() for cell in row], rows.line_num)
                    continue
                columns = [self.only]
            yield self.step(row, columns, rows.line_num)

    def headerless(self, row: list[str], line: int) -> bool:
        """Whether this first line is an event of the only input already."""
        if self.only is None or len(row) > 1 or [cell.strip() for cell in row] == [self.only]:
            return False
        try:
            if row and row[0].strip():
                from_text(row[0], self.inputs[self.only])
        except UnreadableError as error:
            raise self.error(
                line,
                f"the first line '{short(row[0])}' is neither the input's name '{self.only}' nor "
                f"a value of {self.inputs[self.only]}",
            ) from error
        return True

    def step(self, row: list[str], columns: Sequence[str | None], line: int) -> InputEvents:
        if not row:
            return {}
        if len(row) != len(columns):
            raise self.error(line, f"this line has {len(row)} cells, the header has {len(columns)}")
        events: InputEvents = {}
        for name, cell in zip(columns, row, strict=True):
            if name is None or not cell.strip():
                continue
            try:
                events[name] = from_text(cell, self.inputs[name])
            except UnreadableError as error:
                raise error.refusal(f"column '{name}'", f"'{short(cell)}'", f"{self.file}:{line}") from error
        return events


class _Parquet(_Reader):
    """Typed rows under the names of the file's columns."""

    def read(self, file: IO[bytes]) -> Iterator[InputEvents]:
        from workbench.events import parquet as events_parquet

        names, batches = events_parquet.columns(file, self.file)
        yield from events_parquet.events(batches, self.header(names, 0), self.inputs, self.file)


class _Json(_Reader):
    """One JSON value a line; empty lines are passed over."""

    def read(self, lines: IO[str]) -> Iterator[InputEvents]:
        for line, text in enumerate(lines, 1):
            if text.strip():
                yield self.step(text, line)

    def step(self, text: str, line: int) -> InputEvents:
        try:
            data = parse_json(text)
        except ValueError as error:
            raise self.error(line, str(error)) from error
        if not self._keyed(data):
            if self.only is None:
                expected = "{" + ", ".join(f'"{name}": ...' for name in self.inputs) + "}"
                raise self.error(line, f"expected an object {expected}, not {short(text)}")
            data = {self.only: data}
        events: InputEvents = {}
        for name, item in data.items():
            if name not in self.inputs:
                if self.ignore:
                    continue
                raise self.unknown(line, "key", name)
            if item is None:
                continue
            try:
                events[name] = from_json(item, self.inputs[name])
            except UnreadableError as error:
                raise error.refusal(f"input '{name}'", short(json.dumps(item)), f"{self.file}:{line}") from error
        return events

    def _keyed(self, data: Any) -> bool:
        """Whether this is an object of inputs, and not the bare value of the only input."""
        if not isinstance(data, dict):
            return False
        return self.only is None or set(data) <= {self.only} or not isinstance(self.inputs[self.only], Record)
