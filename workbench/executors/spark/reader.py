"""Logs as Spark's workers read them: parts of files, as tasks with numbers, or files one by one.

The rule of this module: files are read as they are without Spark, in parts where that is possible (`events/parts`).
What columns are made of the rows, a `RowForm` says, and what has become of them is sent to the driver under the name of
the task.
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
from workbench.events.reading import Reading
from workbench.events.rows import LogBlock
from workbench.executors.spark.carry import carry
from workbench.executors.spark.counts import Counts, ErrorText, TaskCounts, error_text

LOCAL_FILE = "^file:/+"
"""How Spark begins the names of local files, in more than one way; here they begin with a slash."""
LogTask = tuple[tuple[str, FilePart], ...]
"""Parts of files, one after the other."""
RowOrigin = int | str
"""Where rows are from: the number of the task that reads them, or the file that is read as a whole."""


class TaskReporter(Reporter):
    """Keeps what is to be sent of a task."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[BadRow] = []
        self.unended: dict[str, ErrorText] = {}


class TaskRows(ABC):
    """Makes the columns of Spark out of the rows that a task reads.

    Attributes
    ----------
    ports: the columns of the log that are read.
    """

    ports: Ports

    @abstractmethod
    def columns(self, blocks: Iterator[LogBlock], shown: str, origin: RowOrigin) -> Iterator[Any]:
        """Make record batches of the blocks of a file, or of a part of one, that messages call `shown`."""

    def end(self) -> Any:
        """Complete the account of the task, and give what else its rows have told."""
        return None


class RowForm(ABC):
    """Which rows are read, and what columns of Spark they become."""

    @abstractmethod
    def begin(self, reading: Reading, reporter: Reporter) -> TaskRows:
        """Begin a task, whose account the reporter has."""


@dataclass
class LogReader(ABC):
    """Reads a part of a log: a function for `mapInArrow`.

    Parameters
    ----------
    reading: what the user says about columns and rows.
    counts: are told what has been read.
    """

    form: RowForm
    reading: Reading
    counts: Counts

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The rows of what these batches name."""
        with carry():
            yield from self.read(batches)

    @abstractmethod
    def read(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The same, where errors are ours."""

    @contextmanager
    def _task(self, name: RowOrigin) -> Iterator[tuple[TaskRows, TaskReporter]]:
        """A task, and a reporter whose account is sent to the driver in the end."""
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
        """The rows of a part of a file, which have this origin, and are numbered as the account counts them."""
        with (
            readable(path), log_reader(part_stream(stream, part), path, rows.ports, self.reading, reporter) as (
                reader, lines, shown,
            )
        ):  # fmt: skip
            reader.part = part
            blocks = count_blocks(reader.blocks(lines, shown), shown, self.reading, reporter.account)
            yield from rows.columns(blocks, shown, origin)
            if not enough(self.reading, reporter.account):
                try:
                    reader.end()
                except InputError as error:
                    if part == WHOLE:
                        raise error.retold(where=shown) from error
                    reporter.unended[path] = error_text(error.retold(where=shown))


@dataclass
class PartReader(LogReader):
    """Reads parts of files: it is given the numbers of tasks.

    Parameters
    ----------
    tasks: what each of them reads.
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
    """Reads files: it is given their names, and what is in them, where only Spark can read that."""

    def read(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for name, *given in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                path = re.sub(LOCAL_FILE, "/", name)
                if self.reading.head == 0:
                    return
                with self._task(path) as (rows, reporter), self._open(path, *given) as stream:
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
