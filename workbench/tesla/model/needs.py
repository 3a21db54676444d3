"""What rules need to fire, or to stop: how many events of a type beside each other, and how long a chain of causes.

The rule of this module: it looks at the text of rules only. Where events come in between, or constraints ask for more
in other ways, so much may not be enough.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from workbench.tesla import tree as t
from workbench.tesla.aggregate_table import aggregate_row
from workbench.tesla.model.frame import waiting_of
from workbench.tesla.operators import is_comparison
from workbench.tesla.resolved import ResolvedRule, slots
from workbench.tesla.rule_set import RuleSet

LEAST = 2
"""The room of columns of which rules need no more."""
AT_FIRST = 4
"""The most room that models have at first for what rules need."""


def rooms_for(rule_sets: Sequence[RuleSet], growth: int) -> dict[str, int]:
    """The room of columns, and for matches that wait, where nobody says it: so many times as much as at first."""
    names, needed = dict[str, None](), Counter[str]()
    for rules in rule_sets:
        waiting = (waiting_of(rule) for rule in rules.rules if rule.absence is not None)
        names |= dict.fromkeys((*rules.events, *waiting))
        needed |= needs(rules)
    return {name: max(LEAST * growth, min(needed[name], AT_FIRST * growth)) for name in names}


def needs(rules: RuleSet) -> Counter[str]:
    """How many events of each type some rule needs beside each other, and how many of its matches wait."""
    found = Counter[str]()
    for rule in rules.resolved:
        found |= _needs(rules, rule, 1, frozenset())
    return found


def growth_for(rules: RuleSet) -> int:
    """How many times as much room as at first the rule that needs least has to have, by the text of rules alone."""
    least = min((max(_needs(rules, rule, 1, frozenset()).values(), default=0) for rule in rules.resolved), default=0)
    return int(next((growth for growth in (1, 2, 4, 8) if AT_FIRST * growth >= least), 16))


def _needs(rules: RuleSet, rule: ResolvedRule, times: int, inside: frozenset[str]) -> Counter[str]:
    """What a rule needs to fire so many times, with those that emit what it looks at."""
    own, counted = Counter[str](), Counter[str]()
    for place, part in enumerate(rule.predicates, 1):
        if isinstance(part, t.Predicate):
            own[part.type] += part.policy.binds
        elif aggregate_row(part).counts:
            counted[part.type] = max(counted[part.type], _threshold(rule, place))
        else:
            counted[part.type] = max(counted[part.type], 1)
    own += counted
    found = Counter({type: count * (times if rule.consuming else 1) for type, count in own.items()})
    if rule.trigger.type in found:  # it is kept, too, when it has come
        found[rule.trigger.type] += 1
    if rule.absence is not None:
        found[waiting_of(rule)] = times
    inside |= {rule.name}
    for source in rules.resolved:
        if source.name not in inside and source.emits in rule.types:
            often = max(own[source.emits], times if source.emits == rule.trigger.type else 1)
            found |= _needs(rules, source, often, inside)
    return found


def _threshold(rule: ResolvedRule, place: int) -> int:
    """How many events a rule has to count until their number is beyond all constants that it is compared with."""
    found = [1]
    for each in (each for whole in rule.expressions for each in t.within(whole)):
        if is_comparison(each) and any(slot.place == place for slot in slots(each)):
            bare = [leaf.value for leaf in each.operands if isinstance(leaf, t.Literal)]
            found += [math.floor(n) + 1 for n in bare if isinstance(n, int | float) and math.isfinite(n)]
    return max(found)


def chain_needed(rules: RuleSet) -> int:
    """How many composites cause one another until there is one of each type that can come, by types alone."""
    length, reached = 0, set(rules.primitives)
    while more := {rule.emits for rule in rules.rules if rule.trigger.type in reached} - reached:
        length, reached = length + 1, reached | more
    return length


def computes(rules: RuleSet) -> bool:
    """Whether rules compute with values: what they are compared with does not tell then which satisfy them."""
    parts = (part for rule in rules.rules for part in rule.predicates if isinstance(part, t.Aggregate))
    leaves = (each for rule in rules.rules for whole in rule.expressions for each in t.within(whole))
    arithmetic = any(isinstance(each, t.Operation) and each.operator in ("+", "-", "*", "/") for each in leaves)
    return arithmetic or not all(row.counts or row.selects for row in map(aggregate_row, parts))
