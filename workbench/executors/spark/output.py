"""The rows of outputs in files and on the standard output."""

from __future__ import annotations

import csv
import itertools
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import InputError
from workbench.executors.spark.columns import STEP

if TYPE_CHECKING:
    from _typeshed import SupportsWrite
    from pyspark.sql import DataFrame


def write_rows(rows: DataFrame, folder: str, format: str, *, mode: str = "errorifexists") -> None:
    """Write rows into a folder, as Spark writes: part files, and `_SUCCESS` when all are there.

    Parameters
    ----------
    format: `csv` (with a header), `jsonl` or `parquet`. Keys are in files as a whole, steps in their order.

    Raises
    ------
    InputError: the folder is there already.
    """
    if mode == "errorifexists" and "://" not in folder and Path(folder).exists():
        raise InputError("there is something already", where=folder, hint="choose another --output, or remove it")
    writer = rows.write.mode(mode)
    try:
        if format == "csv":
            writer.option("header", "true").option("emptyValue", '""').csv(folder)
        elif format == "jsonl":
            writer.json(folder)
        else:
            writer.parquet(folder)
    except BaseException:  # else the same command would not be let in again
        if mode == "errorifexists" and "://" not in folder and not Path(folder, "_SUCCESS").exists():
            shutil.rmtree(folder, ignore_errors=True)
        raise


def print_rows(rows: DataFrame, format: str, stream: SupportsWrite[str]) -> None:
    """Write rows as text, in the order of keys and steps."""
    names = rows.columns
    written = csv.writer(stream, lineterminator="\n")
    ordered = _ordered(rows)
    first = list(itertools.islice(ordered, 1))  # nothing is written before it is known that there is something
    if format == "csv":
        written.writerow(names)
    for row in itertools.chain(first, ordered):
        if format == "csv":
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
