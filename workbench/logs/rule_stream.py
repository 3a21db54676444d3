"""Rules on a log that grows, on Spark: the state of a bucket of keys is its engine's, kept in the checkpoint.

The rule of this module: a micro-batch tells what one engine tells up to its last event. Each file tells all buckets the
time, so that the absences of keys without events are told, too. What is said in `executors/spark/stream` of outputs,
restarts and checkpoints holds here.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import InputError
from workbench.executors.spark.carry import carried
from workbench.executors.spark.counts import Counts
from workbench.executors.spark.logs import BINARY, is_remote
from workbench.executors.spark.output import write_rows
from workbench.executors.spark.stream import packed, see_checkpoint
from workbench.executors.spark.whole import until_stopped
from workbench.logs.rule_parts import EventFileReader
from workbench.logs.rule_workers import PLACE, RuleJob, buckets_of
from workbench.stored import FORM, checksum

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from workbench.logs.rule_spark import SparkRuleLog

BUCKETS = 32
"""Buckets of keys, whatever the machine: a query may go on on another one."""


def run_stream(log: SparkRuleLog, spark: SparkSession, written: str) -> None:
    """Follow a folder, and write composites in a format, until stopped."""
    args, job, counts = log.start.options, log.job(BUCKETS), Counts.on(spark)
    see_checkpoint(Path(args.checkpoint), _about(job, args.output, written), args.output)
    made = _followed(log, spark, job, counts)

    def each(frame: DataFrame, number: int) -> None:
        kept = frame.persist()  # the order is looked for first
        try:
            ordered = kept.orderBy(f"`{PLACE}`").drop(PLACE)
            folder = f"{args.output}/batch={number:08}"
            write_rows(ordered, job.ports, folder, written, mode="overwrite", time=job.clock.column)
        finally:
            kept.unpersist()
        log.settle_stream(counts)
        print(f"micro-batch {number} is there", file=sys.stderr, flush=True)

    writer = made.writeStream.foreachBatch(each).option("checkpointLocation", args.checkpoint)
    until_stopped((writer.trigger(availableNow=True) if args.once else writer).start())


def _about(job: RuleJob, output: str, written: str) -> dict[str, Any]:
    """What may not change from one run to the next."""
    same = (str(job.scaled), job.facts, job.settings, job.clock, sorted(job.events.partition.keys.items()), BUCKETS)
    mark = checksum(repr(same).encode()).hex()
    return {
        "form": FORM, "rules": job.scaled.name, "engine": job.engine, "fingerprint": mark,
        "output": str(Path(output).resolve()), "format": written,
    }  # fmt: skip


def _followed(log: SparkRuleLog, spark: SparkSession, job: RuleJob, counts: Counts) -> DataFrame:
    """The composites of a folder to which files are added."""
    ((declared, folder),) = log.inputs
    if is_remote([str(folder)]):
        raise InputError("rules on the spark backend read files of this machine", where=str(folder))
    source = spark.readStream.format("binaryFile").schema(BINARY)
    if log.start.options.files:
        source = source.option("maxFilesPerTrigger", str(log.start.options.files))
    reader = EventFileReader(job.events, log.clock, 0, declared, log.reading, counts)
    events = source.load(str(folder)).select("path").mapInArrow(reader, job.events.schema)
    buckets = events.mapInArrow(packed_buckets, "bucket long, events binary")
    made = buckets.groupBy("bucket").applyInPandasWithState(
        BucketStepper(job), "bucket long, made binary", "state binary", "append", "NoTimeout"
    )
    return made.mapInArrow(CompositeRows(counts), job.schema)


def packed_buckets(batches: Iterator[Any]) -> Iterator[Any]:
    """The events of each bucket in a batch as bytes: pandas has no null for whole numbers."""
    import pyarrow as pa

    for batch in batches:
        parts = list(buckets_of(batch.sort_by("bucket")))
        numbers = pa.array([part.column(0)[0].as_py() for part in parts], pa.int64())
        yield pa.RecordBatch.from_arrays([numbers, pa.array(map(packed, parts), pa.binary())], ["bucket", "events"])


class BucketStepper:
    """What a worker does with the events of a bucket in a micro-batch: the function for `applyInPandasWithState`."""

    def __init__(self, job: RuleJob) -> None:
        self.job = job

    def __call__(self, key: tuple[Any, ...], frames: Iterator[Any], state: Any) -> Iterator[Any]:
        """Sort the events, go on from the state, and give composites as the bytes of Arrow tables."""
        import pandas as pd
        import pyarrow as pa

        with carried():
            parts = (pa.ipc.open_stream(each) for frame in frames for each in frame["events"])
            rows = pa.Table.from_batches([batch for part in parts for batch in part])
            rows = rows.sort_by([("time", "ascending"), ("place", "ascending")])
            run, before = self.job.restored(state.get[0]) if state.exists else (self.job.start(), None)
            first, last = (rows["time"][i].as_py() for i in (0, len(rows) - 1))
            if before is not None and first < before:
                raise self._late(first, before)
            found = self._made(run, rows)
            packets = [packed(some) for some in found]
            state.update((self.job.saved(run, last),))
        yield from (pd.DataFrame({"bucket": [key[0]], "made": [each]}) for each in packets)

    def _made(self, run: Any, rows: Any) -> Iterator[Any]:
        for batch in rows.combine_chunks().to_batches():
            yield from self.job.made(run, batch)

    def _late(self, time: int, before: int) -> InputError:
        show = self.job.clock.show
        what = f"an event of {show(time)} comes late: {show(before)} has been there, in an earlier micro-batch"
        return InputError(what, hint="correct the file and run the same command again: the micro-batch is done anew")


class CompositeRows:
    """Gives the composites that `BucketStepper` has packed: the function for `mapInArrow`."""

    def __init__(self, counts: Counts) -> None:
        self.counts = counts

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The rows in packets."""
        import pyarrow as pa

        from workbench.executors.spark.runner import task_number

        events = 0
        for batch in batches:
            for packet in batch.column(1):
                for made in pa.ipc.open_stream(packet.as_buffer()):
                    events += len(made)
                    yield made
        self.counts.made(task_number(again=True), events)
