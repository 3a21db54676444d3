"""What pipes of a model carry for values of rules.

The rule of this module: a pipe carries numbers where they lie close together, and else names of values, for a model has
no floats, no texts and no null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from workbench.core.domain import BOOL, Bool, Domain, Enum, Integer, Range, Value
from workbench.core.ops import ADD, EQ, SUB, Conversion, as_term, ite, negate
from workbench.core.term import Term, const, exactly
from workbench.tesla.model.chosen import ChosenValue, ValueTable

NULL = "null"
"""How null is shown on a pipe of a model."""
FEW_TICKS = 12
"""The most ticks of which every number can pass in one step."""
COMES = Enum(("comes",))
"""What streams of events without attributes carry in a model."""


class Shown(NamedTuple):
    """How the values of a table are shown on pipes: a domain, and what each is there."""

    domain: Domain
    as_shown: Mapping[Any, Value]

    @classmethod
    def of(cls, table: ValueTable, *, exact: bool = False) -> Shown:
        """Numbers as numbers where they lie close together, else by their names; `exact`: the domain has no others."""
        values = table.values or (0,)
        keys = list(map(exactly, values))
        if all(isinstance(each, bool) for each in values) and len(values) > exact:
            return cls(BOOL, dict(zip(keys, values, strict=True)))
        if all(isinstance(each, int | float) and not isinstance(each, bool) and each == each and abs(each) < 1e9
               and each == int(each) for each in values):  # fmt: skip
            whole = [int(each) for each in values if each is not None]
            if max(whole) - min(whole) < (1 if exact else 4) * len(whole):
                return cls(Range(min(whole), max(whole)), dict(zip(keys, whole, strict=True)))
        names = [NULL if each is None else f'"{NULL}"' if each == NULL else str(each) for each in values]
        return cls(Enum(tuple(names)), dict(zip(keys, names, strict=True)))


def pauses_shown(most: int, least: int = 1) -> Domain:
    """How many ticks pass in a step: any number up to the most, or powers of two where these are many.

    Every pause is some of them one after the other; a search of all states is faster with fewer ways to go on.
    """
    if most <= FEW_TICKS or not least:  # where time never passes by itself, a pause is not made of others
        return Range(least, most)
    powers = (str(1 << i) for i in range(most.bit_length()) if 1 << i < most)
    return Enum((*powers, str(most)))


def ticks_of(pause: Any) -> Any:
    """The number of ticks, of what `pauses_shown` shows."""
    if not isinstance(pause, Term):
        return int(pause)
    if not isinstance(pause.domain, Enum):
        return pause
    *labels, last = pause.domain.labels
    found: Any = const(int(last), Range(int(last), int(last)))
    for label in labels:
        found = ite(EQ(pause, const(label, pause.domain)), int(label), found)
    return found


def nothing_of(domain: Domain) -> Any:
    """What a pipe carries where no event is."""
    return const(domain.default, domain)


def value_shown(item: Term, table: ValueTable, shown: Shown) -> ChosenValue:
    """The value that a stream shows."""
    if len(table) == 1:
        return ChosenValue.constant(table.values[0])
    if isinstance(shown.domain, Range | Integer) and _in_places(table, shown):
        whole = Conversion.to(item, Range(shown.domain.lo, shown.domain.hi))
        return ChosenValue.at(SUB(whole, shown.domain.lo), table)
    if isinstance(shown.domain, Bool):
        return ChosenValue.of([(False, negate(item)), (True, item)])
    places: Any = const(0, table.domain)
    for key, each in shown.as_shown.items():
        places = ite(EQ(item, const(each, shown.domain)), const(table.places[key], table.domain), places)
    return ChosenValue.at(places, table)


def as_shown(chosen: ChosenValue, shown: Shown) -> Any:
    """What a stream shows of a value."""
    domain = shown.domain
    if isinstance(domain, Bool):
        return chosen.is_true
    if isinstance(domain, Integer):  # which what is shown is brought into, as by a cast
        whole = [value for value, _ in chosen.cases.values() if isinstance(value, int)] or [domain.lo]
        exact = Shown(Range(min(whole), max(whole)), {exactly(value): value for value in whole})
        return Conversion.to(as_term(as_shown(chosen, exact), exact.domain), domain)
    table = chosen.table
    if chosen.place is not None and isinstance(domain, Range) and table is not None and _in_places(table, shown):
        return ADD(chosen.place, domain.lo)
    found: Any = const(domain.default, domain)
    for key, (_, when) in chosen.cases.items():
        if key in shown.as_shown:
            found = ite(when, const(shown.as_shown[key], domain), found)
    return found


def _in_places(table: ValueTable, shown: Shown) -> bool:
    """Whether the places of a table are what is shown, counted from the least number."""
    assert isinstance(shown.domain, Range | Integer)
    return [shown.as_shown.get(key) for key in table.places] == list(range(shown.domain.lo, shown.domain.hi + 1))
