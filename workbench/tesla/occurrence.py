"""Occurrences of events, and windows in the unit of their times.

The rule of this module: times are whole numbers in one unit, the log's. Windows in minutes are converted to such
numbers before a run, exactly: a window that is not a whole number of units contains exactly the whole times in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from workbench.core.domain import Value, sort_key
from workbench.core.units import MICROSECONDS, NAME_UNIT
from workbench.errors import InputError
from workbench.tesla import tree as t
from workbench.tesla.resolved import map_leaves, with_expressions
from workbench.tesla.rule_set import RuleSet

Facts = Mapping[str, Sequence[tuple[Value | None, ...]]]
"""The rows of each type of facts, values in the order of its attributes; engines accept `FactTables`, too."""


def rows_of(facts: Facts) -> Facts:
    """Return facts as rows in memory, also those of databases."""
    return {name: list(rows) for name, rows in facts.items()}


def sort_facts(part: t.Predicate | t.Aggregate, declared: t.Declaration, rows: Sequence[Any]) -> list[Any]:
    """Return rows in the order that the part states; rows that are equal in it keep their order.

    Source: thesis, 3.3.2 (`order by`, ties by label).
    """
    in_order = list(rows)
    for each in reversed(part.ordering):
        at = declared.positions[each.name]
        in_order.sort(key=lambda row, at=at: sort_key(row[at]), reverse=each.descending)  # type: ignore[misc]
    return in_order


@dataclass(slots=True, unsafe_hash=True)
class Occurrence:
    """An event, primitive or composite; never changed, but not frozen, as that takes four times as long to create.

    Attributes
    ----------
    values: the values of the attributes, in their order; None is null, which is a value.
    number: its position in the total order of all events, from 0 on; -1 before it has one.
    sources: for a composite, the numbers of the events bound in its match, in the order of the predicates.
    rule: for a composite, the name of its rule.
    """

    type: str
    time: int
    values: tuple[Value | None, ...] = ()
    number: int = -1
    sources: tuple[int, ...] = ()
    rule: str = ""


def in_units(
    rules: RuleSet, unit: str | None = None, *, dates: bool = False, trex: bool = False, tick: int = 1
) -> RuleSet:
    """Return the rules with windows and times in expressions that are whole numbers without units.

    Parameters
    ----------
    unit: the unit of the numbers in the log: `us`, `ms`, `s`, ...; times and windows are then microseconds. None: it is
            unknown, times and windows stay as they are written, and no window may have a unit.
    dates: whether times are dates; they are microseconds then, too, and every window needs a unit.
    trex: windows are open, as in T-Rex: times less than 2.5 ago are those less than 3 ago.
    tick: the unit of the result: all times are multiples of it.

    Raises
    ------
    InputError: a window has a unit and times have none, or vice versa; or a deadline is not a whole number.
    """

    def scaled(duration: t.Duration) -> Decimal:
        if unit is None and not dates and duration.unit:
            option = f'{NAME_UNIT} (of RunningRules unit="s")'
            hint = f"name the unit of the column of times: {option}; or leave out the unit here"
            what = f"'{duration}' has a unit, but the times of the log have none"
            raise InputError(what, where=duration.where, hint=hint)
        if dates and not duration.unit:
            hint = f"times are dates: write {duration} s"
            raise InputError(f"{duration} needs a unit", where=duration.where, hint=hint)
        return duration.amount * MICROSECONDS.get(duration.unit or unit or "", 1) / tick

    return replace(rules, rules=tuple(_scale_rule(rule, scaled, trex) for rule in rules.rules))


def has_units(rules: RuleSet) -> bool:
    """Whether windows are written in units of time."""
    return any(each.unit and not each.counts for rule in rules.rules for each in rule.durations)


Scale = Callable[[t.Duration], Decimal]


def _scale_rule(rule: t.Rule, scaled: Scale, trex: bool) -> t.Rule:
    if any(isinstance(leaf, t.Period) for each in rule.expressions for leaf in t.within(each)):
        rule = with_expressions(rule, lambda each: map_leaves(each, lambda leaf: _as_number(leaf, scaled)))
    predicates = tuple(replace(part, window=_scale_window(part.window, scaled, trex)) for part in rule.predicates)
    return replace(rule, predicates=predicates, pause=rule.pause and _round(rule.pause, scaled, math.ceil))


def _as_number(leaf: t.Expression, scaled: Scale) -> t.Expression:
    """Return `30 s` as a number of microseconds; raise an InputError where times have no unit."""
    if not isinstance(leaf, t.Period):
        return leaf
    scaled(leaf.duration)
    return t.Literal(leaf.value, where=leaf.where)


def _scale_window(window: t.EventWindow | None, scaled: Scale, trex: bool) -> t.EventWindow | None:
    if window is None or window.between or window.counts_events:
        return window
    if window.after and window.maximum is not None:
        upper = scaled(window.maximum)
        if upper != int(upper):
            hint = "write a whole number of units of time"
            raise InputError(f"no time is {window.maximum} after '{window.of}'", where=window.where, hint=hint)
        return replace(window, maximum=t.Duration(upper, where=window.maximum.where))
    up, down = (math.floor, math.ceil) if trex else (math.ceil, math.floor)
    least = window.minimum and _round(window.minimum, scaled, up)
    return replace(window, maximum=window.maximum and _round(window.maximum, scaled, down), minimum=least)


def _round(duration: t.Duration, scaled: Scale, rounded: Callable[[Decimal], int]) -> t.Duration:
    return t.Duration(Decimal(rounded(scaled(duration))), where=duration.where)
