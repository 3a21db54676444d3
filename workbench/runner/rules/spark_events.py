"""Read the events of a log for rules on Spark: workers read parts, and assign each event its bucket and its sort key.

The rule of this module: events are those of `log`, with its errors. The columns of a row on Spark are defined
once, for readers of the log and for runners of the rules. Some rows are markers, which all buckets get. A clock row
after a file has its last time. Cut rows have some of the times in a part of a file, and come before the first event:
by them all buckets cut the composites into the same ranges of time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workbench.core.domain import BOOL, INT, Domain
from workbench.core.program import Ports
from workbench.errors import InputError
from workbench.events.account import Reporter
from workbench.events.batch import batches
from workbench.events.clock import Clock
from workbench.events.columns import arrow_type, kind
from workbench.events.reading_options import Reading
from workbench.events.rows import LogBlock
from workbench.executors.spark.reader import RowForm, RowOrigin, TaskRows
from workbench.runner.rules.columns import arrange_events, encode_texts, text_codes
from workbench.runner.rules.composites import attribute_values
from workbench.runner.rules.log import RuleLog, log_ports
from workbench.tesla.engines.partial_run import SortKey
from workbench.tesla.event_block import EventBlock, event_block
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.partition import RulePartition, hash_keys
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.tree import Declaration

CLOCK, CUT = -1, -2
"""The types of clock rows and of cut rows."""
MAX_CUTS, EARLIEST = 8, -(2**63)
"""Maximum number of cut rows of a part of a file, and the time that puts them first."""
BATCH_EVENTS = 4096
"""Number of events of a batch, where they come one by one."""


@dataclass(frozen=True)
class EventLayout:
    """The rows of events in Spark: `bucket, time, place, type`, and the attributes.

    Parameters
    ----------
    buckets: the number of buckets; the events of a key are in one.
    """

    rules: RuleSet
    partition: RulePartition
    buckets: int

    @cached_property
    def attributes(self) -> tuple[tuple[str, Domain], ...]:
        """The attributes with a column each; types share those of one name and one domain."""
        types = (self.rules.declarations[name].domains.items() for name in self.rules.events)
        return tuple(dict.fromkeys(each for some in types for each in some))

    @property
    def schema(self) -> str:
        """The columns as Spark writes them."""
        columns = (f"x{i} {kind(domain)}" for i, (_, domain) in enumerate(self.attributes))
        return ", ".join(["bucket long, time long, place binary, type long", *columns])

    def event_rows(self, block: EventBlock, positions: Any) -> Any:
        """Make the rows of events, as a record batch; `positions` is an Arrow array of bytes."""
        from workbench.events.buffers import numbers_to_arrow

        first = (numbers_to_arrow(INT, self._buckets(block)), numbers_to_arrow(INT, block.times), positions)
        columns = (attribute_values(block, name, domain, self.rules) for name, domain in self.attributes)
        return self._batch(*first, numbers_to_arrow(INT, block.types.astype("i8")), *columns)

    def clock_rows(self, time: int) -> Any:
        """Make the clock rows of a time."""
        return self._markers(CLOCK, time, b"")

    def cut_rows(self, time: int) -> Any:
        """Make the cut rows of a time."""
        return self._markers(CUT, EARLIEST, time.to_bytes(8, signed=True))

    @staticmethod
    def split_cuts(batch: Any) -> tuple[set[int], Any]:
        """Split a record batch into the times of its cut rows and the other rows."""
        from workbench.events.buffers import numbers_of, numbers_to_arrow

        others = numbers_of(batch.column(3)) != CUT
        if others.all():
            return set(), batch
        cuts = batch.filter(numbers_to_arrow(BOOL, ~others)).column(2).to_pylist()
        return {int.from_bytes(each, signed=True) for each in cuts}, batch.filter(numbers_to_arrow(BOOL, others))

    @staticmethod
    def count_events(batch: Any) -> int:
        """Count the rows of a record batch that are events."""
        from workbench.events.buffers import numbers_of

        return int((numbers_of(batch.column(3)) >= 0).sum())

    def _markers(self, type: int, time: int, position: bytes) -> Any:
        """Make a marker row for each bucket."""
        import numpy as np
        import pyarrow as pa

        from workbench.events.buffers import numbers_to_arrow

        def repeated(number: int) -> Any:
            return numbers_to_arrow(INT, np.full(self.buckets, number))

        nothing = (pa.nulls(self.buckets, arrow_type(domain)) for _, domain in self.attributes)
        first = (
            numbers_to_arrow(INT, np.arange(self.buckets)),
            repeated(time),
            pa.repeat(pa.scalar(position), self.buckets),
        )
        return self._batch(*first, repeated(type), *nothing)

    def _batch(self, *columns: Any) -> Any:
        import pyarrow as pa

        names = ["bucket", "time", "place", "type", *(f"x{i}" for i in range(len(self.attributes)))]
        return pa.RecordBatch.from_arrays(list(columns), names=names)

    def _buckets(self, block: EventBlock) -> Any:
        """Find the bucket of each event: that of its key, or any."""
        import numpy as np

        hashes: Any = hash_keys(np.arange(len(block)), None, INT)
        for type in set(block.types.tolist()):
            declared = self.rules.declarations[block.names[type]]
            if (key := self.partition.keys.get(declared.name)) is not None:
                rows = block.types == type
                column, indices = block.columns[type][declared.positions[key]], block.type_rows[rows]
                nulls = None if column.nulls is None else column.nulls[indices]
                hashes[rows] = hash_keys(column.values[indices], nulls, declared.domains[key])
        return (hashes >> np.uint64(32)).astype(np.int64) % self.buckets

    def read_block(self, batch: Any) -> tuple[EventBlock, Any] | None:
        """Read the events of a record batch as columns, and their sort keys; None where texts share a code."""
        from workbench.events.buffers import numbers_of, numbers_to_arrow
        from workbench.events.input_columns import decode_column

        types: Any = numbers_of(batch.column(3))
        if (types < 0).any():
            batch = batch.filter(numbers_to_arrow(BOOL, types >= 0))
            types = numbers_of(batch.column(3))
        texts: dict[int, str] = {}
        arrays = {}
        for each, column in zip(self.attributes, batch.columns[4:], strict=True):
            array = decode_column(each[1], column, stored=True)
            arrays[each] = None if array is None else encode_texts(array, texts)
            if arrays[each] is None:
                return None
        times = numbers_of(batch.column(1))
        block = arrange_events(self.rules, types, times, texts, lambda *attribute: arrays[attribute])
        return block, batch.column(2)

    def read_events(self, batch: Any) -> Iterator[tuple[Occurrence | None, int, SortKey]]:
        """Read the events of a record batch one by one, with their times and sort keys; None for a clock row."""
        times, positions, types = (batch.column(i).to_pylist() for i in (1, 2, 3))
        columns = [column.to_pylist() for column in batch.columns[4:]]
        of_type = [
            (name, [columns[self.attributes.index(each)] for each in self.rules.declarations[name].domains.items()])
            for name in self.rules.events
        ]
        for row, (type, time, position) in enumerate(zip(types, times, positions, strict=True)):
            if type == CLOCK:
                yield None, time, position
            else:
                name, values = of_type[type]
                yield Occurrence(name, time, tuple([column[row] for column in values])), time, position


@dataclass
class LogNote:
    """The report of a task about the events that it has read.

    Attributes
    ----------
    input: the number of the input of which it has read a part.
    first, last: the times of its first and last event; None where it has none.
    """

    input: int
    unknown: Counter[str]
    seen: set[tuple[str, str]]
    types: set[str]
    first: int | None = None
    last: int | None = None


@dataclass(frozen=True)
class EventForm(RowForm):
    """The columns of events.

    Parameters
    ----------
    input: which of the inputs is read.
    declared: the type of all events in it; None: a column names it.
    """

    layout: EventLayout
    clock: Clock
    input: int
    declared: Declaration | None

    @property
    def ports(self) -> Ports:
        """The columns of the log, with a time order that starts anew in each task."""
        return log_ports(self.layout.rules, self.clock, self.declared)

    def begin(self, reading: Reading, reporter: Reporter) -> EventRows:
        return EventRows(self, reading, reporter)


class EventRows(TaskRows):
    """Builds the columns of events; at equal times, events are ordered by their numbers in the task."""

    def __init__(self, form: EventForm, reading: Reading, reporter: Reporter) -> None:
        self.form, self.ports = form, form.ports
        self.log = RuleLog(form.layout.rules, form.clock, reading, reporter)
        self.note = LogNote(form.input, self.log.unknown, self.log.seen, self.log.types)
        self._count = 0

    def columns(self, blocks: Iterator[LogBlock], where: str, origin: RowOrigin) -> Iterator[Any]:
        ends, layout = list[int](), self.form.layout
        for piece in self.log.of_blocks(blocks, self.ports, self.form.declared, where):
            some = [piece] if isinstance(piece, EventBlock) else self._blocks(batches(piece, BATCH_EVENTS))
            for block in filter(len, some):
                yield layout.event_rows(block, self._list_order_keys(make_order_prefix(origin), len(block)))
                self.note.first = int(block.times[0]) if self.note.first is None else self.note.first
                self.note.last = int(block.times[-1])
                ends.append(self.note.last)
        if self.note.last is not None:
            yield layout.clock_rows(self.note.last)
        if isinstance(origin, int):
            yield from map(layout.cut_rows, ends[:: -(-len(ends) // MAX_CUTS) or 1])

    def end(self) -> LogNote:
        return self.note

    def _list_order_keys(self, first: bytes, count: int) -> Any:
        """Return the sort keys of the next events, as an Arrow array of bytes."""
        import numpy as np

        from workbench.events.buffers import big_endian, bytes_column

        begin, self._count = self._count, self._count + count
        rows: Any = np.empty((count, len(first) + 6), np.uint8)
        rows[:, : len(first)] = np.frombuffer(first, np.uint8)
        rows[:, len(first) :] = big_endian(np.arange(begin, self._count), 6)
        return bytes_column(rows)

    def _blocks(self, lists: Iterator[Sequence[Occurrence]]) -> Iterator[EventBlock]:
        for events in lists:
            try:
                yield event_block(self.form.layout.rules, events, text_codes)
            except OverflowError as error:
                raise InputError("a time has more than 64 bits", hint="use dates, or smaller numbers") from error


def make_order_prefix(origin: RowOrigin) -> bytes:
    """Return the first part of events' sort keys: tasks are ordered by their numbers, and files by their names."""
    return origin.to_bytes(4) if isinstance(origin, int) else origin.encode("utf-8", "surrogateescape") + b"\0"
