"""Rules beside a variant: whether they differ, and the shortest stream that distinguishes them.

This answers three questions: what rules can do without (predicates, aggregates, constraints and conditions, each
left out alone: that two of them can be left out does not imply that both can at once); whether the triggers of one
rule compete, so that it emits other composites than it would if it consumed nothing; and whether the order of two
rules matters (`rule_order`). Source: design of rules in the model, "which rules, predicates and constraints can be
dropped", "do triggers of one rule compete for an event that it consumes".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from workbench.core.domain import Range
from workbench.core.ops import ADD, EQ, GE, both, conjunction, either, ite, negate
from workbench.core.processor import Maybe
from workbench.core.term import FALSE, Term, const, leaves
from workbench.ir.system import System
from workbench.tesla import tree as t
from workbench.tesla.model.build import RuleBounds, build_models
from workbench.tesla.resolved import ResolvedRule, slots, unresolve
from workbench.tesla.rewriting.laws import with_part, without_part
from workbench.tesla.rule_processor import ALL
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.rule_warnings import find_silent_rules
from workbench.verify.answer.problem import check, comparison
from workbench.verify.answer.verdict import Verdict
from workbench.verify.ask.equivalence import side_by_side
from workbench.verify.ask.properties import invariant, pipe_named
from workbench.verify.finding import Finding, findings_in_turn, limits, report_unknown
from workbench.verify.rules.problems import growing_comparison
from workbench.verify.rules.rule_subject import RuleSubject, slice_difference
from workbench.verify.rules.stream import RuleStream, find_modelled


@dataclass(frozen=True)
class Variation:
    """A way to compare rules with variants of them.

    Attributes
    ----------
    names: the names of the rules, and of the variant.
    answers, says: the texts if they differ, and if they do not.
    ordered: whether the order counts in which composites of a step are published.
    """

    names: tuple[str, str]
    answers: tuple[str, str]
    says: tuple[str, str]
    ordered: bool = True

    def compare(self, whole: RuleSubject, variant: RuleSet, about: str) -> Iterator[Finding]:
        """Compare both at each step; `about` names the part of the rules that the answer is about."""
        sides = dict(zip(self.names, (whole.rules, variant), strict=True))
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
            streams = {
                name: RuleStream.of(find_modelled(each), inputs).with_rules(rules) for (name, rules), each in models
            }
            yield Finding(about, self.answers[0], self.says[0], verdict, streams)
        elif verdict.outcome.is_proved:
            yield Finding(about, self.answers[1], self.says[1] + limits(verdict), verdict)
        else:
            yield report_unknown(about, verdict)


def with_rule(rules: RuleSet, number: int, rule: t.Rule) -> RuleSet:
    """Return the rules with one rule replaced."""
    return replace(rules, rules=(*rules.rules[:number], rule, *rules.rules[number + 1 :]))


# --- parts that rules do not need -------------------------------------------------------------------------------------

DROPPED = Variation(
    ("as it is", "without it"), ("needed", "droppable"), ("needed: without it the rules differ", "can be dropped")
)


def droppable(subject: RuleSubject) -> tuple[Finding, ...]:
    """Return, for each part that can be left out of a rule, whether the rule then emits the same; a stream if not.

    A rule whose text shows that it never fires has one finding, which says so.

    Raises
    ------
    Refused: the rules have no finite model.
    """
    questions: list[tuple[str, Callable[[], Iterable[Finding]]]] = []
    silent = find_silent_rules(subject.rules)
    for number, rule in enumerate(subject.rules.resolved):
        if rule.name in silent:
            never = Finding(rule.name, "never", "never fires, so no part of it has an effect")
            questions.append((rule.name, partial(iter, (never,))))
            continue
        for what, shorter in shorter_rules(rule):
            about, variant = f"{rule.name}, {what}", with_rule(subject.rules, number, shorter)
            questions.append((about, partial(DROPPED.compare, subject, variant, about)))
    return findings_in_turn(questions)


def shorter_rules(rule: ResolvedRule) -> Iterator[tuple[str, t.Rule]]:
    """Yield the rule without one of its parts, constraints or conditions, as it is written, and what is left out."""
    return ((what, unresolve(each)) for what, each in _shorten(rule))


def _shorten(rule: ResolvedRule) -> Iterator[tuple[str, t.Rule]]:
    for index, part in enumerate(rule.predicates, 1):
        shorter = without_part(rule, index)
        if not _is_read(shorter, part, index):
            yield f"'{part}'", shorter
    for index, part in enumerate(rule.parts):
        of = f"{part.function} of {part.type}" if isinstance(part, t.Aggregate) else part.name
        for at, constraint in enumerate(part.constraints):
            looser = replace(part, constraints=_drop(part.constraints, at))
            yield f"'{constraint}' of {of}", with_part(rule, index, looser)
    for at, condition in enumerate(rule.where_clause):
        yield f"'where {condition}'", replace(rule, where_clause=_drop(rule.where_clause, at))


def _drop(of: tuple[t.Expression, ...], at: int) -> tuple[t.Expression, ...]:
    return (*of[:at], *of[at + 1 :])


def _is_read(rest: t.Rule, part: t.Predicate | t.Aggregate, index: int) -> bool:
    """Whether the rest of a rule reads what a part binds."""
    if any(slot.part == index for slot in slots(*rest.expressions)):
        return True
    named = {name for each in rest.predicates if each.window is not None for name in each.window.names}
    return t.binds(part) and part.name in named.union(rest.consuming)


# --- triggers that compete --------------------------------------------------------------------------------------------


def competition(subject: RuleSubject) -> tuple[Finding, ...]:
    """Return, for each rule that consumes, whether its triggers compete, with the shortest stream on which they do.

    Raises
    ------
    Refused: the rules have no finite model.
    """

    def compare(number: int, rule: t.Rule) -> Iterator[Finding]:
        what = ", ".join(rule.consuming)
        texts = (
            f"triggers compete for {what}: one consumes an event that another would have selected",
            f"triggers do not compete for {what}: it emits the same if it consumes nothing",
        )
        variation = Variation(("as it is", "consuming nothing"), ("compete", "do not compete"), texts)
        return variation.compare(subject, with_rule(subject.rules, number, replace(rule, consuming=())), rule.name)

    consuming = [(number, rule) for number, rule in enumerate(subject.rules.rules) if rule.consuming]
    return findings_in_turn([(rule.name, partial(compare, number, rule)) for number, rule in consuming])


# --- events of one step, whatever their order -------------------------------------------------------------------------


def _compare_unordered(variant: RuleSet, subject: RuleSubject) -> Verdict:
    one, other = build_models((subject.rules, variant), subject.bounds)
    both_sides, _ = side_by_side(one, other, "stepwise")
    names = [name for name, _ in both_sides.outputs]
    pairs = [
        pair for pair, (output, _) in zip(zip(names[::2], names[1::2], strict=True), one.outputs, strict=True)
        if output != ALL
    ]  # fmt: skip

    def same(system: System) -> Any:
        return conjunction(same_events(*(read_output(system, name) for name in pair)) for pair in pairs)

    prop = invariant("same composites", same, "composites differ", compares=True)
    return check(both_sides, prop, subject.settings)


def read_output(system: System, output: str) -> list[Maybe]:
    """Return the slots that an output may carry in a step."""
    return [slot for slot in pipe_named(system, output).slots if slot.present is not FALSE]


def all_among(some: Sequence[Maybe], others: Sequence[Maybe]) -> Term:
    """Return whether each event of some is among the others, at least as often."""
    conditions = [
        either(negate(each.present), GE(_times(others, each.value), _times(some, each.value))) for each in some
    ]
    every: Term = conjunction(conditions)
    return every


def same_events(some: Sequence[Maybe], others: Sequence[Maybe]) -> Term:
    """Return whether two multisets of events are equal."""
    equal: Term = both(all_among(some, others), all_among(others, some))
    return equal


def _times(slots: Sequence[Maybe], value: Any) -> Term:
    """Return the number of events with this value."""

    def equal(slot: Maybe) -> Any:
        return conjunction(EQ(a, b) for a, b in zip(leaves(slot.value), leaves(value), strict=True))

    return count_true(both(slot.present, equal(slot)) for slot in slots)


def count_true(conditions: Iterable[Any]) -> Term:
    """Return the number of true conditions."""
    total: Term = const(0, Range(0, 0))
    for each in conditions:
        total = ADD(total, ite(each, 1, 0))
    return total
