"""What rules of one trigger have in common: the first predicates and aggregates behind it, if these are the same.

The rule of this module: what is shared is evaluated once for a trigger, and is the same for each of the rules: nothing
in it hangs on what a rule has consumed, on how many matches it wants, or on a condition that it asks before. What an
index finds at once is not shared, for a list of it costs as much.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from workbench.tesla import tree as t
from workbench.tesla.engines.rule_plan import RulePlan, RuleStep
from workbench.tesla.engines.set_plan import PlannedStep, SetPlan
from workbench.tesla.resolved import OWN, RuleSlot, exact_text, expanded

LEAST_SHARING = 4
"""Rules that share something: for fewer a list takes as long as it saves, and it is code of its own."""


class SharedPrefix(NamedTuple):
    """Parts of rules that are the same.

    Attributes
    ----------
    number: among all.
    rules: the places of those that share it; the first says what it is.
    length: how many parts behind the trigger.
    before: a shorter one that it goes on from, which more rules share.
    """

    number: int
    rules: tuple[int, ...]
    length: int
    before: SharedPrefix | None

    @property
    def chain(self) -> list[SharedPrefix]:
        """Those that it goes on from, the shortest first, and itself."""
        return [*(self.before.chain if self.before else []), self]


def shared_prefixes(plan: SetPlan) -> dict[int, SharedPrefix]:
    """Rules to the longest parts that they share with others, where there are any."""
    users: dict[tuple[Any, ...], list[int]] = {}
    lengths: dict[int, list[tuple[Any, ...]]] = {}
    for rule, of in enumerate(plan.plans):
        key: tuple[Any, ...] = (of.trigger.type,)
        for part in _sharable(plan, rule, of):
            key = (*key, part)
            users.setdefault(key, []).append(rule)
            lengths.setdefault(rule, []).append(key)
    made: dict[tuple[Any, ...], SharedPrefix] = {}
    found: dict[int, SharedPrefix] = {}
    for rule, keys in lengths.items():
        before: SharedPrefix | None = None
        chosen = [
            key for key in keys if len(users[key]) >= LEAST_SHARING and _costly(plan, plan.steps[rule][len(key) - 2])
        ]
        for key, longer in zip(chosen, [*chosen[1:], None], strict=False):
            if longer is None or len(users[longer]) < len(users[key]):
                before = made.setdefault(key, SharedPrefix(len(made), tuple(users[key]), len(key) - 1, before))
        if before is not None:
            found[rule] = before
    return found


def _costly(plan: SetPlan, planned: PlannedStep) -> bool:
    """Whether more is looked at than is found, so that to write it down and to read it is less."""
    step, keys = planned.step, plan.columns[planned.column].keys
    if isinstance(step.part, t.Aggregate):
        return step.attribute is not None or bool(planned.constraints or keys or step.fact)
    first = step.policy.oldest and bool(keys) and not step.fact  # a chain begins with the newest
    return first or len(planned.constraints) > len(planned.equations)


def _sharable(plan: SetPlan, rule: int, of: RulePlan) -> Iterator[str]:
    """What the parts of a rule say that it can share, whatever names it gives them."""
    conditions = plan.conditions(rule)
    for step in of.steps[1:]:
        asked_before = step.number > 1 and conditions[step.number - 1]
        counted = step.policy.many and of.rule.limit is not None
        if asked_before or counted or (step.selects and of.consumed_slots):
            return
        yield _nameless(of, step)


def _nameless(plan: RulePlan, step: RuleStep) -> str:
    """What a step selects or computes, without a name."""
    part, window, numbers = step.part, step.window, plan.numbers

    def name(slot: RuleSlot) -> str:
        return slot.name if slot.place == OWN else f"{numbers[slot.place]}.{'$' if slot.is_parameter else slot.name}"

    asked = [exact_text(expanded(each), name) for each in part.constraints]
    what = (part.function, part.attribute) if isinstance(part, t.Aggregate) else (part.policy, part.ordering)
    anchors = tuple(numbers[place] for place in plan.rule.anchors[step.place])
    reach = None if window is None else (window.least, window.most, window.between, window.counted)
    return str((*map(str, what), step.type, asked, anchors, reach))
