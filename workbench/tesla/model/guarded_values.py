"""Values of rules in a model: each value is one of finitely many, selected by terms.

The rule of this module: operators compute on plain Python values, null and floats among them, as in the
specification (`tesla.operators`); a term only selects among the results. So the arithmetic of rules is
not written a second time for models.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from workbench.core.domain import Range, Value
from workbench.core.ops import (
    COMPARISONS,
    EQ,
    Conversion,
    both,
    conjunction,
    disjunction,
    either,
    ite,
    negate,
    restrict_to_range,
)
from workbench.core.term import FALSE, TRUE, Term, const, exactly
from workbench.errors import Refused
from workbench.tesla import tree as t
from workbench.tesla.operators import apply_operator, row_of
from workbench.tesla.resolved import RuleSlot

MAXIMUM = 4096
"""Maximum number of combinations of values on which one operator is computed."""


class ValueTable:
    """Possible values, in order; the index of a value in the table represents it.

    Attributes
    ----------
    places: the index of each value, by `exactly`.
    sorted: whether values ascend, so that comparing indices compares values.
    """

    def __init__(self, values: Iterable[Value | None]) -> None:
        unique = {exactly(value): value for value in values}
        self.values = tuple(sorted(unique.values(), key=_order_key))
        self.places = {exactly(value): index for index, value in enumerate(self.values)}
        there: tuple[Any, ...] = self.values
        self.sorted = len(set(map(type, there))) == 1 and all(a < b for a, b in itertools.pairwise(there))

    @property
    def distinct(self) -> bool:
        """Whether equality of indices means equality of values; null and NaN are equal to nothing."""
        there: tuple[Any, ...] = self.values
        return None not in there and all(a == a and a not in there[i + 1 :] for i, a in enumerate(there))

    @property
    def domain(self) -> Range:
        """The range of indices."""
        return Range(0, max(len(self.values) - 1, 0))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ValueTable) and self.places == other.places

    def __hash__(self) -> int:
        return hash(tuple(self.places))

    def __len__(self) -> int:
        return len(self.values)

    def __or__(self, other: ValueTable) -> ValueTable:
        return ValueTable((*self.values, *other.values))

    def extend(self, values: Iterable[Value | None], limit: int) -> ValueTable:
        """Return the table with the first of some further values, up to a number of values in all."""
        unique = {exactly(value): value for value in (*self.values, *values)}
        return ValueTable(itertools.islice(unique.values(), max(limit, len(self))))


def _order_key(value: Value | None) -> tuple[Any, ...]:
    if value is None or value != value:
        return (0, str(value))
    return (2, value, type(value).__name__) if isinstance(value, int | float) else (1, value)


class GuardedValue:
    """A value among finitely many, each with a condition; exactly one condition holds where the value is used.

    Parameters
    ----------
    cases: values with their conditions, by `exactly`.
    index, table: a term for the index in a table, if there is one.
    """

    __slots__ = ("cases", "index", "table")

    def __init__(
        self, cases: Mapping[Any, tuple[Value | None, Term]], index: Term | None = None, table: ValueTable | None = None
    ) -> None:
        self.cases, self.index, self.table = cases, index, table

    @classmethod
    def constant(cls, value: Value | None) -> GuardedValue:
        """Make a constant."""
        return cls({exactly(value): (value, TRUE)})

    @classmethod
    def at(cls, index: Any, table: ValueTable) -> GuardedValue:
        """Make the value at an index of a table."""
        if not table.values:
            return cls({})
        if len(table) == 1 or not isinstance(index, Term):
            return cls.constant(table.values[0 if len(table) == 1 else index])
        items = enumerate(zip(table.places, table.values, strict=True))
        return cls({key: (value, EQ(index, i)) for i, (key, value) in items}, index, table)

    @classmethod
    def of(cls, cases: Iterable[tuple[Value | None, Term]]) -> GuardedValue:
        """Make a value from values with their conditions."""
        by_key: dict[Any, tuple[Value | None, Term]] = {}
        for value, when in cases:
            if when is not FALSE:
                key = exactly(value)
                by_key[key] = (value, either(by_key[key][1], when) if key in by_key else when)
        return cls(by_key)

    @property
    def values(self) -> list[Value | None]:
        """The possible values."""
        return [value for value, _ in self.cases.values()]

    @property
    def is_true(self) -> Term:
        """The condition that it is true, and not null."""
        return self.cases.get((bool, True), (True, FALSE))[1]

    def place_in(self, table: ValueTable) -> tuple[Any, Term]:
        """Return its index in a table, and the condition that it is not in the table."""
        if self.index is not None and self.table == table:
            return restrict_to_range(self.index, table.domain), FALSE
        index: Any = const(0, table.domain)
        outside = []
        for key, (_, when) in self.cases.items():
            if key in table.places:
                index = ite(when, const(table.places[key], table.domain), index)
            else:
                outside.append(when)
        return index, disjunction(outside) if outside else FALSE


def mark_outside(index: Any, outside: Term, table: ValueTable) -> Any:
    """Return an index that leaves its domain, as a checked number does, where the value is outside of a table."""
    if outside is FALSE:
        return index
    end = len(table)
    wide = Range(0, end)
    return Conversion.check_range(ite(outside, const(end, wide), Conversion.to(index, wide)), table.domain)


def apply(
    function: Callable[..., Value | None],
    operands: Sequence[GuardedValue],
    what: str,
    attribute: str = "TYPE.ATTRIBUTE",
) -> GuardedValue:
    """Apply a function to values; `what` it computes, of which attribute, is for the error about too many."""
    count = math.prod(max(len(each.cases), 1) for each in operands)
    if count > MAXIMUM:
        hint = f"give its attributes fewer values: --values {attribute}=1..4"
        raise Refused(f"{what} in rules has {count} combinations of values", hint=hint)
    combinations = itertools.product(*(each.cases.values() for each in operands))
    return GuardedValue.of(
        (function(*(v for v, _ in each)), conjunction(when for _, when in each)) for each in combinations
    )


def choose_value(when: Term, one: GuardedValue, other: GuardedValue) -> GuardedValue:
    """Return one value if a condition holds, otherwise the other."""
    if when is TRUE:
        return one
    if one.index is not None and other.index is not None and one.table == other.table:
        assert one.table is not None
        return GuardedValue.at(ite(when, one.index, other.index), one.table)
    keys = {**one.cases, **other.cases}
    nothing = (None, FALSE)
    return GuardedValue.of(
        (value, ite(when, one.cases.get(key, nothing)[1], other.cases.get(key, nothing)[1]))
        for key, (value, _) in keys.items()
    )


def select(cases: Sequence[tuple[Term, GuardedValue]]) -> GuardedValue:
    """Select the value whose condition holds, of mutually exclusive conditions."""
    if len(cases) == 1:
        return cases[0][1]
    tables = {each.table for _, each in cases}
    if len(tables) == 1 and None not in tables:
        *others, (_, choice) = cases
        for when, each in reversed(others):
            choice = choose_value(when, each, choice)
        return choice
    return GuardedValue.of((value, both(when, case)) for when, each in cases for value, case in each.cases.values())


Lookup = Callable[[RuleSlot], GuardedValue]
"""A function that returns the value of a parameter or an attribute."""


def evaluate(expression: t.Expression, look: Lookup) -> GuardedValue:
    """Evaluate an expression."""
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
            truth = COMPARISONS["=" if row.symbol == "==" else row.symbol](one.index, other.index)
            return GuardedValue.of([(True, truth), (False, negate(truth))])
    return apply(lambda *values: apply_operator(row, values), operands, f"'{expression}'")


def holds(conditions: Iterable[t.Expression], look: Lookup) -> Term:
    """Return the term that all conditions are true."""
    term: Any = TRUE
    for each in conditions:
        if term is FALSE:
            break
        term = both(term, evaluate(each, look).is_true)
    return term  # type: ignore[no-any-return]
