"""Which rules can fire, which types nothing can emit, and whether composites cause composites without end.

A rule never fires if its model has capacity for all retained events, and it emits nothing on any run; otherwise nothing
is known about it.

Without a cycle of triggers, chains of causes are no longer than the rules that lead from one type to the next.
Otherwise the model looks for a chain of a given length; an engine, which stops at 1000, decides whether it goes on.
Source: design of rules in the model, "can it fire", "does a cascade end".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from workbench.core.readable import plural
from workbench.tesla.model.run_constants import CHAIN
from workbench.tesla.rule_graph import LONGEST_CHAIN
from workbench.tesla.tree import Rule
from workbench.verify.answer.verdict import Outcome, Verdict
from workbench.verify.ask.properties import Property, can, pipe_named
from workbench.verify.finding import Finding, findings_in_turn, limits, report_unknown
from workbench.verify.rules.problems import growing_problem
from workbench.verify.rules.rule_subject import RuleSubject, can_fire
from workbench.verify.rules.stream import RuleStream, stream_of


def fires(subject: RuleSubject) -> tuple[Finding, ...]:
    """Return, for each rule, whether it can fire, with the shortest such stream; then the types that nothing emits.

    Raises
    ------
    Refused: the rules have no finite model.
    """
    rules = subject.rules
    findings = list(findings_in_turn([(rule.name, partial(_report_firing, subject, rule)) for rule in rules.rules]))
    silent = {each.about for each in findings if each.answer == "never"}
    for name in rules.composites:
        emitting = [rule.name for rule in rules.rules if rule.emits == name]
        if silent.issuperset(emitting):
            findings.append(Finding(name, "never", f"nothing emits it: {', '.join(emitting)} never fires"))
    return tuple(findings)


def firing(subject: RuleSubject, rule: Rule) -> Verdict:
    """Decide whether a rule can fire, in a model of the rules that matter for it; the run is one of that model."""
    own = subject.about([rule.name])
    own = own.within(replace(own.bounds, by_rule=True))
    return growing_problem(own, can_fire(rule), own.rules.rule_names, about=[rule.name], itself=True).decide()


def find_firing(subject: RuleSubject, rule: Rule) -> tuple[Verdict, RuleStream | None]:
    """Return whether a rule can fire, and the shortest stream on which it does."""
    verdict = firing(subject, rule)
    stream = stream_of(verdict) if verdict.outcome is Outcome.HOLDS else None
    return verdict, stream and stream.with_rules(subject.rules)


def _report_firing(subject: RuleSubject, rule: Rule) -> Iterator[Finding]:
    verdict, stream = find_firing(subject, rule)
    if stream is not None:
        yield Finding(rule.name, "fires", "can fire", verdict, {"": stream})
    elif verdict.outcome is Outcome.FAILS:
        yield Finding(rule.name, "never", "never fires, with these values", verdict)
    else:
        yield report_unknown(rule.name, verdict)


# --- composites that cause composites -------------------------------------------------------------------------------


CHAINS = "chains of causes"


def cascade(subject: RuleSubject) -> tuple[Finding, ...]:
    """Return whether chains of causes are bounded; if a long one is found, whether it ends, with the shortest stream.

    A chain is long if it has more composites than the `depth` of the bounds.

    Raises
    ------
    Refused: the rules have no finite model.
    """
    longest = subject.rules.graph.longest_chain
    if longest is not None:
        return (Finding(CHAINS, "end", f"they end: none has more than {plural(longest, 'composite')}, whatever comes"),)
    return findings_in_turn([(CHAINS, partial(_find_long_chain, subject))])


def _find_long_chain(subject: RuleSubject) -> Iterator[Finding]:
    length = subject.bounds.depth + 1
    subject = subject.within(replace(subject.bounds, depth=length, chain=length))
    names = subject.rules.rule_names
    verdict = growing_problem(subject, _chain(length), names, about=names).decide()
    stream = stream_of(verdict) if verdict.outcome is Outcome.HOLDS else None
    if stream is not None:
        answer, text = ("long", f"one has {length} composites, and ends")
        if stream.meant is None:
            answer, text = "do not end", f"one goes on without end: more than {LONGEST_CHAIN} composites"
        yield Finding(CHAINS, answer, text, verdict, {"": stream})
    elif verdict.within_bounds or verdict.outcome is Outcome.FAILS:
        words = limits(verdict) or ", with these values"
        yield Finding(CHAINS, "end", f"none has {length} composites{words}", verdict)
    else:
        yield report_unknown(CHAINS, verdict)


def _chain(length: int) -> Property:
    """Return the property that a chain has this length; one that goes on leaves the model at that step, and counts."""
    long = can(lambda system: pipe_named(system, CHAIN).present, f"a chain of {length} composites")
    return Property(str(long), lambda system: replace(long.question(system), about_overflow=True))
