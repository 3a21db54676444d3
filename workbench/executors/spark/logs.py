"""Logs in files as rows that a pipeline can be run on by key, with their place in the log.

How the log's own order is established: Spark reads files in blocks, in any order, and tells for each row the file and
where the block begins; within a block rows are numbered as they are read (for Parquet Spark itself knows the row's
number in the file). Files are ordered by their names.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from workbench.core.program import Ported
from workbench.errors import InputError, SparkError
from workbench.events.columns import kind
from workbench.events.files import ending
from workbench.events.order import ORDER_TYPES
from workbench.events.table import endings
from workbench.executors.spark.carry import brought_back
from workbench.executors.spark.keyed import Log, laid_out
from workbench.executors.spark.parse import Parser
from workbench.executors.spark.runner import LOCAL_FILE, PLACES, Layout, place_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("csv", "jsonl", "parquet")
"""Those that Spark's workers read in pieces."""


def named_format(name: str) -> str | None:
    """The format that a name tells, if it does."""
    return endings(FORMATS).get(ending(name))


def format_of(path: str) -> str | None:
    """The format that a name tells, or the names in a folder, if they do."""
    place = Path(path)
    inside = sorted(p.name for p in place.iterdir() if p.name[0] not in "._") if place.is_dir() else []
    return next((found for found in map(named_format, [*inside, place.name]) if found), None)


def read_log(
    spark: SparkSession, path: str, program: Ported, *, key: str, order: str | None = None, format: str
) -> Log:
    """A log: a file, a folder of files, or a pattern, each a path that Spark can read.

    Parameters
    ----------
    key, order: columns; without `order` the log's own order counts. Among rows that agree in `order` it counts, too.

    Raises
    ------
    InputError: there is no such file, or a column is missing.
    """
    layout = Layout(key, (order,) if order else ())
    with readable(path):
        plain = spark.read.text(path) if format != "parquet" else spark.read.parquet(path)
        files = sorted(re.sub(LOCAL_FILE, "/", name) for name in plain.inputFiles())
    if not files:
        raise InputError("there is no file to read", where=path)
    if format == "parquet":
        return _parquet(plain, program, layout, files)
    first = spark.read.text(unquote(files[0])).first()
    if first is None and format == "csv":
        raise InputError("the file is empty, where a line with the names of the columns is expected", where=files[0])
    header = None
    if first is not None and format == "csv":
        header = Parser(format, program, layout).header_of(first[0], place_of(files[0], 0, 0))
    return _lines(plain, program, layout, format, files, header)


def follow_log(
    spark: SparkSession,
    folder: str,
    program: Ported,
    *,
    key: str,
    order: str | None,
    format: str,
    files: int | None,
) -> Log:
    """A folder to which files are added, as a stream.

    Parameters
    ----------
    files: how many are taken at a time; None for all that there are.

    Raises
    ------
    InputError: there is no such folder; or, for Parquet, no file yet to tell the columns.
    """
    layout = Layout(key, (order,) if order else ())
    reader = spark.readStream.option("maxFilesPerTrigger", str(files)) if files else spark.readStream
    with readable(folder):
        if format != "parquet":
            return _lines(reader.text(folder), program, layout, format, (), None)
        schema = spark.read.parquet(folder).schema
        return _parquet(reader.schema(schema).parquet(folder), program, layout, ())


@contextlib.contextmanager
def readable(path: str) -> Iterator[None]:
    """What Spark says of files that it cannot read, as an InputError."""
    try:
        with brought_back():
            yield
    except SparkError as error:
        if "[PATH_NOT_FOUND]" in error.what:
            raise InputError("there is no such file or folder", where=path) from error
        if "[UNABLE_TO_INFER_SCHEMA]" in error.what:
            raise InputError("there is no Parquet file yet, and so nothing tells the columns", where=path) from error
        raise InputError(f"cannot read the log: {error.what}", where=path) from error


def _lines(lines: Any, program: Ported, layout: Layout, format: str, files: Any, header: list[str] | None) -> Log:
    from pyspark.sql import functions as F

    found = replace(layout, places=PLACES[len(files) == 1 :], files=tuple(files))
    path = F.lit("") if len(files) == 1 else F.col("_metadata.file_path")
    placed = lines.select(F.col("value").cast("binary"), path.alias("path"), "_metadata.file_block_start")
    orders = f"{ORDER_TYPES}, " if layout.orders else ""
    start = 3 if layout.orders else 0
    types = {"file": "int" if files else "string", "block": "long", "row": "long"}
    place = ", ".join(f"o{start + i} {types[part]}" for i, part in enumerate(found.places))
    events = "".join(f", x{i} {kind(domain)}" for i, (_, domain) in enumerate(program.ports.domains.items()))
    rows = placed.mapInArrow(Parser(format, program, found, header), f"key string, {orders}{place}{events}")
    return Log(rows, replace(found, parts=start), "string")


def _parquet(frame: Any, program: Ported, layout: Layout, files: Any) -> Log:
    from pyspark.sql import functions as F

    row = F.col("_metadata.row_index")
    if len(files) == 1:
        return laid_out(frame, program, replace(layout, places=("row",), files=tuple(files)), [row])
    located = replace(layout, places=("file", "row"), files=tuple(files))
    return laid_out(frame, program, located, [_numbered(_path(), files), row])


def _path() -> Any:
    """The file of each row; local ones without `file:`, which Spark writes in more than one way."""
    from pyspark.sql import functions as F

    return F.regexp_replace(F.col("_metadata.file_path"), LOCAL_FILE, "/")


def _numbered(path: Any, files: Any) -> Any:
    """The number of each row's file, or its name where files are still to come."""
    from pyspark.sql import functions as F

    if not files:
        return path
    return F.create_map(*(F.lit(each) for pair in zip(files, range(len(files)), strict=True) for each in pair))[path]
