"""Rewriting of rule sets by laws until none applies, and candidates for further removals.

The rule of this module: each step changes one thing, so that it can be checked. Where no law applies, the model
decides, which has no nulls: a constraint is a candidate only if the others imply that none of its values is null.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from workbench.tesla import tree as t
from workbench.tesla.resolved import ResolvedRule, unresolve
from workbench.tesla.rewriting.laws import LAWS, leave_out_constraints, negations, no_longer, with_part, without_part
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.rule_simplification import RewritingStep


def rewrite_by_laws(rules: RuleSet) -> Iterator[tuple[RewritingStep, RuleSet]]:
    """Yield the steps that laws allow, each with the rule set after it."""
    start = time.perf_counter()
    while (step := _find_step(rules)) is not None:
        name, why, after = step
        before, rules = rules, renumber(after)
        now = time.perf_counter()
        yield RewritingStep(name, why, *differing(before, after), now - start), rules
        start = now


def _find_step(rules: RuleSet) -> tuple[str, str, RuleSet] | None:
    return next(((law.name, law.says, after) for law in LAWS for after in law.makes(rules)), None)


def renumber(rules: RuleSet) -> RuleSet:
    """Name unnamed rules after their positions, as in the text."""
    called = enumerate(rules.rules, 1)
    return replace(rules, rules=tuple(each if each.named else replace(each, name=f"rule {at}") for at, each in called))


def differing(before: RuleSet, after: RuleSet) -> tuple[str, str]:
    """Return the texts of the rules that only one of the rule sets has."""

    def only(one: RuleSet, other: RuleSet) -> str:
        theirs = {_with_heading(each) for each in other.rules}
        return "\n".join(_with_heading(each) for each in one.rules if _with_heading(each) not in theirs)

    return only(before, after), only(after, before)


def _with_heading(rule: t.Rule) -> str:
    return str(rule) if rule.named else f"# {rule.name}\n{rule}"


# --- candidates beyond the laws -------------------------------------------------------------------------


def make_smaller(rule: ResolvedRule) -> Iterator[tuple[str, t.Rule]]:
    """Yield smaller rules, as they are written, each with a description of the removal."""
    return ((what, unresolve(each)) for what, each in _smaller(rule))


def _smaller(rule: ResolvedRule) -> Iterator[tuple[str, t.Rule]]:
    for each in leave_out_constraints(rule):
        if each.known.never_null(each.conclusion):
            yield f"`{each.left_out}` is left out", each.rule
    for index, forbidden in negations(rule):
        yield f"`{forbidden}` is left out", without_part(rule, index)
    for index, part in enumerate(rule.parts):
        window = part.window
        if window is None or not window.before:
            continue
        for upper in _shorter(rule, window):
            tighter = replace(window, maximum=upper)
            yield f"`{window}` is `{tighter}`", with_part(rule, index, replace(part, window=tighter))


def _shorter(rule: t.Rule, window: t.EventWindow) -> Iterator[t.Duration]:
    """Yield the durations in a rule that are shorter than a window, the shortest first."""
    windows = (part.window for part in rule.predicates if part.window is not None)
    lengths = (each for other in windows for each in reversed(other.bounds))
    by_text = {str(each): each for each in lengths if each.amount > 0}
    shorter = [
        each for each in by_text.values() if no_longer(each, window.maximum) and not no_longer(window.maximum, each)
    ]
    least = window.minimum
    yield from sorted(
        (each for each in shorter if least is None or no_longer(least, each)), key=lambda each: each.amount
    )
