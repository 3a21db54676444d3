"""What rules need to fire at all: how many events of a type beside each other, and how long a chain of causes.

The rule of this module: it looks at the text of rules only. Less than this prevents a rule from firing; where events
come in between, or constraints ask for more in other ways, so much may not be enough.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from workbench.tesla import tree as t
from workbench.tesla.model.frame import absence, waiting_of
from workbench.tesla.model.layout import written
from workbench.tesla.rule_set import RuleSet

LEAST = 2
"""The room of columns of which rules need no more."""
AT_FIRST = 4
"""The most room that models have at first for what rules need."""


def rooms_for(rule_sets: Sequence[RuleSet], growth: int) -> dict[str, int]:
    """The room of columns, and for matches that wait, of which nothing else is said.

    Parameters
    ----------
    growth: how many times as much as at first; from 2 on there is room for what rules need, as far as that is, from 4
        on for what is too many for them.
    """
    needed: dict[str, int] = {}
    for rules in rule_sets:
        waiting = (waiting_of(rule) for rule in rules.rules if absence(rule) is not None)
        _greatest(needed, dict.fromkeys((*rules.events, *waiting), 0) | needs(rules, stops=growth >= 4))
    most = AT_FIRST * (1 if growth == 1 else 4 * growth)
    return {name: max(LEAST * growth, min(room, most)) for name, room in needed.items()}


def needs(rules: RuleSet, *, stops: bool = False) -> dict[str, int]:
    """How many events of each type some rule needs beside each other, and how many of its matches wait.

    Parameters
    ----------
    stops: or how many are too many for it.
    """
    found: dict[str, int] = {}
    for rule in rules.rules:
        _greatest(found, _needs(rules, rule, 1, frozenset(), stops=stops))
    return found


def _needs(rules: RuleSet, rule: t.Rule, times: int, inside: frozenset[str], *, stops: bool) -> dict[str, int]:
    """What a rule needs to fire so many times, with those that emit what it looks at."""
    own = Counter[str]()
    counted, least = Counter[str](), thresholds(rule, stops=stops)
    for part in rule.predicates:
        if isinstance(part, t.Predicate):
            own[part.type] += part.policy.binds
        else:
            counted[part.type] = max(counted[part.type], least.get(part.parameter, 1))
    own += counted
    found = {type: count * (times if rule.consuming else 1) for type, count in own.items()}
    if rule.trigger.type in found:  # it is kept, too, when it has come
        found[rule.trigger.type] += 1
    if absence(rule) is not None:
        found[waiting_of(rule)] = times
    inside |= {rule.name}
    for source in rules.rules:
        if source.name not in inside and source.emits in rule.types:
            often = max(own[source.emits], times if source.emits == rule.trigger.type else 1)
            _greatest(found, _needs(rules, source, often, inside, stops=stops))
    return found


def _greatest(found: dict[str, int], more: Mapping[str, int]) -> None:
    for name, count in more.items():
        found[name] = max(found.get(name, 0), count)


def thresholds(rule: t.Rule, *, stops: bool = False) -> dict[str, int]:
    """For what a rule counts, the least number with which all comparisons with constants hold that ask for many.

    Parameters
    ----------
    stops: or with which those do not that ask for few.
    """
    found: dict[str, int] = {}
    counts = {p.parameter for p in rule.predicates if isinstance(p, t.Aggregate) and p.function == "COUNT"}
    for operator, one, other in _comparisons(rule, stops=stops):
        if isinstance(other, t.Literal) and isinstance(other.value, int | float) and math.isfinite(other.value):
            least = math.floor(other.value) + 1 if operator == ">" else math.ceil(other.value)
            for leaf in t.within(one):
                if isinstance(leaf, t.BoundParameter) and leaf.name in counts:
                    found[leaf.name] = max(found.get(leaf.name, 1), least)
    return found


TURNED = {"<": ">", "<=": ">=", "==": "=="}
"""What comparisons are with their sides exchanged."""
OPPOSITE = {"<": ">=", "<=": ">"}
"""What holds where they do not."""


def _comparisons(rule: t.Rule, *, stops: bool) -> Iterator[tuple[str, t.Expression, t.Expression]]:
    """What is to be as much as something else, or more: `5 < $n` as `$n > 5`; where it `stops`, `$n < 5`, too."""
    for each in (each for whole in written(rule) for each in t.within(whole)):
        if isinstance(each, t.Operation) and len(each.operands) == 2:
            one, other = each.operands
            if each.operator in TURNED.values():
                yield each.operator, one, other
            if each.operator in TURNED:
                yield TURNED[each.operator], other, one
            if stops and each.operator in OPPOSITE:
                yield OPPOSITE[each.operator], one, other


def chain_needed(rules: RuleSet) -> int:
    """How many composites cause one another until there is one of each type that can come, by types alone."""
    length, reached = 0, set(rules.primitives)
    while more := {rule.emits for rule in rules.rules if rule.trigger.type in reached} - reached:
        length, reached = length + 1, reached | more
    return length


def computes(rules: RuleSet) -> bool:
    """Whether rules compute with values: what they are compared with does not tell then which satisfy them."""
    parts = (part for rule in rules.rules for part in rule.predicates if isinstance(part, t.Aggregate))
    leaves = (each for rule in rules.rules for whole in written(rule) for each in t.within(whole))
    arithmetic = any(isinstance(each, t.Operation) and each.operator in ("+", "-", "*", "/") for each in leaves)
    return arithmetic or any(part.function not in ("COUNT", "MIN", "MAX") for part in parts)
