"""Run rules on Spark: an engine for each bucket of keys, and the sort keys of its composites among all.

The rule of this module: an engine starts as it does without Spark, and its clock follows the whole log.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.program import Ports
from workbench.errors import InputError
from workbench.events.batch import batches as batched
from workbench.events.clock import Clock
from workbench.events.columns import arrow_type, kind, to_column
from workbench.executors.spark.job import GroupRun, Job, StoredRun, join_state, split_groups, split_state
from workbench.runner.rules.composites import composite_table, event_row
from workbench.runner.rules.spark_events import EventLayout
from workbench.stored import checksum
from workbench.tesla.engines.engine import EngineSettings, rule_engine
from workbench.tesla.engines.partial_run import PartialRun, SortKey
from workbench.tesla.event_block import EventBlock
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet

PLACE, RANGE = "workbench place", "workbench range"
"""The columns with the sort keys of composites, and with their ranges of time."""
BATCH_COMPOSITES = 4096
"""Number of composites of a batch, where they come one by one."""
OrderedComposite = tuple[SortKey, Occurrence]


@dataclass(frozen=True)
class RuleJob(Job):
    """Rules on the events of buckets.

    Parameters
    ----------
    scaled: the rules, windows in the unit of times.
    ports: the columns of composites.
    until: the time to which the clock moves at the end.
    ranges: the number of ranges of time, of about equal length; 0: composites have no column of ranges.
    """

    layout: EventLayout
    scaled: RuleSet
    engine: str
    facts: Facts
    settings: EngineSettings
    clock: Clock
    ports: Ports
    until: int | None = None
    ranges: int = 0

    group, group_type = "bucket", "long"
    orders = ("time", "place")

    @property
    def schema(self) -> str:
        """The columns of composites as Spark writes them, their sort keys first, and their ranges last."""
        columns = (f"`{name}` {kind(domain)}" for name, domain in self.ports.outputs_by_name.items())
        ranges = [f"`{RANGE}` int"] if self.ranges else []
        return ", ".join([f"`{PLACE}` binary", *columns, *ranges])

    def open_groups(self) -> BucketRuns:
        return BucketRuns(self)

    def open_group(self) -> BucketRun:
        return BucketRun(self)

    def about(self) -> Mapping[str, Any]:
        keys = sorted(self.layout.partition.keys.items())
        same = (str(self.scaled), self.facts, self.settings, self.clock, keys, self.layout.buckets)
        mark = checksum(repr(same).encode()).hex()
        return {"rules": self.scaled.name, "engine": self.engine, "fingerprint": mark}

    def count_rows(self, rows: Any) -> int:
        return self.layout.count_events(rows)

    def count_events(self, outputs: Any) -> int:
        return len(outputs)

    def start(self) -> PartialRun:
        """Start an engine; Refused where it does not run the rules."""
        return PartialRun(rule_engine(self.scaled, self.engine, self.facts, self.settings))

    def rows_batch(self, composites: Sequence[OrderedComposite]) -> Any:
        """Make a record batch of composites that come one by one."""
        import pyarrow as pa

        rows = [event_row(each, self.scaled, self.clock) for _, each in composites]
        columns = (
            to_column(domain, [row.get(name) for row in rows], f"'{name}'")
            for name, domain in self.ports.outputs_by_name.items()
        )
        positions = pa.array([position for position, _ in composites], pa.binary())
        return pa.RecordBatch.from_arrays([positions, *columns], names=[PLACE, *self.ports.outputs_by_name])

    def block_batch(self, positions: Any, composites: EventBlock | list[Occurrence]) -> Any:
        """Make a record batch of composites as an engine gives them, and of their sort keys."""
        import pyarrow as pa

        domains = self.ports.outputs_by_name
        table = (
            None
            if isinstance(composites, list)
            else composite_table(composites, domains, self.scaled, self.clock, None)
        )
        if table is None:
            singly = composites if isinstance(composites, list) else composites.occurrences(self.scaled)
            return self.rows_batch(list(zip(positions.to_pylist(), singly, strict=True)))
        kinds = pa.schema([(name, arrow_type(domain)) for name, domain in domains.items()])  # times are texts there
        (batch,) = table.cast(kinds).combine_chunks().to_batches()
        return pa.RecordBatch.from_arrays([positions, *batch.columns], names=[PLACE, *domains])


class BucketRun(StoredRun):
    """The engine of a bucket, which continues from one micro-batch to the next."""

    def __init__(self, job: RuleJob) -> None:
        self.job, self.run = job, job.start()
        self._time: int | None = None
        """The time of the last row of an earlier micro-batch."""

    def feed(self, rows: Any) -> Iterator[Any]:
        if self._time is not None:
            self._refuse_late(rows["time"][0].as_py(), self._time)
        yield from self.step(rows)
        self._time = rows["time"][-1].as_py()

    def step(self, rows: Any) -> Iterator[Any]:
        """Run on rows that continue in the order of time."""
        import pyarrow as pa

        block = self.job.layout.read_block(rows) if self.run.in_blocks else None
        if block is not None:
            events, positions = block
            for at, behind, composites in self.run.process_block(events):
                yield self.job.block_batch(
                    list_composite_keys(events.times[at], positions.take(pa.array(at)), behind), composites
                )
        else:
            yield from map(self.job.rows_batch, batched(self._singly(rows), BATCH_COMPOSITES))

    def _singly(self, rows: Any) -> Iterator[OrderedComposite]:
        for event, time, position in self.job.layout.read_events(rows):
            yield from self.run.advance(time - 1) if event is None else self.run.process(event, position)

    def _refuse_late(self, time: int, before: int) -> None:
        """Refuse an event that comes before the last one of an earlier micro-batch."""
        if time < before:
            show = self.job.clock.show
            what = f"an event of {show(time)} comes late: an earlier micro-batch has reached {show(before)}"
            hint = "correct the file and run the same command again: the micro-batch is repeated"
            raise InputError(what, hint=hint)

    def end(self) -> Iterator[Any]:
        if self.job.until is not None:
            yield from map(self.job.rows_batch, batched(iter(self.run.advance(self.job.until)), BATCH_COMPOSITES))

    def save(self) -> bytes:
        return join_state([self._time, self.run.state()], self.run.engine.snapshot())

    def restore(self, state: bytes) -> None:
        (self._time, others), snapshot = split_state(state)
        self.run.engine.restore(snapshot)
        self.run.set_state(others)


class BucketRuns(GroupRun):
    """The engines of successive buckets, each of which comes as a whole, and the range of each composite."""

    def __init__(self, job: RuleJob) -> None:
        self.job = job
        self._run: BucketRun | None = None
        self._bucket = -1
        self._cuts = set[int]()

    def feed(self, rows: Any) -> Iterator[Any]:
        for some in split_groups(rows):
            if self._run is None or some["bucket"][0].as_py() != self._bucket:
                yield from self.end()
                self._run, self._bucket = BucketRun(self.job), some["bucket"][0].as_py()
            cuts, events = self.job.layout.split_cuts(some)
            self._cuts |= cuts  # those of other buckets are the same
            if len(events):
                yield from map(self._add_ranges, self._run.step(events))

    def end(self) -> Iterator[Any]:
        if self._run is not None:
            yield from map(self._add_ranges, self._run.end())

    def _add_ranges(self, batch: Any) -> Any:
        """Add the range of each composite, by the time with which its sort key begins."""
        import numpy as np
        import pyarrow as pa

        cuts, ranges = sorted(self._cuts), self.job.ranges
        bounds: Any = np.array([cuts[len(cuts) * i // ranges] for i in range(1, ranges) if cuts], np.int64)
        indices: Any = np.searchsorted(bounds, times_of(batch.column(0))).astype(np.int32)
        return pa.RecordBatch.from_arrays([*batch.columns, pa.array(indices)], names=[*batch.schema.names, RANGE])


def list_composite_keys(times: Any, positions: Any, behind: Any) -> Any:
    """Return the sort keys of composites as a column: those of `PartialRun.process`.

    Parameters
    ----------
    times, positions: those of the events that have caused them; `behind`: the number of each, from 1 on, for its event.
    """
    import numpy as np
    import pyarrow.compute as pc

    from workbench.events.buffers import big_endian, bytes_column

    first: Any = np.zeros((len(behind), 9), np.uint8)
    first[:, :8] = big_endian(times.astype(np.int64).view(np.uint64) ^ np.uint64(1 << 63), 8)
    return pc.binary_join_element_wise(bytes_column(first), positions, bytes_column(big_endian(behind, 6)), b"")


def times_of(positions: Any) -> Any:
    """Return the times of composites, by their sort keys."""
    import numpy as np

    _, begins, letters = positions.buffers()
    at = np.frombuffer(begins, np.int32)[positions.offset :][: len(positions)]
    first: Any = np.frombuffer(letters or b"", np.uint8)[at[:, None] + np.arange(8)]
    return (first.view(">u8").ravel().astype(np.uint64) ^ np.uint64(1 << 63)).view(np.int64)
