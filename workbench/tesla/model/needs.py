"""Requirements for rules to fire, or to stop: numbers of events of a type, and lengths of chains of causes.

The rule of this module: it reads only the text of rules. If other events come in between, or constraints require
more in other ways, these numbers may be too small.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from workbench.tesla import tree as t
from workbench.tesla.aggregate_table import aggregate_row
from workbench.tesla.model.run_constants import waiting_of
from workbench.tesla.model.sample_values import ARITHMETIC
from workbench.tesla.operators import is_comparison
from workbench.tesla.resolved import ResolvedRule, slots
from workbench.tesla.rule_set import RuleSet

LEAST = 2
"""Minimum capacity of a column."""
AT_FIRST = 4
"""Maximum initial capacity for the requirements of rules."""


def choose_capacities(rule_sets: Sequence[RuleSet], growth: int) -> dict[str, int]:
    """Return default capacities of columns and of waiting matches, with a factor for growth."""
    names, needed = dict[str, None](), Counter[str]()
    for rules in rule_sets:
        waiting = (waiting_of(rule) for rule in rules.rules if rule.absence is not None)
        names |= dict.fromkeys((*rules.events, *waiting))
        needed |= needs(rules)
    return {name: max(LEAST * growth, min(needed[name], AT_FIRST * growth)) for name in names}


def needs(rules: RuleSet) -> Counter[str]:
    """Return the maximum number of events of each type, and of waiting matches, that some rule needs at once."""
    counts = Counter[str]()
    for rule in rules.resolved:
        counts |= _needs(rules, rule, 1, frozenset())
    return counts


def growth_for(rules: RuleSet) -> int:
    """Return the growth of capacities that the least demanding rule needs, by the text of rules alone."""
    least = min((max(_needs(rules, rule, 1, frozenset()).values(), default=0) for rule in rules.resolved), default=0)
    return int(next((growth for growth in (1, 2, 4, 8) if AT_FIRST * growth >= least), 16))


def _needs(rules: RuleSet, rule: ResolvedRule, times: int, inside: frozenset[str]) -> Counter[str]:
    """Return what a rule needs to fire a number of times, including the rules that emit types it reads."""
    own, counted = Counter[str](), Counter[str]()
    for index, part in enumerate(rule.predicates, 1):
        if isinstance(part, t.Predicate):
            own[part.type] += part.policy.binds
        elif aggregate_row(part).counts:
            counted[part.type] = max(counted[part.type], _threshold(rule, index))
        else:
            counted[part.type] = max(counted[part.type], 1)
    own += counted
    counts = Counter({type: count * (times if rule.consuming else 1) for type, count in own.items()})
    if rule.trigger.type in counts:  # the trigger is retained, too
        counts[rule.trigger.type] += 1
    if rule.absence is not None:
        counts[waiting_of(rule)] = times
    inside |= {rule.name}
    for source in rules.resolved:
        if source.name not in inside and source.emits in rule.types:
            often = max(own[source.emits], times if source.emits == rule.trigger.type else 1)
            counts |= _needs(rules, source, often, inside)
    return counts


def _threshold(rule: ResolvedRule, index: int) -> int:
    """Return the least count beyond all constants that a rule compares it with."""
    thresholds = [1]
    for each in (each for whole in rule.expressions for each in t.within(whole)):
        if is_comparison(each) and any(slot.part == index for slot in slots(each)):
            bare = [leaf.value for leaf in each.operands if isinstance(leaf, t.Literal)]
            thresholds += [math.floor(n) + 1 for n in bare if isinstance(n, int | float) and math.isfinite(n)]
    return max(thresholds)


def chain_needed(rules: RuleSet) -> int:
    """Return the length of chains of causes until all reachable types have been emitted, by types alone."""
    length, reached = 0, set(rules.primitives)
    while more := {rule.emits for rule in rules.rules if rule.trigger.type in reached} - reached:
        length, reached = length + 1, reached | more
    return length


def computes(rules: RuleSet) -> bool:
    """Whether rules compute with values, so that constants alone do not determine which values satisfy them."""
    parts = (part for rule in rules.rules for part in rule.predicates if isinstance(part, t.Aggregate))
    leaves = (each for rule in rules.rules for whole in rule.expressions for each in t.within(whole))
    arithmetic = any(isinstance(each, t.Operation) and each.operator in ARITHMETIC for each in leaves)
    return arithmetic or not all(row.counts or row.selects for row in map(aggregate_row, parts))
