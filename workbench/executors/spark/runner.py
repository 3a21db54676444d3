"""What a worker of Spark's does with its part of a log: one stream per key, one after the other.

The rule of this module: the rows of a key come together and in order, and that is verified row by row, not believed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.domain import BOOL, INT
from workbench.errors import InputError, WorkbenchError
from workbench.executors.keyed import keyless, told
from workbench.executors.spark.carry import PlacedError, carried
from workbench.executors.spark.columns import STEP
from workbench.executors.spark.counts import Counts
from workbench.executors.spark.executors import Choice, Executor, Made, SegmentError


@dataclass(frozen=True)
class Layout:
    """The columns of the rows that a worker gets: the key, what they are ordered by, and one per input.

    Attributes
    ----------
    key: what the user calls the key.
    orders: what the user calls the columns that order the rows; those of the place in the log come after them.
    places: what the last columns of the order are: a row's `file`, or the `task` that has read it (or neither, where
        there is one), and its number among those, `row`.
    parts: how many columns of the layout stand for `orders`; None if each stands for itself.
    """

    key: str
    orders: tuple[str, ...]
    places: tuple[str, ...] = ()
    parts: int | None = None

    @property
    def named(self) -> int:
        """How many columns stand for what the user orders by."""
        return len(self.orders) if self.parts is None else self.parts

    @property
    def texts(self) -> int | None:
        """Which column of the order holds a text, unless a number orders the row; None where it cannot be both."""
        return 2 if self.places and self.named == 3 else None

    @property
    def width(self) -> int:
        """How many columns order the rows."""
        return self.named + len(self.places)

    def shown(self, order: Sequence[Any]) -> str:
        """What a row is ordered by, as the user wrote it, from its columns of order."""
        if self.texts is not None:  # a text, a whole number, or a number
            number, whole, text = order[:3]
            return text or str(whole if whole == number else number)
        return ", ".join(map(str, order[: self.named]))

    def names(self, inputs: int) -> list[str]:
        """The names of the columns."""
        return ["key", *(f"o{i}" for i in range(self.width)), *(f"x{i}" for i in range(inputs))]

    def located(self, key: Any, order: Sequence[Any] | None, error: WorkbenchError) -> Exception:
        """An error as it is raised, with the row that it is about.

        Parameters
        ----------
        key: that of the row; None where it has none.
        order: the columns of order of the row; None for the end of the key's streams.
        """
        if not self.places:
            return error if key is None else error.retold(f"key {key!r}: {error.what}", where=error.where)
        group, row = (0, None) if order is None else (0, *order[-len(self.places) :])[-2:]
        if self.places[0] != "file":
            return PlacedError(error, (None if key is None else repr(key), group, row))
        file = group or "the log"
        return keyless(self.key, row, file) if key is None else told(self.key, repr(key), row, file, error)


def mixed(layout: Layout, key: Any, number: Sequence[Any], text: Sequence[Any], before: str) -> Exception:
    """The error for two rows of a key, one ordered by a number (that was there `before`), one by a text."""
    what = f"'{layout.orders[0]}' is a text here ({layout.shown(text)}), and a number {before}"
    hint = "numbers and texts have no order between them: correct the column, or order by another one"
    return layout.located(key, text, InputError(f"{what} ({layout.shown(number)})", hint=hint))


class Runner:
    """Runs a pipeline on the rows of a partition: the function for `mapInArrow`.

    Parameters
    ----------
    choice: what runs.
    layout: what the columns are.
    counts: are told how many events come out.

    Attributes
    ----------
    computed: how many rows of this partition it has run on.
    """

    def __init__(self, choice: Choice, layout: Layout, counts: Counts | None = None) -> None:
        self.choice, self.layout, self.counts = choice, layout, counts
        self.computed = 0

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The rows of the outputs, a batch for each batch; at the end those of the last key's end."""
        self.computed = 0
        with carried():
            yield from counted(self._made(KeyStreams(self.choice.executor(), self.layout), batches), self.counts)
        if self.counts is not None:
            self.counts.computed(task_number(), self.computed)

    def _made(self, streams: KeyStreams, batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            if batch.num_rows:
                yield from streams.batch(batch)
                self.computed += batch.num_rows
        yield from streams.end()


def counted(batches: Iterator[Any], counts: Counts | None, *, again: bool = False) -> Iterator[Any]:
    """The rows of outputs, whose events are counted.

    Parameters
    ----------
    again: whether the same partition comes again, with other rows, in the next micro-batch.
    """
    events = 0
    for batch in batches:
        events += sum(len(column) - column.null_count for column in batch.columns[2:])
        yield batch
    if counts is not None:
        counts.made(task_number(again=again), events)


def task_number(*, again: bool = False) -> int:
    """The number of the partition that this worker is at, or of the attempt where the partition comes `again`."""
    from pyspark import TaskContext

    task: Any = TaskContext.get()
    number: int = task.taskAttemptId() if again else task.partitionId()
    return number


class KeyStreams:
    """The streams of successive keys: the executor, with the state of the last one, which may go on."""

    def __init__(self, executor: Executor, layout: Layout) -> None:
        self.executor, self.layout = executor, layout
        self.key: Any = None
        """An Arrow scalar."""
        self.before: tuple[Any, ...] | None = None
        """The order of the last row of this key, () where it is not known; None where no key is open."""

    def batch(self, batch: Any) -> Iterator[Any]:
        """What comes out of the rows of some keys, the first of which may go on where the last batch stopped."""
        import numpy as np
        import pyarrow.compute as pc

        width = 1 + self.layout.width
        keys, *orders = batch.columns[:width]
        self._refuse_nulls(batch, orders)
        changes = truths(pc.not_equal(keys[1:], keys[:-1]))
        further = self.before is not None and keys[0] == self.key
        self._check(keys, orders, ~changes, further=further)
        events = self._events(batch.columns[width:], keys, orders)
        if not further:
            yield from self.end()
        start = self.executor.steps if further else 0
        cuts = np.concatenate([[0], np.flatnonzero(changes) + 1, [len(keys)]])
        made = self._made(lambda: self.executor.feed(events, cuts, further=further), keys, cuts, orders)
        self.key, self.before = keys[-1], _at(orders, len(keys) - 1)
        yield from self._shown(made, keys, cuts, start)

    def end(self) -> Iterator[Any]:
        """What comes out of the end of the last key's streams, if there is one."""
        if self.before is not None:
            import numpy as np
            import pyarrow as pa

            keys, cuts, start = pa.repeat(self.key, 1), np.array([0, 1]), self.executor.steps
            made = self._made(self.executor.end, keys, cuts, ())
            self.before = None
            yield from self._shown(made, keys, cuts, start)

    def _events(self, columns: Sequence[Any], keys: Any, orders: Sequence[Any]) -> list[Any]:
        """The events of each input."""
        domains = self.executor.inputs.items()

        def taken(columns: Sequence[Any]) -> list[Any]:
            return [self.executor.events(domain, c, name) for (name, domain), c in zip(domains, columns, strict=True)]

        try:
            return taken(columns)
        except WorkbenchError:
            # some row of this batch: say which one
            for row in range(len(keys)):
                for (name, domain), column in zip(domains, columns, strict=True):
                    try:
                        self.executor.events(domain, column.slice(row, 1), name)
                    except WorkbenchError as error:
                        found = type(error)(f"input '{name}': {error.what}", hint=error.hint)
                        raise self.layout.located(keys[row].as_py(), _at(orders, row), found) from error
            raise

    def _made(self, make: Callable[[], Made], keys: Any, cuts: Any, orders: Sequence[Any]) -> Made:
        try:
            return make()
        except SegmentError as wrong:
            key, order = keys[int(cuts[wrong.key])].as_py(), None if wrong.row is None else _at(orders, wrong.row)
            raise self.layout.located(key, order, wrong.error) from wrong.error

    def _shown(self, made: Made, keys: Any, cuts: Any, start: int) -> Iterator[Any]:
        """A record batch of the outputs, if there are any; a step with several events of one takes several rows.

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
        codes = {name: places * most + ranks[name] for name, (_, places) in made.items()}
        rows = np.unique(np.concatenate(list(codes.values()))) if len(codes) > 1 else next(iter(codes.values()))
        if not len(rows):
            return
        places, bases = rows // most, cuts[:-1] + np.arange(len(cuts) - 1)
        of_key = np.searchsorted(bases, places, "right") - 1
        steps = places - bases[of_key] + np.where(of_key == 0, start, 0)
        columns = [taken(keys, cuts[of_key]), shown_column(INT, steps)]
        for name, (events, _) in made.items():
            if len(events) != len(rows):
                index = np.full(len(rows), -1)
                index[np.searchsorted(rows, codes[name])] = np.arange(len(events))
                events = events.take(shown_column(INT, index, index >= 0))
            columns.append(events)
        yield pa.RecordBatch.from_arrays(columns, names=[self.layout.key, STEP, *made])

    # --- what is verified -------------------------------------------------------------------------------------

    def _refuse_nulls(self, batch: Any, orders: Sequence[Any]) -> None:
        for number, what in enumerate([f"key '{self.layout.key}'", *(f"'{n}'" for n in self.layout.orders)]):
            column = batch.column(number)
            if column.null_count:
                row = column.is_null().to_pylist().index(True)
                hint = "each row needs its key, and what it is ordered by; filter the others out"
                key, found = batch.column(0)[row].as_py(), InputError(f"a row has no {what}", hint=hint)
                raise self.layout.located(key, _at(orders, row), found)

    def _check(self, keys: Any, orders: Sequence[Any], same: Any, *, further: bool) -> None:
        """See that the rows of each key go up, and are not ordered by numbers and texts.

        Parameters
        ----------
        same: whether each row but the first has the key of the one before.
        further: whether the first row has that of the last batch.
        """
        import numpy as np
        import pyarrow.compute as pc

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
        names, shown = ", ".join(self.layout.orders), self.layout.shown(two)
        if one == two:
            what = f"two rows have the same {names} ({shown}), and Spark does not say which comes first"
            error = InputError(what, hint="name another column that tells them apart: order=['time', 'number']")
        else:
            error = InputError(f"the rows are not in the order of {names or 'the log'} at {shown}")
        return self.layout.located(key, two, error)


def _at(columns: Sequence[Any], row: int) -> tuple[Any, ...]:
    """A row of some Arrow columns."""
    return tuple(column[row].as_py() for column in columns)


def truths(column: Any) -> Any:
    """An Arrow array of truth values as one of numpy."""
    from workbench.events.arrays import given_array

    found = given_array(BOOL, column)
    assert found is not None
    return found.events
