"""Questions about rules as questions about pipelines, in models with as much capacity as needed.

The rule of this module: if the search for a run needs more capacity than a model has, a larger model is tried.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial

from workbench.budget import Budget, phase, share
from workbench.errors import LimitMet, TypingError, listed
from workbench.language import PropertySyntax, parse_property
from workbench.language.properties import PROPERTIES
from workbench.language.syntax import Expression, Identifier, walk
from workbench.tesla.model.build import RuleBounds, align_types, build_models, settle_bounds
from workbench.tesla.model.needs import needs
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.rule_warnings import cut_silent
from workbench.verify.answer.problem import Problem, comparison
from workbench.verify.answer.settings import Settings
from workbench.verify.answer.verdict import Depth, Ground, Outcome, Verdict, deeper
from workbench.verify.ask.equivalence import EquivalenceMode
from workbench.verify.ask.properties import Property
from workbench.verify.rules.compared_values import list_comparisons
from workbench.verify.rules.growing_question import LARGEST_CAPACITY, GrowingQuestion
from workbench.verify.rules.rule_subject import (
    WITH_TIME,
    RequiredFiring,
    RuleSubject,
    find_relevant_rules,
    read_settings,
    slice_difference,
    split_difference,
)

SHORTER = 2.0
"""Seconds for each other rule to fire on a shorter stream, once one rule is known to fire."""


@dataclass(frozen=True, eq=False, repr=False)
class RuleProblem(Problem):
    """A property of the model of rules.

    Attributes
    ----------
    growing: the same question about larger models.
    source: the rules themselves; None for a comparison of two rule sets.
    """

    growing: GrowingQuestion | None = None
    source: RuleSubject | None = None

    @property
    def program(self) -> object:
        return self.subject if self.source is None else self.source.rules

    def suggest_capacity(self, queues: Mapping[str, int]) -> str:
        """See `Problem.suggest_capacity`; empty for a comparison."""
        needed = {} if self.source is None else needs(self.source.rules)
        capacity = max(
            (needed[each] for each in needed if any(name.endswith(f".{each}") for name in queues)), default=0
        )
        if capacity <= max(queues.values(), default=0):
            return ""
        return f"leave -Q out, or -Q {capacity}" if capacity <= LARGEST_CAPACITY else f"-Q {capacity}"

    def decide(self) -> Verdict:
        """Return the verdict; if no run decides the question, the verdict of larger models."""
        verdict = self.make_undecided()
        try:
            with Budget(self.settings.seconds, self.settings.memory_mb):
                verdict = super().decide()
                return verdict if self.growing is None else self.growing.decide(verdict)[0]
        except LimitMet as met:  # the earlier verdict stays, unless it may be vacuous
            if self.growing is None or verdict.outcome is Outcome.UNKNOWN:
                return verdict.give_up(met)
            return self.growing.vacuous(verdict)

    def is_opposite_of(self, other: Problem) -> bool:
        """Whether this is `never(P)`, and the other one is `can(P)` of the same rules, with the same bounds."""
        if not (isinstance(other, RuleProblem) and self.growing and other.growing and super().is_opposite_of(other)):
            return False
        one, two = self.growing, other.growing
        return (one.subject.bounds, one.subject.deepen) == (two.subject.bounds, two.subject.deepen)


@dataclass(frozen=True, eq=False, repr=False)
class SplitProblem(RuleProblem):
    """A problem that is put to parts of the rules, one after the other.

    A run of one part may decide it; a shortest run is the shortest of all parts.

    Attributes
    ----------
    parts: the problem of each part with these settings, by the name of a rule.
    shows: the outcome of a part whose run decides the problem.
    divided: whether the other outcome of all parts decides it, too; otherwise it is put to all rules together.
    """

    parts: Mapping[str, Callable[[Settings], Problem]] = field(default_factory=dict)
    shows: Outcome = Outcome.FAILS
    divided: bool = False

    def decide(self) -> Verdict:
        """Return the verdict of all parts; a run comes with the grounds of the part that has it."""
        start, verdicts = time.monotonic(), dict.fromkeys(self.parts, self.make_undecided("no time was left for it"))
        whole: Verdict | None = None
        with suppress(LimitMet), Budget(self.settings.seconds, self.settings.memory_mb):
            self._decide_parts(self.parts, verdicts)
            if not self.divided and shortest_of([*verdicts.values()], self.shows) is None:
                whole = super().decide()
            undecided = [
                name for name, each in verdicts.items() if each.outcome is Outcome.UNKNOWN and not each.vacuity
            ]
            if self.divided and undecided and (share(len(undecided)).seconds or 0) > SHORTER:
                self._decide_parts(undecided, verdicts)
        verdict = whole or shortest_of([*verdicts.values()], self.shows)
        if verdict is None:
            name, verdict = next(each for each in verdicts.items() if each[1].outcome is Outcome.UNKNOWN)
            verdict = replace(verdict, reason=f"rule {name}: {verdict.reason}")
        elif not whole and verdict.outcome is not self.shows:
            verdict = replace(verdict, grounds=join_grounds(verdicts), problem=replace(self, has_models=True))
        if verdict.outcome is Outcome.UNKNOWN:
            return replace(verdict, depth=deeper(verdict.depth, depth_of_all([*verdicts.values()])))
        return replace(verdict, seconds=time.monotonic() - start)

    def _decide_parts(self, names: Collection[str], verdicts: dict[str, Verdict]) -> None:
        """Decide some parts, and store their verdicts; each gets an equal share of the time that is left."""
        for number, name in enumerate(names):
            shares = len(names) - number + (not self.divided)  # as much is left for all rules together
            seconds = share(shares).seconds
            if any(each.outcome is self.shows for each in verdicts.values()):
                seconds = SHORTER if seconds is None else min(SHORTER, seconds)
            grow = self.settings.grow / (len(self.parts) + (not self.divided))
            with phase(f"{name} (rule {number + 1} of {len(names)})", part=True):
                verdicts[name] = self.parts[name](replace(self.settings, seconds=seconds, grow=grow)).decide()


def shortest_of(verdicts: Sequence[Verdict], shows: Outcome) -> Verdict | None:
    """Combine verdicts on parts: return that with the shortest run, if one has this outcome; None if inconclusive."""
    known = all(each.outcome is not Outcome.UNKNOWN for each in verdicts)
    candidates = [(each, each.counterexample) for each in verdicts if each.outcome is shows]
    if candidates:
        best, run = min(candidates, key=lambda each: len(each[1].steps) if each[1] else math.inf)
        shortest = known and all(each is not None and each.shortest for _, each in candidates)
        return replace(best, counterexample=run and replace(run, shortest=shortest))
    return min(verdicts, key=lambda each: each.outcome is not Outcome.WITHIN_BOUNDS) if known else None


def join_grounds(verdicts: Mapping[str, Verdict]) -> tuple[Ground, ...]:
    """Join the grounds of verdicts on rules: what does not apply to all comes with the names of its rules."""
    rules_of = dict[tuple[str, str], list[str]]()
    first = dict[tuple[str, str], Ground]()
    for name, verdict in verdicts.items():
        for each in verdict.grounds:
            rules_of.setdefault((each.kind, each.text), []).append(name)
            first.setdefault((each.kind, each.text), each)
    kinds, count = list(dict.fromkeys(kind for kind, _ in first)), len(verdicts)
    grounds = list[Ground]()
    for key, names in sorted(rules_of.items(), key=lambda each: (kinds.index(each[0][0]), len(each[1]) < count)):
        text = f"{key[1]} (rule {listed(names)})" if key[1] and len(names) < count else key[1]
        grounds.append(replace(first[key], text=text))
    return tuple(grounds)


def depth_of_all(verdicts: Sequence[Verdict]) -> Depth | None:
    """Return the number of steps for which all parts are decided; none of them has a wanted run."""
    depths = [each.depth for each in verdicts if each.outcome not in (Outcome.HOLDS, Outcome.FAILS)]
    known = [each for each in depths if each is not None]
    if not known or len(known) < len(depths):
        return None
    unless = next((each.unless for each in known if each.unless), "")
    return replace(min(known, key=lambda each: each.steps), unless=unless)


def rule_problem(
    rules: RuleSet,
    prop: Property | PropertySyntax | str,
    bounds: RuleBounds | None = None,
    settings: Settings = WITH_TIME,
    *,
    deepen: bool = True,
) -> RuleProblem:
    """Make the problem of a property of rules: `can(Fire)`, `never(Fire)`, `always (Fire.value > 45)`, ...

    Parameters
    ----------
    settings: the environment must admit one event per step; capacities are those of `bounds`.
    deepen: whether to search for a run in larger models, too.

    Raises
    ------
    Refused: the rules have no finite model. LanguageError: the text is not a property.
    """
    if isinstance(prop, str):
        prop = parse_property(prop)
    subject = RuleSubject(cut_silent(rules), bounds or RuleBounds(), settings, deepen)
    if not isinstance(prop, PropertySyntax):
        return growing_problem(subject, prop, rules.rule_names)
    subject = subject.within(replace(subject.bounds, compared=list_comparisons(rules, prop)))
    emitting = find_relevant_rules(rules, prop)
    alone = [len(subject.about([name]).rules.rules) for name in emitting if _is_about_type(rules, prop)]
    if len(alone) < 2 or settings.engine != "auto" or len(subject.about(emitting).rules.rules) in alone:
        return growing_problem(subject, prop, emitting)
    less = replace(settings, grow=settings.grow / (len(alone) + 1))
    whole = growing_problem(replace(subject, settings=less), prop, emitting)
    parts = {name: partial(_put_to_rule, subject, prop, name) for name in emitting}
    shows = Outcome.HOLDS if PROPERTIES[prop.name].wanted else Outcome.FAILS
    arguments = whole.subject, whole.prop, settings, whole.syntax
    return SplitProblem(*arguments, growing=whole.growing, source=subject, parts=parts, shows=shows)


def _put_to_rule(subject: RuleSubject, prop: PropertySyntax, name: str, settings: Settings) -> Problem:
    """Make the problem of a property of one rule, and of all that it depends on."""
    return growing_problem(replace(subject, settings=settings), prop, [name])


def problem_of_rules(
    rules: RuleSet, prop: Property | PropertySyntax | str, settings: Settings | None = None
) -> RuleProblem:
    """Make the problem of a property of rules with the bounds that general settings state; see `read_settings`."""
    bounds, own, deepen = read_settings(settings)
    return rule_problem(rules, prop, bounds, own, deepen=deepen)


def growing_problem(
    subject: RuleSubject,
    prop: Property | PropertySyntax,
    names: Collection[str],
    *,
    about: Collection[str] = (),
    itself: bool = False,
) -> RuleProblem:
    """Make the problem of a property of these rules and those they depend on, also put to larger models.

    Parameters
    ----------
    about: for a property that is not text, the rules of which one has to fire, or else it is vacuous.
    itself: whether the property is that these rules fire.
    """
    rules, settings, bounds = subject.rules, subject.settings, subject.bounds
    mentioned = {*re.findall(r"\w+", str(prop))} if isinstance(prop, PropertySyntax) else {*rules.events}

    def problem_with(more: RuleBounds) -> Problem:
        return subject.within(more).settle().about(names, mentioned).problem(prop)

    required: Sequence[RequiredFiring] = RequiredFiring.of_any([rules], about, settings)
    if isinstance(prop, PropertySyntax):
        itself = _is_about_type(rules, prop)
        required = _list_required(rules, prop, names, settings)
        if subject.deepen and not itself:
            larger = (replace(bounds, growth=growth) for growth in (1, 2, 4))
            bounds = next((more for more in larger if _is_typed(problem_with(more))), bounds)
    question = GrowingQuestion(
        lambda more: problem_with(more).decide(), subject.within(bounds), required, itself=itself,
        wanted=isinstance(prop, Property) or PROPERTIES[prop.name].wanted,
    )  # fmt: skip
    first = problem_with(bounds)
    return RuleProblem(first.subject, first.prop, settings, first.syntax, growing=question, source=subject)


def _is_typed(problem: Problem) -> bool:
    """Whether attributes have the values that they are compared with; attributes of types that never come have none."""
    try:
        problem.validate()
    except TypingError:
        return False
    return True


def _is_about_type(rules: RuleSet, prop: PropertySyntax) -> bool:
    """Whether a property is about the presence of a type of composites."""
    type = prop.argument.name if isinstance(prop.argument, Identifier) else ""
    return PROPERTIES[prop.name].presence and type in rules.composites


def _list_required(
    rules: RuleSet, prop: PropertySyntax, names: Collection[str], settings: Settings
) -> Sequence[RequiredFiring]:
    """Return the firings without which a property is vacuous: of each rule whose composites a condition mentions.

    A type that comes at all is enough for the question whether it comes, and any composite for a property of all.
    """
    if not isinstance(prop.argument, Expression):
        return () if PROPERTIES[prop.name].of_queues else RequiredFiring.of_any([rules], names, settings)
    types = {each.name for each in walk(prop.argument) if isinstance(each, Identifier)}
    about = [rule.name for rule in rules.rules if rule.name in names and rule.emits in types]
    list_firings = RequiredFiring.of_any if _is_about_type(rules, prop) else RequiredFiring.of_each
    return list_firings([rules], about, settings)


def rule_comparison(
    left: RuleSet,
    right: RuleSet,
    bounds: RuleBounds | None = None,
    settings: Settings = WITH_TIME,
    mode: EquivalenceMode = "stepwise",
    *,
    deepen: bool = True,
) -> RuleProblem:
    """Make the problem whether two rule sets emit the same composites at the same steps.

    If they differ in some rules only, the models contain these and what they depend on, each by itself if possible.

    Raises
    ------
    InputError: they are not about the same types (`align_types`). Refused: a rule set has no finite model.
    """
    sides = dict(zip(("left", "right"), align_types(left, right), strict=True))
    rule_sets = tuple(sides.values())
    whole = RuleSubject(rule_sets[0], bounds or RuleBounds(), settings, deepen)
    separate = split_difference(sides, whole.bounds) if mode == "stepwise" and settings.engine == "auto" else {}
    if len(separate) > 1:
        parts = {
            name: partial(_compare_part, part["left"], part["right"], own, deepen)
            for name, (part, own) in separate.items()
        }
        any_part = next(iter(parts.values()))(settings)
        return SplitProblem(
            any_part.subject, any_part.prop, settings, any_part.syntax, any_part.title, parts=parts, divided=True
        )

    def problem_with(more: RuleBounds) -> Problem:
        parts, own = sides, more
        if mode == "stepwise":
            parts, own = slice_difference(sides, settle_bounds(rule_sets, more), ordered=True)
        one, other = build_models(tuple(parts.values()), own)
        return comparison(one, other, mode, settings)

    first = problem_with(whole.bounds)
    question = growing_comparison(lambda more: problem_with(more).decide(), rule_sets, whole)
    return RuleProblem(first.subject, first.prop, settings, first.syntax, first.title, growing=question)


def _compare_part(left: RuleSet, right: RuleSet, bounds: RuleBounds, deepen: bool, settings: Settings) -> Problem:
    """Make the problem that compares parts of two rule sets."""
    return rule_comparison(left, right, bounds, settings, deepen=deepen)


def comparison_of_rules(
    left: RuleSet, right: RuleSet, mode: EquivalenceMode, settings: Settings | None = None
) -> RuleProblem:
    """Make the problem that compares two rule sets with the bounds that general settings state."""
    bounds, own, deepen = read_settings(settings)
    return rule_comparison(left, right, bounds, own, mode, deepen=deepen)


def growing_comparison(
    ask: Callable[[RuleBounds], Verdict], rule_sets: Sequence[RuleSet], subject: RuleSubject
) -> GrowingQuestion:
    """Return the question that compares two rule sets; it is vacuous if one of the differing rules does not fire.

    Parameters
    ----------
    subject: the first rule set, with the bounds of both.
    """
    one, other = ([(rule.name, str(rule)) for rule in rules.rules] for rules in rule_sets)
    if subject.bounds.trex:
        differing = {*one, *other}
    elif len(one) == len(other):  # an exchange of rules is a difference
        differing = {each for pair in zip(one, other, strict=True) if pair[0] != pair[1] for each in pair}
    else:
        differing = {*one} ^ {*other}
    required = RequiredFiring.of_each(rule_sets, {name for name, _ in differing}, subject.settings)
    return GrowingQuestion(ask, subject, required)
