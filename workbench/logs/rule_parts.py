"""The events of a log for rules on Spark: read in parts by workers, each event with its bucket and its place.

The rule of this module: events are those of `rule_log`, with its messages. What a row of Spark's holds is said once,
for who reads the log and for who runs the rules. A file ends with a row for each bucket that tells its last time, and
a part of a file with rows that tell some of its times, which all buckets have before their first event: by these they
know, all in the same way, where composites may be cut into ranges that follow each other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workbench.core.domain import BOOL, INT, Domain, Value
from workbench.errors import InputError
from workbench.events.account import UNDECLARED
from workbench.events.clock import Clock
from workbench.events.columns import arrow_type, kind
from workbench.events.reading import Reading
from workbench.events.row_batches import batches
from workbench.events.rows import LogBlock
from workbench.executors.spark.counts import Counts
from workbench.executors.spark.layout import Layout
from workbench.executors.spark.reader import FileReader, LogReader, PartReader, TaskReporter
from workbench.logs.rule_columns import attribute_of_rows, coded, text_codes
from workbench.logs.rule_composites import attribute_values
from workbench.logs.rule_log import RuleLog, log_ports
from workbench.tesla.event_block import EventBlock, dense_places, event_block
from workbench.tesla.key_hash import hash_keys
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.partial_run import OrderPlace
from workbench.tesla.partition import RulePartition
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.tree import Declaration

CLOCK, CUT = -1, -2
"""What stands for the type in rows that tell the time, and in those that tell a time at which the log may be cut."""
CUTS, EARLIEST = 8, -(2**63)
"""Such times that a part of a file tells at most; and the time of these rows, so that they come first."""
SIZE = 4096
"""Events that are made columns at a time."""


@dataclass(frozen=True)
class EventLayout:
    """The rows of events in Spark: `bucket, time, place, type`, and the attributes.

    Parameters
    ----------
    buckets: how many there are; the events of a key are in one.
    """

    rules: RuleSet
    partition: RulePartition
    buckets: int

    @cached_property
    def attributes(self) -> tuple[tuple[str, Domain], ...]:
        """A column each; types share those of one name and one domain."""
        types = (self.rules.declarations[name].domains.items() for name in self.rules.events)
        return tuple(dict.fromkeys(each for some in types for each in some))

    @property
    def schema(self) -> str:
        """The columns as Spark writes them."""
        columns = (f"x{i} {kind(domain)}" for i, (_, domain) in enumerate(self.attributes))
        return ", ".join(["bucket long, time long, place binary, type long", *columns])

    def rows(self, block: EventBlock, places: Any) -> Any:
        """Events as a record batch; places are an Arrow array of bytes."""
        from workbench.events.buffers import shown_column

        first = (shown_column(INT, self._buckets(block)), shown_column(INT, block.times), places)
        columns = (attribute_values(block, name, domain, self.rules) for name, domain in self.attributes)
        return self._batch(*first, shown_column(INT, block.types.astype("i8")), *columns)

    def clock(self, time: int) -> Any:
        """What tells each bucket that this is the time."""
        return self._notice(CLOCK, time, b"")

    def cut(self, time: int) -> Any:
        """What tells each bucket, before its first event, a time of the log."""
        return self._notice(CUT, EARLIEST, time.to_bytes(8, signed=True))

    @staticmethod
    def cuts_of(batch: Any) -> tuple[set[int], Any]:
        """The times that `cut` has told in a record batch, and what else is there."""
        from workbench.events.buffers import numbers_of, shown_column

        others = numbers_of(batch.column(3)) != CUT
        if others.all():
            return set(), batch
        told = batch.filter(shown_column(BOOL, ~others)).column(2).to_pylist()
        return {int.from_bytes(each, signed=True) for each in told}, batch.filter(shown_column(BOOL, others))

    @staticmethod
    def count_events(batch: Any) -> int:
        """How many rows of a record batch are events."""
        from workbench.events.buffers import numbers_of

        return int((numbers_of(batch.column(3)) >= 0).sum())

    def _notice(self, type: int, time: int, place: bytes) -> Any:
        """A row for each bucket that is no event."""
        import numpy as np
        import pyarrow as pa

        from workbench.events.buffers import shown_column

        def repeated(number: int) -> Any:
            return shown_column(INT, np.full(self.buckets, number))

        nothing = (pa.nulls(self.buckets, arrow_type(domain)) for _, domain in self.attributes)
        first = shown_column(INT, np.arange(self.buckets)), repeated(time), pa.repeat(pa.scalar(place), self.buckets)
        return self._batch(*first, repeated(type), *nothing)

    def _batch(self, *columns: Any) -> Any:
        import pyarrow as pa

        names = ["bucket", "time", "place", "type", *(f"x{i}" for i in range(len(self.attributes)))]
        return pa.RecordBatch.from_arrays(list(columns), names=names)

    def _buckets(self, block: EventBlock) -> Any:
        """The bucket of each event: that of its key, or any."""
        import numpy as np

        found: Any = hash_keys(np.arange(len(block)), None, INT)
        for type in set(block.types.tolist()):
            declared = self.rules.declarations[block.names[type]]
            if (key := self.partition.keys.get(declared.name)) is not None:
                rows = block.types == type
                column, places = block.columns[type][declared.positions[key]], block.places[rows]
                nulls = None if column.nulls is None else column.nulls[places]
                found[rows] = hash_keys(column.values[places], nulls, declared.domains[key])
        return (found >> np.uint64(32)).astype(np.int64) % self.buckets

    def block(self, batch: Any) -> tuple[EventBlock, Any] | None:
        """The events in a record batch as columns, and their places as one; None where two texts have one number."""
        import numpy as np

        from workbench.events.buffers import numbers_of, shown_column
        from workbench.events.input_columns import given_array

        types: Any = numbers_of(batch.column(3))
        if (types < 0).any():
            batch = batch.filter(shown_column(BOOL, types >= 0))
            types = numbers_of(batch.column(3))
        texts: dict[int, str] = {}
        given = {}
        for each, column in zip(self.attributes, batch.columns[4:], strict=True):
            array = given_array(each[1], column, stored=True)
            given[each] = None if array is None else coded(array, texts)
            if given[each] is None:
                return None
        columns = []
        for type, name in enumerate(self.rules.events):
            rows = np.flatnonzero(types == type)
            domains = self.rules.declarations[name].domains.items()
            columns.append(tuple(attribute_of_rows(given[each], each[1], rows, len(rows)) for each in domains))
        types = types.astype(np.uint16)
        times = numbers_of(batch.column(1))
        made = EventBlock(self.rules.events, types, times, dense_places(types), tuple(columns), texts)
        return made, batch.column(2)

    def events(self, batch: Any) -> Iterator[tuple[Occurrence | None, int, OrderPlace]]:
        """The events in a record batch, their times and places; None for the clock."""
        times, places, types = (batch.column(i).to_pylist() for i in (1, 2, 3))
        columns = [column.to_pylist() for column in batch.columns[4:]]
        of_type = [
            (name, [columns[self.attributes.index(each)] for each in self.rules.declarations[name].domains.items()])
            for name in self.rules.events
        ]
        for row, (type, time, place) in enumerate(zip(types, times, places, strict=True)):
            if type == CLOCK:
                yield None, time, place
            else:
                name, values = of_type[type]
                yield Occurrence(name, time, tuple([column[row] for column in values])), time, place


@dataclass
class LogNote:
    """What a task has found out about a log.

    Attributes
    ----------
    input: which of the inputs it has read a part of.
    first, last: the times of its first and last event; None where it has none.
    """

    input: int
    unknown: Counter[str]
    seen: set[tuple[str, str]]
    types: set[str]
    first: int | None = None
    last: int | None = None


class EventReader(LogReader):
    """Reads events; how a place is made says what there are places of.

    Parameters
    ----------
    input: which of the inputs it is.
    declared: the type of all events in it; None: a column tells.
    """

    def __init__(
        self, layout: EventLayout, clock: Clock, input: int, declared: Declaration | None, reading: Reading,
        counts: Counts,
    ) -> None:  # fmt: skip
        super().__init__(log_ports(layout.rules, clock, declared), (), Layout("", ()), reading, counts)
        self.events, self.clock, self.input, self.declared = layout, clock, input, declared

    @contextmanager
    def counting(self, task: int | str) -> Iterator[TaskReporter]:
        self.rows = log_ports(self.events.rules, self.clock, self.declared)  # times begin anew
        with super().counting(task) as reporter:
            self.log = RuleLog(self.events.rules, self.clock, self.reading, reporter)
            self.note = LogNote(self.input, self.log.unknown, self.log.seen, self.log.types)
            self.given = 0
            yield reporter
            reporter.taken = reporter.account.events_in
            reporter.account.ignored[UNDECLARED] = self.log.unknown.total()
        self.counts.note(task, self.note)

    def batches(
        self, blocks: Iterator[LogBlock], shown: str, place: Mapping[str, Value], reporter: TaskReporter
    ) -> Iterator[Any]:  # fmt: skip
        first = self.first_of_place(place)
        self.ends = list[int]()
        for piece in self.log.of_blocks(blocks, self.rows, self.declared, shown):
            some = [piece] if isinstance(piece, EventBlock) else self._blocks(batches(piece, SIZE))
            for block in some:
                if len(block):
                    yield self.events.rows(block, self._places(first, len(block)))
                    self.note.first = int(block.times[0]) if self.note.first is None else self.note.first
                    self.note.last = int(block.times[-1])
                    self.ends.append(self.note.last)
        if self.note.last is not None:
            yield self.events.clock(self.note.last)

    def first_of_place(self, place: Mapping[str, Value]) -> bytes:
        """What the places of the events in a file begin with."""
        raise NotImplementedError

    def _places(self, first: bytes, count: int) -> Any:
        """The places of the next events in a file, as an Arrow array of bytes."""
        import numpy as np

        from workbench.events.buffers import big_endian, bytes_column

        begin, self.given = self.given, self.given + count
        rows: Any = np.empty((count, len(first) + 6), np.uint8)
        rows[:, : len(first)] = np.frombuffer(first, np.uint8)
        rows[:, len(first) :] = big_endian(np.arange(begin, self.given), 6)
        return bytes_column(rows)

    def _blocks(self, lists: Iterator[Sequence[Occurrence]]) -> Iterator[EventBlock]:
        for events in lists:
            try:
                yield event_block(self.events.rules, events, text_codes)
            except OverflowError as error:
                raise InputError("a time has more than 64 bits", hint="use dates, or smaller numbers") from error


class EventPartReader(EventReader, PartReader):
    """Reads parts of files, whose numbers order them."""

    def first_of_place(self, place: Mapping[str, Value]) -> bytes:
        task = place["task"]
        assert isinstance(task, int)
        return task.to_bytes(4)

    def batches(
        self, blocks: Iterator[LogBlock], shown: str, place: Mapping[str, Value], reporter: TaskReporter
    ) -> Iterator[Any]:  # fmt: skip
        yield from super().batches(blocks, shown, place, reporter)
        yield from map(self.events.cut, self.ends[:: -(-len(self.ends) // CUTS) or 1])


class EventFileReader(EventReader, FileReader):
    """Reads files, whose names order them."""

    def first_of_place(self, place: Mapping[str, Value]) -> bytes:
        return str(place["file"]).encode("utf-8", "surrogateescape") + b"\0"
