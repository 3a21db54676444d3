"""Successive rows of a log, decoded.

The rule of this module: rows are columns where each cell is plainly an event or none, else one by one. Neither numpy
nor pyarrow is imported before there are columns, so small logs need neither.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
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
"""What a row holds: input, or output, name to event."""


class EventArray(NamedTuple):
    """The events of one input in successive rows, and where there are events; None: everywhere.

    `events` is an array, or for tuples a tuple of what their fields have; of keys (`Words`) an Arrow array of texts.
    """

    events: Any
    present: Any

    @property
    def rows(self) -> int:
        """How many rows they are of."""
        return len(self.fields[0])

    @property
    def total(self) -> int:
        """How many events there are."""
        return self.rows if self.present is None else int(self.present.sum())

    @property
    def fields(self) -> tuple[Any, ...]:
        """An array per scalar field."""
        return tuple(leaves(self.events))

    def part(self, rows: Any) -> EventArray:
        """Those of some of the rows, a slice or an array of their numbers."""
        return EventArray(_part(self.events, rows), None if self.present is None else self.present[rows])

    def padded(self) -> EventArray:
        """The same with events everywhere: 0, or the empty text, where there was none."""
        padded = getattr(self.events, "padded", None)  # arrays of numbers have 0 there
        return EventArray(self.events if padded is None else padded(self.present), None)

    def values(self, domain: Domain) -> list[Value | None]:
        """The events as values of their domain; None in rows without one."""
        found = cast("list[Value | None]", values_of(domain, self.fields))
        if self.present is None:
            return found
        return [value if there else None for value, there in zip(found, self.present.tolist(), strict=True)]


Columns = Mapping[str, EventArray]
"""The events of each input."""


def _part(events: Any, rows: Any) -> Any:
    if isinstance(events, tuple):
        return tuple(_part(each, rows) for each in events)
    if hasattr(events, "buffers") and not isinstance(rows, slice):
        from workbench.events.buffers import take_rows

        return take_rows(events, rows)
    return events[rows]


def join_events(parts: Sequence[EventArray]) -> EventArray:
    """The events of one input in rows one after the other, in one array."""
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
    if hasattr(parts[0], "buffers"):
        import pyarrow as pa

        return pa.concat_arrays(parts)
    if hasattr(parts[0], "texts"):
        from workbench.events.text_column import TextColumn

        return TextColumn.of(text for each in parts for text in each.tolist())
    import numpy as np

    return np.concatenate(parts)


@dataclass(frozen=True, eq=False, slots=True)
class LogBatch:
    """Successive rows of a log, in one of three forms.

    Attributes
    ----------
    numbers: those of the rows in the log, from 1 on; where nobody asks for them, those of as many successive rows.
    rows: each as its events.
    columns: the events of each input, as compiled code takes them.
    occurrences: events of rules in the order of time, as a block or one by one, where rules run.
    left: how many rows behind it have been decoded.
    file: where the rows are from, as messages call it.
    failed: why the row behind the last one cannot be read.
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
        """The rows before this one of the batch, behind which nothing has failed."""
        return replace(self.part(slice(end)), failed=None)

    def part(self, rows: slice) -> LogBatch:
        """Some of the rows."""
        return replace(
            self,
            numbers=self.numbers[rows],
            rows=None if self.rows is None else self.rows[rows],
            occurrences=_slice_events(self.occurrences, rows),
            columns=None if self.columns is None else {name: each.part(rows) for name, each in self.columns.items()},
        )

    def as_rows(self, domains: Mapping[str, Domain]) -> Sequence[RowEvents]:
        """The rows as their events, whatever the form; `domains` are those of the inputs."""
        if self.rows is not None:
            return self.rows
        assert self.columns is not None
        return list(column_steps(self.columns, domains))

    def as_lists(self, domains: Mapping[str, Domain]) -> dict[str, list[Value]] | None:
        """The events of each input as Python values, where there are columns, and all rows have all events."""
        if self.columns is None or any(each.total < each.rows for each in self.columns.values()):
            return None
        return {name: each.values(domains[name]) for name, each in self.columns.items()}

    def number_array(self) -> Any:
        """The numbers of the rows as an array."""
        import numpy as np

        of = self.numbers
        return np.arange(of.start, of.stop) if isinstance(of, range) else np.array(of, np.int64)

    @property
    def events(self) -> int:
        """How many events the rows have."""
        if self.rows is not None:
            return sum(map(len, self.rows))
        return sum(each.total for each in (self.columns or {}).values())


def take(rows: Iterator[T], count: int, errors: type[E]) -> tuple[list[T], E | None]:
    """So many rows; or those before one that cannot be read, and why it cannot."""
    found, failed = list[T](), None
    try:
        found.extend(itertools.islice(rows, count))
    except errors as error:
        failed = error
    return found, failed


def batches(rows: Iterator[T], size: int) -> Iterator[list[T]]:
    """The rows some at a time; those before one that cannot be read come out, too."""
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
    """The rows of columns, each with its events."""
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
    """Rows of these values; None is no event."""
    for row in zip(*lists.values(), strict=True):
        yield {name: value for name, value in zip(lists, row, strict=True) if value is not None}
