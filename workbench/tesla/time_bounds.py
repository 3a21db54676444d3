"""Bounds of the times between the events of a match, from the windows and conditions of its rule.

The rule of this module: each bound is `TIME(A) - TIME(B) <= limit`, or `<`. Events whose bounds add up to less than 0
around a cycle cannot exist, so that the rule never fires. Windows alone have no such cycle: each event has one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

from workbench.core.units import MICROSECONDS
from workbench.tesla import tree as t
from workbench.tesla.operators import readings


class Limit(NamedTuple):
    """The greatest difference of two times; the smaller of two is tighter, of equal ones that which is not reached."""

    number: Fraction
    reached: bool = True


Bound = tuple[int, int, Limit]
"""Two parts of a rule, by number, and the limit of the first one's time less that of the second."""
SIGNS = {"<": False, "<=": True, "==": True}
"""Whether the difference may reach the constant; `readings` yields the other comparisons mirrored."""
NO_TIME = Limit(Fraction(0))


def have_no_times(rule: t.Rule) -> bool:
    """Whether no events have the distances in time that a rule demands."""
    windows, conditions = _list_bounds(rule)
    if not conditions:
        return False
    tightest: dict[tuple[int, int], Limit] = {}
    for later, earlier, limit in (*windows, *conditions):
        tightest[later, earlier] = min(limit, tightest.get((later, earlier), limit))
    events = {event for pair in tightest for event in pair}
    for middle, one, other in itertools.product(events, events, events):
        first, second = tightest.get((one, middle)), tightest.get((middle, other))
        if first and second:
            limit = Limit(first.number + second.number, first.reached and second.reached)
            tightest[one, other] = min(limit, tightest.get((one, other), limit))
    return any(tightest.get((event, event), NO_TIME) < NO_TIME for event in events)


def _list_bounds(rule: t.Rule) -> tuple[list[Bound], list[Bound]]:
    """Return the bounds that windows set, and those that conditions set."""
    windows, conditions, numbers = list[Bound](), list[Bound](), dict[str, int]()
    units = {bool(each.unit) for part in rule.parts if part.window for each in part.window.bounds if not each.counts}
    if len(units) > 1:  # times have one unit, and it is not known which
        return windows, conditions
    for number, part in enumerate(rule.parts):
        if t.binds(part):
            if part.window is not None:
                windows += _bound_window(part.window, number, numbers)
            numbers[part.name] = number
            conditions += _bound_conditions(part.constraints, numbers)
    conditions += _bound_conditions(rule.where_clause, numbers)
    return windows, conditions


def _bound_window(window: t.EventWindow, event: int, numbers: dict[str, int]) -> Iterator[Bound]:
    """Yield the bounds of an event in a window; of one between two events none, as either may be the earlier one."""
    if not window.before:
        return
    yield event, numbers[window.of], NO_TIME
    if not window.counts_events:
        far, near = window.maximum, window.minimum
        yield from ([(numbers[window.of], event, Limit(_measure(far)))] if far else [])
        yield from ([(event, numbers[window.of], Limit(-_measure(near)))] if near else [])


def _measure(duration: t.Duration) -> Fraction:
    return Fraction(duration.amount) * MICROSECONDS.get(duration.unit, 1)


def _bound_conditions(conditions: Iterable[t.Expression], numbers: dict[str, int]) -> Iterator[Bound]:
    """Yield the bounds in conditions such as `TIME(A) - TIME(B) < 5 s` and `TIME(A) <= TIME(B)`."""
    for condition in t.conjuncts(*conditions):
        for sign, left, right in readings(condition):
            if sign not in SIGNS:
                continue
            for one, other, constant in _find_differences(left, right):
                yield numbers[one], numbers[other], Limit(constant, SIGNS[sign])


def _find_differences(left: t.Expression, right: t.Expression) -> Iterator[tuple[str, str, Fraction]]:
    """Yield the two events and the number where `left <= right` is a bound of the difference of their times."""
    if isinstance(left, t.TimeOf) and isinstance(right, t.TimeOf):
        yield left.name, right.name, Fraction(0)
    elif (pair := _read_difference(left)) and (number := _read_number(right)) is not None:
        yield pair[0], pair[1], number
    elif (pair := _read_difference(right)) and (number := _read_number(left)) is not None:
        yield pair[1], pair[0], -number


def _read_difference(expression: t.Expression) -> tuple[str, str] | None:
    """Return the events in `TIME(A) - TIME(B)`."""
    if isinstance(expression, t.Operation) and expression.operator == "-" and len(expression.operands) == 2:
        one, other = expression.operands
        if isinstance(one, t.TimeOf) and isinstance(other, t.TimeOf):
            return one.name, other.name
    return None


def _read_number(expression: t.Expression) -> Fraction | None:
    """Return the value of a constant number."""
    if isinstance(expression, t.Operation) and expression.operator == "neg":
        number = _read_number(*expression.operands)
        return None if number is None else -number
    value = expression.value if isinstance(expression, t.Literal) else None
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        return None
    return Fraction(value)
