"""Build blocks of events from the columns of a log.

The rule of this module: columns give the same events as their rows one by one (`log`), or None: then the rows are
read one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from workbench.core.domain import Domain
from workbench.core.program import Ports
from workbench.core.types import type_row
from workbench.events.clock import Times
from workbench.tesla.event_block import AttributeColumn, EventBlock, LargeNumberError, event_block, number_rows_by_type
from workbench.tesla.rule_set import RuleSet

if TYPE_CHECKING:
    from workbench.events.batch import EventArray
    from workbench.events.text_column import TextColumn
    from workbench.tesla.occurrence import Occurrence
    from workbench.tesla.tree import Declaration

TYPE = "type"
"""The name of the column with the type of an event."""
MAX_CODES = 1 << 18
"""Maximum number of texts whose codes are cached."""


@dataclass
class EventColumns:
    """Builds blocks of events from the columns of a log.

    Parameters
    ----------
    ports: the ports for which the columns have been read (`log.log_ports`).
    time: the name of the column of times.
    declared: the type of all events; None: a column names it.
    """

    rules: RuleSet
    ports: Ports
    time: str
    declared: Declaration | None = None

    def block(self, columns: Mapping[str, EventArray]) -> tuple[EventBlock, Counter[str]] | None:
        """Return the events, and the counts of undeclared types; None where rows must be read one by one."""
        order, time_column = self.ports.domains[self.time], columns.get(self.time)
        assert isinstance(order, Times)
        if time_column is None:
            return None
        times, timed = time_column
        types, unknown = self._types(columns.get(TYPE), len(times))
        known = None if not unknown else types >= 0
        if timed is not None and not timed[slice(None) if known is None else known].all():
            return None
        texts: dict[int, str] = {}
        arrays = {name: encode_texts(each, texts) for name, each in columns.items() if name not in (TYPE, self.time)}
        if None in arrays.values() or not order.follow(times if timed is None else times[timed]):
            return None
        rows = None if known is None else known.nonzero()[0]
        types, times = (types, times) if rows is None else (types[rows], times[rows])
        return arrange_events(self.rules, types, times, texts, lambda name, _: arrays.get(name), rows), unknown

    def _types(self, type_column: EventArray | None, count: int) -> tuple[Any, Counter[str]]:
        """Return the index of the type of each row, -1 for an undeclared one, and the counts of undeclared types."""
        import numpy as np

        if self.declared is not None:
            return np.full(count, self.rules.events.index(self.declared.name)), Counter()
        if type_column is None:
            return np.full(count, -1), Counter({"": count} if count else {})
        column = _as_texts(type_column)
        names, numbers = [text.strip() for text in column.texts], column.numbers
        place_of = {name: index for index, name in enumerate(self.rules.events)}
        unknown: Counter[str] = Counter()
        for name, rows in zip(names, np.bincount(numbers, minlength=len(names)).tolist(), strict=True):
            if rows and name not in place_of:
                unknown[name] += rows
        return np.array([place_of.get(name, -1) for name in names])[numbers], unknown


def encode_texts(column: EventArray, texts: dict[int, str]) -> EventArray | None:
    """Replace texts by their codes, and add these to `texts`; None where two texts have one code."""
    import numpy as np

    from workbench.events.text_column import TextColumn

    if column.is_arrow:  # keys
        column = column._replace(events=_as_texts(column))
    if not isinstance(column.events, TextColumn):
        return column
    codes = text_codes(column.events.texts)
    texts_by_code = dict(zip(codes, column.events.texts, strict=True))
    if len(texts_by_code) < len(codes):
        return None
    texts.update(texts_by_code)
    return column._replace(events=np.array(codes, np.int64)[column.events.numbers])


def _as_texts(keys: EventArray) -> TextColumn:
    """Convert keys to texts."""
    import numpy as np

    from workbench.events.buffers import numbers_of
    from workbench.events.text_column import TextColumn

    column = keys.events.dictionary_encode()
    texts, numbers = [*column.dictionary.to_pylist(), ""], numbers_of(column.indices.cast("int64"))
    return TextColumn(numbers if keys.present is None else np.where(keys.present, numbers, len(texts) - 1), texts)


def arrange_events(
    rules: RuleSet,
    types: Any,
    times: Any,
    texts: Mapping[int, str],
    column: Callable[[str, Domain], EventArray | None],
    rows: Any = None,
) -> EventBlock:
    """Build the block of events whose attributes are in columns.

    Parameters
    ----------
    types: the index of each event's type in `rules.events`.
    texts: the texts of the columns, by their codes.
    column: returns the column of an attribute; without one all are null.
    rows: the rows of the columns that are events; None: all.
    """
    import numpy as np

    types = types.astype(np.uint16)
    counts = np.bincount(types, minlength=len(rules.events))
    by_type, end, columns = types.argsort(kind="stable"), 0, list[tuple[AttributeColumn, ...]]()
    for name, count in zip(rules.events, counts.tolist(), strict=True):
        type_rows: Any = by_type[end : end + count]
        type_rows = rows[type_rows] if rows is not None else slice(None) if count == len(types) else type_rows
        domains = rules.declarations[name].domains.items()
        columns.append(tuple(_attribute(column(*each), each[1], type_rows, count) for each in domains))
        end += count
    return EventBlock(rules.events, types, times, number_rows_by_type(types), tuple(columns), texts)


def _attribute(column: EventArray | None, domain: Domain, rows: Any, count: int) -> AttributeColumn:
    """Return an attribute of the events in `count` rows; without a column all are null."""
    import numpy as np

    if column is None:
        return AttributeColumn(np.zeros(count, type_row(domain).column), np.ones(count, bool) if count else None)
    nulls = None if column.present is None else ~column.present[rows]
    return AttributeColumn(column.events[rows], nulls if nulls is not None and nulls.any() else None)


def pack_events(rules: RuleSet, events: Sequence[Occurrence]) -> EventBlock | None:
    """Build a block from events; None where a number in them has more than 64 bits."""
    try:
        return event_block(rules, events, text_codes)
    except LargeNumberError:
        return None


def text_codes(texts: Iterable[str]) -> Sequence[int]:
    """Return the codes of texts in compiled code."""
    return list(map(_text_code(), texts))


@lru_cache
def _text_code() -> Any:
    from workbench.executors.compiled.code.text_number import text_code

    return lru_cache(MAX_CODES)(text_code)
