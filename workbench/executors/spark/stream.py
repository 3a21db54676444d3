"""A pipeline per key of a log that grows, as a query of Structured Streaming.

The rules of this module. The state of a key is what `snapshot` of its executor gives, kept by Spark in the checkpoint
beside the offsets. The outputs of a micro-batch are a folder of their own, named after the batch and overwritten when
Spark does the batch again, so that after any interruption each output is there once. Streams do not end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import InputError, StateError
from workbench.events.files import replacing
from workbench.executors.spark.carry import AFRESH, carried
from workbench.executors.spark.columns import output_schema
from workbench.executors.spark.counts import Counts
from workbench.executors.spark.executors import Choice
from workbench.executors.spark.keyed import Log
from workbench.executors.spark.output import row_ports, write_rows
from workbench.executors.spark.runner import KeyStreams, Layout, counted, mixed
from workbench.stored import FORM, other_form

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming import StreamingQuery

STATE = "snapshot binary, last string"
"""What Spark keeps per key: the executor's state, and what the last row was ordered by (JSON)."""

ABOUT = "workbench.json"


def start(
    log: Log,
    choice: Choice,
    *,
    output: str,
    checkpoint: str,
    format: str,
    once: bool = False,
    wrote: Callable[[int], None] | None = None,
) -> StreamingQuery:
    """Start a query; it goes on from its checkpoint if there is one.

    Parameters
    ----------
    output: a folder; each micro-batch adds a folder `batch=00000007` to it.
    format: of the output: `csv`, `jsonl` or `parquet`.
    once: whether to stop when all that is there has been done; else the query waits for more.
    wrote: called with the number of each batch when it is in the output, before Spark notes that it is done.

    Raises
    ------
    StateError: the checkpoint is that of another pipeline, key, order or output.
    """
    same_as_before(Path(checkpoint), choice, log.layout, output, format)
    made = per_key(log, choice)

    def each(frame: DataFrame, number: int) -> None:
        write_rows(
            frame,
            row_ports(frame, choice.pipeline.ports.shown),
            f"{output}/batch={number:08}",
            format,
            mode="overwrite",
        )
        if wrote:
            wrote(number)

    writer = made.writeStream.foreachBatch(each).option("checkpointLocation", checkpoint)
    return (writer.trigger(availableNow=True) if once else writer).start()


def per_key(log: Log, choice: Choice) -> DataFrame:
    """What a pipeline makes of each key of a stream of rows."""
    from pyspark.sql import functions as F

    layout, pipeline = log.layout, choice.pipeline
    schema = output_schema(pipeline, layout.key, log.key_type)
    # what pandas has no null for (it makes floats of them) is filled, with a flag beside it
    columns = [F.col(name) for name in ("key", *(f"o{i}" for i in range(layout.width)))]
    for i, (_, kind) in enumerate(log.rows.dtypes[1 + layout.width :]):
        nothing = {"boolean": F.lit(False), "string": F.lit("")}.get(kind, F.lit(0).cast(kind))
        columns += [F.coalesce(f"x{i}", nothing).alias(f"x{i}"), F.col(f"x{i}").isNotNull().alias(f"p{i}")]
    rows = log.rows.select(*columns)
    packed = rows.groupBy("key").applyInPandasWithState(
        BatchStepper(choice, layout), f"key {log.key_type}, made binary", STATE, "append", "NoTimeout"
    )
    return packed.mapInArrow(Unpacking(log.counts), schema)


class BatchStepper:
    """What a worker does with the rows of one key in a micro-batch: the function for `applyInPandasWithState`."""

    def __init__(self, choice: Choice, layout: Layout) -> None:
        self.choice, self.layout = choice, layout

    def __call__(self, key: tuple[Any, ...], frames: Iterator[Any], state: Any) -> Iterator[Any]:
        """Sort the rows, go on from the state, and give what comes out as the bytes of an Arrow table."""
        import pandas as pd

        with carried():
            snapshot, last = state.get if state.exists else (None, None)
            executor = self.choice.one_by_one()
            executor.running.reset()
            if snapshot is not None:
                executor.running.restore(snapshot)
            rows = self._sorted(pd.concat(list(frames), ignore_index=True))
            self._refuse_late(key[0], rows, json.loads(last) if last else None)
            streams = KeyStreams(executor, self.layout)
            streams.key, streams.before = rows.column(0)[0], ()
            made = list(streams.batch(rows))
            order = [rows.column(1 + i)[rows.num_rows - 1].as_py() for i in range(self.layout.named)]
            state.update((executor.running.snapshot(), json.dumps(order)))
            yield from (pd.DataFrame({"key": [key[0]], "made": [packed(batch)]}) for batch in made)

    def _sorted(self, frame: Any) -> Any:
        """The rows of a layout in their order, as a record batch."""
        import pyarrow as pa

        orders = [f"o{i}" for i in range(self.layout.width)]
        empty = frame[["key", *orders]].isnull().to_numpy()
        if empty.any():
            row, column = (int(each[0]) for each in empty.nonzero())
            error = InputError(f"a row has no '{self.layout.orders[0] if column else self.layout.key}'")
            key = frame["key"][row] if column else None
            raise self.layout.located(key, frame.loc[row, orders].tolist(), error)
        frame = frame.sort_values(orders, kind="stable", ignore_index=True)
        columns = [pa.array(frame[name]) for name in ["key", *orders]]
        for i in range(len(self.choice.pipeline.ports.inputs)):
            absent = ~frame[f"p{i}"].to_numpy(bool)
            columns.append(pa.array(frame[f"x{i}"].to_numpy(), mask=absent, from_pandas=False))
        return pa.RecordBatch.from_arrays(columns, names=self.layout.names(len(self.choice.pipeline.ports.inputs)))

    def _refuse_late(self, key: Any, rows: Any, last: list[Any] | None) -> None:
        """Refuse a row that comes before one that an earlier micro-batch has brought."""
        first = [rows.column(1 + i)[0].as_py() for i in range(rows.num_columns - 1)][: self.layout.width]
        at = self.layout.texts
        if last and at is not None and first[at] and not last[at]:
            number = [*last, *first[len(last) :]]
            raise mixed(self.layout, key, number, first, "in an earlier micro-batch")
        if last is None or not self.layout.named or last <= first[: len(last)]:
            return
        error = InputError(
            f"a row with {', '.join(self.layout.orders)} = {self.layout.shown(first)} comes late:"
            f" {self.layout.shown([*last, *first[len(last) :]])} has been there already, in an earlier micro-batch",
            hint="correct the file and run the same command again: the micro-batch is done anew. Without --order"
            " rows are taken as they come",
        )
        raise self.layout.located(key, first, error)


def packed(batch: Any) -> bytes:
    """A record batch as bytes."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


class Unpacking:
    """Gives the rows that `BatchStepper` has packed: the function for `mapInArrow`."""

    def __init__(self, counts: Counts | None) -> None:
        self.counts = counts

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        yield from counted(unpacked(batches), self.counts, again=True)


def unpacked(batches: Iterator[Any]) -> Iterator[Any]:
    """The rows in packets."""
    import pyarrow as pa

    for batch in batches:
        keys = batch.column(0)
        for i, packed in enumerate(batch.column(1)):
            for made in pa.ipc.open_stream(packed.as_buffer()):
                key = pa.repeat(keys[i], made.num_rows)
                yield pa.RecordBatch.from_arrays([key, *made.columns[1:]], names=made.schema.names)


def same_as_before(checkpoint: Path, choice: Choice, layout: Layout, output: str, format: str) -> None:
    """See that a checkpoint is that of the same query, or note what this one is; and that the output is its own.

    Raises
    ------
    StateError: it is another's, or the output has what the checkpoint knows nothing of.
    """
    about = {
        "form": FORM, "pipeline": choice.pipeline.name, "backend": choice.backend, "fingerprint": choice.mark,
        "key": layout.key, "order": list(layout.orders), "output": str(Path(output).resolve()),
        "format": format,
    }  # fmt: skip
    see_checkpoint(checkpoint, about, output)


def see_checkpoint(checkpoint: Path, about: Mapping[str, Any], output: str) -> None:
    """The same, where `about` says what the query is: its `form`, and what else may not change."""
    file = checkpoint / ABOUT
    before = _read(file)
    _read(checkpoint / "metadata")  # Spark's
    if before is None:
        _refuse_others(Path(output), checkpoint)
        checkpoint.mkdir(parents=True, exist_ok=True)
        with replacing(file) as aside:
            aside.write_text(json.dumps(about, indent=1) + "\n")
        return
    if before.get("form") != FORM:
        hint = f"go on with the version of workbench that it was made by; or {AFRESH}"
        raise other_form("the checkpoint", before.get("form", "of an earlier version"), hint, checkpoint)
    for name, value in about.items():
        if before.get(name) != value:
            what = "code" if name == "fingerprint" else name
            shown = "" if name == "fingerprint" else f": {before.get(name)!r} there, {value!r} now"
            raise StateError(
                f"the checkpoint is of a query with another {what}{shown}",
                where=str(checkpoint),
                hint="go on with the same pipeline and options, or give a new --checkpoint and a new --output",
            )
    _refuse_others(Path(output), checkpoint)


def _read(file: Path) -> dict[str, Any] | None:
    """What a checkpoint says that it is of; None where it is new."""
    try:
        before = json.loads(file.read_text())
        if not isinstance(before, dict):
            raise ValueError("this is no JSON object")
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        raise StateError(f"the checkpoint is damaged: {error}", where=str(file), hint=AFRESH) from error
    return before


def _refuse_others(output: Path, checkpoint: Path) -> None:
    """Refuse an output in which there is more than the micro-batches that the checkpoint has begun.

    Spark notes a micro-batch in `offsets` before it does it, and begins with 0 where there is no note: it would write
    over some of what is there, and leave the rest.
    """
    begun = max((int(path.name) for path in (checkpoint / "offsets").glob("*") if path.name.isdigit()), default=-1)
    for path in sorted(output.glob("[!._]*")):
        name, _, number = path.name.partition("=")
        if (int(number) if name == "batch" and number.isdigit() else 0) > begun:
            raise StateError(
                f"there is something already that does not come from the checkpoint {checkpoint}: {path.name}",
                where=str(output),
                hint=f"go on with the checkpoint that the output was made with; or {AFRESH}",
            )
