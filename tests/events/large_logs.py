"""Logs of any size in every format, made in little time: a part is compressed once, and put down again and again."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc, parquet

TEXT = "a text that nobody needs, which makes the row long " * 200
"""About 10 kB."""
ROWS = 400
"""In a part."""

FORMATS = ["csv.gz", "csv.zst", "tsv.zst", "jsonl.zst", "txt.zst", "xml.zst", "parquet", "arrow", "arrows"]
OPTIONS = {"txt": ["--pattern", "(?P<x>[0-9]+) .*"], "xml": ["--xml", "row"]}


def options(ending: str) -> list[str]:
    """What `workbench run` is told of a log."""
    return OPTIONS.get(ending.partition(".")[0], [])


def write_large(path: Path, ending: str, size: int) -> int:
    """A log of about so many bytes, when it is not compressed, with a column x; how many rows it has."""
    parts = max(1, size // (ROWS * len(TEXT)))
    kind, _, packed = ending.partition(".")
    if kind in ("parquet", "arrow", "arrows"):
        _write_columns(path, kind, parts)
    else:
        before, row, behind = _LINES[kind]
        pack: Callable[[bytes], bytes] = (
            (lambda data: gzip.compress(data, 1))
            if packed == "gz"
            else lambda data: pa.compress(data, "zstd", asbytes=True)
        )
        part = pack("".join(map(row, range(ROWS))).encode())
        with path.open("wb") as file:
            file.write(pack(before.encode()) if before else b"")
            for _ in range(parts):
                file.write(part)
            file.write(pack(behind.encode()) if behind else b"")
    return parts * ROWS


_LINES: dict[str, tuple[str, Callable[[int], str], str]] = {
    "csv": ("x,t\n", lambda i: f'{i},"{TEXT}"\n', ""),
    "tsv": ("x\tt\n", lambda i: f"{i}\t{TEXT}\n", ""),
    "jsonl": ("", lambda i: f'{{"x": {i}, "t": "{TEXT}"}}\n', ""),
    "txt": ("", lambda i: f"{i} {TEXT}\n", ""),
    "xml": ("<log>\n", lambda i: f"<row><x>{i}</x><t>{TEXT}</t></row>\n", "</log>\n"),
}


def _write_columns(path: Path, kind: str, parts: int) -> None:
    batch = pa.record_batch({"x": pa.array(range(ROWS)), "t": pa.array([TEXT] * ROWS)})
    if kind == "parquet":
        with parquet.ParquetWriter(path, batch.schema, compression="zstd", use_dictionary=False) as writer:
            for some in _several(batch, parts):
                writer.write_table(pa.Table.from_batches(some))
        return
    packed = ipc.IpcWriteOptions(compression="zstd")
    make = ipc.new_file if kind == "arrow" else ipc.new_stream
    with make(path, batch.schema, options=packed) as writer:
        for _ in range(parts):
            writer.write_batch(batch)


def _several(batch: pa.RecordBatch, parts: int, together: int = 20) -> Iterator[list[pa.RecordBatch]]:
    """The same batch so many times, in row groups of several."""
    for start in range(0, parts, together):
        yield [batch] * min(together, parts - start)
