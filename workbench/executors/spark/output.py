"""Output rows in files and on the standard output.

The rule of this module: the writers of other backends write text, so that values have the same form.
"""

from __future__ import annotations

import io
import itertools
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from workbench.core.domain import BOOL, FLOAT, INT, STR, Domain, Value
from workbench.core.program import Port, Ports
from workbench.errors import InputError
from workbench.events.columns import as_json
from workbench.events.table import format_row, format_rows
from workbench.events.values import from_text
from workbench.events.write import write_events
from workbench.executors.spark.error_transfer import carry

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_UNMARKED = ("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
"""The option that keeps Spark from writing `_SUCCESS`."""


def output_formats() -> list[str]:
    """Return the output formats: texts, and those that Spark writes itself."""
    return [row.name for row in format_rows().values() if row.writer is not None and (row.text or row.spark)]


def row_ports(rows: DataFrame, known: Mapping[str, Domain] = MappingProxyType({})) -> Ports:
    """Return the columns of rows: the outputs of a program, and others, as keys and steps, by Spark type."""
    kinds = {"bigint": INT, "double": FLOAT, "boolean": BOOL}
    return Ports("rows", (), tuple(Port(n, known.get(n) or kinds.get(kind, STR)) for n, kind in rows.dtypes))


def row_events(row: Mapping[str, Any], ports: Ports, time: str = "") -> dict[str, Value]:
    """Return the events in a row of Spark, as other backends write them; whole floats of a time column are int."""
    events = {}
    for name, domain in ports.outputs_by_name.items():
        if (value := row[name]) is not None:
            whole = name == time and isinstance(value, float) and value.is_integer()
            events[name] = from_text(value, domain) if as_json(domain) else int(value) if whole else value
    return events


class RowLines:
    """A converter of rows to text, batch by batch: the function for `mapInArrow`."""

    def __init__(self, ports: Ports, format: str, time: str) -> None:
        self.ports, self.format, self.time = ports, format, time

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the lines of each batch, preceded by the header of a file."""
        from pyspark import TaskContext

        text = io.StringIO(newline="")
        make = format_row(self.format).writer
        assert make is not None
        writer = make(self.ports, text)
        with carry():
            for batch in batches:
                for row in batch.to_pylist():
                    writer.row(row_events(row, self.ports, self.time))
                yield from _take_json(text)
            if cast(Any, TaskContext.get()).partitionId() == 0:  # the header of a file is there even without rows
                writer.end()
                yield from _take_json(text)


def _take_json(text: io.StringIO) -> Iterator[Any]:
    import pyarrow as pa

    if json_lines := text.getvalue():
        text.seek(0)
        text.truncate()
        yield pa.RecordBatch.from_pydict({"value": [json_lines.removesuffix("\n")]})


def _open(spark: Any, folder: str) -> tuple[Any, Any]:
    """Open a Hadoop folder: return its path, and its file system."""
    path = spark._jvm.org.apache.hadoop.fs.Path(folder)
    return path, path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())


def _rename(spark: Any, folder: str, ending: str) -> None:
    """Rename the files in a folder so that they end with their format, not with `.txt`."""
    path, files = _open(spark, folder)
    for each in files.listStatus(path):
        name = each.getPath().getName()
        if name.endswith(".txt"):
            files.rename(each.getPath(), path.suffix(f"/{name.removesuffix('.txt')}.{ending}"))


def _mark_complete(spark: Any, folder: str) -> None:
    """Mark a folder as complete, as Spark does."""
    path, files = _open(spark, folder)
    files.create(path.suffix("/_SUCCESS")).close()


def write_rows(
    rows: DataFrame, ports: Ports, folder: str, format: str, *, mode: str = "errorifexists", time: str = "",
    settle: Callable[[], object] = lambda: None,
) -> None:  # fmt: skip
    """Write rows into a folder, as Spark does: part files, and `_SUCCESS` when all are complete and settled.

    Parameters
    ----------
    ports: the columns, and their domains.
    time: the column of times, if there is one.
    format: one of `output_formats`; CSV and TSV have a header. Keys are in files as a whole, steps in order.
    settle: final checks once the rows are there, which are removed if it fails.

    Raises
    ------
    InputError: the folder exists already.
    """
    if mode == "errorifexists" and "://" not in folder and Path(folder).exists():
        raise InputError("this output exists already", where=folder, hint="choose another --output, or remove it")
    row = format_row(format)
    try:
        if row.text:
            lines = rows.mapInArrow(RowLines(ports, format, time), "value string")
            lines.write.mode(mode).option(*_UNMARKED).text(folder)
            _rename(rows.sparkSession, folder, row.spark or row.name)
        else:
            rows.write.mode(mode).option(*_UNMARKED).format(row.spark).save(folder)
        settle()
        _mark_complete(rows.sparkSession, folder)
    except BaseException:  # otherwise the same command would be refused the next time
        if "://" not in folder:
            shutil.rmtree(folder, ignore_errors=True)
        raise


def print_rows(
    rows: DataFrame, ports: Ports, format: str, *, time: str = "", settle: Callable[[], object] = lambda: None,
    clear: Callable[[], object] = lambda: None,
) -> None:  # fmt: skip
    """Write rows as text on the standard output, as other backends do.

    Parameters
    ----------
    time, settle: as in `write_rows`; `settle` comes before the first row.
    clear: removes progress output from where a row is to be printed.
    """
    event_rows = (row_events(row.asDict(), ports, time) for row in rows.toLocalIterator())
    first = list(itertools.islice(event_rows, 1))  # nothing is written before it is known that there are rows
    settle()
    with write_events("-", ports, format=format) as writer:
        for row in itertools.chain(first, event_rows):
            clear()
            writer.row(row)
