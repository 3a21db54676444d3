"""Find rules that cover another rule of the same type: they emit, at the same step, whatever the other one emits.

Composites are compared as multisets: each event of one rule is among those of the other. Source: design of
rules in the model, "does one cover the other".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import combinations

from workbench.tesla.model.run_constants import output_of
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.tree import Rule
from workbench.verify.answer.verdict import Verdict
from workbench.verify.ask.properties import invariant
from workbench.verify.finding import Finding, findings_in_turn, limits, report_unknown
from workbench.verify.rules.firing import find_firing
from workbench.verify.rules.growing_question import GrowingQuestion
from workbench.verify.rules.rule_subject import RequiredFiring, RuleSubject
from workbench.verify.rules.stream import RuleStream, stream_of
from workbench.verify.rules.variants import all_among, read_output


def covers(subject: RuleSubject) -> tuple[Finding, ...]:
    """Return, for each two rules of the same type, whether one covers the other, or both are equal, or a stream if not.

    Raises
    ------
    Refused: the rules have no finite model.
    """
    subject = subject.within(replace(subject.bounds, by_rule=True))
    pairs = [(one, other) for one, other in combinations(subject.rules.rules, 2) if one.emits == other.emits]
    streams = dict[str, tuple[Verdict, RuleStream | None]]()

    def compare(one: Rule, other: Rule) -> Iterator[Finding]:
        for rule in (one, other):
            if rule.name not in streams:
                streams[rule.name] = find_firing(subject, rule)
        findings = [_decide_by_streams(*way, *streams[way[0].name]) for way in ((one, other), (other, one))]
        if None not in findings:
            return filter(None, findings)
        covered_by = partial(_decide_cover, subject.about([one.name, other.name]))
        return _compare_both_ways(covered_by, one, other, subject.rules)

    return findings_in_turn([(f"{one.name}, {other.name}", partial(compare, one, other)) for one, other in pairs])


def _decide_cover(subject: RuleSubject, one: Rule, other: Rule) -> Verdict:
    """Whether one rule emits whatever another one emits; vacuous if that emits nothing."""
    names = output_of(one), output_of(other)
    prop = invariant(
        f"covers({other.name}, {one.name})",
        lambda system: all_among(*(read_output(system, name) for name in names)),
        f"{one.name} emits an event that {other.name} does not",
    )

    ask = lambda bounds: subject.within(bounds).problem(prop).decide()  # noqa: E731
    fires = RequiredFiring([subject.rules], [(0, one)], f"{one.name} never fires", subject.settings)
    return GrowingQuestion(ask, subject, [fires]).decide()[0]


def _compare_both_ways(
    covered_by: Callable[[Rule, Rule], Verdict], one: Rule, other: Rule, rules: RuleSet
) -> Iterator[Finding]:
    ways = (one, other), (other, one)
    verdicts = [covered_by(*way) for way in ways]
    held = [each.outcome.is_proved for each in verdicts]
    if all(held):
        surer = next((each for each in verdicts if each.within_bounds), verdicts[0])
        text = "neither emits anything" if verdicts[0].vacuity else "both always emit the same"
        yield Finding(f"{one.name}, {other.name}", "equal", f"{text}{limits(surer)}", surer)
        return
    for (a, b), verdict, covered in zip(ways, verdicts, held, strict=True):
        about = f"{a.name}, {b.name}"
        if covered:
            why = f": {a.name} emits nothing" if verdict.vacuity else ""
            text = f"{b.name} emits all that {a.name} does{limits(verdict)}{why}"
            yield Finding(about, "covered", text, verdict)
        elif (stream := stream_of(verdict)) is not None:
            yield _report_not_covered(a, b, verdict, stream.with_rules(rules))
        else:
            yield report_unknown(about, verdict)


def _decide_by_streams(one: Rule, other: Rule, verdict: Verdict, stream: RuleStream | None) -> Finding | None:
    """Report that a rule emits more than another one, if the shortest stream on which it fires shows that."""
    if stream is None:
        return None
    for caused in stream.caused():
        first, second = (
            Counter(repr(each.values) for each in caused if each.rule == rule.name) for rule in (one, other)
        )
        if first - second:
            return _report_not_covered(one, other, verdict, stream)
    return None


def _report_not_covered(one: Rule, other: Rule, verdict: Verdict, stream: RuleStream) -> Finding:
    text = f"{one.name} emits an event that {other.name} does not"
    return Finding(f"{one.name}, {other.name}", "not covered", text, verdict, {"": stream})
