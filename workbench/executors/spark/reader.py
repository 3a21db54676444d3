"""Reading of logs by Spark's workers: parts of files, as numbered tasks, or files one by one.

The rule of this module: files are read as without Spark, in parts where possible (`events/parts`). A `RowForm`
determines the columns of the rows; their counts are sent to the driver under the name of the task.
"""

from __future__ import annotations

import io
import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.core.program import Ports
from workbench.errors import InputError
from workbench.events.account import BadRow, Reporter
from workbench.events.decoding import count_blocks, enough
from workbench.events.files import open_bytes, readable
from workbench.events.packing import decompress_stream
from workbench.events.parts import WHOLE, FilePart, part_stream
from workbench.events.read import log_reader
from workbench.events.reading_options import Reading
from workbench.events.rows import LogBlock
from workbench.executors.spark.counts import Counts, ErrorText, TaskCounts, error_text
from workbench.executors.spark.error_transfer import carry

LOCAL_FILE = "^file:/+"
"""The prefixes that Spark gives to the names of local files, which begin with a slash here."""
LogTask = tuple[tuple[str, FilePart], ...]
"""Consecutive parts of files."""
RowOrigin = int | str
"""The origin of rows: the number of the task that reads them, or the file that is read as a whole."""


class TaskReporter(Reporter):
    """A reporter that collects the reports of a task to the driver."""

    def __init__(self) -> None:
        super().__init__(last_days=None)
        self.kept: list[BadRow] = []
        self.unended: dict[str, ErrorText] = {}


class TaskRows(ABC):
    """A builder of Spark columns from the rows that a task reads.

    Attributes
    ----------
    ports: the columns of the log that are read.
    """

    ports: Ports

    @abstractmethod
    def columns(self, blocks: Iterator[LogBlock], log_name: str, origin: RowOrigin) -> Iterator[Any]:
        """Yield record batches of the blocks of a file, or of a part; `log_name` is its name in messages."""

    def end(self) -> Any:
        """Complete the account of the task, and return further findings about its rows."""
        return None


class RowForm(ABC):
    """The rows to read, and their Spark columns."""

    @abstractmethod
    def begin(self, reading: Reading, reporter: Reporter) -> TaskRows:
        """Begin a task, whose account belongs to the reporter."""


@dataclass
class LogReader(ABC):
    """A reader of a part of a log: a function for `mapInArrow`.

    Parameters
    ----------
    reading: the user's options for columns and rows.
    counts: receive the counts of rows.
    """

    form: RowForm
    reading: Reading
    counts: Counts

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the rows of the parts or files that these batches name."""
        with carry():
            yield from self.read(batches)

    @abstractmethod
    def read(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the rows; errors are raised as those of workbench."""

    @contextmanager
    def _task(self, name: RowOrigin) -> Iterator[tuple[TaskRows, TaskReporter]]:
        """Open a task with a reporter whose account is sent to the driver at the end."""
        reporter = TaskReporter()
        if self.reading.bad_rows != "skip":
            reporter.keep = reporter.kept.append
        rows = self.form.begin(self.reading, reporter)
        yield rows, reporter
        note = rows.end()
        self.counts.add_read(
            name, TaskCounts(reporter.account, tuple(reporter.columns), tuple(reporter.kept), reporter.unended, note)
        )

    def _part(
        self,
        stream: io.BufferedReader,
        path: str,
        part: FilePart,
        origin: RowOrigin,
        rows: TaskRows,
        reporter: TaskReporter,
    ) -> Iterator[Any]:
        """Yield the rows of a part of a file, with this origin, numbered as the account counts them."""
        with (
            readable(path), log_reader(part_stream(stream, part), path, rows.ports, self.reading, reporter) as (
                reader, lines, log_name,
            )
        ):  # fmt: skip
            reader.part = part
            blocks = count_blocks(reader.blocks(lines, log_name), log_name, self.reading, reporter.account)
            yield from rows.columns(blocks, log_name, origin)
            if not enough(self.reading, reporter.account):
                try:
                    reader.end()
                except InputError as error:
                    if part == WHOLE:
                        raise error.retold(where=log_name) from error
                    reporter.unended[path] = error_text(error.retold(where=log_name))


@dataclass
class PartReader(LogReader):
    """A reader of parts of files, given the numbers of tasks.

    Parameters
    ----------
    tasks: the parts that each task reads.
    """

    tasks: Mapping[int, LogTask] = field(default_factory=dict)

    def read(self, batches: Iterator[Any]) -> Iterator[Any]:
        for number in itertools.chain(*(batch.column(0).to_pylist() for batch in batches)):
            with self._task(number) as (rows, reporter):
                for path, part in self.tasks[number]:
                    if enough(self.reading, reporter.account):
                        break
                    with open_bytes(path) as stream:
                        yield from self._part(stream, path, part, number, rows, reporter)


class FileReader(LogReader):
    """A reader of files, given their names and, where only Spark can read them, their contents."""

    def read(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for name, *content in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                path = re.sub(LOCAL_FILE, "/", name)
                if self.reading.head == 0:
                    return
                with self._task(path) as (rows, reporter), self._open(path, *content) as stream:
                    yield from self._part(stream, path, WHOLE, path, rows, reporter)
                if self.reading.head is not None:
                    self.reading = replace(self.reading, head=self.reading.head - reporter.account.rows)

    @contextmanager
    def _open(self, path: str, data: bytes | None = None) -> Iterator[io.BufferedReader]:
        if data is None:
            with open_bytes(path) as stream:
                yield stream
        else:
            with readable(path):
                yield decompress_stream(io.BufferedReader(io.BytesIO(data)))
