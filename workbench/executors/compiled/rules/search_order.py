"""The search order of the steps of a rule: the most selective come first.

The rule of this module: to search for the events of an `each`, and to take them one by one, are separate entries. They
are taken in the order in which rules are written, so matches keep theirs; each search takes place as soon as its
dependences are bound, the cheapest first. So a failing search ends a partial match wherever it is written, and a search
with the same result for all events of an `each` takes place once.

Sources: Di Pilla's thesis, the conclusion (equivalent rules of different cost); join ordering.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from workbench.tesla import tree as t
from workbench.tesla.engines.rule_plan import RuleStep
from workbench.tesla.engines.set_plan import SetPlan, needs_of


class SearchEntry(NamedTuple):
    """A step of a rule, in search order.

    Attributes
    ----------
    searches, takes: the work of the entry: one of the two for an `each` whose events are taken later, both otherwise.
    """

    step: RuleStep
    searches: bool = True
    takes: bool = True


def list_written_order(plan: SetPlan, rule: int) -> list[SearchEntry]:
    """Return the steps in the order in which they are written."""
    return [SearchEntry(step) for step in plan.plans[rule].steps]


def search_order(plan: SetPlan, rule: int) -> list[SearchEntry]:
    """Return the steps of a rule in the order in which they are searched and taken."""
    trigger, *steps = plan.plans[rule].steps
    bound, entries = {trigger.number}, [SearchEntry(trigger)]
    loops = [step for step in steps if step.policy.many]
    for loop in [*loops, None]:
        while ready := [step for step in steps if _needs(plan, rule, step) <= bound]:
            step = min(ready, key=lambda each: _effort(plan, rule, each, bound))
            steps.remove(step)
            entries.append(SearchEntry(step, takes=not step.policy.many))
            bound |= set() if step.policy.many else {step.number}
        if loop is not None:
            entries.append(SearchEntry(loop, searches=False))
            bound.add(loop.number)
    return _join_entries(entries)


def _join_entries(entries: Iterable[SearchEntry]) -> list[SearchEntry]:
    """Merge a search and a taking of the same step that are adjacent."""
    order = list[SearchEntry]()
    for each in entries:
        if order and order[-1].step is each.step:
            order[-1] = SearchEntry(each.step)
        else:
            order.append(each)
    return order


def _needs(plan: SetPlan, rule: int, step: RuleStep) -> frozenset[int]:
    """Return the steps on which a step's result depends: those that it names, and rivals that select the same type."""
    earlier = plan.plans[rule].steps[1 : step.number]
    rivals = (each.number for each in earlier if step.selects and each.selects and each.type == step.type)
    return needs_of(plan.plans[rule], step) | frozenset(rivals)


def _effort(plan: SetPlan, rule: int, step: RuleStep, bound: set[int]) -> tuple[bool, int, bool, int]:
    """Return a sort key, least first: steps that may end a match, are found by a key, and yield a single result."""
    planned = plan.steps[rule][step.number - 1]
    aggregate = isinstance(step.part, t.Aggregate)
    conditions = (plan.plans[rule].binders(each) for each in plan.plans[rule].rule.where_clause)
    decides = not aggregate or any(step.number in named <= bound | {step.number} for named in conditions)
    access = 0 if planned.equations else 2 if planned.constraints else 1
    return not decides, access, step.policy.many, step.number
