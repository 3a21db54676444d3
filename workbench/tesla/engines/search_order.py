"""What a rule looks for behind its trigger, and in which orders it may.

The rule of this module: to look for the events of a predicate and to tell its matches are two things. Predicates with
`each` tell their matches in the order in which they are written, one loop in the other; what they, and all others, look
for is looked for as soon as all is bound on which it hangs, and then in any order. So no order has to be sorted, and
what finds nothing ends a partial match wherever it is written.

Source: Di Pilla's thesis, the conclusion (rules that mean the same, and cost differently); orders of joins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from workbench.tesla import tree as t
from workbench.tesla.engines.rule_plan import RuleStep
from workbench.tesla.engines.set_plan import SetPlan, needs_of

MOST_SEARCHED = 4
"""Predicates among which the order is chosen: of more the first ones as they are written."""


@dataclass(frozen=True)
class SearchGroup:
    """Predicates that are looked for one after the other, in one of some orders; each may end the partial match.

    Attributes
    ----------
    level: how many predicates with `each` are bound before.
    steps: their numbers, as they are written.
    behind: of each the numbers of those that come before it in any case.
    orders: those there are, the one that is written first.
    """

    level: int
    steps: tuple[int, ...]
    behind: tuple[frozenset[int], ...]
    orders: tuple[tuple[int, ...], ...]


class RuleSearches:
    """What a rule looks for when.

    Attributes
    ----------
    loops: the numbers of the steps with `each`, as they are written.
    groups: by their levels.
    grouped: the steps that are in one; the others are looked for where they are written.
    """

    def __init__(self, plan: SetPlan, rule: int) -> None:
        self.plan, self.rule, self.of = plan, rule, plan.plans[rule]
        self.loops = [step.number for step in self.of.steps if step.policy.many]
        self._needs = [self._find_needs(step) for step in self.of.steps]
        self._levels: list[int] = []
        for needs in self._needs:
            self._levels.append(max((self.bound_at(each) for each in needs), default=0))
        self.groups: dict[int, SearchGroup] = {}
        self.grouped: frozenset[int] = frozenset()
        for level in range(len(self.loops) + 1):
            found = self._group(level)
            if found is not None:
                self.groups[level] = found
                self.grouped |= frozenset(found.steps)

    def bound_at(self, number: int) -> int:
        """Behind how many predicates with `each` it is known what a step binds."""
        return self.loops.index(number) + 1 if number in self.loops else self._levels[number]

    def named(self, condition: t.Expression) -> frozenset[int]:
        """The steps that bind what a condition names."""
        return self.of.binders(condition)

    def gathered(self, step: RuleStep) -> bool:
        """Whether all that a predicate with `each` finds may be put aside: not where no more than some are wanted."""
        keyed = bool(self.plan.columns[self.plan.steps[self.rule][step.number - 1].column].keys)
        return keyed or self.of.rule.limit is None

    def _find_needs(self, step: RuleStep) -> frozenset[int]:
        """The steps on which it hangs what a step finds; one with `each` may find what is told no match of later."""
        rivals = {
            other.number
            for other in self.of.steps[1 : step.number]
            if step.selects and other.selects and other.type == step.type
        }
        if step.policy.many:
            rivals -= set(self.loops)
        return needs_of(self.of, step) | rivals if step.number else frozenset()

    def _find_free(self, level: int) -> list[int]:
        """The steps of a level that may be looked for before their places.

        Not what is behind a loop of which it is not known yet whether it finds anything: it may never be asked for.
        """
        found, first = list[int](), self.loops[level - 1] if level else 0
        for step in self.of.steps[1:]:
            number = step.number
            if self._levels[number] != level or step.fact:
                continue
            if step.policy.many and not self.gathered(step):
                continue
            known = self.grouped | {*found}
            bound = all(each in known or each <= first for each in self._needs[number])
            crossed = (each for each in self.loops if each < number and self.bound_at(each) > level)
            if bound and all(each in known for each in crossed):
                found.append(number)
        return found

    def _group(self, level: int) -> SearchGroup | None:
        """What is looked for at a level; None where that is as it is written."""
        here = self._find_free(level)
        conditions = [named for each in self.of.rule.where_clause if (named := self.named(each))]
        inside = set(here) - set(self.loops)

        def decides(number: int) -> bool:
            """Whether a match may end here."""
            if not isinstance(self.of.steps[number].part, t.Aggregate):
                return True
            return any(
                number in named
                and all(each in inside | {0} or self.bound_at(each) < level + (each in self.loops) for each in named)
                for named in conditions
            )

        chosen = {n for n in here if decides(n)}
        for number in reversed(here):  # with the aggregates on which they hang
            if number in chosen:
                chosen |= self._needs[number] & inside
        members = sorted(chosen)[:MOST_SEARCHED]
        next_loop = self.loops[level] if level < len(self.loops) else None
        before = self.loops[level - 1] if level else 0
        if not members or members == [next_loop]:
            return None
        behind = {n: set(self._needs[n]) & set(members) - set(self.loops) for n in members}
        for named in conditions:  # it is asked as soon as all that it names is known
            ordered = sorted(named & set(members) - set(self.loops))
            for i, number in enumerate(ordered):
                behind[number] |= set(ordered[:i])
        for number in members:
            behind[number] |= {n for each in behind[number] for n in behind[each]}
        orders = tuple(_list_orders(members, behind))
        written = all(n > before and (next_loop is None or n <= next_loop) for n in members)
        if len(orders) == 1 and written:
            return None
        return SearchGroup(level, tuple(members), tuple(frozenset(behind[n]) for n in members), orders)


def _list_orders(members: Collection[int], behind: dict[int, set[int]]) -> Iterator[tuple[int, ...]]:
    """All orders in which each comes behind what it hangs on, the least one first."""
    if not members:
        yield ()
    for first in members:
        if not behind[first] & set(members):
            for rest in _list_orders([each for each in members if each != first], behind):
                yield first, *rest


class SampledOrder(NamedTuple):
    """What was seen of a group.

    Attributes
    ----------
    entered: how often it was looked for.
    order: the one that was chosen in the end.
    searches: of each step how often it was looked for to learn, found nothing, and how many candidates that took.
    """

    entered: int
    order: tuple[int, ...]
    searches: dict[int, tuple[int, int, int]]
