"""Sweeps over a Spark cluster, and the tables as Spark SQL.

The points are a DataFrame and go through `mapInPandas` in batches. A Python worker of Spark measures a batch, with a
supervisor process on its machine, and stores the results as they come, at the end as one file named after the batch. So
a batch that Spark repeats, because a worker was lost, continues from the stored results, and is stored once.
The store and the suite must be visible under the same paths everywhere (a shared file system, or one machine).
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from workbench.errors import LabError, SuiteError
from workbench.executors.spark.error_transfer import carry, error_in, summarize
from workbench.executors.spark.session import JAVA_OPTIONS
from workbench.executors.spark.session import LOCAL as LOCAL
from workbench.executors.spark.session import start_session as start
from workbench.lab import sql
from workbench.lab.data import Data, make_point_table, number
from workbench.lab.experiment import digest
from workbench.lab.local_sweep import Keeper, SupervisorSlot
from workbench.lab.plan import Lab, Measurement, Origin
from workbench.lab.result import Result
from workbench.lab.rows import arrow, as_text, schema, sound, unflat
from workbench.lab.store import ResultStore, read
from workbench.lab.suite import Suite

BATCHES_PER_CORE = 4
MAX_IN_A_BATCH = 250
QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Options for Java, which only passes points on and reads small tables: more compilation would cost seconds."""
FIELDS = ("experiment", "point", "repetition", "key", "code", "batch")


def session(master: str = LOCAL, **settings: str) -> Any:
    """Return a Spark session for sweeps and tables.

    Raises
    ------
    SparkError: Spark or Java is missing, or the master cannot be reached.
    """
    own = {
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(MAX_IN_A_BATCH),
        "spark.sql.execution.arrow.localRelationThreshold": "0",  # otherwise Spark merges small batches
        "spark.executor.memory": "512m",  # it passes points on; the measuring processes are outside of it
        "spark.driver.extraJavaOptions": f"{JAVA_OPTIONS} {QUICK_START}",
        "spark.executor.extraJavaOptions": QUICK_START,
        **sql.CONFIGURATION,
        **settings,
    }
    return start(master, name="workbench lab", otherwise="use --on local", **own)


# --- a sweep --------------------------------------------------------------------------------------------------


def sweep(lab: Lab, tasks: Sequence[Measurement], origin: Origin, spark: Any) -> Generator[Result]:
    """Make the measurements on a cluster, and yield each result once its file is stored.

    Raises
    ------
    LabError: Spark gives up, or the executors cannot store results, or only where this machine cannot see them.
    SuiteError: the executors cannot load the suite.
    """
    if not tasks:
        return
    try:
        yield from _sweep(lab, tasks, origin, spark)
    finally:
        lab.store.tidy()  # removes files of batches that were interrupted, or made twice


def _sweep(lab: Lab, tasks: Sequence[Measurement], origin: Origin, spark: Any) -> Iterator[Result]:
    cores = max(1, spark.sparkContext.defaultParallelism)
    size = max(1, min(MAX_IN_A_BATCH, -(-len(tasks) // (cores * BATCHES_PER_CORE))))
    batches = [tasks[i : i + size] for i in range(0, len(tasks), size)]
    # each batch is an Arrow record batch, which Spark makes a partition: no shuffle is needed
    tables = [_table(batch, digest([origin.run, number])[:12]) for number, batch in enumerate(batches)]
    points = spark.createDataFrame(arrow().concat_tables(tables))
    measure = Measurer(str(lab.path.resolve()), str(lab.store.folder.parent.resolve()), lab.suite.name, asdict(origin))
    done = points.mapInPandas(measure, "key string, repetition long, status string")
    yield from _follow(lab, tasks, done, spark)


def _table(batch: Sequence[Measurement], name: str) -> Any:
    rows = [(t.experiment, as_text(t.point), t.repetition, t.key, t.code, name) for t in batch]
    return arrow().table({field: [row[i] for row in rows] for i, field in enumerate(FIELDS)})


def _follow(lab: Lab, tasks: Sequence[Measurement], done: Any, spark: Any) -> Iterator[Result]:
    """Run Spark in a thread, and yield the results as their files appear."""
    before = set(lab.store.folder.glob("part-*.parquet"))
    ended: list[Any] = []
    pending = {task.id for task in tasks}

    def work() -> None:
        try:
            ended.append(done.collect())
        except Exception as error:
            ended.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while thread.is_alive() or pending:
            last = not thread.is_alive()
            for result in _new_results(lab.store, before):
                if result.id in pending:
                    pending.discard(result.id)
                    yield result
            if last:
                break
            thread.join(0.3)
    except BaseException:
        spark.sparkContext.cancelAllJobs()
        thread.join(0.3)  # it fails at once; after Ctrl-C a command has less than a second to report and to end
        raise
    if isinstance(ended[0], Exception):
        hint = "stored results stay; run the same command again to continue"
        raise error_in(ended[0]) or LabError(f"Spark gave up: {summarize(ended[0])}", hint=hint) from ended[0]
    if pending:
        raise LabError(
            f"the executors have stored {len(pending)} results where they cannot be seen from here",
            where=str(lab.store.folder),
            hint="put the store (--data) on a file system that all machines share",
        )


def _new_results(store: ResultStore, before: set[Path]) -> Iterator[Result]:
    pa = arrow()
    for path in set(store.folder.glob("part-*.parquet")) - before:
        before.add(path)
        with contextlib.suppress(OSError, ValueError, pa.ArrowException):  # reported when the store is read
            yield from map(unflat, sound(read(path))[0].to_pylist())


_slots: dict[tuple[str, str, int], SupervisorSlot] = {}
"""The supervisor of each suite and folder in this Python worker of Spark, which serves all batches."""


class Measurer:
    """The function given to `mapInPandas`, which an executor applies to a partition."""

    def __init__(self, path: str, folder: str, suite: str, origin: Mapping[str, str]) -> None:
        self.path, self.folder, self.suite, self.origin = path, folder, suite, origin

    def __call__(self, frames: Iterator[Any]) -> Iterator[Any]:
        """Measure and store each batch, and yield the statuses."""
        import pandas as pd

        store, origin = ResultStore(Path(self.folder), self.suite), Origin(**self.origin)
        for frame in frames:
            with carry():
                results = self._batch(frame.to_dict("records"), store, origin)
            done = [(r.key, r.repetition, str(r.measured.status)) for r in results]
            yield pd.DataFrame(done, columns=["key", "repetition", "status"])

    def _batch(self, rows: Sequence[Mapping[str, Any]], store: ResultStore, origin: Origin) -> list[Result]:
        """Measure the part of a batch that no lost worker has stored, and store the batch as one file."""
        name = digest([row["batch"] + row["key"] + str(row["repetition"]) for row in rows])[:16]
        results = {result.id: result for result in store.results(name)[0]}
        keep = Keeper(store, f"{name}-")
        for row in rows:
            if f"{row['key']}.{row['repetition']}" not in results:
                result = self._measure(row, origin)
                results[result.id] = result
                keep.add(result)
                keep.look()
        store.add(list(results.values()), name)
        return list(results.values())

    def _measure(self, row: Mapping[str, Any], origin: Origin) -> Result:
        slot = self._slot()
        slot.begin(
            Measurement(row["experiment"], json.loads(row["point"]), int(row["repetition"]), row["key"], row["code"])
        )
        return slot.end(origin)

    def _slot(self) -> SupervisorSlot:
        which = (self.path, self.folder, os.getpid())
        if which not in _slots:
            slot = _slots[which] = SupervisorSlot(Path(self.path), Path(self.folder) / "files" / self.suite)
            atexit.register(lambda: slot.client.close())
        return _slots[which]


# --- tables ---------------------------------------------------------------------------------------------------


class SparkSql:
    """Spark SQL over the files of a store, and over a table of additional results."""

    name, extract = "Spark SQL", "get_json_object"

    def __init__(self, spark: Any, suite: Suite, files: Sequence[Path], more: Any = None) -> None:
        self._spark = spark
        stored = spark.createDataFrame(schema().empty_table())
        if files:
            stored = spark.read.schema(stored.schema).parquet(*(str(path.resolve()) for path in files))
        if more is not None:
            stored = stored.union(spark.createDataFrame(more))
        stored.createOrReplaceTempView("stored")
        spark.createDataFrame(make_point_table(suite)).createOrReplaceTempView("wanted")

    def query(self, text: str) -> list[dict[str, Any]]:
        """Return the rows of a SELECT."""
        rows = self._execute(text, lambda frame: frame.collect())
        return [{n: number(v) for n, v in row.asDict().items()} for row in rows]

    def view(self, name: str, text: str) -> None:
        """Give a name to a SELECT."""
        frame = self._execute(text)
        (frame.cache() if name == "latest" else frame).createOrReplaceTempView(name)

    def _execute(self, text: str, use: Callable[[Any], Any] = lambda frame: frame) -> Any:
        """Return what a function makes of the DataFrame of a SELECT; some errors come only when it is computed."""
        from pyspark.errors import PySparkException

        try:
            return use(self._spark.sql(text))
        except PySparkException as error:
            raise SuiteError(f"SQL: {summarize(error)}", where=text) from error

    def close(self) -> None:
        """Release the memory; the session belongs to the caller."""
        self._spark.catalog.clearCache()


def open_spark(suite: Suite, store: ResultStore, spark: Any, code: str = "") -> Data:
    """Open the results of a suite, with Spark as the engine; `code` is as for `Data`."""
    good, broken = store.files()
    partly = [good.pop(item.path) for item in broken if item.path in good]  # Spark would read the unsound rows, too
    more = arrow().concat_tables(partly) if partly else None
    return Data(suite, SparkSql(spark, suite, list(good), more), broken, code).prepare()
