"""How many composites one event can cause: at most how many, proved on both sides, or a stream that makes them more.

Counted are those of one step: what rules make of the event, what that causes, and so on. Source: design of rules in the
model, "how many composites can one event cause".
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from workbench.core.domain import Range
from workbench.core.ops import ADD, GT, both, held_in, ite
from workbench.core.term import const
from workbench.ir.system import System
from workbench.tesla.model.counting import RuleCounting
from workbench.tesla.rule_processor import ALL
from workbench.verify.ask.properties import Property, can, pipe_named
from workbench.verify.finding import Finding, findings_in_turn
from workbench.verify.rules.capacities import MOST_KEPT, CapacitySearch, RuleMost
from workbench.verify.rules.measurement import ELAPSED
from workbench.verify.rules.subject import RuleSubject

STATIC = "counting: a rule makes no more of a trigger than there are matches of what columns hold"


def effects(subject: RuleSubject, *, most: int = MOST_KEPT) -> tuple[Finding, ...]:
    """For each type of events from outside that triggers rules how many composites one of them causes at most.

    Where rules wait for something not to come, the same of a moment at which that is known. Parameters and errors are
    those of `capacities`.
    """
    search, rules = CapacitySearch(subject, most), subject.rules
    at_once = {rule.trigger.type for rule in rules.rules if rule.absence is None}
    names = [name for name in rules.primitives if name in at_once]
    names += [ELAPSED] if any(rule.absence is not None for rule in rules.rules) else []
    return findings_in_turn([(_name_cause(name), partial(_find_caused, search, name)) for name in names])


def _name_cause(name: str) -> str:
    return "a moment" if name == ELAPSED else f"one {name}"


def _find_caused(search: CapacitySearch, name: str) -> Iterator[Finding]:
    countings = (RuleCounting(search.model.frame, valued) for valued in (True, False))
    counted, surely = (each.count_due() if name == ELAPSED else each.count_caused(name) for each in countings)
    waiting = [rule for rule in search.subject.rules.rules if rule.absence is not None]
    at_once = [rule for rule in search.subject.rules.rules if rule not in waiting]
    causing = waiting if name == ELAPSED else [rule for rule in at_once if rule.trigger.type == name]
    types = search.subject.rules.graph.led_to(rule.emits for rule in causing)
    searched = RuleMost(
        about=_name_cause(name), unit="composite", at_most=counted, surely=surely, argument=STATIC,
        grows=name != ELAPSED, measure=lambda step: step.caused if step.name == name else 0,
        more_than=partial(_more, name), causing=causing,
        looking=[rule for rule in at_once if rule.trigger.type in types],
    )  # fmt: skip
    return search.find(searched)


def _more(name: str, count: int) -> Property:
    def happens(system: System) -> Any:
        slots = pipe_named(system, ALL).slots
        total: Any = const(0, Range(0, 0))
        for slot in slots:
            total = ADD(total, ite(slot.present, 1, 0))
        return both(system.pipes[name].present, GT(held_in(total, Range(0, len(slots))), count))

    return can(happens, f"{_name_cause(name)} causes more than {count}")
