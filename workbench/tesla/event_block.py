"""Blocks of events as columns: successive events that engines process at once.

The rule of this module: a block is never changed. An event's values are read at its row in the columns of its type; a
text is stored there as its number in compiled code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, repeat
from typing import TYPE_CHECKING, Any

from workbench.core.domain import INT, STR, Domain
from workbench.core.types import type_row
from workbench.errors import InputError
from workbench.tesla.occurrence import Occurrence

if TYPE_CHECKING:
    from workbench.tesla.rule_set import RuleSet

CodesOfTexts = Callable[[Iterable[str]], Sequence[int]]
"""A function from texts to their numbers in compiled code (`TextCodes.put`)."""


class LargeNumberError(InputError):
    """The error for a whole number of more than 64 bits, which a block cannot store."""


@dataclass(frozen=True, eq=False)
class AttributeColumn:
    """The values of an attribute for the events of one type.

    Attributes
    ----------
    values: an array of int64, float64 or bool; for texts their numbers, in int64. Any value where there is a null.
    nulls: an array of bool; None if there are no nulls.
    """

    values: Any
    nulls: Any | None = None

    def tolist(self, texts: Mapping[int, str] | None = None) -> list[Any]:
        """Return the values as a list, with None for null.

        Parameters
        ----------
        texts: the texts by their numbers, if the values are texts.
        """
        nulls = [] if self.nulls is None else self.nulls.nonzero()[0].tolist()
        values: list[Any] = self.values.tolist()
        if texts is not None:
            values = list(map(texts.get, values))
        for at in nulls:
            values[at] = None
        return values


@dataclass(frozen=True, eq=False)
class EventBlock:
    """Successive events in their order, as columns.

    Attributes
    ----------
    names: the types of events, as in `RuleSet.events`.
    types: uint16[n], the index of each event's type in `names`.
    times: int64[n], in the unit of the rules' windows, in ascending order.
    type_rows: int64[n], the index of each event's values in the columns of its type.
    columns: for each type in `names` its attributes, in their order.
    texts: the texts by their numbers in columns; there may be more.
    numbers: int64[n], the positions in the total order; None for external events, which have none yet.
    rules: int32[n], for composites the index of the event's rule in `rule_names`; None for external events.
    starts, sources: for composites, if requested: the sources of event i are the numbers
        `sources[starts[i]:starts[i + 1]]`.
    """

    names: tuple[str, ...]
    types: Any
    times: Any
    type_rows: Any
    columns: tuple[tuple[AttributeColumn, ...], ...]
    texts: Mapping[int, str]
    numbers: Any | None = None
    rules: Any | None = None
    rule_names: tuple[str, ...] = ()
    starts: Any | None = None
    sources: Any | None = None

    def __len__(self) -> int:
        return len(self.types)

    def part(self, first: int, last: int) -> EventBlock:
        """Return the events from one index to before another."""
        block = self._at(slice(first, last))
        return block if self.starts is None else replace(block, starts=self.starts[first : last + 1])

    def take(self, order: Any) -> EventBlock:
        """Return the events at non-negative indices, in the order of the indices."""
        import numpy as np

        block = self._at(order)
        if self.starts is None or self.sources is None:
            return block
        lengths = np.diff(self.starts)[order]
        starts = np.concatenate(([0], np.cumsum(lengths)))
        numbers = np.arange(starts[-1]) + np.repeat(self.starts[order] - starts[:-1], lengths)
        return replace(block, starts=starts, sources=self.sources[numbers])

    def _at(self, indices: Any) -> EventBlock:
        """Return the events at some indices, without adapting their sources."""
        own = {name: getattr(self, name) for name in ("types", "times", "type_rows", "numbers", "rules")}
        return replace(self, **{name: each[indices] for name, each in own.items() if each is not None})

    def occurrences(self, rules: RuleSet) -> list[Occurrence]:
        """Return the events as occurrences."""
        rows_there = sum(len(each[0].values) for each in self.columns if each)
        block = self if rows_there <= 2 * len(self) else join_blocks([self])
        rows, nothing = list[Sequence[tuple[Any, ...]]](), [()] * (int(block.type_rows.max(initial=-1)) + 1)
        for name, columns in zip(block.names, block.columns, strict=True):
            domains = rules.declarations[name].domains.values()
            values = (
                column.tolist(block.texts if domain == STR else None)
                for column, domain in zip(columns, domains, strict=True)
            )
            rows.append(list(zip(*values, strict=True)) if columns else nothing)
        types = block.types.tolist()
        attributes = [rows[type][index] for type, index in zip(types, block.type_rows.tolist(), strict=True)]
        numbers = repeat(-1) if self.numbers is None else self.numbers.tolist()
        rule_names = repeat("") if self.rules is None else map(self.rule_names.__getitem__, self.rules.tolist())
        sources = repeat(()) if self.sources is None else map(tuple, self._sources())
        names = map(block.names.__getitem__, types)
        return list(map(Occurrence, names, block.times.tolist(), attributes, numbers, sources, rule_names))

    def _sources(self) -> Iterator[list[int]]:
        """Yield the numbers of the sources of each event."""
        assert self.starts is not None
        assert self.sources is not None
        bounds = self.starts.tolist()
        sources = self.sources[bounds[0] : bounds[-1]].tolist()
        return (sources[first - bounds[0] : last - bounds[0]] for first, last in pairwise(bounds))


def join_blocks(blocks: Sequence[EventBlock]) -> EventBlock:
    """Join blocks of the same rules into one: either all of external events, or all of composites.

    Events keep the order of the blocks. The columns of each type hold the values of its events, in
    their order, and no others.
    """
    import numpy as np

    types = np.concatenate([each.types for each in blocks])
    columns = [tuple(AttributeColumn(each.values[:0]) for each in some) for some in blocks[0].columns]
    for type in set(types.tolist()):
        indices = [each.type_rows[each.types == type] for each in blocks]
        by_attribute = zip(*(each.columns[type] for each in blocks), strict=True)
        columns[type] = tuple(_gather_values(list(zip(some, indices, strict=True))) for some in by_attribute)
    texts = blocks[0].texts if len(blocks) == 1 else {n: text for each in blocks for n, text in each.texts.items()}
    times = np.concatenate([each.times for each in blocks])
    whole = replace(
        blocks[0], types=types, times=times, type_rows=number_rows_by_type(types), columns=tuple(columns), texts=texts
    )
    return whole if any(each.rules is None for each in blocks) else _with_origins(whole, blocks)


def _with_origins(whole: EventBlock, blocks: Sequence[EventBlock]) -> EventBlock:
    """Add to joined composites of several blocks their numbers, rules and sources."""
    import numpy as np

    names = {name: i for i, name in enumerate(dict.fromkeys(name for each in blocks for name in each.rule_names))}
    rules = [np.array([names[name] for name in each.rule_names], np.int32)[each.rules] for each in blocks]
    numbers = np.concatenate([each.numbers for each in blocks])
    whole = replace(whole, numbers=numbers, rules=np.concatenate(rules), rule_names=tuple(names))
    named = [(each.starts, each.sources) for each in blocks if each.starts is not None and each.sources is not None]
    if len(named) < len(blocks):
        return replace(whole, starts=None, sources=None)
    lengths = np.concatenate([np.zeros(1, np.int64), *(np.diff(starts) for starts, _ in named)])
    sources = np.concatenate([numbers[starts[0] : starts[-1]] for starts, numbers in named])
    return replace(whole, starts=lengths.cumsum(), sources=sources)


def number_rows_by_type(types: Any) -> Any:
    """Return for each event the number of earlier events of its type."""
    import numpy as np

    counts = np.bincount(types)
    indices: Any = np.empty(len(types), np.int64)
    indices[types.argsort(kind="stable")] = np.arange(len(types)) - np.repeat(counts.cumsum() - counts, counts)
    return indices


def _gather_values(parts: Sequence[tuple[AttributeColumn, Any]]) -> AttributeColumn:
    """Gather the values at some indices of several columns into one."""
    import numpy as np

    parts = [(column, indices) for column, indices in parts if len(indices)]
    values = np.concatenate([column.values[indices] for column, indices in parts])
    if all(column.nulls is None for column, _ in parts):
        return AttributeColumn(values)
    none = [
        np.zeros(len(indices), bool) if column.nulls is None else column.nulls[indices] for column, indices in parts
    ]
    nulls = np.concatenate(none)
    return AttributeColumn(values, nulls if nulls.any() else None)


def event_block(
    rules: RuleSet, events: Sequence[Occurrence], codes: CodesOfTexts, *, large: bool = False
) -> EventBlock:
    """Convert events to a block: either all external, or all composites.

    Parameters
    ----------
    large: whether attributes may be whole numbers of more than 64 bits, stored as Python's own.

    Raises
    ------
    LargeNumberError: a whole number has more than 64 bits.
    """
    import numpy as np

    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in rules.events}
    for event in events:
        rows[event.type].append(event.values)
    texts: dict[int, str] = {}
    columns = tuple(
        tuple(
            attribute_column([row[i] for row in type_rows], domain, codes, texts, large=large)
            for i, domain in enumerate(rules.declarations[name].domains.values())
        )
        for name, type_rows in rows.items()
    )
    indexes = {name: i for i, name in enumerate(rules.events)}
    types: Any = np.array([indexes[event.type] for event in events], np.uint16)
    times = attribute_column([event.time for event in events], INT, lambda _: (), {}).values
    block = EventBlock(rules.events, types, times, number_rows_by_type(types), columns, texts)
    if not any(event.rule for event in events):
        return block
    makers = {rule: i for i, rule in enumerate(dict.fromkeys(event.rule for event in events))}
    return replace(
        block, numbers=np.array([event.number for event in events], np.int64),
        rules=np.array([makers[event.rule] for event in events], np.int32), rule_names=tuple(makers),
        starts=np.cumsum([0, *(len(event.sources) for event in events)]),
        sources=np.array([number for event in events for number in event.sources], np.int64),
    )  # fmt: skip


def attribute_column(
    values: Sequence[Any], domain: Domain, codes: CodesOfTexts, texts: dict[int, str], *, large: bool = False
) -> AttributeColumn:
    """Convert the values of one attribute to a column; None is null. Texts are added with their numbers to `texts`.

    Raises
    ------
    LargeNumberError: a whole number has more than 64 bits, and `large` does not allow that.
    """
    import numpy as np

    nulls: Any = np.array([each is None for each in values], bool)
    filled = [domain.default if each is None else each for each in values] if nulls.any() else values
    if domain == STR:
        numbers = codes(filled)
        texts.update(zip(numbers, filled, strict=True))
        filled = numbers
    try:
        array: Any = np.array(filled, type_row(domain).column)
    except OverflowError:
        if not large:
            beyond = next(each for each in filled if not -(2**63) <= each < 2**63)
            raise LargeNumberError(f"{beyond} has more than 64 bits") from None
        array = np.array(filled, object)
    return AttributeColumn(array, nulls if nulls.any() else None)


def empty_columns(rules: RuleSet) -> tuple[tuple[AttributeColumn, ...], ...]:
    """Return the columns of each type, without rows."""
    import numpy as np

    declared = (rules.declarations[name].domains.values() for name in rules.events)
    return tuple(tuple(AttributeColumn(np.zeros(0, type_row(each).column)) for each in some) for some in declared)
