"""The rows of outputs in files and on the standard output."""

from __future__ import annotations

import csv
import itertools
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import InputError
from workbench.executors.spark.columns import STEP

if TYPE_CHECKING:
    from _typeshed import SupportsWrite
    from pyspark.sql import DataFrame

SEPARATORS = {"csv": ",", "tsv": "\t"}
WRITTEN = (*SEPARATORS, "jsonl", "parquet")


def write_rows(
    rows: DataFrame, folder: str, format: str, *, mode: str = "errorifexists",
    settle: Callable[[], object] = lambda: None,
) -> None:  # fmt: skip
    """Write rows into a folder, as Spark writes: part files, and `_SUCCESS` when all are there.

    Parameters
    ----------
    format: of `WRITTEN`; CSV and TSV have a header. Keys are in files as a whole, steps in their order.
    settle: what is still to be seen to when the rows are there, which are removed if it fails.

    Raises
    ------
    InputError: the folder is there already.
    """
    if mode == "errorifexists" and "://" not in folder and Path(folder).exists():
        raise InputError("there is something already", where=folder, hint="choose another --output, or remove it")
    writer = rows.write.mode(mode)
    try:
        if format in SEPARATORS:
            writer.options(header=True, emptyValue='""', sep=SEPARATORS[format]).csv(folder)
        elif format == "jsonl":
            writer.json(folder)
        else:
            writer.parquet(folder)
        settle()
    except BaseException:  # else the same command would not be let in again
        if mode == "errorifexists" and "://" not in folder:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def print_rows(
    rows: DataFrame, format: str, stream: SupportsWrite[str], settle: Callable[[], object] = lambda: None
) -> None:  # fmt: skip
    """Write rows as text, in the order of keys and steps; `settle` comes before the first one."""
    names = rows.columns
    written = csv.writer(stream, lineterminator="\n", delimiter=SEPARATORS.get(format, ","))
    ordered = _ordered(rows)
    first = list(itertools.islice(ordered, 1))  # nothing is written before it is known that there is something
    settle()
    if format in SEPARATORS:
        written.writerow(names)
    for row in itertools.chain(first, ordered):
        if format in SEPARATORS:
            written.writerow(["" if value is None else _cell(value) for value in row])
        else:
            found = {n: v for n, v in zip(names, row, strict=True) if v is not None}
            stream.write(json.dumps(found, ensure_ascii=False, default=str) + "\n")


def _ordered(rows: DataFrame) -> Iterator[Any]:
    """The rows; those of one step stay as they came."""
    from pyspark.sql import functions as F

    key = f"`{rows.columns[0]}`"
    numbered = rows.withColumn("workbench_row", F.monotonically_increasing_id())
    ordered = numbered.orderBy(key, STEP, "workbench_row").drop("workbench_row")
    return (tuple(row) for row in ordered.toLocalIterator())


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)
