"""Batches of successive rows of a log, decoded.

The rule of this module: rows are columns where each cell is clearly an event or empty, else single rows. Neither numpy
nor pyarrow is imported before there are columns, so small logs need neither.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from workbench.core.domain import Domain, Value
from workbench.core.term import leaves
from workbench.errors import WorkbenchError
from workbench.events.columns import values_of

if TYPE_CHECKING:
    from workbench.tesla.event_block import EventBlock
    from workbench.tesla.occurrence import Occurrence

T = TypeVar("T")
E = TypeVar("E", bound=Exception)
RowEvents = Mapping[str, Value]
"""The events of a row, by the name of the input or output."""


class EventArray(NamedTuple):
    """The events of one input in successive rows, and a mask of the rows with events; None: all rows.

    `events` is an array of numpy or a `TextColumn`; for tuples a tuple of those of their fields; for keys (`KeyTexts`)
    and for copied cells an Arrow array.
    """

    events: Any
    present: Any

    @property
    def is_arrow(self) -> bool:
        """Whether the events are an Arrow array."""
        return _is_arrow(self.events)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.fields[0])

    @property
    def total(self) -> int:
        """The number of events."""
        return self.rows if self.present is None else int(self.present.sum())

    @property
    def fields(self) -> tuple[Any, ...]:
        """The arrays of the scalar fields."""
        return tuple(leaves(self.events))

    def part(self, rows: Any) -> EventArray:
        """Return the events of some of the rows, given as a slice or an array of indices."""
        return EventArray(_part(self.events, rows), None if self.present is None else self.present[rows])

    def padded(self) -> EventArray:
        """Return the events with 0 or the empty text in rows without an event."""
        padded = getattr(self.events, "padded", None)  # arrays of numbers have 0 there
        return EventArray(self.events if padded is None else padded(self.present), None)

    def values(self, domain: Domain) -> list[Value | None]:
        """Return the events as values of their domain; None in rows without one."""
        events = cast("list[Value | None]", values_of(domain, self.fields))
        if self.present is None:
            return events
        return [value if there else None for value, there in zip(events, self.present.tolist(), strict=True)]


Columns = Mapping[str, EventArray]
"""The events of each input."""


def _is_arrow(events: Any) -> bool:
    return hasattr(events, "buffers")  # without importing pyarrow, which a run may not need


def _part(events: Any, rows: Any) -> Any:
    if isinstance(events, tuple):
        return tuple(_part(each, rows) for each in events)
    if _is_arrow(events) and not isinstance(rows, slice):
        from workbench.events.buffers import take_rows

        return take_rows(events, rows)
    return events[rows]


def join_events(parts: Sequence[EventArray]) -> EventArray:
    """Concatenate the events of one input in successive parts."""
    import numpy as np

    if len(parts) == 1:
        return parts[0]
    present: Any = None
    if any(each.present is not None for each in parts):
        present = np.concatenate([np.ones(each.rows, bool) if each.present is None else each.present for each in parts])
    return EventArray(_concatenate([each.events for each in parts]), present)


def _concatenate(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], tuple):
        return tuple(map(_concatenate, zip(*parts, strict=True)))
    kinds = {each.type if _is_arrow(each) else None for each in parts}
    if kinds != {None}:
        import pyarrow as pa

        return pa.concat_arrays(parts) if len(kinds) == 1 else _objects([v for each in parts for v in each.tolist()])
    if hasattr(parts[0], "texts"):
        from workbench.events.text_column import TextColumn

        return TextColumn.of(text for each in parts for text in each.tolist())
    import numpy as np

    return np.concatenate(parts)


def _objects(values: Sequence[Any]) -> Any:
    """Return an array of Python values, of copied cells whose types differ from block to block."""
    import numpy as np

    objects: Any = np.empty(len(values), np.object_)
    for i, value in enumerate(values):  # numpy would take lists for rows
        objects[i] = value
    return objects


@dataclass(frozen=True, eq=False, slots=True)
class LogBatch:
    """Successive rows of a log, in one of three forms.

    Attributes
    ----------
    numbers: the numbers of the rows in the log, from 1 on; if not requested, only their count is right.
    rows: the events of each row.
    columns: the events of each input, as compiled code takes them.
    occurrences: events of rules in the order of time, as a block or one by one, where rules run.
    left: the number of decoded rows after the batch.
    file: the origin of the rows, for messages.
    failed: the error of the row after the last one.
    """

    numbers: Sequence[int]
    rows: Sequence[RowEvents] | None = None
    columns: Columns | None = None
    occurrences: EventBlock | Sequence[Occurrence] = ()
    left: int = 0
    file: str = ""
    failed: WorkbenchError | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def before(self, end: int) -> LogBatch:
        """Return the rows before an index, without the error that follows them."""
        return replace(self.part(slice(end)), failed=None)

    def part(self, rows: slice) -> LogBatch:
        """Return some of the rows."""
        return replace(
            self,
            numbers=self.numbers[rows],
            rows=None if self.rows is None else self.rows[rows],
            occurrences=_slice_events(self.occurrences, rows),
            columns=None if self.columns is None else {name: each.part(rows) for name, each in self.columns.items()},
        )

    def as_rows(self, domains: Mapping[str, Domain]) -> Sequence[RowEvents]:
        """Return the rows as their events, whatever the form; `domains` are those of the inputs."""
        if self.rows is not None:
            return self.rows
        assert self.columns is not None
        return list(column_steps(self.columns, domains))

    def as_lists(self, domains: Mapping[str, Domain]) -> dict[str, list[Value]] | None:
        """Return the events of each input as Python values, if there are columns, and no row lacks an event."""
        if self.columns is None or any(each.total < each.rows for each in self.columns.values()):
            return None
        return {name: each.values(domains[name]) for name, each in self.columns.items()}

    def number_array(self) -> Any:
        """Return the numbers of the rows as an array."""
        import numpy as np

        of = self.numbers
        return np.arange(of.start, of.stop) if isinstance(of, range) else np.array(of, np.int64)

    def count_empty(self, inputs: AbstractSet[str]) -> int:
        """Return the number of rows without an event of these inputs."""
        if self.rows is not None:
            return sum(map(inputs.isdisjoint, self.rows))
        masks = [each.present for name, each in (self.columns or {}).items() if name in inputs]
        if any(mask is None for mask in masks):
            return 0
        import numpy as np

        return len(self) - int(np.logical_or.reduce(masks).sum()) if masks else len(self)

    @property
    def events(self) -> int:
        """The number of events of the rows."""
        if self.rows is not None:
            return sum(map(len, self.rows))
        return sum(each.total for each in (self.columns or {}).values())


def take(rows: Iterator[T], count: int, errors: type[E]) -> tuple[list[T], E | None]:
    """Take up to `count` rows, and the error of the next row, if it cannot be read."""
    first_rows, failed = list[T](), None
    try:
        first_rows.extend(itertools.islice(rows, count))
    except errors as error:
        failed = error
    return first_rows, failed


def batches(rows: Iterator[T], size: int) -> Iterator[list[T]]:
    """Yield the rows in lists of up to `size`; rows before an error are yielded first."""
    failed: Exception | None = None
    while failed is None:
        batch, failed = take(rows, size, Exception)
        if batch:
            yield batch
        elif failed is None:
            return
    raise failed


def _slice_events(events: EventBlock | Sequence[Occurrence], rows: slice) -> EventBlock | Sequence[Occurrence]:
    if isinstance(events, Sequence):
        return events[rows]
    first, last, _ = rows.indices(len(events))
    return events.part(first, last)


def column_steps(columns: Columns, domains: Mapping[str, Domain]) -> Iterator[dict[str, Value]]:
    """Yield the rows of columns, each as its events."""
    lists = {name: each.values(domains[name]) for name, each in columns.items()}
    if any(each.present is not None for each in columns.values()):
        return rows_of(lists)
    names = list(lists)
    if len(names) == 1:
        return ({names[0]: value} for value in lists[names[0]])
    if len(names) == 2:
        left, right = names
        return ({left: one, right: other} for one, other in zip(*lists.values(), strict=True))
    return (dict(zip(names, row, strict=True)) for row in zip(*lists.values(), strict=True))


def rows_of(lists: Mapping[str, Sequence[Value | None]]) -> Iterator[dict[str, Value]]:
    """Yield rows of these values; None means no event."""
    for row in zip(*lists.values(), strict=True):
        yield {name: value for name, value in zip(lists, row, strict=True) if value is not None}
