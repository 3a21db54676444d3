"""Rules at work on Spark: an engine for each bucket of keys, and where its composites stand among all.

The rule of this module: an engine is started as it is without Spark, and told the time wherever the log was.
"""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.program import Ports
from workbench.events.clock import Clock
from workbench.events.columns import arrow_type, kind, to_column
from workbench.events.row_batches import batches as batched
from workbench.executors.spark.carry import carried
from workbench.executors.spark.counts import Counts
from workbench.executors.spark.runner import task_number
from workbench.logs.rule_composites import composite_table, event_row
from workbench.logs.rule_parts import EventLayout
from workbench.tesla.engines.engine import EngineSettings, rule_engine
from workbench.tesla.event_block import EventBlock
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.partial_run import OrderPlace, PartialRun
from workbench.tesla.rule_set import RuleSet

PLACE, RANGE = "workbench place", "workbench range"
"""The columns of composites that tell their order, and in which of some ranges of it they are."""
SIZE = 4096
"""Composites that are made columns at a time."""
PlacedComposite = tuple[OrderPlace, Occurrence]


@dataclass(frozen=True)
class RuleJob:
    """What is run on the events of a bucket.

    Attributes
    ----------
    scaled: the rules, windows in the unit of times.
    ports: the columns of composites.
    until: the time to which the clock moves in the end.
    """

    events: EventLayout
    scaled: RuleSet
    engine: str
    facts: Facts
    settings: EngineSettings
    clock: Clock
    ports: Ports
    until: int | None = None

    @property
    def schema(self) -> str:
        """The columns of composites as Spark writes them, their places first."""
        columns = (f"`{name}` {kind(domain)}" for name, domain in self.ports.shown.items())
        return ", ".join([f"`{PLACE}` binary", *columns])

    def start(self) -> PartialRun:
        """A run from the beginning."""
        return PartialRun(rule_engine(self.scaled, self.engine, self.facts, self.settings))

    def made(self, run: PartialRun, rows: Any) -> Iterator[Any]:
        """What comes of some rows of a bucket, as record batches."""
        import pyarrow as pa

        block = self.events.block(rows) if run.in_blocks else None
        if block is not None:
            events, places = block
            for at, behind, found in run.process_block(events):
                yield self._batch(composite_places(events.times[at], places.take(pa.array(at)), behind), found)
        else:
            yield from map(self.batch, batched(self._singly(run, rows), SIZE))

    def _singly(self, run: PartialRun, rows: Any) -> Iterator[PlacedComposite]:
        for event, time, place in self.events.events(rows):
            yield from run.advance(time - 1) if event is None else run.process(event, place)

    def _batch(self, places: Any, found: EventBlock | list[Occurrence]) -> Any:
        import pyarrow as pa

        shown = self.ports.shown
        table = None if isinstance(found, list) else composite_table(found, shown, self.scaled, self.clock, None)
        if table is None:
            singly = found if isinstance(found, list) else found.occurrences(self.scaled)
            return self.batch(list(zip(places.to_pylist(), singly, strict=True)))
        kinds = pa.schema([(name, arrow_type(domain)) for name, domain in shown.items()])  # times are texts there
        (batch,) = table.cast(kinds).combine_chunks().to_batches()
        return pa.RecordBatch.from_arrays([places, *batch.columns], names=[PLACE, *shown])

    def saved(self, run: PartialRun, time: int) -> bytes:
        """The state of a run at a time, for `restored`."""
        engine = base64.b64encode(run.engine.snapshot()).decode()
        return json.dumps([time, engine, run.state()]).encode()

    def restored(self, state: bytes) -> tuple[PartialRun, int]:
        """A run that goes on from a state, and the time."""
        time, engine, others = json.loads(state)
        run = self.start()
        run.engine.restore(base64.b64decode(engine))
        run.set_state(others)
        return run, time

    def batch(self, found: Sequence[PlacedComposite]) -> Any:
        """Composites as a record batch."""
        import pyarrow as pa

        rows = [event_row(each, self.scaled, self.clock) for _, each in found]
        columns = (
            to_column(domain, [row.get(name) for row in rows], f"'{name}'") for name, domain in self.ports.shown.items()
        )
        places = pa.array([place for place, _ in found], pa.binary())
        return pa.RecordBatch.from_arrays([places, *columns], names=[PLACE, *self.ports.shown])


def composite_places(times: Any, places: Any, behind: Any) -> Any:
    """The places of composites as a column: those of `PartialRun.process`.

    Parameters
    ----------
    times, places: of the events that have caused them; `behind`: the how many-th of its event each is, from 1 on.
    """
    import numpy as np
    import pyarrow.compute as pc

    from workbench.events.buffers import big_endian, bytes_column

    first: Any = np.zeros((len(behind), 9), np.uint8)
    first[:, :8] = big_endian(times.astype(np.int64).view(np.uint64) ^ np.uint64(1 << 63), 8)
    return pc.binary_join_element_wise(bytes_column(first), places, bytes_column(big_endian(behind, 6)), b"")


def times_of(places: Any) -> Any:
    """The times of composites, by their places."""
    import numpy as np

    _, begins, letters = places.buffers()
    at = np.frombuffer(begins, np.int32)[places.offset :][: len(places)]
    first: Any = np.frombuffer(letters or b"", np.uint8)[at[:, None] + np.arange(8)]
    return (first.view(">u8").ravel().astype(np.uint64) ^ np.uint64(1 << 63)).view(np.int64)


class BucketRunner:
    """Runs rules on the buckets of a partition: the function for `mapInArrow`.

    Parameters
    ----------
    counts: are told how many composites come out.
    ranges: so many ranges of times, about as long, have their composites told apart.

    Attributes
    ----------
    computed: how many events of this partition it has run on.
    """

    def __init__(self, job: RuleJob, counts: Counts, ranges: int = 1) -> None:
        self.job, self.counts, self.ranges = job, counts, ranges
        self._cuts = set[int]()
        self.computed = 0

    @property
    def schema(self) -> str:
        """The columns as Spark writes them."""
        return f"{self.job.schema}, `{RANGE}` int"

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The composites of all buckets, each of which comes as a whole and in order."""
        events = self.computed = 0
        with carried():
            for some in self.made(batches):
                events += len(some)
                yield some
        self.counts.made(task_number(), events)
        self.counts.computed(task_number(), self.computed)

    def made(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The same before they are counted."""
        run: PartialRun | None = None
        bucket = -1
        for batch in batches:
            for some in buckets_of(batch):
                if run is None or some.column(0)[0].as_py() != bucket:
                    yield from map(self._ranged, self._end(run))
                    run, bucket = self.job.start(), some.column(0)[0].as_py()
                cuts, rows = self.job.events.cuts_of(some)
                self._cuts |= cuts  # those of other buckets are the same
                if len(rows):
                    yield from map(self._ranged, self.job.made(run, rows))
                    self.computed += self.job.events.count_events(rows)
        yield from map(self._ranged, self._end(run))

    def _ranged(self, batch: Any) -> Any:
        """Composites with the range of each, by its time, with which its place begins."""
        import numpy as np
        import pyarrow as pa

        cuts = sorted(self._cuts)
        bounds: Any = np.array([cuts[len(cuts) * i // self.ranges] for i in range(1, self.ranges) if cuts], np.int64)
        chosen: Any = np.searchsorted(bounds, times_of(batch.column(0))).astype(np.int32)
        return pa.RecordBatch.from_arrays([*batch.columns, pa.array(chosen)], names=[*batch.schema.names, RANGE])

    def _end(self, run: PartialRun | None) -> Iterator[Any]:
        if run is not None and self.job.until is not None:
            yield from map(self.job.batch, batched(iter(run.advance(self.job.until)), SIZE))


def buckets_of(batch: Any) -> Iterator[Any]:
    """The rows of each bucket in a record batch, where those of one stand together."""
    import numpy as np

    from workbench.events.buffers import numbers_of

    cuts: list[int] = (np.flatnonzero(np.diff(numbers_of(batch.column(0)))) + 1).tolist()
    for first, last in itertools.pairwise([0, *cuts, len(batch)] if len(batch) else []):
        yield batch.slice(first, last - first)
