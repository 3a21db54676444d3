"""When what must not come is judged, among all that happens at one time.

The rule of this module: what told something says when it was judged by the places of its composites; what told nothing
was judged between those.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

from workbench.tesla.explain.order import EventOrder
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet


def find_judgement(rule_set: RuleSet, order: EventOrder, rule: int, trigger: Occurrence) -> int:
    """The number of the first event that had not been processed when a deadline was judged.

    Deadlines of one time are judged by rule and trigger; what the first has caused may bring deadlines of the same
    time, which take their places among those that are left.
    """
    rules = rule_set.rules
    deadline = trigger.time + rules[rule].timeout
    waiting = [number for number, each in enumerate(rules) if each.absence is not None]
    groups: dict[tuple[int, int], int] = {}
    for number in waiting:
        for outcome in order.outcomes(number):
            if order.times[outcome.composites[0]] == deadline:
                groups[number, outcome.trigger] = outcome.before
    cursor = min(groups.values(), default=order.at(deadline, "right"))
    cursor = min(cursor, order.at(deadline, "right"))
    due = [key for key in _due(rule_set, order, waiting, deadline) if key[1] < cursor]
    heapify(due)
    begins = sorted(groups.values())
    while due:
        key = heappop(due)
        began = groups.get(key)
        if key == (rule, trigger.number):
            return cursor
        if began is None:
            continue
        ends = next((each for each in begins if each > began), order.at(deadline, "right"))
        for later in _due(rule_set, order, waiting, deadline, began, ends):
            heappush(due, later)
        cursor = ends
    return cursor


def _due(
    rule_set: RuleSet,
    order: EventOrder,
    waiting: Sequence[int],
    deadline: int,
    first: int = 0,
    last: int | None = None,
) -> list[tuple[int, int]]:
    """The rules and triggers whose deadline is a time; the triggers between two places."""
    found = []
    for number in waiting:
        rule = rule_set.rules[number]
        time = deadline - rule.timeout
        begin, end = max(first, order.at(time)), order.at(time, "right")
        end = end if last is None else min(end, last)
        found += [(number, int(each)) for each in order.of_type(rule.trigger.type, begin, end)]
    return found
