"""A pipeline on the rows of successive keys: a stream of each key, one after the other.

The rule of this module: the rows of a key come together and in order, and that is verified row by row, not believed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workbench.core.domain import BOOL, INT
from workbench.errors import InputError, WorkbenchError
from workbench.executors.spark.columns import STEP, output_schema
from workbench.executors.spark.executors import Choice, Executor, GroupError, KeyOutputs, SingleKeys
from workbench.executors.spark.job import GroupRun, Job, StoredRun, group_starts, join_state, split_state
from workbench.executors.spark.layout import Layout, mixed


@dataclass(frozen=True)
class PipelineJob(Job):
    """A pipeline for each key, of which a step is a row of the output where something comes out.

    Parameters
    ----------
    choice: what runs.
    layout: what the columns are.
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
        return KeyStreams(self.choice.open_groups(), self.layout)

    def open_group(self) -> StoredStreams:
        return StoredStreams(self.choice.open_group(), self.layout)

    def about(self) -> Mapping[str, Any]:
        choice, layout = self.choice, self.layout
        runs = {"pipeline": choice.pipeline.name, "backend": choice.backend, "fingerprint": choice.fingerprint}
        ordered = {"order": list(layout.orders), "order columns": layout.named}
        return {**runs, "key": layout.key, "key type": self.key_type, **ordered}

    def count_rows(self, rows: Any) -> int:
        return len(rows)

    def count_events(self, outputs: Any) -> int:
        return sum(len(column) - column.null_count for column in outputs.columns[2:])


class KeyStreams(GroupRun):
    """The streams of successive keys: the executor, with the state of the last one, which may go on."""

    def __init__(self, executor: Executor, layout: Layout) -> None:
        self.executor, self.layout = executor, layout
        self.key: Any = None
        """An Arrow scalar; None where the state is that of whatever key comes."""
        self.before: tuple[Any, ...] | None = None
        """The order of the last row of this key, () where it is not known; None where no key is open."""

    def feed(self, rows: Any) -> Iterator[Any]:
        import numpy as np

        width = 1 + self.layout.width
        keys, *orders = rows.columns[:width]
        self._refuse_nulls(rows, orders)
        starts = group_starts(keys)
        further = self.before is not None and (self.key is None or keys[0] == self.key)
        self._check(keys, orders, starts, further=further)
        events = self._events(rows.columns[width:], keys, orders)
        if not further:
            yield from self.end()
        start = self.executor.steps if further else 0
        cuts: Any = np.append(starts, len(keys))
        made = self._run(lambda: self.executor.feed(events, cuts, further=further), keys, cuts, orders)
        self.key, self.before = keys[-1], _at(orders, len(keys) - 1)
        yield from self._batch(made, keys, cuts, start)

    def end(self) -> Iterator[Any]:
        if self.before is not None:
            import numpy as np
            import pyarrow as pa

            keys, cuts, start = pa.repeat(self.key, 1), np.array([0, 1]), self.executor.steps
            made = self._run(self.executor.end, keys, cuts, ())
            self.before = None
            yield from self._batch(made, keys, cuts, start)

    def _events(self, columns: Sequence[Any], keys: Any, orders: Sequence[Any]) -> list[Any]:
        """Read the events of each input; an error names the first row that has one."""
        domains = self.executor.inputs.items()

        def read(columns: Sequence[Any]) -> list[Any]:
            return [self.executor.events(domain, c, name) for (name, domain), c in zip(domains, columns, strict=True)]

        try:
            return read(columns)
        except WorkbenchError:
            for row in range(len(keys)):
                for (name, domain), column in zip(domains, columns, strict=True):
                    try:
                        self.executor.events(domain, column.slice(row, 1), name)
                    except WorkbenchError as error:
                        located = type(error)(f"input '{name}': {error.what}", hint=error.hint)
                        raise self.layout.located(keys[row].as_py(), _at(orders, row), located) from error
            raise

    def _run(self, make: Callable[[], KeyOutputs], keys: Any, cuts: Any, orders: Sequence[Any]) -> KeyOutputs:
        try:
            return make()
        except GroupError as wrong:
            key, order = keys[int(cuts[wrong.key])].as_py(), None if wrong.row is None else _at(orders, wrong.row)
            raise self.layout.located(key, order, wrong.error) from wrong.error

    def _batch(self, made: KeyOutputs, keys: Any, cuts: Any, start: int) -> Iterator[Any]:
        """Give the outputs as a record batch, if there are any; a step with several events of one takes several rows.

        Parameters
        ----------
        cuts: where the rows of each key begin, and where the last ones end.
        start: the steps that the first key made before.
        """
        import numpy as np
        import pyarrow as pa

        from workbench.events.buffers import shown_column, taken

        ranks = {n: np.arange(len(p)) - np.searchsorted(p, p, "left") for n, (_, p) in made.items()}
        most = 1 + max((int(rank.max()) for rank in ranks.values() if len(rank)), default=0)
        codes = {name: slots * most + ranks[name] for name, (_, slots) in made.items()}
        rows = np.unique(np.concatenate(list(codes.values()))) if len(codes) > 1 else next(iter(codes.values()))
        if not len(rows):
            return
        slots, bases = rows // most, cuts[:-1] + np.arange(len(cuts) - 1)
        of_key = np.searchsorted(bases, slots, "right") - 1
        steps = slots - bases[of_key] + np.where(of_key == 0, start, 0)
        columns = [taken(keys, cuts[of_key]), shown_column(INT, steps)]
        for name, (events, _) in made.items():
            if len(events) != len(rows):
                index = np.full(len(rows), -1)
                index[np.searchsorted(rows, codes[name])] = np.arange(len(events))
                events = events.take(shown_column(INT, index, index >= 0))
            columns.append(events)
        yield pa.RecordBatch.from_arrays(columns, names=[self.layout.key, STEP, *made])

    # --- what is verified -------------------------------------------------------------------------------------

    def _refuse_nulls(self, rows: Any, orders: Sequence[Any], *, nan: bool = False) -> None:
        """Refuse a row without a key or without what orders it, which `nan` says that NaN does not."""
        for number, what in enumerate([f"key '{self.layout.key}'", *(f"'{n}'" for n in self.layout.orders)]):
            missing = rows.column(number).is_null(nan_is_null=nan)
            if missing.true_count:
                row = missing.index(True).as_py()
                hint = "each row needs its key, and what it is ordered by; filter the others out"
                key, found = rows.column(0)[row].as_py(), InputError(f"a row has no {what}", hint=hint)
                raise self.layout.located(key, _at(orders, row), found)

    def _check(self, keys: Any, orders: Sequence[Any], starts: Any, *, further: bool) -> None:
        """Refuse rows of a key that do not go up, or are ordered by numbers and texts.

        Parameters
        ----------
        starts: where the rows of each key begin.
        further: whether the first row has the key of the last batch.
        """
        import numpy as np
        import pyarrow.compute as pc

        same: Any = np.ones(len(keys) - 1, bool)
        same[starts[1:] - 1] = False
        later: Any = np.zeros(len(same), bool)
        equal = same.copy()
        for column in orders:
            later |= equal & truths(pc.less(column[:-1], column[1:]))
            equal &= truths(pc.equal(column[:-1], column[1:]))
        bad = np.flatnonzero(same & ~later)
        if len(bad):
            one = int(bad[0])
            raise self._disorder(keys[one].as_py(), _at(orders, one), _at(orders, one + 1))
        at = self.layout.texts
        if at is not None:
            is_text = truths(pc.not_equal(orders[at], ""))
            change = np.flatnonzero(same & (is_text[:-1] != is_text[1:]))
            if len(change):
                one = int(change[0])
                number, text = _at(orders, one), _at(orders, one + 1)
                raise mixed(self.layout, keys[one].as_py(), number, text, "before")
        if self.before and further:
            now, key = _at(orders, 0), keys[0].as_py()
            if not self.before < now:
                raise self._disorder(key, self.before, now)
            if at is not None and bool(self.before[at]) != bool(now[at]):
                raise mixed(self.layout, key, self.before, now, "before")

    def _disorder(self, key: Any, one: tuple[Any, ...], two: tuple[Any, ...]) -> Exception:
        names, shown = ", ".join(self.layout.orders), self.layout.format_order(two)
        if one == two:
            what = f"two rows have the same {names} ({shown}), and Spark does not say which comes first"
            error = InputError(what, hint="name another column that tells them apart: order=['time', 'number']")
        else:
            error = InputError(f"the rows are not in the order of {names or 'the log'} at {shown}")
        return self.layout.located(key, two, error)


class StoredStreams(KeyStreams, StoredRun):
    """The stream of one key, which goes on from one micro-batch to the next."""

    executor: SingleKeys

    def __init__(self, executor: SingleKeys, layout: Layout) -> None:
        super().__init__(executor, layout)
        self._last: list[Any] = []
        """What orders the last row of an earlier micro-batch, but for its place."""
        executor.begin()

    def feed(self, rows: Any) -> Iterator[Any]:
        orders = rows.columns[1 : 1 + self.layout.width]
        self._refuse_nulls(rows, orders, nan=True)
        self._refuse_late(rows.column(0)[0].as_py(), _at(orders, 0))
        yield from super().feed(rows)
        self._last = list(_at(orders[: self.layout.named], -1))

    def save(self) -> bytes:
        return join_state(self._last, self.executor.running.snapshot())

    def restore(self, state: bytes) -> None:
        self._last, snapshot = split_state(state)
        self.executor.running.restore(snapshot)
        self.before = ()

    def _refuse_late(self, key: Any, first: tuple[Any, ...]) -> None:
        """Refuse a row that comes before the last one of an earlier micro-batch."""
        at, before = self.layout.texts, (*self._last, *first[len(self._last) :])
        if self._last and at is not None and first[at] and not before[at]:
            raise mixed(self.layout, key, before, first, "in an earlier micro-batch")
        if before <= first:
            return
        error = InputError(
            f"a row with {', '.join(self.layout.orders)} = {self.layout.format_order(first)} comes late:"
            f" {self.layout.format_order(before)} has been there already, in an earlier micro-batch",
            hint="correct the file and run the same command again: the micro-batch is done anew. Without --order"
            " rows are taken as they come",
        )
        raise self.layout.located(key, first, error)


def _at(columns: Sequence[Any], row: int) -> tuple[Any, ...]:
    """A row of some Arrow columns."""
    return tuple(column[row].as_py() for column in columns)


def truths(column: Any) -> Any:
    """An Arrow array of truth values as one of numpy."""
    from workbench.events.input_columns import decode_column

    found = decode_column(BOOL, column)
    assert found is not None
    return found.events
