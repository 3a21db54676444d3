"""Rules beside a variant of them: whether they differ, and the shortest stream that tells them from each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.core.ops import conjunction
from workbench.ir.system import System
from workbench.tesla.model.build import RuleBounds, modelled
from workbench.tesla.rule_processor import ALL
from workbench.tesla.rule_set import RuleSet
from workbench.verify.answer.problem import check, comparison
from workbench.verify.answer.settings import Settings
from workbench.verify.answer.verdict import Outcome, Verdict
from workbench.verify.ask.equivalence import side_by_side
from workbench.verify.ask.properties import invariant
from workbench.verify.finding import Finding, limits, report_unknown
from workbench.verify.rules.multisets import carried_by, same_events
from workbench.verify.rules.problems import comparing
from workbench.verify.rules.relevant import told_apart
from workbench.verify.rules.stream import RuleStream, modelled_in


def compared(
    about: str,
    sides: Mapping[str, RuleSet],
    answers: tuple[str, str],
    says: tuple[str, str],
    bounds: RuleBounds,
    settings: Settings,
    *,
    ordered: bool = True,
    deepen: bool = True,
) -> Finding:
    """Whether two rule sets emit the same at each step.

    Parameters
    ----------
    about: the part of rules of which something is found by that.
    sides: both by what they are called, over the same types.
    answers, says: where the rules differ, and where they do not.
    ordered: whether the order counts in which composites of a step are published.
    deepen: whether larger models are asked where bounds are met.
    """
    asked, bounds = told_apart(sides, bounds, ordered=ordered)
    one, other = asked.values()

    def verdict_with(more: RuleBounds) -> Verdict:
        if ordered:
            left, right = modelled((one, other), more)
            return comparison(left, right, "stepwise", settings).decide()
        return _compare_unordered(one, other, more, settings)

    verdict, bounds = comparing(verdict_with, (one, other), bounds, settings, deepen=deepen).decide()
    if verdict.counterexample is not None:
        inputs = [step.inputs for step in verdict.counterexample.steps]
        models = zip(sides.items(), modelled((one, other), bounds), strict=True)
        streams = {name: RuleStream.of(modelled_in(model), inputs).made_by(rules) for (name, rules), model in models}
        return Finding(about, answers[0], says[0], verdict, streams)
    if verdict.outcome in (Outcome.HOLDS, Outcome.WITHIN_BOUNDS):
        return Finding(about, answers[1], says[1] + limits(verdict), verdict)
    return report_unknown(about, verdict)


def _compare_unordered(rules: RuleSet, variant: RuleSet, bounds: RuleBounds, settings: Settings) -> Verdict:
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
