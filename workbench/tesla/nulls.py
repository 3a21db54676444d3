"""Which attributes of composites may be null, by what rules say.

The rule of this module: what it says is never null is never null; what may be null may also never be. Every operator is
strict in null, so all that stands in a constraint or condition that was satisfied is there.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.tesla import tree as t
from workbench.tesla.aggregate_table import aggregate_row
from workbench.tesla.operators import gives_null
from workbench.tesla.resolved import TIME, ResolvedRule, RuleSlot, placed, slots
from workbench.tesla.rule_set import RuleSet

Nulls = Mapping[str, frozenset[str]]
"""The attributes of each type that may be null."""


def may_be_null(rules: RuleSet, fed: Nulls) -> Nulls:
    """The attributes of all types that may be null, where those from outside are as `fed` says; the others never come.

    The least solution: a composite has a null only for some null from which it is made.
    """
    found: dict[str, frozenset[str]] = {name: fed.get(name, frozenset()) for name in rules.declarations}
    while True:
        before = dict(found)
        for rule in rules.resolved:
            found[rule.emits] |= _find_emitted_nulls(rule, found)
        if found == before:
            return found


def _find_emitted_nulls(rule: ResolvedRule, nulls: Nulls) -> frozenset[str]:
    """The attributes that may be null in what a rule emits."""
    known = set(slots(*rule.where_clause))
    for place, part in enumerate(rule.parts):
        if t.binds(part):
            known |= set(slots(*(placed(each, place) for each in part.constraints)))

    def may(expression: t.Expression) -> bool:
        return any(gives_null(each) or (isinstance(each, RuleSlot) and lacks(each)) for each in t.within(expression))

    def lacks(slot: RuleSlot) -> bool:
        if slot in known or slot.name == TIME:
            return False
        if slot.is_attribute:
            return slot.name in nulls[slot.type.name]
        if slot.value is not None:
            return may(slot.value)
        part = rule.parts[slot.place]
        assert isinstance(part, t.Aggregate)
        return aggregate_row(part).nullable

    return frozenset(each.name for each in rule.evaluations if may(each.value))
