"""Which rules can fire, and what nothing can emit.

A rule whose model has room for all that is ever kept, and on no run emits anything, never fires; else nothing is known
of it. Source: design of rules in the model, "can it fire".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from workbench.tesla.tree import Rule
from workbench.verify.answer.verdict import Outcome, Verdict
from workbench.verify.finding import Finding, findings_in_turn, report_unknown
from workbench.verify.rules.problems import growing_problem
from workbench.verify.rules.stream import RuleStream, stream_of
from workbench.verify.rules.subject import RuleSubject, can_fire


def fires(subject: RuleSubject) -> tuple[Finding, ...]:
    """For each rule whether it can fire, with the shortest stream on which it does; then types that nothing emits.

    Raises
    ------
    Refused: the rules have no finite model.
    """
    rules = subject.rules
    found = list(findings_in_turn([(rule.name, partial(_report_firing, subject, rule)) for rule in rules.rules]))
    silent = {each.about for each in found if each.answer == "never"}
    for name in rules.composites:
        emitting = [rule.name for rule in rules.rules if rule.emits == name]
        if silent.issuperset(emitting):
            found.append(Finding(name, "never", f"nothing emits it: {', '.join(emitting)} never fires"))
    return tuple(found)


def firing(subject: RuleSubject, rule: Rule) -> Verdict:
    """Whether a rule can fire, asked without the rules that do not matter; its run is one of a model of these."""
    own = subject.about([rule.name])
    own = own.within(replace(own.bounds, by_rule=True))
    return growing_problem(own, can_fire(rule), own.rules.rule_names, about=[rule.name], itself=True).decide()


def find_firing(subject: RuleSubject, rule: Rule) -> tuple[Verdict, RuleStream | None]:
    """Whether a rule can fire, and the shortest stream on which it does."""
    verdict = firing(subject, rule)
    stream = stream_of(verdict) if verdict.outcome is Outcome.HOLDS else None
    return verdict, stream and stream.made_by(subject.rules)


def _report_firing(subject: RuleSubject, rule: Rule) -> Iterator[Finding]:
    verdict, stream = find_firing(subject, rule)
    if stream is not None:
        yield Finding(rule.name, "fires", "can fire", verdict, {"": stream})
    elif verdict.outcome is Outcome.FAILS:
        yield Finding(rule.name, "never", "never fires, with these values", verdict)
    else:
        yield report_unknown(rule.name, verdict)
