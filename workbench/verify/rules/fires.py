"""Which rules can fire, and what nothing can emit.

A rule whose model has room for all that is ever kept, and on no run emits anything, never fires; else nothing is known
of it. Source: design of rules in the model, "can it fire".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from workbench.tesla.model.build import RuleBounds
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.tree import Rule
from workbench.verify.answer.settings import Settings
from workbench.verify.answer.verdict import Outcome, Verdict
from workbench.verify.finding import Finding, findings_in_turn, report_unknown
from workbench.verify.rules.problems import WITH_TIME, can_fire, growing
from workbench.verify.rules.relevant import relevant
from workbench.verify.rules.stream import RuleStream, stream_of


def fires(
    rules: RuleSet, bounds: RuleBounds | None = None, settings: Settings = WITH_TIME, *, deepen: bool = True
) -> tuple[Finding, ...]:
    """For each rule whether it can fire, with the shortest stream on which it does; then types that nothing emits.

    Parameters
    ----------
    deepen: whether larger models are asked where bounds are met.

    Raises
    ------
    Refused: the rules have no finite model.
    """
    bounds = bounds or RuleBounds()
    asked = [(rule.name, partial(_fires, rules, rule, bounds, settings, deepen=deepen)) for rule in rules.rules]
    found = list(findings_in_turn(asked))
    silent = {each.about for each in found if each.answer == "never"}
    for name in rules.composites:
        emitting = [rule.name for rule in rules.rules if rule.emits == name]
        if silent.issuperset(emitting):
            found.append(Finding(name, "never", f"nothing emits it: {', '.join(emitting)} never fires"))
    return tuple(found)


def firing(rules: RuleSet, rule: Rule, bounds: RuleBounds, settings: Settings, *, deepen: bool) -> Verdict:
    """Whether a rule can fire; the run that shows it is one of a model with outputs by rule."""
    bounds = replace(bounds, by_rule=True)
    about = [rule.name]
    asked = growing(rules, can_fire(rule), rules.rule_names, settings, bounds, deepen=deepen, about=about, itself=True)
    return asked.decide()


def find_firing(
    rules: RuleSet, rule: Rule, bounds: RuleBounds, settings: Settings, *, deepen: bool
) -> tuple[Verdict, RuleStream | None]:
    """Whether a rule can fire, asked without the rules that do not matter; and the shortest stream on which it does."""
    asked, bounds = relevant(rules, [rule.name], bounds)
    verdict = firing(asked, rule, bounds, settings, deepen=deepen)
    stream = stream_of(verdict) if verdict.outcome is Outcome.HOLDS else None
    return verdict, stream and stream.made_by(rules)


def _fires(rules: RuleSet, rule: Rule, bounds: RuleBounds, settings: Settings, *, deepen: bool) -> Iterator[Finding]:
    verdict, stream = find_firing(rules, rule, bounds, settings, deepen=deepen)
    if stream is not None:
        yield Finding(rule.name, "fires", "can fire", verdict, {"": stream})
    elif verdict.outcome is Outcome.FAILS:
        yield Finding(rule.name, "never", "never fires, with these values", verdict)
    else:
        yield report_unknown(rule.name, verdict)
