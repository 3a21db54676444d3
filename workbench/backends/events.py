"""Reading events from CSV and JSON lines, and writing them.

The rule of this module: nothing is guessed and nothing skipped. What cannot be read as an event of its
input's domain is an error that names the file, the line, the column, the text and what was expected. Files
are streamed in both directions; a written file appears under its name only when it is complete.

CSV: the first line names the inputs; an empty cell (or line) carries no event. A pipeline with one input may
do without the header: a first line that is not the input's name is an event. Tuples and records are JSON text
in a cell. JSON lines: one object a line, input to value, where a missing or null input carries no event. A
pipeline with one input may have the bare value instead (an object is a bare record unless its only key is the
input's name).
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal, cast

from workbench.backends.base import suggestion
from workbench.backends.events_values import UnreadableError, from_json, from_text, to_json, to_text
from workbench.backends.whole import replacing
from workbench.core.domain import Domain, Record, Value
from workbench.core.pipeline import Pipeline
from workbench.errors import InputError

Format = Literal["csv", "jsonl"]
Events = dict[str, Value]

FORMATS: dict[str, Format] = {".csv": "csv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"}
GZIP_MAGIC = b"\x1f\x8b"


def format_of(path: str | Path) -> Format | None:
    """The format that a file's name tells, if it does."""
    name = Path(path)
    return FORMATS.get(Path(name.stem).suffix if name.suffix == ".gz" else name.suffix)


# --- reading ----------------------------------------------------------------------------------------------


def read_events(
    path: str | Path,
    pipeline: Pipeline,
    *,
    format: Format | None = None,
    extra: Literal["error", "ignore"] = "error",
    stdin: IO[bytes] | None = None,
) -> Iterator[Events]:
    """The steps in a file, each a mapping from input name to event; `-` is the standard input.

    Parameters
    ----------
    path: `.csv`, `.jsonl` (`.ndjson`, `.json`), either with `.gz`; anything else is told by its first line.
    format: overrides what the name says.
    extra: what to do with columns or keys that are no inputs.
    """
    inputs = dict(pipeline.inputs)
    with _opened(path, stdin) as stream:
        lines = io.TextIOWrapper(cast(IO[bytes], stream), encoding="utf-8-sig", newline="")
        shown = "<stdin>" if str(path) == "-" else str(path)
        try:
            chosen = format or format_of(path) or _sniff(stream)
            reader = _Csv if chosen == "csv" else _Json
            yield from reader(shown, inputs, extra == "ignore").read(lines)
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
    """JSON lines start with a brace, a bracket or a quote; everything else is CSV."""
    start = stream.peek(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    return "jsonl" if start[:1] in (b"{", b"[", b'"') else "csv"


class _Reader:
    """What the readers of both formats share."""

    def __init__(self, file: str, inputs: Mapping[str, Domain], ignore: bool) -> None:
        self.file, self.inputs, self.ignore = file, inputs, ignore
        self.only = next(iter(inputs)) if len(inputs) == 1 else None

    def error(self, line: int, what: str, hint: str = "") -> InputError:
        return InputError(what, where=f"{self.file}:{line}", hint=hint)

    def unknown(self, line: int, kind: str, name: str) -> InputError:
        return self.error(line, f"{kind} '{name}' is no input of the pipeline", suggestion(name, list(self.inputs)))


class _Csv(_Reader):
    """Rows of cells under a header."""

    def read(self, lines: IO[str]) -> Iterator[Events]:
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
                    columns = self.header(row, rows.line_num)
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
                f"the first line '{row[0]}' is neither the input's name '{self.only}' nor "
                f"a value of {self.inputs[self.only]}",
            ) from error
        return True

    def header(self, row: list[str], line: int) -> list[str | None]:
        """The input that each column holds."""
        names = [cell.strip() for cell in row]
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

    def step(self, row: list[str], columns: Sequence[str | None], line: int) -> Events:
        if not row:
            return {}
        if len(row) != len(columns):
            raise self.error(line, f"this line has {len(row)} cells, the header has {len(columns)}")
        events: Events = {}
        for name, cell in zip(columns, row, strict=True):
            if name is None or not cell.strip():
                continue
            try:
                events[name] = from_text(cell, self.inputs[name])
            except UnreadableError as error:
                raise self.error(line, f"column '{name}': expected {error}, not '{cell}'") from error
        return events


class _Json(_Reader):
    """One JSON value a line; empty lines are passed over."""

    def read(self, lines: IO[str]) -> Iterator[Events]:
        for line, text in enumerate(lines, 1):
            if text.strip():
                yield self.step(text, line)

    def step(self, text: str, line: int) -> Events:
        try:
            data = json.loads(text, object_pairs_hook=unique_keys)
        except json.JSONDecodeError as error:
            raise self.error(line, f"not a JSON value: {error.msg} at column {error.colno}: {_short(text)}") from error
        except (ValueError, RecursionError) as error:
            raise self.error(line, f"not a JSON value: {error}: {_short(text)}") from error
        if not self._keyed(data):
            if self.only is None:
                expected = "{" + ", ".join(f'"{name}": ...' for name in self.inputs) + "}"
                raise self.error(line, f"expected an object {expected}, not {_short(text)}")
            data = {self.only: data}
        events: Events = {}
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
                raise self.error(line, f"input '{name}': expected {error}, not {_short(json.dumps(item))}") from error
        return events

    def _keyed(self, data: Any) -> bool:
        """Whether this is an object of inputs, and not the bare value of the only input."""
        if not isinstance(data, dict):
            return False
        return self.only is None or set(data) <= {self.only} or not isinstance(self.inputs[self.only], Record)


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; ValueError if a key occurs twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key occurs twice in one object")
    return found


def _short(text: str) -> str:
    text = text.strip()
    return text if len(text) <= 60 else text[:57] + "..."


# --- writing ----------------------------------------------------------------------------------------------


class Writer:
    """Writes what the outputs of a pipeline show, one row (or object) a step; see `write_events`."""

    def __init__(self, stream: IO[str], pipeline: Pipeline, format: Format, *, idle: bool) -> None:
        self.stream, self.format, self.idle = stream, format, idle
        names = [name for name, _ in pipeline.outputs]
        self.domains = dict(zip(names, pipeline.output_domains, strict=True))
        self._csv = csv.writer(stream, lineterminator="\n")
        if format == "csv":
            self._csv.writerow(names)

    def write(self, outputs: Mapping[str, Sequence[Value]]) -> None:
        """The events of one step; several events of one output (the end of a stream) take several rows."""
        rows = max((len(values) for values in outputs.values()), default=0)
        for i in range(max(rows, 1) if self.idle else rows):
            self._row({name: values[i] for name, values in outputs.items() if i < len(values)})

    def _row(self, events: Mapping[str, Value]) -> None:
        if self.format == "jsonl":
            row = {n: to_json(events[n], d) for n, d in self.domains.items() if n in events}
            self.stream.write(json.dumps(row, ensure_ascii=False) + "\n")
        elif events or len(self.domains) > 1:
            self._csv.writerow([to_text(events[n], d) if n in events else "" for n, d in self.domains.items()])
        else:  # a row with one empty cell: csv would write "" there, which reads as a text
            self.stream.write("\n")


@contextmanager
def write_events(
    path: str | Path, pipeline: Pipeline, *, format: Format | None = None, idle: bool = False
) -> Iterator[Writer]:
    """A writer into a file that appears, complete, when the block ends without an error.

    `-` (the standard output) and whatever is no ordinary file (a pipe, a device) are written as events come.

    Parameters
    ----------
    format: overrides what the name says; CSV where neither says anything.
    idle: whether a step without output takes a row too.
    """
    chosen = format or format_of(path) or "csv"
    if str(path) == "-":
        yield Writer(sys.stdout, pipeline, chosen, idle=idle)
        sys.stdout.flush()
        return
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        device = io.BufferedWriter(_Written(target, path))
        with io.TextIOWrapper(device, "utf-8", newline="", line_buffering=device.isatty()) as stream:
            yield Writer(stream, pipeline, chosen, idle=idle)
        return
    with (
        replacing(target) as name, io.BufferedWriter(_Written(name, path)) as file, _zipped(file, target) as raw,
    ):  # fmt: skip
        text = io.TextIOWrapper(raw, encoding="utf-8", newline="")
        try:
            yield Writer(text, pipeline, chosen, idle=idle)
            text.flush()
        finally:
            with suppress(ValueError, OSError):
                text.detach()


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
