"""Replaces the selection policies of rules.

The rule of this module: only the policies change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.errors import InputError, refuse_unknown
from workbench.tesla import tree as t
from workbench.tesla.check import check_rule_set
from workbench.tesla.rule_set import RuleSet


def with_policies(rules: RuleSet, others: Mapping[str, str]) -> RuleSet:
    """Return the rules with policies replaced in all predicates.

    Parameters
    ----------
    others: the new policy for each old one, of `each`, `first` and `last`.

    Raises
    ------
    InputError: one of these is not such a policy, or no predicate has it. LanguageError: facts would be selected by an
            order, and none is stated.
    """
    selecting = [each.value for each in t.Policy if each.selects]
    for name in (*others, *others.values()):
        refuse_unknown("policy", name, selecting)
    replacements = {t.Policy(one): t.Policy(other) for one, other in others.items()}
    policies = {part.policy for rule in rules.rules for part in rule.predicates}
    for policy in replacements:
        if policy not in policies:
            there = ", ".join(each.value for each in t.Policy if each.selects and each in policies)
            hint = f"they have: {there}" if there else "they select only their triggers"
            raise InputError(f"no predicate of {rules.name} has the policy '{policy.value}'", hint=hint)

    def change(part: t.Predicate | t.Aggregate) -> t.Predicate | t.Aggregate:
        other = replacements.get(part.policy)
        return replace(part, policy=other) if other is not None and isinstance(part, t.Predicate) else part

    changed = tuple(replace(rule, predicates=tuple(map(change, rule.predicates))) for rule in rules.rules)
    return check_rule_set(replace(rules.file, rules=changed), rules.name)
