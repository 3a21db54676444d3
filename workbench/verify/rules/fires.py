"""Which rules can fire, and what nothing can emit.

A rule whose model has room for all that is ever kept, and on no run emits anything, never fires; else it is said that
it does not before bounds are met. Source: design of rules in the model, "can it fire".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from workbench.tesla.model.build import RuleBounds, modelled
from workbench.tesla.model.ticks import output_of
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.tree import Rule
from workbench.verify.answer.check import Settings
from workbench.verify.answer.verdict import Outcome, Verdict
from workbench.verify.ask.properties import can
from workbench.verify.rules.finding import WITHIN, RuleFinding, in_turn, not_known
from workbench.verify.rules.problems import WITH_TIME, rule_problem
from workbench.verify.rules.relevant import relevant
from workbench.verify.rules.stream import RuleStream, modelled_in


def fires(
    rules: RuleSet, bounds: RuleBounds | None = None, settings: Settings = WITH_TIME, *, deepen: bool = True
) -> tuple[RuleFinding, ...]:
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
    found = list(in_turn(asked))
    silent = {each.about for each in found if each.answer == "never"}
    for name in rules.composites:
        emitting = [rule.name for rule in rules.rules if rule.emits == name]
        if silent.issuperset(emitting):
            limits = f", {WITHIN}" if any(each.within_bounds for each in found if each.about in emitting) else ""
            found.append(RuleFinding(name, "never", f"nothing emits it{limits}: {', '.join(emitting)} never fires"))
    return tuple(found)


def firing(rules: RuleSet, rule: Rule, bounds: RuleBounds, settings: Settings, *, deepen: bool) -> Verdict:
    """Whether a rule can fire; the run that shows it is one of `modelled` with outputs by rule."""
    name = output_of(rule)
    prop = can(lambda system: system.pipes[dict(system.outputs)[name]].present, name)
    return rule_problem(rules, prop, replace(bounds, by_rule=True), settings, deepen=deepen).decide()


def fired(
    rules: RuleSet, rule: Rule, bounds: RuleBounds, settings: Settings, *, deepen: bool
) -> tuple[Verdict, RuleStream | None]:
    """Whether a rule can fire, asked without the rules that do not matter; and the shortest stream on which it does."""
    asked, bounds = relevant(rules, [rule.name], bounds)
    verdict = firing(asked, rule, bounds, settings, deepen=deepen)
    if verdict.outcome is not Outcome.HOLDS or verdict.counterexample is None:
        return verdict, None
    (model,) = modelled([asked], bounds)
    stream = RuleStream.of(modelled_in(model), (step.inputs for step in verdict.counterexample.steps))
    return verdict, stream.made_by(rules)


def _fires(
    rules: RuleSet, rule: Rule, bounds: RuleBounds, settings: Settings, *, deepen: bool
) -> Iterator[RuleFinding]:
    verdict, stream = fired(rules, rule, bounds, settings, deepen=deepen)
    if stream is not None:
        yield RuleFinding(rule.name, "fires", "can fire", verdict, {"": stream})
    elif verdict.within_bounds:
        yield RuleFinding(rule.name, "never", f"never fires, {WITHIN}", verdict)
    elif verdict.outcome is Outcome.FAILS:
        yield RuleFinding(rule.name, "never", "never fires, with these values", verdict)
    else:
        yield not_known(rule.name, verdict)
