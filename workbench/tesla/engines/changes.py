"""Add rules during a run: their names, and the history with which they begin.

The rule of this module: history is copied from columns that are complete from some time on, and that time is reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from workbench.errors import LanguageError
from workbench.tesla import tree as t
from workbench.tesla.engines.rule_plan import RuleStep
from workbench.tesla.engines.runner import RuleRunner
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet


def newcomers(rule_set: RuleSet, there: RuleSet, instead: str = "") -> Iterator[t.Rule]:
    """Yield the rules of a set with names that are not taken; a single unnamed rule takes the name `instead`.

    Raises
    ------
    LanguageError: a name is taken, or a type is declared differently.
    """
    for name, declared in rule_set.declarations.items():
        if there.declarations.get(name, declared) != declared:
            what = f"'{name}' is declared already, as {there.declarations[name]}"
            raise LanguageError(what, where=declared.where, hint="leave its declaration out, or rename it")
    for name, function in rule_set.aggregates.items():
        if there.aggregates.get(name, function) != function:
            what = f"'{name}' is declared already: {there.aggregates[name]}"
            raise LanguageError(what, where=function.where, hint="leave its declaration out, or rename it")
    names = {rule.name for rule in there.rules}
    count = len(names)
    for rule in rule_set.rules:
        if not rule.named:
            name = instead
            while not name or name in names:
                count += 1
                name = f"rule {count}"
            rule = replace(rule, name=name)
        elif rule.name in names:
            raise LanguageError(f"there is a rule '{rule.name}' already", where=rule.where, hint="rename it")
        names.add(rule.name)
        yield rule


def begin(runner: RuleRunner, others: Sequence[RuleRunner], now: int | None, count: int) -> float:
    """Give a rule the history in the columns of others, and return the time from which it is complete.

    The time is NaN, for unknown, if more events have to come to fill a window by count.

    Parameters
    ----------
    count: the number of the next event.
    """
    if now is None:
        return -math.inf
    donors = [column for other in others for column in other.matcher.columns.values()]
    events: dict[int, Occurrence] = {}
    complete = -math.inf
    for step in runner.plan.steps[1:]:
        if step.fact:
            continue
        able = [donor for donor in donors if _has_all(donor.step, step)]
        donor = min(able, key=lambda each: -math.inf if each.since is None else each.since, default=None)
        since: float = now + 1
        number = count
        if donor is not None:
            since, number = -math.inf if donor.since is None else donor.since, donor.place
            events.update((event.number, event) for event in donor.column)
        if since == -math.inf:
            continue
        horizon, max_events = step.lookback.time, step.lookback.count
        if max_events is None or number > count - max_events:
            unbounded = math.nan if step.lookback.bounded else math.inf
            complete = _later(complete, unbounded if horizon is None else since + horizon)
        if step.number in runner.matcher.columns:
            column = runner.matcher.columns[step.number]
            column.since, column.place, column.late = int(since), number, True
    for _, event in sorted(events.items()):
        runner.matcher.add(event)
    return -math.inf if complete <= now else complete


def _later(one: float, other: float) -> float:
    """Return the later time; infinity is later than NaN (unknown), which is later than any known time."""
    return max(one, other, key=lambda time: (time == math.inf, math.isnan(time), time))


def _has_all(donor: RuleStep, step: RuleStep) -> bool:
    """Whether the donor's column has all events that the other step may select."""
    if donor.type != step.type:
        return False
    plain = not donor.local and not donor.is_keyed
    return plain or _conditions(donor) == _conditions(step)


def _conditions(step: RuleStep) -> tuple[object, ...]:
    return getattr(step.part, "assignments", ()), step.part.constraints
