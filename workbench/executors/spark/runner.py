"""What a worker of Spark's does with its part of a log: one stream per key, one after the other.

The rule of this module: the rows of a key come together and in order, and that is verified row by row, not believed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from workbench.core.domain import BOOL, INT
from workbench.errors import InputError, WorkbenchError
from workbench.executors.spark.carry import carried
from workbench.executors.spark.columns import STEP
from workbench.executors.spark.executors import Choice, Executor, Made, SegmentError

PLACES = ("file", "block", "row")
"""The place of a row: its file (a number, or the name), the byte at which its block begins, the row in that."""
LOCAL_FILE = "^file:/+"
"""How Spark begins the names of local files, in more than one way; here they begin with a slash."""


@dataclass(frozen=True)
class Layout:
    """The columns of the rows that a worker gets: the key, what they are ordered by, and one per input.

    Attributes
    ----------
    key: what the user calls the key.
    orders: what the user calls the columns that order the rows; those of the place in the log come after them.
    places: which parts of a row's place are the last columns of the order: of `PLACES` those that are not 0 for all.
    files: the names of the files by number, where they have numbers.
    parts: how many columns of the layout stand for `orders`; None if each stands for itself.
    """

    key: str
    orders: tuple[str, ...]
    places: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
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

    def place(self, order: Sequence[Any]) -> str:
        """Where a row lies in the log, from its columns of order."""
        if not self.places:
            return ""
        found = dict(zip(self.places, order[-len(self.places) :], strict=True))
        file, block, row = (found.get(part, 0) for part in PLACES)
        return place_of(self.files[file] if self.files else file, block, row)


def place_of(file: str, block: int, row: int) -> str:
    """A row of a file as messages name it: lines are counted from 1, from the beginning of the block."""
    name = unquote(file)
    return f"{name}:{row + 1}" if block == 0 else f"{name}: line {row + 1} after byte {block}"


def mixed(layout: Layout, key: Any, number: Sequence[Any], text: Sequence[Any], before: str) -> InputError:
    """The error for two rows of a key, one ordered by a number (that was there `before`), one by a text."""
    return InputError(
        f"key {key!r}: '{layout.orders[0]}' is a text here ({layout.shown(text)}), and a number {before}"
        f" ({layout.shown(number)})",
        where=layout.place(text),
        hint="numbers and texts have no order between them: correct the column, or order by another one",
    )


class Runner:
    """Runs a pipeline on the rows of a partition: the function for `mapInArrow`.

    Parameters
    ----------
    choice: what runs.
    layout: what the columns are.
    """

    def __init__(self, choice: Choice, layout: Layout) -> None:
        self.choice, self.layout = choice, layout

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The rows of the outputs, a batch for each batch; at the end those of the last key's end."""
        with carried():
            streams = KeyStreams(self.choice.executor(), self.layout)
            for batch in batches:
                if batch.num_rows:
                    yield from streams.batch(batch)
            yield from streams.end()


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
                        where = self.layout.place(_at(orders, row))
                        what = f"key {keys[row].as_py()!r}: input '{name}': {error.what}"
                        raise type(error)(what, where=where, hint=error.hint) from error
            raise

    def _made(self, make: Callable[[], Made], keys: Any, cuts: Any, orders: Sequence[Any]) -> Made:
        try:
            return make()
        except SegmentError as wrong:
            error, key = wrong.error, keys[int(cuts[wrong.key])].as_py()
            where = ("" if wrong.row is None else self.layout.place(_at(orders, wrong.row))) or error.where
            raise error.retold(f"key {key!r}: {error.what}", where=where) from error

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
                raise InputError(
                    f"a row has no {what}",
                    where=self.layout.place(_at(orders, row)),
                    hint="each row needs its key, and what it is ordered by; filter the others out",
                )

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
                raise mixed(self.layout, keys[one].as_py(), number, text, f"in {self.layout.place(number)}")
        if self.before and further:
            now, key = _at(orders, 0), keys[0].as_py()
            if not self.before < now:
                raise self._disorder(key, self.before, now)
            if at is not None and bool(self.before[at]) != bool(now[at]):
                raise mixed(self.layout, key, self.before, now, f"in {self.layout.place(self.before)}")

    def _disorder(self, key: Any, one: tuple[Any, ...], two: tuple[Any, ...]) -> InputError:
        where, names = self.layout.place(two), ", ".join(self.layout.orders)
        shown = self.layout.shown(two)
        if one == two:
            return InputError(
                f"key {key!r}: two rows have the same {names} ({shown}), and Spark does not say which comes first",
                where=where,
                hint="name another column that tells them apart: order=['time', 'number']",
            )
        return InputError(f"key {key!r}: the rows are not in the order of {names or 'the log'} at {shown}", where=where)


def _at(columns: Sequence[Any], row: int) -> tuple[Any, ...]:
    """A row of some Arrow columns."""
    return tuple(column[row].as_py() for column in columns)


def truths(column: Any) -> Any:
    """An Arrow array of truth values as one of numpy."""
    from workbench.events.arrays import given_array

    found = given_array(BOOL, column)
    assert found is not None
    return found.events
