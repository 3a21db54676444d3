"""Values of rules in a model: each is one of finitely many, and terms say which.

The rule of this module: what an operator makes of values is what the specification's does (`tesla.operators`), on plain
Python values, null and floats among them; a term only ever says which value it is. So nothing of the arithmetic of
rules is written a second time for models.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from workbench.core.domain import Range, Value
from workbench.core.ops import COMPARISONS, EQ, both, conjunction, disjunction, either, ite, negate, restrict_to_range
from workbench.core.term import FALSE, TRUE, Term, const, exactly
from workbench.errors import Refused
from workbench.tesla import tree as t
from workbench.tesla.operators import apply_operator, row_of
from workbench.tesla.resolved import RuleSlot

MOST = 4096
"""The most combinations of values that one operator is tried on."""


class ValueTable:
    """The values that something can have, in their order; its place in the table stands for a value.

    Attributes
    ----------
    places: where each value lies, by `exactly`.
    sorted: whether they ascend, so that places can be compared in place of values.
    """

    def __init__(self, values: Iterable[Value | None]) -> None:
        unique = {exactly(value): value for value in values}
        self.values = tuple(sorted(unique.values(), key=_order_key))
        self.places = {exactly(value): place for place, value in enumerate(self.values)}
        there: tuple[Any, ...] = self.values
        self.sorted = len(set(map(type, there))) == 1 and all(a < b for a, b in itertools.pairwise(there))

    @property
    def distinct(self) -> bool:
        """Whether two of its values are equal just where their places are; null and NaN are equal to nothing."""
        there: tuple[Any, ...] = self.values
        return None not in there and all(a == a and a not in there[i + 1 :] for i, a in enumerate(there))

    @property
    def domain(self) -> Range:
        """What a place is."""
        return Range(0, max(len(self.values) - 1, 0))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ValueTable) and self.places == other.places

    def __hash__(self) -> int:
        return hash(tuple(self.places))

    def __len__(self) -> int:
        return len(self.values)

    def __or__(self, other: ValueTable) -> ValueTable:
        return ValueTable((*self.values, *other.values))


def _order_key(value: Value | None) -> tuple[Any, ...]:
    if value is None or value != value:
        return (0, str(value))
    return (2, value, type(value).__name__) if isinstance(value, int | float) else (1, value)


class GuardedValue:
    """A value that is one of finitely many: of their conditions exactly one holds where it is used.

    Parameters
    ----------
    cases: value and condition, by `exactly`.
    place, table: a term for the place in a table, where there is one.
    """

    __slots__ = ("cases", "place", "table")

    def __init__(
        self, cases: Mapping[Any, tuple[Value | None, Term]], place: Term | None = None, table: ValueTable | None = None
    ) -> None:
        self.cases, self.place, self.table = cases, place, table

    @classmethod
    def constant(cls, value: Value | None) -> GuardedValue:
        """This value."""
        return cls({exactly(value): (value, TRUE)})

    @classmethod
    def at(cls, place: Any, table: ValueTable) -> GuardedValue:
        """The value at a place of a table."""
        if not table.values:
            return cls({})
        if len(table) == 1 or not isinstance(place, Term):
            return cls.constant(table.values[0 if len(table) == 1 else place])
        items = enumerate(zip(table.places, table.values, strict=True))
        return cls({key: (value, EQ(place, i)) for i, (key, value) in items}, place, table)

    @classmethod
    def of(cls, cases: Iterable[tuple[Value | None, Term]]) -> GuardedValue:
        """Of these values each under its condition."""
        found: dict[Any, tuple[Value | None, Term]] = {}
        for value, when in cases:
            if when is not FALSE:
                key = exactly(value)
                found[key] = (value, either(found[key][1], when) if key in found else when)
        return cls(found)

    @property
    def values(self) -> list[Value | None]:
        """What it can be."""
        return [value for value, _ in self.cases.values()]

    @property
    def is_true(self) -> Term:
        """Whether it is true; null is not."""
        return self.cases.get((bool, True), (True, FALSE))[1]

    def place_in(self, table: ValueTable) -> tuple[Any, Term]:
        """Its place in a table, and when it is not in it."""
        if self.place is not None and self.table == table:
            return restrict_to_range(self.place, table.domain), FALSE
        found: Any = const(0, table.domain)
        outside = []
        for key, (_, when) in self.cases.items():
            if key in table.places:
                found = ite(when, const(table.places[key], table.domain), found)
            else:
                outside.append(when)
        return found, disjunction(outside) if outside else FALSE


def apply(function: Callable[..., Value | None], operands: Sequence[GuardedValue]) -> GuardedValue:
    """What a function makes of values."""
    count = math.prod(max(len(each.cases), 1) for each in operands)
    if count > MOST:
        hint = "give its attributes fewer values: --values TYPE.ATTRIBUTE=1..4"
        raise Refused(f"an expression of rules has {count} combinations of values", hint=hint)
    found = itertools.product(*(each.cases.values() for each in operands))
    return GuardedValue.of((function(*(v for v, _ in each)), conjunction(when for _, when in each)) for each in found)


def choose_value(when: Term, one: GuardedValue, other: GuardedValue) -> GuardedValue:
    """One value where a condition holds, else the other."""
    if when is TRUE:
        return one
    if one.place is not None and other.place is not None and one.table == other.table:
        assert one.table is not None
        return GuardedValue.at(ite(when, one.place, other.place), one.table)
    keys = {**one.cases, **other.cases}
    nothing = (None, FALSE)
    return GuardedValue.of(
        (value, ite(when, one.cases.get(key, nothing)[1], other.cases.get(key, nothing)[1]))
        for key, (value, _) in keys.items()
    )


def select(cases: Sequence[tuple[Term, GuardedValue]]) -> GuardedValue:
    """The value of which the condition holds, of conditions that exclude each other."""
    if len(cases) == 1:
        return cases[0][1]
    tables = {each.table for _, each in cases}
    if len(tables) == 1 and None not in tables:
        *others, (_, found) = cases
        for when, each in reversed(others):
            found = choose_value(when, each, found)
        return found
    return GuardedValue.of((value, both(when, case)) for when, each in cases for value, case in each.cases.values())


Lookup = Callable[[RuleSlot], GuardedValue]
"""What a parameter or an attribute is."""


def evaluate(expression: t.Expression, look: Lookup) -> GuardedValue:
    """What an expression is."""
    if isinstance(expression, t.Literal):
        return GuardedValue.constant(expression.value)
    if isinstance(expression, RuleSlot):
        return look(expression)
    assert isinstance(expression, t.Operation)
    operands = [evaluate(each, look) for each in expression.operands]
    row = row_of(expression)
    if row.holds:
        one, other = operands
        table, equality = one.table, row.symbol in ("==", "!=")
        if table is not None and table == other.table and (table.sorted or (equality and table.distinct)):
            truth = COMPARISONS["=" if row.symbol == "==" else row.symbol](one.place, other.place)
            return GuardedValue.of([(True, truth), (False, negate(truth))])
    return apply(lambda *values: apply_operator(row, values), operands)


def holds(conditions: Iterable[t.Expression], look: Lookup) -> Term:
    """Whether all of these are true."""
    found: Any = TRUE
    for each in conditions:
        if found is FALSE:
            break
        found = both(found, evaluate(each, look).is_true)
    return found  # type: ignore[no-any-return]
