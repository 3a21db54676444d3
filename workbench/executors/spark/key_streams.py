"""A pipeline on the rows of successive keys: a stream of each key, one after the other.

The rows of a key are brought together (a shuffle by key), sorted within the partition, and fed to the pipeline from
Arrow batches (`mapInArrow`). They are never all in memory at once, so a stream may have any length.

The rule of this module: the rows of a key must be adjacent and in order, which is verified row by row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.core.domain import INT
from workbench.core.program import Ports
from workbench.errors import DomainError, InputError, WorkbenchError
from workbench.events.account import Reporter
from workbench.events.batch import LogBatch
from workbench.executors.keyed import KeyedOutputs, KeyedRuns, keyless, locate_error
from workbench.executors.spark.choice import Choice
from workbench.executors.spark.columns import STEP, RowError, output_schema, read_events
from workbench.executors.spark.counts import Counts
from workbench.executors.spark.job import GroupRun, Job, StoredRun, group_starts, join_state, split_state
from workbench.executors.spark.layout import Layout, make_mixed_error
from workbench.executors.spark.worker import run_groups

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class PipelineJob(Job):
    """A pipeline for each key, with an output row per step that has output.

    Parameters
    ----------
    choice: the pipeline and its executor.
    layout: the layout of the columns.
    key_type: Spark's type of the key.
    """

    choice: Choice
    layout: Layout
    key_type: str = "string"

    group = "key"

    @property
    def group_type(self) -> str:
        return self.key_type

    @property
    def orders(self) -> Sequence[str]:
        return self.layout.names(0)[1:]

    @cached_property
    def schema(self) -> str:
        return output_schema(self.choice.pipeline, self.layout.key, self.key_type)

    def open_groups(self) -> KeyStreams:
        return KeyStreams(self.choice.open(), self.choice.pipeline.ports, self.layout)

    def open_group(self) -> StoredStreams:
        return StoredStreams(self.choice.open(), self.choice.pipeline.ports, self.layout)

    def about(self) -> Mapping[str, Any]:
        choice, layout = self.choice, self.layout
        runs = {"pipeline": choice.pipeline.name, "backend": choice.backend, "fingerprint": choice.fingerprint}
        ordered = {"order": list(layout.orders), "order columns": layout.named}
        return {**runs, "key": layout.key, "key type": self.key_type, **ordered}

    def count_rows(self, rows: Any) -> int:
        return len(rows)

    def count_events(self, outputs: Any) -> int:
        return sum(len(column) - column.null_count for column in outputs.columns[2:])


@dataclass(frozen=True)
class KeyLog:
    """The rows of a log, as a DataFrame with the columns of a layout.

    Attributes
    ----------
    key_type: Spark's type of the key.
    counts: the reports of workers, if any.
    log_name: the name of the log in messages.
    parts: number of tasks for each file that is read in parts.
    """

    rows: DataFrame
    layout: Layout
    key_type: str
    counts: Counts | None = None
    log_name: str = ""
    parts: Mapping[str, int] = field(default_factory=dict)

    def job(self, choice: Choice) -> PipelineJob:
        """Return the job that runs a pipeline on each key."""
        return PipelineJob(choice, self.layout, self.key_type)

    def run(self, choice: Choice) -> DataFrame:
        """Run a pipeline on each key."""
        return run_groups(self.job(choice), self.rows, self.counts)

    def locate(self, error: WorkbenchError, key: str | None, task: int, row: int | None) -> WorkbenchError:
        """Add the row of the log to an error of a worker, given its `RowPlace`."""
        assert self.counts is not None
        number = None if row is None else row + self.counts.rows_before(task)
        if key is None and number is not None:
            return keyless(self.layout.key, number, self.log_name)
        return locate_error(self.layout.key, str(key), number, self.log_name, error)

    def settle(self, reporter: Reporter) -> None:
        """Add the counts of workers to an account; InputError where a file has none of the columns for an input."""
        if self.counts is not None:
            self.counts.settle(reporter, self.parts)


class KeyStreams(GroupRun):
    """The streams of successive keys: their runs, of which the last one may continue."""

    def __init__(self, runs: KeyedRuns, ports: Ports, layout: Layout) -> None:
        self.runs, self.ports, self.layout = runs, ports, layout
        self.key: Any = None
        """The key as an Arrow scalar; None where the state belongs to the next key."""
        self.before: tuple[Any, ...] | None = None
        """The order of the last row of this key, () where it is unknown; None where no key is open."""

    def feed(self, rows: Any) -> Iterator[Any]:
        import numpy as np

        from workbench.events.buffers import take_rows

        width = 1 + self.layout.width
        keys, *orders = rows.columns[:width]
        self._refuse_nulls(rows, orders)
        starts = group_starts(keys)
        further = self.before is not None and (self.key is None or keys[0] == self.key)
        self._check(keys, orders, starts, further=further)
        events = self._read(rows.columns[width:], keys, orders)
        if not further:
            yield from self.end()
        cuts: Any = np.append(starts, len(keys))
        firsts = cuts - np.where(cuts == 0, self.runs.steps(0) if further else 0, 0)  # the offset of step 0 of each key
        codes: Any = np.repeat(np.arange(len(starts)), np.diff(cuts))
        keyed_outputs = self.runs.step(codes, events, len(starts))
        over = self.runs.finish(int(codes[-1 if keyed_outputs.wrong is None else keyed_outputs.wrong[0]]))
        ended, ends = self._columns(over, lambda key, error: self._locate_error(keys, None, starts[key], error))
        at, columns = self._columns(keyed_outputs, lambda row, error: self._locate_error(keys, orders, row, error))
        self.runs.begin(int(codes[-1]))
        self.key, self.before = keys[-1], _at(orders, len(keys) - 1)
        yield from merge_rows([
            (self._batch(take_rows(keys, at), at - firsts[codes[at]], columns), at + codes[at]),
            (self._batch(take_rows(keys, cuts[ended]), cuts[ended + 1] - firsts[ended], ends), cuts[ended + 1] + ended),
        ])  # fmt: skip

    def end(self) -> Iterator[Any]:
        if self.before is not None:
            import numpy as np
            import pyarrow as pa

            keys, steps, over = pa.repeat(self.key, 1), self.runs.steps(0), self.runs.finish()
            at, columns = self._columns(over, lambda key, error: self._locate_error(keys, None, key, error))
            self.runs.begin()
            self.before = None
            yield from merge_rows([(self._batch(pa.repeat(self.key, len(at)), np.full(len(at), steps), columns), at)])

    def _read(self, columns: Sequence[Any], keys: Any, orders: Sequence[Any]) -> LogBatch:
        """Read the events of each input; an error names its first row."""
        try:
            return read_events(self.ports.domains, columns, len(keys))
        except RowError as wrong:
            raise self._locate_error(keys, orders, wrong.row, wrong.error) from wrong.error

    def _columns(
        self, keyed_outputs: KeyedOutputs, located: Callable[[int, WorkbenchError], Exception]
    ) -> tuple[Any, Sequence[Any]]:
        """Return the step of each output row, and the columns; `located` adds the row to the error of a step."""
        from workbench.events.output_columns import outputs_to_columns

        if keyed_outputs.wrong is not None:
            raise located(*keyed_outputs.wrong) from keyed_outputs.wrong[1]
        try:
            return outputs_to_columns(keyed_outputs.outputs, self.ports.outputs_by_name)
        except DomainError as error:
            raise located(_wide_step(keyed_outputs), error) from error

    def _locate_error(self, keys: Any, orders: Sequence[Any] | None, row: int, error: WorkbenchError) -> Exception:
        """Return the error of a row, or of the end of its key's streams, which has no order."""
        return self.layout.located(keys[int(row)].as_py(), orders and _at(orders, int(row)), error)

    def _batch(self, keys: Any, steps: Any, columns: Sequence[Any]) -> Any:
        import pyarrow as pa

        from workbench.events.buffers import numbers_to_arrow

        names = [self.layout.key, STEP, *self.ports.outputs_by_name]
        return pa.RecordBatch.from_arrays([keys, numbers_to_arrow(INT, steps), *columns], names=names)

    # --- verification -----------------------------------------------------------------------------------------

    def _refuse_nulls(self, rows: Any, orders: Sequence[Any], *, nan: bool = False) -> None:
        """Refuse a row without a key or an order value; with `nan`, NaN counts as missing."""
        for number, what in enumerate([f"key '{self.layout.key}'", *(f"'{n}'" for n in self.layout.orders)]):
            missing = rows.column(number).is_null(nan_is_null=nan)
            if missing.true_count:
                row = missing.index(True).as_py()
                hint = "each row needs its key and its order columns; filter out the others"
                key, error = rows.column(0)[row].as_py(), InputError(f"a row has no {what}", hint=hint)
                raise self.layout.located(key, _at(orders, row), error)

    def _check(self, keys: Any, orders: Sequence[Any], starts: Any, *, further: bool) -> None:
        """Refuse rows of a key that are not in ascending order, or are ordered by both numbers and texts.

        Parameters
        ----------
        starts: start of the rows of each key.
        further: whether the first row has the key of the last batch.
        """
        import numpy as np
        import pyarrow.compute as pc

        from workbench.events.buffers import bits_of

        same: Any = np.ones(len(keys) - 1, bool)
        same[starts[1:] - 1] = False
        later: Any = np.zeros(len(same), bool)
        equal = same.copy()
        for column in orders:
            later |= equal & bits_of(pc.less(column[:-1], column[1:]), 1)
            equal &= bits_of(pc.equal(column[:-1], column[1:]), 1)
        bad = np.flatnonzero(same & ~later)
        if len(bad):
            one = int(bad[0])
            raise self._disorder(keys[one].as_py(), _at(orders, one), _at(orders, one + 1))
        at = self.layout.texts
        if at is not None:
            is_text = bits_of(pc.not_equal(orders[at], ""), 1)
            change = np.flatnonzero(same & (is_text[:-1] != is_text[1:]))
            if len(change):
                one = int(change[0])
                number, text = _at(orders, one), _at(orders, one + 1)
                raise make_mixed_error(self.layout, keys[one].as_py(), number, text, "before")
        if self.before and further:
            now, key = _at(orders, 0), keys[0].as_py()
            if not self.before < now:
                raise self._disorder(key, self.before, now)
            if at is not None and bool(self.before[at]) != bool(now[at]):
                raise make_mixed_error(self.layout, key, self.before, now, "before")

    def _disorder(self, key: Any, one: tuple[Any, ...], two: tuple[Any, ...]) -> Exception:
        names, order_text = ", ".join(self.layout.orders), self.layout.format_order(two)
        if one == two:
            what = f"two rows have the same {names} ({order_text}), and Spark does not define which comes first"
            error = InputError(what, hint="name another column that orders them: order=['time', 'number']")
        else:
            error = InputError(f"the rows are not in the order of {names or 'the log'} at {order_text}")
        return self.layout.located(key, two, error)


class StoredStreams(KeyStreams, StoredRun):
    """The stream of one key, which continues from one micro-batch to the next."""

    def __init__(self, runs: KeyedRuns, ports: Ports, layout: Layout) -> None:
        super().__init__(runs, ports, layout)
        self._last: list[Any] = []
        """The order of the last row of an earlier micro-batch, without its position."""

    def feed(self, rows: Any) -> Iterator[Any]:
        orders = rows.columns[1 : 1 + self.layout.width]
        self._refuse_nulls(rows, orders, nan=True)
        self._refuse_late(rows.column(0)[0].as_py(), _at(orders, 0))
        yield from super().feed(rows)
        self._last = list(_at(orders[: self.layout.named], -1))

    def save(self) -> bytes:
        return join_state(self._last, self.runs.save(0))

    def restore(self, state: bytes) -> None:
        self._last, snapshot = split_state(state)
        self.runs.restore(0, snapshot)
        self.before = ()

    def _refuse_late(self, key: Any, first: tuple[Any, ...]) -> None:
        """Refuse a row that precedes the last one of an earlier micro-batch."""
        at, before = self.layout.texts, (*self._last, *first[len(self._last) :])
        if self._last and at is not None and first[at] and not before[at]:
            raise make_mixed_error(self.layout, key, before, first, "in an earlier micro-batch")
        if before <= first:
            return
        error = InputError(
            f"a row with {', '.join(self.layout.orders)} = {self.layout.format_order(first)} comes late:"
            f" {self.layout.format_order(before)} has been there already, in an earlier micro-batch",
            hint="correct the file and run the same command again: the micro-batch is repeated. Without --order"
            " rows are taken as they come",
        )
        raise self.layout.located(key, first, error)


def merge_rows(parts: Sequence[tuple[Any, Any]]) -> Iterator[Any]:
    """Merge record batches by the slots of their rows, which are sorted in each part."""
    import numpy as np
    import pyarrow as pa

    from workbench.events.buffers import numbers_to_arrow

    some = [(batch, slots) for batch, slots in parts if len(batch)]
    batches = [batch for batch, _ in some]
    if len(batches) < 2:
        yield from batches
        return
    order = np.concatenate([slots for _, slots in some]).argsort(kind="stable")
    yield from pa.Table.from_batches(batches).combine_chunks().take(numbers_to_arrow(INT, order)).to_batches()


def _wide_step(keyed_outputs: KeyedOutputs) -> int:
    """Return the first step whose output has an integer of more than 64 bits."""
    events = (
        pair for each in keyed_outputs.outputs.values() for pair in zip(each.steps.tolist(), each.events(), strict=True)
    )
    return min(int(step) for step, event in events if isinstance(event, int) and not -(2**63) <= event < 2**63)


def _at(columns: Sequence[Any], row: int) -> tuple[Any, ...]:
    """Return a row of Arrow columns as a tuple."""
    return tuple(column[row].as_py() for column in columns)
