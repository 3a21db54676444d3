"""The rows of a log that give a composite by themselves.

The rule of this module: that they do is seen by what the rules mean on them, and that fewer do not, by leaving out.

What is bound in the match of a composite, and in those of the composites in it, is always needed: it is what makes it
this composite. What aggregates are made of, and what lies in windows that count events, is left out as far as that
changes nothing; what `not`, `absent`, `first` and `last` say needs no events. Where an event of another match matters,
for it has been consumed, or has kept something from being told, that is in it, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from workbench.errors import InputError
from workbench.tesla.explain.view import RunRecord
from workbench.tesla.meaning import meaning

MOST_ROWS = 300
"""Of more rows it is not asked what they give: the time for that grows with their square."""
MOST_FREE = 8
"""Of more rows that might be left out, not all combinations are tried: only those with one less."""


@dataclass(frozen=True)
class NeededRows:
    """What gives a composite.

    Attributes
    ----------
    rows: the numbers of rows, from 1 on, in their order.
    minimal: how far that is the least: `no smaller set`, none of its parts gives the composite; `no row less`, none of
        the sets with one row less does; empty: it has not been tried, for there are too many.
    """

    rows: tuple[int, ...]
    minimal: str


LooksAt = Callable[[RunRecord, int], Sequence[int]]
"""The numbers of events beside its sources that a composite may depend on."""


def needed(record: RunRecord, number: int, looks_at: LooksAt) -> NeededRows:
    """The least rows that give a composite."""
    search = _Search(record, number)
    bound = search.rows({number})
    for rows in _wider(search, number, looks_at):
        if len(rows) <= MOST_ROWS and search.gives(rows):
            return search.least(bound, rows)
    return NeededRows(_counted(search.rows({number}, looks_at)), "")


def _wider(search: _Search, number: int, looks_at: LooksAt) -> Iterator[set[int]]:
    """Sets of rows that may be enough, the most likely first."""
    yield (first := search.rows({number}, looks_at))
    rules = {search.record.order.event(each).rule for each in search.behind({number}, looks_at)}
    before = search.of_rules(rules - {""}, number)
    yield first | search.rows(before, looks_at)
    yield first | search.reach(number, MOST_ROWS - len(first))


def _counted(rows: set[int]) -> tuple[int, ...]:
    return tuple(sorted(each + 1 for each in rows))


class _Search:
    """Which rows give a composite."""

    def __init__(self, record: RunRecord, number: int) -> None:
        self.record, self.number = record, number
        self._names: dict[object, int] = {}
        self._wanted = self._name_of(number)

    def behind(self, numbers: set[int], looks_at: LooksAt | None = None) -> set[int]:
        """Events, and all that they are made of."""
        found: set[int] = set()
        todo = list(numbers)
        while todo and len(found) <= MOST_ROWS * 4:
            each = todo.pop()
            if each in found:
                continue
            found.add(each)
            if self.record.order.composite[each]:
                todo += self.record.order.sources(each)
                todo += looks_at(self.record, each) if looks_at is not None else ()
        return found

    def rows(self, numbers: set[int], looks_at: LooksAt | None = None) -> set[int]:
        """The rows among them."""
        order = self.record.order
        return {order.row(each) for each in self.behind(numbers, looks_at) if not order.composite[each]}

    def of_rules(self, rules: set[str], number: int) -> set[int]:
        """The last composites of some rules before a place."""
        names = [each.name for each in self.record.rules.rules]
        some = (each.composites for name in rules for each in self.record.order.outcomes(names.index(name)))
        return set(sorted(each for found in some for each in found if each < number)[-MOST_ROWS:])

    def reach(self, number: int, most: int) -> set[int]:
        """The last rows before an event."""
        order = self.record.order
        outside = (each for each in range(number - 1, -1, -1) if not order.composite[each])
        return {order.row(each) for each, _ in zip(outside, range(most), strict=False)}

    # --- what rows give ---------------------------------------------------------------------------------

    def gives(self, rows: set[int]) -> bool:
        """Whether these rows alone give the composite: of the same rule, time, values and rows."""
        record, chosen = self.record, sorted(rows)
        events = [replace(each, number=-1) for each in record.order.events(record.order.of_row(i + 1) for i in chosen)]
        until = int(record.order.times[self.number]) if any(each.absence for each in record.rules.rules) else None
        try:
            made = meaning(record.rules, events, record.facts, until=until, compat=record.compat)
        except InputError:
            return False
        names, outside = dict[int, int](), iter(chosen)
        composites = {each.number: each for each in made}
        for number in range(len(events) + len(made)):
            each = composites.get(number)
            if each is None:
                names[number] = self._named(("row", next(outside)))
            else:
                sources = tuple(names[source] for source in each.sources)
                names[number] = self._named((each.rule, each.time, repr(each.values), sources))
        return self._wanted in names.values()

    def least(self, bound: set[int], rows: set[int]) -> NeededRows:
        """The least of these rows; those that are bound are among them in any case."""
        free = sorted(rows - bound)
        for row in list(free):
            if self.gives(bound | {*free} - {row}):
                free.remove(row)
        again = next((row for row in free if self.gives(bound | {*free} - {row})), None)
        while again is not None:
            free.remove(again)
            again = next((row for row in free if self.gives(bound | {*free} - {row})), None)
        if len(free) > MOST_FREE:
            return NeededRows(_counted(bound | {*free}), "no row less")
        some = (some for size in range(len(free)) for some in combinations(free, size))
        smaller = next((each for each in some if self.gives(bound | {*each})), tuple(free))
        return NeededRows(_counted(bound | {*smaller}), "no smaller set")

    def _name_of(self, number: int) -> int:
        """What an event of the run is, whatever its number: its row, or its rule and what it is made of."""
        order, names = self.record.order, dict[int, int]()
        for each in sorted(self.behind({number})):
            event = order.event(each)
            if order.composite[each]:
                sources = tuple(names[source] for source in event.sources)
                names[each] = self._named((event.rule, event.time, repr(event.values), sources))
            else:
                names[each] = self._named(("row", order.row(each)))
        return names[number]

    def _named(self, key: object) -> int:
        return self._names.setdefault(key, len(self._names))
