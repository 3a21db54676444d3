"""Logs as Spark's workers read them: the key of each row, what orders it, its place, and an event per input.

The rule of this module: files are read as they are without Spark, in parts where that is possible (`events/parts`).
"""

from __future__ import annotations

import io
import itertools
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from workbench.core.domain import INT, Value
from workbench.core.program import Ports
from workbench.errors import DomainError, InputError
from workbench.events.account import KEYLESS, BadRow, Reporter
from workbench.events.batch import EventArray, LogBatch
from workbench.events.buffers import shown_column
from workbench.events.columns import to_column
from workbench.events.decoding import counted_blocks, decode, enough
from workbench.events.files import opened, readable
from workbench.events.order import order_columns
from workbench.events.output_columns import shown_events
from workbench.events.packing import decompressed
from workbench.events.parts import WHOLE, FilePart, part_stream
from workbench.events.read import log_reader
from workbench.events.reading import Reading
from workbench.events.rows import LogBlock
from workbench.events.values import Words
from workbench.executors.spark.carry import carried
from workbench.executors.spark.counts import Counts, ErrorText, TaskRows, told_of
from workbench.executors.spark.layout import Layout

LOCAL_FILE = "^file:/+"
"""How Spark begins the names of local files, in more than one way; here they begin with a slash."""
BATCH = 4096
"""Rows that are made columns at a time."""
LogTask = tuple[tuple[str, FilePart], ...]
"""Parts of files, one after the other."""


class LogReader(ABC):
    """Reads a part of a log: a function for `mapInArrow`.

    Parameters
    ----------
    rows: the key, what rows are ordered by, and the inputs of the program.
    inputs: which of these are inputs.
    layout: the columns that are made.
    reading: what the user says about columns and rows.
    counts: are told what has been read.
    """

    def __init__(self, rows: Ports, inputs: Sequence[str], layout: Layout, reading: Reading, counts: Counts) -> None:
        self.rows, self.inputs, self.layout, self.reading, self.counts = rows, inputs, layout, reading, counts

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The rows of what these batches name."""
        with carried():
            yield from self.read(batches)

    @abstractmethod
    def read(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The same, where errors are ours."""

    @contextmanager
    def counting(self, task: int | str) -> Iterator[TaskReporter]:
        """A reporter whose account is sent to the driver in the end, under this name."""
        reporter = TaskReporter()
        if self.reading.bad_rows != "skip":
            reporter.keep = reporter.kept.append
        yield reporter
        account = replace(reporter.account, events_in=reporter.taken)
        found = TaskRows(account, tuple(reporter.columns), tuple(reporter.kept), reporter.unended)
        self.counts.read(task, found)

    def file(
        self, stream: io.BufferedReader, path: str, part: FilePart, place: Mapping[str, Value], reporter: TaskReporter
    ) -> Iterator[Any]:
        """The rows of a part of a file, which have this place, and are numbered as the account counts them."""
        with (
            readable(path), log_reader(part_stream(stream, part), path, self.rows, self.reading, reporter) as (
                reader, lines, shown,
            )
        ):  # fmt: skip
            reader.part = part
            blocks = counted_blocks(reader.blocks(lines, shown), shown, self.reading, reporter.account)
            yield from self.batches(blocks, shown, place, reporter)
            if not enough(self.reading, reporter.account):
                try:
                    reader.end()
                except InputError as error:
                    if part == WHOLE:
                        raise error.retold(where=shown) from error
                    reporter.unended[path] = told_of(error.retold(where=shown))

    def batches(
        self, blocks: Iterator[LogBlock], shown: str, place: Mapping[str, Value], reporter: TaskReporter
    ) -> Iterator[Any]:  # fmt: skip
        """The rows of blocks, of a file that messages call `shown`, as columns."""
        sizes = {True: sys.maxsize, False: BATCH}
        for batch in decode(blocks, reporter.account, sizes.__getitem__, columns=True, numbered=True):
            if len(batch):
                yield self._batch(self._columns(batch, shown), batch.number_array(), shown, place, reporter)
            if batch.failed is not None:
                raise batch.failed

    def _columns(self, batch: LogBatch, shown: str) -> Mapping[str, Any]:
        """The rows of a batch as Arrow columns."""
        if batch.columns is not None:
            return {name: self._column(name, each) for name, each in batch.columns.items()}
        found = {}
        for name, domain in self.rows.domains.items():
            try:
                found[name] = to_column(domain, [row.get(name) for row in batch.rows or ()], f"input '{name}'")
            except DomainError as error:
                raise InputError(error.what, where=shown, hint=error.hint) from error
        return found

    def _column(self, name: str, given: EventArray) -> Any:
        domain = self.rows.domains[name]
        return given.events if isinstance(domain, Words) else shown_events(domain, given.fields, given.present)

    def _batch(
        self, columns: Mapping[str, Any], numbers: Any, shown: str, place: Mapping[str, Value], reporter: TaskReporter
    ) -> Any:  # fmt: skip
        """The columns of the layout; rows in which there is nothing are left out."""
        import pyarrow as pa

        count = len(numbers)
        columns = {
            n: columns[n] if n in columns else _nothing(domain, count) for n, domain in self.rows.domains.items()
        }
        key = columns[self.layout.key]
        orders = [each for name in self.layout.orders for each in _order(name, columns[name], shown)]
        known: dict[str, Any] = {name: pa.repeat(pa.scalar(each), count) for name, each in place.items()}
        known["row"] = shown_column(INT, numbers)
        inputs = [columns[name] for name in self.inputs]
        reporter.taken += sum(count - each.null_count for each in inputs)
        places = [known[name] for name in self.layout.places]
        titles = replace(self.layout, parts=len(orders)).names(len(inputs))
        made = pa.RecordBatch.from_arrays([key, *orders, *places, *inputs], names=titles)
        if not key.null_count:
            return made
        import pyarrow.compute as pc

        there = key.is_valid()
        for each in inputs:
            there = pc.or_(there, each.is_valid())
        kept = made.filter(there)
        reporter.account.ignored[KEYLESS] += len(made) - len(kept)
        return kept


class PartReader(LogReader):
    """Reads parts of files: it is given the numbers of tasks.

    Attributes
    ----------
    tasks: what each of them reads.
    """

    tasks: Mapping[int, LogTask] = MappingProxyType({})

    def read(self, batches: Iterator[Any]) -> Iterator[Any]:
        for number in itertools.chain(*(batch.column(0).to_pylist() for batch in batches)):
            with self.counting(number) as reporter:
                for path, part in self.tasks[number]:
                    if enough(self.reading, reporter.account):
                        break
                    with opened(path) as stream:
                        yield from self.file(stream, path, part, {"task": number}, reporter)


class FileReader(LogReader):
    """Reads files: it is given their names, and what is in them, where only Spark can read that."""

    def read(self, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            for name, *given in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                path = re.sub(LOCAL_FILE, "/", name)
                if self.reading.head == 0:
                    return
                with self.counting(path) as reporter, self._opened(path, *given) as stream:
                    yield from self.file(stream, path, WHOLE, {"file": path}, reporter)
                if self.reading.head is not None:
                    self.reading = replace(self.reading, head=self.reading.head - reporter.account.rows)

    @contextmanager
    def _opened(self, path: str, data: bytes | None = None) -> Iterator[io.BufferedReader]:
        if data is None:
            with opened(path) as stream:
                yield stream
        else:
            with readable(path):
                yield decompressed(io.BufferedReader(io.BytesIO(data)))


class TaskReporter(Reporter):
    """Keeps what is to be sent of a task; `taken` are the events for inputs alone."""

    def __init__(self) -> None:
        super().__init__()
        self.taken = 0
        self.kept: list[BadRow] = []
        self.unended: dict[str, ErrorText] = {}


def _nothing(domain: Any, count: int) -> Any:
    return to_column(domain, [None] * count, "")


def _order(name: str, column: Any, shown: str) -> list[Any]:
    """The columns by which rows are ordered; null where a row has nothing to be ordered by."""
    import pyarrow as pa

    if not pa.types.is_string(column.type):
        return [column]
    if not column.null_count:
        return order_columns(name, column, lambda _: shown)
    number, *others = order_columns(name, pa.array([text or "" for text in column.to_pylist()]), lambda _: shown)
    there = column.is_valid().to_pylist()
    kept = [each if ok else None for each, ok in zip(number.to_pylist(), there, strict=True)]
    return [pa.array(kept, pa.float64()), *others]
