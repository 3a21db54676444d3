"""Rules beside a variant of them: whether they differ, and the shortest stream that tells them from each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from workbench.core.ops import conjunction
from workbench.ir.system import System
from workbench.tesla import tree as t
from workbench.tesla.model.build import RuleBounds, build_models
from workbench.tesla.rule_processor import ALL
from workbench.tesla.rule_set import RuleSet
from workbench.verify.answer.problem import check, comparison
from workbench.verify.answer.verdict import Verdict
from workbench.verify.ask.equivalence import side_by_side
from workbench.verify.ask.properties import invariant
from workbench.verify.finding import Finding, limits, report_unknown
from workbench.verify.rules.multisets import carried_by, same_events
from workbench.verify.rules.problems import growing_comparison
from workbench.verify.rules.slicing import slice_difference
from workbench.verify.rules.stream import RuleStream, modelled_in
from workbench.verify.rules.subject import RuleSubject


@dataclass(frozen=True)
class Variation:
    """Rules that are compared with others.

    Attributes
    ----------
    variant: over the same types.
    names: what the rules are called, and the variant.
    answers, says: where they differ, and where they do not.
    ordered: whether the order counts in which composites of a step are published.
    """

    variant: RuleSet
    names: tuple[str, str]
    answers: tuple[str, str]
    says: tuple[str, str]
    ordered: bool = True

    def compare(self, whole: RuleSubject, about: str) -> Finding:
        """Whether both emit the same at each step; `about`: the part of the rules of which that tells something."""
        sides = dict(zip(self.names, (whole.rules, self.variant), strict=True))
        parts, bounds = slice_difference(sides, whole.bounds, ordered=self.ordered)
        subject = replace(whole, rules=parts[self.names[0]], bounds=bounds)
        one, other = parts.values()

        def verdict_with(more: RuleBounds) -> Verdict:
            if self.ordered:
                left, right = build_models((one, other), more)
                return comparison(left, right, "stepwise", whole.settings).decide()
            return _compare_unordered(other, subject.within(more))

        verdict, bounds = growing_comparison(verdict_with, (one, other), subject).decide()
        if verdict.counterexample is not None:
            inputs = [step.inputs for step in verdict.counterexample.steps]
            models = zip(sides.items(), build_models((one, other), bounds), strict=True)
            streams = {name: RuleStream.of(modelled_in(each), inputs).made_by(rules) for (name, rules), each in models}
            return Finding(about, self.answers[0], self.says[0], verdict, streams)
        if verdict.outcome.proved:
            return Finding(about, self.answers[1], self.says[1] + limits(verdict), verdict)
        return report_unknown(about, verdict)


def with_rule(rules: RuleSet, number: int, rule: t.Rule) -> RuleSet:
    """The rules with another one in this place."""
    return replace(rules, rules=(*rules.rules[:number], rule, *rules.rules[number + 1 :]))


def _compare_unordered(variant: RuleSet, subject: RuleSubject) -> Verdict:
    one, other = build_models((subject.rules, variant), subject.bounds)
    both, _ = side_by_side(one, other, "stepwise")
    names = [name for name, _ in both.outputs]
    pairs = [
        pair for pair, (output, _) in zip(zip(names[::2], names[1::2], strict=True), one.outputs, strict=True)
        if output != ALL
    ]  # fmt: skip

    def same(system: System) -> Any:
        return conjunction(same_events(*(carried_by(system, name) for name in pair)) for pair in pairs)

    return check(both, invariant("same composites", same, "composites differ", compares=True), subject.settings)
