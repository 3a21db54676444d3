"""Reading events from CSV, JSON lines and Parquet.

The rule of this module: files are streamed; what the formats allow, `csv`, `jsonl` and `parquet` say. What a name ends
with tells the format, and an ending that tells none is refused; without one the first bytes tell.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Literal

from workbench.core.program import Ported
from workbench.errors import InputError
from workbench.events.csv import CsvReader
from workbench.events.files import Format, format_of, opened, shown_name, sniffed
from workbench.events.jsonl import JsonReader
from workbench.events.parquet import ParquetReader
from workbench.events.rows import InputEvents, RowReader

READERS: dict[Format, type[RowReader]] = {"csv": CsvReader, "jsonl": JsonReader, "parquet": ParquetReader}


def read_events(
    path: str | Path,
    program: Ported,
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

    Raises
    ------
    InputError: what cannot be read, with the file, the line, the column, the text and what was expected.
    """
    shown = shown_name(path)
    with opened(path, stdin) as stream:
        lines = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
        try:
            reader = READERS[format or format_of(path) or sniffed(stream)](program, ignore=extra == "ignore")
            for number, row in reader.rows(lines, shown):
                try:
                    step = reader.step(row)
                except InputError as error:
                    raise error.retold(where=f"{shown}:{number}") from error
                if step is not None:
                    yield step
        except UnicodeDecodeError as error:
            raise InputError(f"this is not UTF-8 text: {error}", where=shown) from error
        finally:
            lines.detach()
