"""Events of rules as they happen, and windows in the unit of their times.

The rule of this module: times are whole numbers in one unit, the log's. Windows in minutes become such numbers before
anything runs, exactly: a window that is no whole number of units holds the times that lie in it, no more.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from workbench.core.domain import Value
from workbench.errors import InputError
from workbench.rules import tree as t
from workbench.rules.rule_set import RuleSet

Facts = Mapping[str, Sequence[tuple[Value | None, ...]]]
"""The rows of each type of facts, their values in the order of its attributes."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An event, primitive or composite.

    Attributes
    ----------
    values: of the attributes, in their order; None is null, which is a value.
    number: its place in the total order of all events, from 0 on; -1 before it has one.
    sources: of a composite, the numbers of the events that are bound in its match, in the order of the predicates.
    rule: of a composite, the name of its rule.
    """

    type: str
    time: int
    values: tuple[Value | None, ...] = ()
    number: int = -1
    sources: tuple[int, ...] = ()
    rule: str = ""


def in_units(rules: RuleSet, unit: str | None = None) -> RuleSet:
    """The same rules with windows that are whole numbers, without units.

    Parameters
    ----------
    unit: what a time of 1 is: `us`, `ms`, `s`, ...; None: it is not known, and no window may have a unit.

    Raises
    ------
    InputError: a window has a unit, and times have none; or a deadline is no whole number of them.
    """
    return replace(rules, rules=tuple(_rule(rule, unit) for rule in rules.rules))


def _rule(rule: t.Rule, unit: str | None) -> t.Rule:
    predicates = tuple(replace(part, window=_window(part.window, unit)) for part in rule.predicates)
    pause = rule.pause and _whole(rule.pause, unit, math.ceil)
    return replace(rule, predicates=predicates, pause=pause)


def _window(window: t.EventWindow | None, unit: str | None) -> t.EventWindow | None:
    if isinstance(window, t.AfterWindow):
        most = _amount(window.most, unit)
        if most != int(most):
            hint = "write a whole number of units of time"
            raise InputError(f"no time is {window.most} after '{window.of}'", where=window.where, hint=hint)
        return replace(window, most=t.Duration(most, where=window.most.where))
    if isinstance(window, t.WithinWindow):
        least = window.least and _whole(window.least, unit, math.ceil)
        return replace(window, most=window.most and _whole(window.most, unit, math.floor), least=least)
    return window


def _whole(duration: t.Duration, unit: str | None, rounded: Callable[[Decimal], int]) -> t.Duration:
    return t.Duration(Decimal(rounded(_amount(duration, unit))), where=duration.where)


def _amount(duration: t.Duration, unit: str | None) -> Decimal:
    """How many of the units of time it is."""
    if not duration.unit or duration.unit == unit:
        return duration.amount
    if unit is None:
        hint = "say what the numbers in the column of times count: --time-unit s; or write the window without a unit"
        raise InputError(f"{duration} of which times?", where=duration.where, hint=hint)
    scale = t.Duration.MICROSECONDS
    return duration.amount * scale[duration.unit] / scale[unit]
