"""Which chains an event joins or is looked up in, by attributes of its own: what can be fetched before it comes.

The rule of this module: it is about memory alone, and what it leaves out is found all the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from workbench.core.domain import FLOAT, INT, STR
from workbench.executors.compiled.rules.layout import MOST_AHEAD
from workbench.tesla import tree as t
from workbench.tesla.engines.rule_plan import RuleStep
from workbench.tesla.engines.set_plan import SetPlan
from workbench.tesla.resolved import OWN, RuleSlot, expanded


def lookups(plan: SetPlan, name: str, asked: Collection[int]) -> list[int]:
    """Entries for `L`, as `layout` has them, of the events of a type.

    Parameters
    ----------
    asked: the places of the rules that are asked.
    """
    found: dict[tuple[int, tuple[int, ...]], bool] = {}
    for column, places, walked in _chains(plan, name, asked):
        if None not in places:
            key = column, tuple(place for place in places if place is not None)
            found[key] = found.get(key, False) or walked
    chosen = [*found.items()][:MOST_AHEAD]
    return [word for (column, places), walked in chosen for word in (column, int(walked), len(places), *places)]


def _chains(plan: SetPlan, name: str, asked: Collection[int]) -> Iterator[tuple[int, list[int | None], bool]]:
    """Columns, of each value of the key the attribute that it is, and whether rows are looked at."""
    for rule in plan.triggered.get(name, ()):
        if rule not in asked or plan.index(rule) is not None:
            continue
        trigger = plan.plans[rule].trigger
        for planned in plan.steps[rule]:
            column = plan.columns[planned.column]
            if column.keys and not column.fact:
                places = [_place(own, trigger, other) for own, other in planned.equations]
                yield column.number, places, True
    for column in plan.columns:
        if column.type == name and column.keys and not column.fact and any(rule in asked for rule, _ in column.users):
            step = column.users[0][1]
            yield column.number, [_place(own, step, own) for own in column.keys], False


def _place(own: t.Expression, of: RuleStep, other: t.Expression) -> int | None:
    """The attribute of an event that a value of the key is equal to, with the same bits; None where there is none."""
    same = expanded(other)
    if not (
        isinstance(same, RuleSlot) and same.place in (OWN, of.place) and same.is_attribute and isinstance(own, RuleSlot)
    ):
        return None
    return same.index if same.domain in (INT, STR, FLOAT) and same.domain == own.domain else None
