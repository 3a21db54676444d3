"""What a worker of Spark's does with its part of a log: one stream per key, one after the other.

The rule of this module: the rows of a key come together and in order, and that is verified row by row, not believed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from workbench.errors import InputError, WorkbenchError
from workbench.executors.spark.carry import carried
from workbench.executors.spark.columns import STEP, InputColumn
from workbench.executors.spark.executors import Choice, Executor, Made

LOCAL_FILE = "^file:/+"
"""How Spark begins the names of local files, in more than one way; here they begin with a slash."""


@dataclass(frozen=True)
class Layout:
    """The columns of the rows that a worker gets: the key, what they are ordered by, and one per input.

    Attributes
    ----------
    key: what the user calls the key.
    orders: what the user calls the columns that order the rows; those of the place in the log come after them.
    located: whether the last three of the order are a file (its number, or its name), a block of it, and the row.
    files: the names of the files by number, where they have numbers.
    parts: how many columns of the layout stand for `orders`; None if each stands for itself.
    """

    key: str
    orders: tuple[str, ...]
    located: bool = False
    files: tuple[str, ...] = ()
    parts: int | None = None

    @property
    def named(self) -> int:
        """How many columns stand for what the user orders by."""
        return len(self.orders) if self.parts is None else self.parts

    @property
    def texts(self) -> int | None:
        """Which column of the order holds a text, unless a number orders the row; None where it cannot be both."""
        return 2 if self.located and self.named == 3 else None

    @property
    def width(self) -> int:
        """How many columns order the rows."""
        return self.named + 3 * self.located

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
        if not self.located:
            return ""
        file, block, row = order[-3:]
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
            streams = KeyStreams(self.choice, self.layout)
            for batch in batches:
                if batch.num_rows:
                    yield streams.batch(batch)
            yield from streams.over()


class KeyStreams:
    """The streams of successive keys: the executor with the state of the present one, and what comes out."""

    def __init__(self, choice: Choice, layout: Layout) -> None:
        self.layout = layout
        self.executor = choice.executor()
        self.domains = list(self.executor.running.flat.ports.domains.values())
        self.key: Any = None
        self.before: tuple[Any, ...] | None = None
        """The order of the last row of the present key, () where it is not known; None where no key is open."""
        self.rows: OutputRows | None = None

    def batch(self, batch: Any) -> Any:
        """Rows of some keys, each going on where the last batch stopped."""
        import numpy as np

        keys = batch.column(0)
        self.rows = self.rows or OutputRows(self.executor, self.layout.key, keys.type)
        orders = [column.to_numpy(zero_copy_only=False) for column in batch.columns[1 : 1 + self.layout.width]]
        self._refuse_nulls(batch, orders)
        codes = keys.dictionary_encode().indices.to_numpy(zero_copy_only=False)
        cuts = [0, *(np.flatnonzero(codes[1:] != codes[:-1]) + 1).tolist(), len(codes)]
        self._check(keys, orders, codes)
        columns = batch.columns[1 + self.layout.width :]
        events = self._events(columns, domains=self.domains, keys=keys, orders=orders)
        for first, last in itertools.pairwise(cuts):
            key = keys[first].as_py()
            if self.before is None or key != self.key:
                self.end()
                self.executor.running.reset()
                self.key = key
            self.feed(events, first, last, orders)
            self.before = tuple(column[last - 1] for column in orders)
        return self.rows.taken()

    def _events(self, columns: Sequence[Any], *, domains: Sequence[Any], keys: Any, orders: Sequence[Any]) -> list[Any]:
        try:
            return [InputColumn(domain, column) for domain, column in zip(domains, columns, strict=True)]
        except WorkbenchError:
            # some row of this batch: say which one
            for row in range(len(keys)):
                for name, domain, column in zip(self.executor.inputs, domains, columns, strict=True):
                    try:
                        InputColumn(domain, column.slice(row, 1))
                    except WorkbenchError as error:
                        where = self.layout.place([column[row] for column in orders])
                        what = f"key {keys[row].as_py()!r}: input '{name}': {error.what}"
                        raise type(error)(what, where=where, hint=error.hint) from error
            raise

    def feed(self, events: Sequence[InputColumn], first: int, last: int, orders: Sequence[Any]) -> None:
        """Rows of the present key."""
        start = self.executor.running.steps

        def row(step: int) -> str:
            at = first + step - start
            return self.layout.place([column[at] for column in orders]) if first <= at < last else ""

        self._keep(lambda: self.executor.feed(list(events), first, last), start, last - first, row)

    def end(self) -> None:
        """The end of the present key's stream."""
        if self.before is not None:
            self._keep(self.executor.end, self.executor.running.steps, 1, lambda _: "")
        self.before = None

    def resumed(self, rows: Any, key: Any, snapshot: bytes | None) -> Any:
        """Rows of one key, from a saved state; the key's stream stays open."""
        self.executor.running.reset()
        if snapshot is not None:
            self.executor.running.restore(snapshot)
        self.key, self.before = key, ()
        return self.batch(rows)

    def over(self) -> Iterator[Any]:
        """The end of the last stream."""
        if self.rows is not None:
            self.end()
            yield self.rows.taken()

    def _keep(self, make: Callable[[], Made], start: int, count: int, row: Callable[[int], str]) -> None:
        try:
            made = make()
        except WorkbenchError as error:
            where = ("" if error.step is None else row(error.step)) or error.where
            raise error.retold(f"key {self.key!r}: {error.what}", where=where) from error
        assert self.rows is not None
        self.rows.add(self.key, made, start, count)

    # --- what is verified -------------------------------------------------------------------------------------

    def _refuse_nulls(self, batch: Any, orders: Sequence[Any]) -> None:
        for number, what in enumerate([f"key '{self.layout.key}'", *(f"'{n}'" for n in self.layout.orders)]):
            column = batch.column(number)
            if column.null_count:
                row = column.is_null().to_pylist().index(True)
                raise InputError(
                    f"a row has no {what}",
                    where=self.layout.place([column[row] for column in orders]),
                    hint="each row needs its key, and what it is ordered by; filter the others out",
                )

    def _check(self, keys: Any, orders: Sequence[Any], codes: Any) -> None:
        """See that the rows of each key go up, and are not ordered by numbers and texts."""
        import numpy as np

        same = codes[1:] == codes[:-1]
        later: Any = np.zeros(len(same), bool)
        equal: Any = np.ones(len(same), bool)
        for column in orders:
            later |= equal & np.asarray(column[:-1] < column[1:], bool)
            equal &= np.asarray(column[:-1] == column[1:], bool)
        bad = np.flatnonzero(same & ~later)
        if len(bad):
            one = int(bad[0])
            raise self._disorder(keys[one].as_py(), *(tuple(c[row] for c in orders) for row in (one, one + 1)))
        if self.layout.texts is not None:
            is_text: Any = orders[self.layout.texts] != ""
            change = np.flatnonzero(same & (is_text[:-1] != is_text[1:]))
            if len(change):
                one = int(change[0])
                number, text = ([c[row] for c in orders] for row in (one, one + 1))
                raise mixed(self.layout, keys[one].as_py(), number, text, f"in {self.layout.place(number)}")
        if self.before and keys[0].as_py() == self.key:
            now = tuple(column[0] for column in orders)
            if not self.before < now:
                raise self._disorder(self.key, self.before, now)
            if (at := self.layout.texts) is not None and bool(self.before[at]) != bool(now[at]):
                raise mixed(self.layout, self.key, self.before, now, f"in {self.layout.place(self.before)}")

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


class OutputRows:
    """The rows of the outputs that have come out, as columns."""

    def __init__(self, executor: Executor, key: str, key_type: Any) -> None:
        self.executor, self.key, self.key_type = executor, key, key_type
        self._clear()

    def _clear(self) -> None:
        self._size = 0
        self._keys: list[Any] = []
        self._bases: list[int] = []
        self._starts: list[int] = []
        self._made: dict[str, list[tuple[Any, Any]]] = {name: [] for name, _ in self.executor.outputs}

    def add(self, key: Any, made: Made, start: int, count: int) -> None:
        """What came out in so many steps of a key."""
        self._keys.append(key)
        self._bases.append(self._size)
        self._starts.append(start)
        for name, (events, steps) in made.items():
            self._made[name].append((events, steps + (self._size - start)))
        self._size += count

    def taken(self) -> Any:
        """A record batch of them, in their order; a step with several events of an output takes several rows."""
        import numpy as np
        import pyarrow as pa

        found = {name: _joined(parts) for name, parts in self._made.items()}
        ranks = {n: np.arange(len(p)) - np.searchsorted(p, p, "left") for n, (_, p) in found.items()}
        most = 1 + max((int(rank.max()) for rank in ranks.values() if len(rank)), default=0)
        codes = {name: places * most + ranks[name] for name, (_, places) in found.items()}
        several = len(codes) > 1
        rows = np.unique(np.concatenate(list(codes.values()))) if several else next(iter(codes.values()))
        places = rows // most
        stream = np.searchsorted(np.array(self._bases, np.int64), places, "right") - 1
        steps = places - np.array(self._bases, np.int64)[stream] + np.array(self._starts, np.int64)[stream]
        columns = [pa.array(self._keys, self.key_type).take(pa.array(stream)), pa.array(steps)]
        for name, (events, _) in found.items():
            if len(events) != len(rows):
                index = np.searchsorted(codes[name], rows)
                index = np.minimum(index, max(len(events) - 1, 0))
                there = codes[name][index] == rows if len(events) else np.zeros(len(rows), bool)
                taken = pa.array(index, mask=~there)
                events = events.take(taken) if len(events) else pa.nulls(len(rows), events.type)
            columns.append(events)
        self._clear()
        return pa.RecordBatch.from_arrays(columns, names=[self.key, STEP, *found])


def _joined(parts: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
    import numpy as np
    import pyarrow as pa

    return pa.concat_arrays([events for events, _ in parts]), np.concatenate([places for _, places in parts])
