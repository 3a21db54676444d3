"""Rule sets rewritten by laws, until none of them says more.

The rule of this module: one thing is changed at a time, so that each step can be looked at.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from workbench.tesla import tree as t
from workbench.tesla.rewriting.laws import LAWS
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.rule_simplification import RewritingStep


def rewrite_by_laws(rules: RuleSet) -> Iterator[tuple[RewritingStep, RuleSet]]:
    """The steps that laws allow, each with the rule set after it."""
    begun = time.perf_counter()
    while (found := _find_step(rules)) is not None:
        name, why, after = found
        before, rules = rules, renumber(after)
        now = time.perf_counter()
        yield RewritingStep(name, why, *differing(before, after), now - begun), rules
        begun = now


def _find_step(rules: RuleSet) -> tuple[str, str, RuleSet] | None:
    return next(((law.name, law.says, made) for law in LAWS for made in law.makes(rules)), None)


def renumber(rules: RuleSet) -> RuleSet:
    """Rules without a name are called by their places, as in the text."""
    called = enumerate(rules.rules, 1)
    return replace(rules, rules=tuple(each if each.named else replace(each, name=f"rule {at}") for at, each in called))


def differing(before: RuleSet, after: RuleSet) -> tuple[str, str]:
    """The rules of each that the other does not have."""

    def only(one: RuleSet, other: RuleSet) -> str:
        theirs = {_with_heading(each) for each in other.rules}
        return "\n".join(_with_heading(each) for each in one.rules if _with_heading(each) not in theirs)

    return only(before, after), only(after, before)


def _with_heading(rule: t.Rule) -> str:
    return str(rule) if rule.named else f"# {rule.name}\n{rule}"
