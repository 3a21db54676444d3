"""Events of rules from the columns of a log.

The rule of this module: columns say of events what their rows would say one by one (`log`), or nothing: then the
rows are asked.
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
from workbench.tesla.event_block import AttributeColumn, EventBlock, LargeNumberError, dense_places, event_block
from workbench.tesla.rule_set import RuleSet

if TYPE_CHECKING:
    from workbench.events.batch import EventArray
    from workbench.events.text_column import TextColumn
    from workbench.tesla.occurrence import Occurrence
    from workbench.tesla.tree import Declaration

TYPE = "type"
"""What the column with the type of an event is called."""
MOST_CODES = 1 << 18
"""So many texts are kept with their numbers."""


@dataclass
class EventColumns:
    """Makes blocks of events of the columns of a log.

    Parameters
    ----------
    ports: which the columns have been read for (`log.log_ports`).
    time: what the column of times is called.
    declared: the type of all events; None: a column tells.
    """

    rules: RuleSet
    ports: Ports
    time: str
    declared: Declaration | None = None

    def block(self, columns: Mapping[str, EventArray]) -> tuple[EventBlock, Counter[str]] | None:
        """The events, and how many rows there are of types that are not declared; None where rows must tell."""
        order, given = self.ports.domains[self.time], columns.get(self.time)
        assert isinstance(order, Times)
        if given is None:
            return None
        times, timed = given
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

    def _types(self, given: EventArray | None, count: int) -> tuple[Any, Counter[str]]:
        """The type of each row by its place, -1 for one that is not declared; and what these are called."""
        import numpy as np

        if self.declared is not None:
            return np.full(count, self.rules.events.index(self.declared.name)), Counter()
        if given is None:
            return np.full(count, -1), Counter({"": count} if count else {})
        column = _as_texts(given)
        names, numbers = [text.strip() for text in column.texts], column.numbers
        place_of = {name: place for place, name in enumerate(self.rules.events)}
        unknown: Counter[str] = Counter()
        for name, rows in zip(names, np.bincount(numbers, minlength=len(names)).tolist(), strict=True):
            if rows and name not in place_of:
                unknown[name] += rows
        return np.array([place_of.get(name, -1) for name in names])[numbers], unknown


def encode_texts(given: EventArray, texts: dict[int, str]) -> EventArray | None:
    """Events with numbers for texts, which are put there with them; None where two texts have one number."""
    import numpy as np

    from workbench.events.text_column import TextColumn

    if hasattr(given.events, "dictionary_encode"):  # of keys
        given = given._replace(events=_as_texts(given))
    if not isinstance(given.events, TextColumn):
        return given
    codes = text_codes(given.events.texts)
    found = dict(zip(codes, given.events.texts, strict=True))
    if len(found) < len(codes):
        return None
    texts.update(found)
    return given._replace(events=np.array(codes, np.int64)[given.events.numbers])


def _as_texts(given: EventArray) -> TextColumn:
    """Keys as texts."""
    import numpy as np

    from workbench.events.buffers import numbers_of
    from workbench.events.text_column import TextColumn

    column = given.events.dictionary_encode()
    texts, numbers = [*column.dictionary.to_pylist(), ""], numbers_of(column.indices.cast("int64"))
    return TextColumn(numbers if given.present is None else np.where(given.present, numbers, len(texts) - 1), texts)


def arrange_events(
    rules: RuleSet,
    types: Any,
    times: Any,
    texts: Mapping[int, str],
    column: Callable[[str, Domain], EventArray | None],
    rows: Any = None,
) -> EventBlock:
    """The block of events whose attributes are in columns.

    Parameters
    ----------
    types: which of `rules.events` each is.
    texts: those of the columns, by their numbers.
    column: gives that of an attribute; without one all are null.
    rows: in which rows of the columns the events are; None: in all.
    """
    import numpy as np

    types = types.astype(np.uint16)
    counts = np.bincount(types, minlength=len(rules.events))
    by_type, end, columns = types.argsort(kind="stable"), 0, list[tuple[AttributeColumn, ...]]()
    for name, count in zip(rules.events, counts.tolist(), strict=True):
        mine: Any = by_type[end : end + count]
        mine = rows[mine] if rows is not None else slice(None) if count == len(types) else mine
        domains = rules.declarations[name].domains.items()
        columns.append(tuple(_attribute(column(*each), each[1], mine, count) for each in domains))
        end += count
    return EventBlock(rules.events, types, times, dense_places(types), tuple(columns), texts)


def _attribute(given: EventArray | None, domain: Domain, rows: Any, count: int) -> AttributeColumn:
    """An attribute of the events in so many rows; without a column all are null."""
    import numpy as np

    if given is None:
        return AttributeColumn(np.zeros(count, type_row(domain).column), np.ones(count, bool) if count else None)
    nulls = None if given.present is None else ~given.present[rows]
    return AttributeColumn(given.events[rows], nulls if nulls is not None and nulls.any() else None)


def pack_events(rules: RuleSet, events: Sequence[Occurrence]) -> EventBlock | None:
    """Events as a block; None where a number in them has more than 64 bits."""
    try:
        return event_block(rules, events, text_codes)
    except LargeNumberError:
        return None


def text_codes(texts: Iterable[str]) -> Sequence[int]:
    """The numbers of texts in compiled code."""
    return list(map(_text_code(), texts))


@lru_cache
def _text_code() -> Any:
    from workbench.executors.compiled.code.text_number import text_code

    return lru_cache(MOST_CODES)(text_code)
