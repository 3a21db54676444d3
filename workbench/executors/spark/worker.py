"""The work of a Spark worker: it runs a job on the groups of a partition, or continues those of a stream.

The rule of this module: it is the same for every job. Workers report counts under the number of their partition, so
that a task that Spark repeats counts once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from workbench.events.account import Account
from workbench.executors.spark.counts import Counts
from workbench.executors.spark.error_transfer import carry
from workbench.executors.spark.job import Job, group_starts, split_groups

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PACKED_ROWS = 1 << 19
"""Number of rows that are packed at a time."""


def run_groups(job: Job, rows: DataFrame, counts: Counts | None = None) -> DataFrame:
    """Run a job on all groups of a log."""
    ordered = rows.repartition(job.group).sortWithinPartitions(job.group, *job.orders)
    return ordered.mapInArrow(PartitionRunner(job, counts), job.schema)


def step_groups(job: Job, rows: DataFrame, counts: Counts | None = None) -> DataFrame:
    """Run a job on a growing log: in each micro-batch groups continue from their states."""
    packed = rows.mapInArrow(pack_groups, f"{job.group} {job.group_type}, rows binary")
    stepped = packed.groupBy(job.group).applyInPandasWithState(
        GroupStepper(job, counts), "outputs binary", "state binary", "append", "NoTimeout"
    )
    return stepped.mapInArrow(unpack, job.schema)


class JobWorker:
    """A runner of a job, with an account of the rows that it has computed and the events that it has emitted."""

    def __init__(self, job: Job, counts: Counts | None = None) -> None:
        self.job, self.counts = job, counts
        self.account = Account()

    def _count_outputs(self, outputs: Iterable[Any]) -> Iterator[Any]:
        for batch in outputs:
            self.account.events_out += self.job.count_events(batch)
            yield batch

    def _report(self) -> None:
        """Report the account, replacing earlier reports of this partition."""
        if self.counts is not None:
            from pyspark import TaskContext

            task: Any = TaskContext.get()
            self.counts.add_run(task.partitionId(), self.account)


class PartitionRunner(JobWorker):
    """Runs a job on the whole groups of a partition: the function for `mapInArrow`."""

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the outputs of all groups."""
        with carry():
            yield from self.run(batches)
        self._report()

    def run(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield the outputs; errors are raised as those of workbench."""
        run = self.job.open_groups()
        for batch in filter(len, batches):
            yield from self._count_outputs(run.feed(batch))
            self.account.computed += self.job.count_rows(batch)
        yield from self._count_outputs(run.end())


class GroupStepper(JobWorker):
    """Continues a group from its state: the function for `applyInPandasWithState`."""

    def __call__(self, group: tuple[Any, ...], frames: Iterator[Any], state: Any) -> Iterator[Any]:
        """Run on the packed rows of a micro-batch in order, and pack the outputs."""
        import pandas as pd

        with carry():
            run, outputs = self.job.open_group(), list[bytes]()
            if state.exists:
                run.restore(*state.get)
            for rows in self._sort_packets(frames):
                outputs += map(pack, self._count_outputs(run.feed(rows)))
                self.account.computed += self.job.count_rows(rows)
            state.update((run.save(),))
        self._report()
        if outputs:
            yield pd.DataFrame({"outputs": outputs})

    def _sort_packets(self, frames: Iterator[Any]) -> Sequence[Any]:
        """Sort the rows in packets: one record batch, or several where texts are too long for one."""
        import pyarrow as pa

        table = pa.Table.from_batches(unpack_packets(packet for frame in frames for packet in frame["rows"]))
        table = table.sort_by([(name, "ascending") for name in self.job.orders])
        batches: Sequence[Any] = table.combine_chunks().to_batches()
        return batches


def pack_groups(batches: Iterator[Any]) -> Iterator[Any]:
    """Pack the rows of each group: the function for `mapInArrow` before rows are grouped.

    Grouping goes through pandas, which has no null for integers.
    """
    import pyarrow as pa

    for some in _gather(batches):
        table = pa.Table.from_batches(some).sort_by(some[0].schema.names[0])
        for rows in table.combine_chunks().to_batches():
            groups = rows.column(0).take(pa.array(group_starts(rows.column(0))))
            packets = pa.array(map(pack, split_groups(rows)), pa.binary())
            yield pa.RecordBatch.from_arrays([groups, packets], names=[rows.schema.names[0], "rows"])


def _gather(batches: Iterator[Any]) -> Iterator[list[Any]]:
    """Gather record batches until they have `PACKED_ROWS`, so that the rows of a group are in few packets."""
    some, count = list[Any](), 0
    for batch in filter(len, batches):
        some.append(batch)
        count += len(batch)
        if count >= PACKED_ROWS:
            yield some
            some, count = [], 0
    if some:
        yield some


def pack(batch: Any) -> bytes:
    """Convert a record batch to bytes."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def unpack_packets(packets: Iterable[Any]) -> Iterator[Any]:
    """Yield the record batches in packets."""
    import pyarrow as pa

    for packet in packets:
        yield from pa.ipc.open_stream(packet)


def unpack(batches: Iterator[Any]) -> Iterator[Any]:
    """Unpack outputs: the function for `mapInArrow` after `GroupStepper`."""
    for batch in batches:
        yield from unpack_packets(packet.as_buffer() for packet in batch.column(0))
