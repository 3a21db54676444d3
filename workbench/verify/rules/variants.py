"""Rules beside a variant of them: whether they differ, and the shortest stream that tells them from each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.core.ops import conjunction
from workbench.ir.system import System
from workbench.tesla.model.build import RuleBounds, modelled
from workbench.tesla.rule_processor import ALL
from workbench.tesla.rule_set import RuleSet
from workbench.verify.answer.check import Settings
from workbench.verify.answer.problem import check
from workbench.verify.answer.verdict import Outcome, Verdict
from workbench.verify.ask.equivalence import side_by_side
from workbench.verify.ask.properties import invariant
from workbench.verify.rules.finding import WITHIN, RuleFinding, not_known
from workbench.verify.rules.multisets import carried_by, same_events
from workbench.verify.rules.problems import rule_comparison, with_more_room
from workbench.verify.rules.stream import RuleStream, modelled_in


def compared(
    rules: RuleSet,
    variant: RuleSet,
    bounds: RuleBounds,
    settings: Settings,
    *,
    ordered: bool = True,
    deepen: bool = True,
) -> Verdict:
    """Whether both emit the same at each step.

    Parameters
    ----------
    variant: over the same types.
    ordered: whether the order counts in which composites of a step are published.
    deepen: whether larger models are asked where bounds are met.
    """
    if ordered:
        return with_more_room(lambda b: rule_comparison(rules, variant, b, settings).decide(), bounds, deepen=deepen)
    return with_more_room(lambda b: _unordered(rules, variant, b, settings), bounds, deepen=deepen)


def _unordered(rules: RuleSet, variant: RuleSet, bounds: RuleBounds, settings: Settings) -> Verdict:
    one, other = modelled((rules, variant), bounds)
    both, _ = side_by_side(one, other, "stepwise")
    names = [name for name, _ in both.outputs]
    pairs = [
        pair for pair, (output, _) in zip(zip(names[::2], names[1::2], strict=True), one.outputs, strict=True)
        if output != ALL
    ]  # fmt: skip

    def same(system: System) -> Any:
        return conjunction(same_events(*(carried_by(system, name) for name in pair)) for pair in pairs)

    return check(both, invariant("same composites", same, "composites differ", compares=True), settings)


def found_of(
    about: str,
    verdict: Verdict,
    answers: tuple[str, str],
    says: tuple[str, str],
    sets: Mapping[str, RuleSet],
    bounds: RuleBounds,
) -> RuleFinding:
    """What a comparison finds.

    Parameters
    ----------
    answers, says: where the rules differ, and where they do not.
    sets: the rule sets by what they are called.
    """
    if verdict.counterexample is not None:
        inputs = [step.inputs for step in verdict.counterexample.steps]
        models = modelled(tuple(sets.values()), bounds)
        streams = {name: RuleStream.of(modelled_in(model), inputs) for name, model in zip(sets, models, strict=True)}
        return RuleFinding(about, answers[0], says[0], verdict, streams)
    if verdict.outcome in (Outcome.HOLDS, Outcome.WITHIN_BOUNDS):
        return RuleFinding(about, answers[1], says[1] + (f", {WITHIN}" if verdict.within_bounds else ""), verdict)
    return not_known(about, verdict)
