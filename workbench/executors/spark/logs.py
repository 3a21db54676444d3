"""Logs in files as rows on which a pipeline can run by key, with their position in the log.

The log's own order is established as follows: the files are in the order that they have without Spark, workers read
parts of them as numbered tasks, and rows are numbered as they are read. Files that only Spark can read (`hdfs://`), and
future files, are read file by file.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from workbench.core.domain import Bool, Domain
from workbench.core.program import Port, Ported, Ports
from workbench.errors import InputError, SparkError
from workbench.events.account import Reporter
from workbench.events.columns import as_json, kind
from workbench.events.files import display_name, format_of, open_bytes
from workbench.events.inputs import LogPath, list_named_files, log_files
from workbench.events.packing import Decompressed
from workbench.events.parts import WHOLE, FilePart
from workbench.events.read import key_domain, log_reader
from workbench.events.reading_options import Reading
from workbench.events.table import format_row
from workbench.events.text_streams import find_marked_encoding
from workbench.events.values import KeyTexts, limit_to_64_bits
from workbench.executors.spark.counts import Counts
from workbench.executors.spark.dataframe import refuse_key
from workbench.executors.spark.error_transfer import bring_back
from workbench.executors.spark.key_rows import KeyRowForm, order_types
from workbench.executors.spark.key_streams import KeyLog
from workbench.executors.spark.layout import Layout
from workbench.executors.spark.reader import LOCAL_FILE, FileReader, LogReader, LogTask, PartReader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LEAST, MAXIMUM = 1 << 22, 1 << 25
"""Minimum and maximum number of bytes that a task reads."""
BINARY = "path string, modificationTime timestamp, length long, content binary"


def read_log(
    spark: SparkSession, path: LogPath | Sequence[LogPath], program: Ported, *, key: str, order: str | None = None,
    reading: Reading | None = None, reporter: Reporter | None = None,
) -> KeyLog:  # fmt: skip
    """Open a log: a file, several, a folder or a pattern; or a name that only Spark knows (`hdfs://`).

    Parameters
    ----------
    key, order: columns; without `order`, and among rows that agree in it, the log's own order counts.
    reading: the user's options for columns and rows.
    reporter: reports which columns no input uses.

    Raises
    ------
    InputError: there is no such file, or a column is missing.
    """
    reading, names = replace(reading or Reading(), only_64_bits=True), file_names(path)
    log_name = display_name(names[0]) if len(names) == 1 else "the log"
    if is_remote(names):
        whole = FileReader(_form(program, reading, key, order, None), reading, Counts.on(spark))
        with readable(log_name):
            file_rows = spark.read.format("binaryFile").load(names).select("path", "content")
        if reading.head is not None:
            file_rows = file_rows.coalesce(1).sortWithinPartitions("path")
        return _log(file_rows, whole, log_name)
    files = log_files(names)
    for file in files:
        if not Path(file).is_file():
            raise InputError("the spark backend reads files, not the standard input or pipes", where=str(file))
    form = _form(program, reading, key, order, files[0])
    tasks = read_tasks(files, form.ports, reading, reporter or Reporter(), 2 * spark.sparkContext.defaultParallelism)
    form = form.with_position_columns("row") if len(tasks) == 1 else form.with_position_columns("task", "row")
    reader = PartReader(form, reading, Counts.on(spark), dict(enumerate(tasks)))
    return _log(spark.range(0, len(tasks), 1, len(tasks)), reader, log_name, count_parts(tasks))


def follow_log(
    spark: SparkSession, folder: str, program: Ported, *, key: str, order: str | None, files: int | None = None,
    reading: Reading | None = None,
) -> KeyLog:  # fmt: skip
    """Open a folder to which files are added, as a stream.

    Parameters
    ----------
    files: number of files at a time; None for all.

    Raises
    ------
    InputError: there is no such folder; or no file yet that shows the type of keys.
    """
    reading, (name,) = replace(reading or Reading(), only_64_bits=True), file_names(folder)
    remote = is_remote([name])
    first = None if remote else first_file(name)
    format = reading.format or (format_of(first) if first else None)
    if first is None and not remote and (format is None or not format_row(format).text):
        what = "there is no file yet that shows "
        raise InputError(
            what + ("what its columns are" if format else "the format of the input"), where=name,
            hint="put a file there first" if format else "add --format csv",
        )  # fmt: skip
    reader = FileReader(_form(program, reading, key, order, first), reading, Counts.on(spark))
    file_rows = follow_files(spark, name, files)
    return _log(file_rows.select("path", *["content"][:remote]), reader, name)


def follow_files(spark: SparkSession, folder: str, files: int | None) -> DataFrame:
    """Return the files in a folder as they come, with paths and contents; `files` at a time."""
    source = spark.readStream.format("binaryFile").schema(BINARY)
    if files:
        source = source.option("maxFilesPerTrigger", str(files))
    with readable(folder):
        return source.load(folder)


def file_names(path: LogPath | Sequence[LogPath]) -> list[str]:
    """Return the names that the user gives, local files without `file:`."""
    return [re.sub(LOCAL_FILE, "/", str(each)) for each in list_named_files(path) or ()]


def is_remote(names: Sequence[str]) -> bool:
    """Whether only Spark can read these names."""
    return any("://" in name for name in names)


def first_file(folder: str) -> LogPath | None:
    """Return the first file in a folder; None if there is none yet."""
    if os.path.isdir(folder) and not any(path.name[0] not in "._" for path in Path(folder).iterdir()):
        return None
    return log_files(folder)[0]


@contextlib.contextmanager
def readable(path: str) -> Iterator[None]:
    """Raise InputError for files that Spark cannot read."""
    try:
        with bring_back():
            yield
    except SparkError as error:
        if "[PATH_NOT_FOUND]" in error.what:
            raise InputError("there is no such file or folder", where=path) from error
        raise InputError(f"cannot read the log: {error.what}", where=path) from error


def _form(program: Ported, reading: Reading, key: str, order: str | None, first: LogPath | None) -> KeyRowForm:
    """Return the columns of a log, given its first file, which shows the type of keys."""

    def port(name: str) -> Port:
        domain = domains.get(name)
        if domain is None:
            domain = KeyTexts() if first is None else key_domain(first, name, reading)
        return Port(name, domain, copied=True, remedy=f"name a column: {'--key' if name == key else '--order'} NAME")

    inputs = limit_to_64_bits(program.ports).inputs
    domains = {each.name: each.domain for each in inputs}
    added = [port(name) for name in dict.fromkeys((key, *([order] if order else []))) if name not in domains]
    rows = Ports("rows", (*added, *inputs))
    refuse_key(key, kind(rows.domains[key]))
    if order:
        _refuse_order(order, rows.domains[order])
    parts = len(order_types(rows.domains[order]).split(",")) if order else 0
    return KeyRowForm(rows, list(program.ports.domains), Layout(key, (order,) if order else (), ("file", "row"), parts))


def _refuse_order(name: str, domain: Domain) -> None:
    """Refuse a column that cannot order rows, with InputError."""
    if as_json(domain) or isinstance(domain, Bool):
        raise InputError(f"column '{name}' has {domain}, which cannot order rows", hint="use numbers, texts or times")


def _log(names: DataFrame, reader: LogReader, log_name: str, parts: dict[str, int] | None = None) -> KeyLog:
    form = cast(KeyRowForm, reader.form)
    rows, key_type = names.mapInArrow(reader, form.schema), kind(form.ports.domains[form.layout.key])
    return KeyLog(rows, form.layout, key_type, reader.counts, log_name, parts or {})


def read_tasks(
    files: Sequence[LogPath], ports: Ports, reading: Reading, reporter: Reporter, task_count: int
) -> list[LogTask]:  # fmt: skip
    """Return the parts that each task reads: parts of large files, or several small ones; only one task with `head`."""
    sizes = [os.path.getsize(file) for file in files]
    size = min(max(sum(sizes) // task_count, LEAST), MAXIMUM)
    tasks: list[list[tuple[str, FilePart]]] = [[]]
    used = 0.0
    for file, weight in zip(files, sizes, strict=True):
        parts = _parts(file, ports, reading, reporter, size) if file == files[0] or weight > size else [WHOLE]
        for part in [WHOLE] if reading.head is not None else parts:
            if tasks[-1] and used + weight / len(parts) > size and reading.head is None:
                tasks.append([])
                used = 0
            tasks[-1].append((str(file), part))
            used += weight / len(parts)
        reporter = Reporter()
    return [tuple(task) for task in tasks]


def _parts(file: LogPath, ports: Ports, reading: Reading, reporter: Reporter, size: int) -> list[FilePart]:
    with open_bytes(file) as stream:
        if isinstance(stream.raw, Decompressed) or find_marked_encoding(stream):  # its lines end otherwise
            return [WHOLE]
        with log_reader(stream, file, ports, reading, reporter) as (reader, _, log_name):
            return list(reader.parts(stream, log_name, size)) or [WHOLE]


def count_parts(tasks: Iterable[LogTask]) -> Counter[str]:
    """Return the number of parts of each file that is read in parts."""
    return Counter(file for task in tasks for file, part in task if part != WHOLE)
