"""Questions about rules: those about pipelines, of models with as much room as it takes.

The rule of this module: a run that is looked for and needs more room than a model has is looked for with more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest

from workbench.budget import Budget, phase, share
from workbench.errors import LimitMet, TypingError
from workbench.language import PropertySyntax, parse_property
from workbench.language.properties import PROPERTIES
from workbench.language.syntax import Expression, Identifier, walk
from workbench.tesla.model.build import RuleBounds, align_types, build_models, settle_bounds
from workbench.tesla.model.needs import computes
from workbench.tesla.remarks import cut_silent
from workbench.tesla.rule_set import RuleSet
from workbench.verify.answer.problem import Problem, comparison
from workbench.verify.answer.settings import Settings
from workbench.verify.answer.verdict import Depth, Outcome, Verdict, deeper
from workbench.verify.ask.equivalence import EquivalenceMode
from workbench.verify.ask.properties import Property
from workbench.verify.rules.growing_question import GrowingQuestion
from workbench.verify.rules.subject import WITH_TIME, RuleSubject, can_any_fire, rules_asked_of, slice_difference

SHORTER = 2.0
"""Seconds for each other rule, where one is known to emit something, to do it on a shorter stream."""


@dataclass(frozen=True, eq=False, repr=False)
class RuleProblem(Problem):
    """A property of the model of rules.

    Attributes
    ----------
    growing: the same of larger models.
    source: the rules themselves; None of two that are compared.
    """

    growing: GrowingQuestion | None = None
    source: RuleSubject | None = None

    @property
    def program(self) -> object:
        return self.subject if self.source is None else self.source.rules

    def decide(self) -> Verdict:
        """The verdict; where no run decides it, that of larger models."""
        verdict = self.make_undecided()
        try:
            with Budget(self.settings.seconds, self.settings.memory_mb):
                verdict = super().decide()
                return verdict if self.growing is None else self.growing.decide(verdict)[0]
        except LimitMet as met:  # what was decided stays so, but for what may be vacuous
            if self.growing is None or verdict.outcome is Outcome.UNKNOWN:
                return verdict.give_up(met)
            return self.growing.vacuous(verdict)

    def is_opposite_of(self, other: Problem) -> bool:
        """Whether this is `never(P)`, and the other one `can(P)` of the same rules, in a model with the same bounds."""
        if not (isinstance(other, RuleProblem) and self.growing and other.growing and super().is_opposite_of(other)):
            return False
        one, two = self.growing, other.growing
        return (one.subject.bounds, one.subject.deepen) == (two.subject.bounds, two.subject.deepen)


@dataclass(frozen=True, eq=False, repr=False)
class SplitProblem(RuleProblem):
    """Whether composites of a type can come, asked of each of the rules that emit them, with what it depends on.

    They can where one of the rules can emit some, and a shortest stream is the shortest of those. Where nothing
    follows, since it is not known of one of them, it is asked of all together.

    Attributes
    ----------
    names: of these rules.
    """

    names: tuple[str, ...] = ()

    def decide(self) -> Verdict:
        """The verdict; it rests on what that about one of the rules rests on."""
        assert self.source is not None
        assert self.syntax is not None
        start, parts, grow = time.monotonic(), list[Verdict](), self.settings.grow / (len(self.names) + 1)
        shows = Outcome.HOLDS if PROPERTIES[self.syntax.name].wanted else Outcome.FAILS
        with Budget(self.settings.seconds, self.settings.memory_mb):
            for number, name in enumerate(self.names):
                seconds = share(len(self.names) - number + 1).seconds  # as much is left for all of them together
                if any(each.outcome is shows for each in parts):
                    seconds = SHORTER if seconds is None else min(SHORTER, seconds)
                own = replace(self.source, settings=replace(self.settings, seconds=seconds, grow=grow))
                with phase(f"{name} (rule {number + 1} of {len(self.names)})", part=True):
                    parts.append(growing_problem(own, self.syntax, [name]).decide())
            found = shortest_of(parts, shows)
            if found is not None:
                return replace(found, seconds=time.monotonic() - start)
            verdict = super().decide()
            unknown = verdict.outcome is Outcome.UNKNOWN
            return replace(verdict, depth=deeper(verdict.depth, depth_of_all(parts))) if unknown else verdict


def shortest_of(found: Sequence[Verdict], shows: Outcome) -> Verdict | None:
    """What verdicts on parts say of all: that of the shortest run, if one has this outcome; None if nothing follows."""
    known = all(each.outcome is not Outcome.UNKNOWN for each in found)
    shown = [(each, each.counterexample) for each in found if each.outcome is shows]
    if shown:
        best, run = min(shown, key=lambda each: len(each[1].steps) if each[1] else math.inf)
        shortest = known and all(each is not None and each.shortest for _, each in shown)
        return replace(best, counterexample=run and replace(run, shortest=shortest))
    return min(found, key=lambda each: each.outcome is not Outcome.WITHIN_BOUNDS) if known else None


def depth_of_all(found: Sequence[Verdict]) -> Depth | None:
    """For how many steps all of these say something, none of which has a run that is looked for."""
    depths = [each.depth for each in found if each.outcome not in (Outcome.HOLDS, Outcome.FAILS)]
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
    """A property of rules, not decided yet: `can(Fire)`, `never(Fire)`, `always (Fire.value > 45)`, ...

    Parameters
    ----------
    settings: their environment lets one event come at a step; capacities are those of `bounds`.
    deepen: whether a run that is looked for is looked for in larger models, too.

    Raises
    ------
    Refused: the rules have no finite model. LanguageError: the text is no property.
    """
    if isinstance(prop, str):
        prop = parse_property(prop)
    subject = RuleSubject(cut_silent(rules), bounds or RuleBounds(), settings, deepen)
    if not isinstance(prop, PropertySyntax):
        return growing_problem(subject, prop, rules.rule_names)
    emitting = rules_asked_of(rules, prop)
    alone = [len(subject.about([name]).rules.rules) for name in emitting if _type_asked(rules, prop)]
    if len(alone) < 2 or settings.engine != "auto" or len(subject.about(emitting).rules.rules) in alone:
        return growing_problem(subject, prop, emitting)
    less = replace(settings, grow=settings.grow / (len(alone) + 1))
    whole = growing_problem(replace(subject, settings=less), prop, emitting)
    found = whole.subject, whole.prop, settings, whole.syntax
    return SplitProblem(*found, growing=whole.growing, source=subject, names=emitting)


def growing_problem(
    subject: RuleSubject,
    prop: Property | PropertySyntax,
    names: Collection[str],
    *,
    about: Collection[str] = (),
    itself: bool = False,
) -> RuleProblem:
    """A property of the rules of these names and those that they depend on, to be asked of larger models, too.

    Parameters
    ----------
    about: of a property that is not written, rules without which it is about nothing.
    itself: it asks whether these fire.
    """
    rules, settings, bounds = subject.rules, subject.settings, subject.bounds

    def problem_with(more: RuleBounds) -> Problem:
        return subject.within(more).settle().about(names).problem(prop)

    if isinstance(prop, PropertySyntax):
        about = names if _outputs_asked(rules, prop) else ()
        itself = _type_asked(rules, prop)
        if subject.deepen and not itself:
            larger = (replace(bounds, growth=growth) for growth in (1, 2, 4))
            bounds = next((more for more in larger if _is_typed(problem_with(more))), bounds)
    question = GrowingQuestion(
        lambda more: problem_with(more).decide(), subject.within(bounds),
        partial(can_any_fire, [rules], about, settings), _never([rules], about), itself=itself,
        wanted=isinstance(prop, Property) or PROPERTIES[prop.name].wanted,
        computes=computes(subject.about(names).rules),
    )  # fmt: skip
    first = problem_with(bounds)
    return RuleProblem(first.subject, first.prop, settings, first.syntax, growing=question, source=subject)


def _is_typed(found: Problem) -> bool:
    """Whether attributes have the values that they are compared with; those of what never comes have none."""
    try:
        found.validate()
    except TypingError:
        return False
    return True


def _never(rule_sets: Sequence[RuleSet], names: Collection[str]) -> str:
    """In words, that none of these rules fires; empty if there are none."""
    types = dict.fromkeys(rule.emits for rules in rule_sets for rule in rules.rules if rule.name in names)
    return f"no {' and no '.join(types)} comes" if types else ""


def _type_asked(rules: RuleSet, prop: PropertySyntax) -> bool:
    """Whether it is asked of a type of composites, or what its attributes are."""
    type = prop.argument.name if isinstance(prop.argument, Identifier) else ""
    return PROPERTIES[prop.name].presence and type in rules.composites


def _outputs_asked(rules: RuleSet, prop: PropertySyntax) -> bool:
    """Whether a property is about composites, not about events and columns alone."""
    if not isinstance(prop.argument, Expression):
        return not PROPERTIES[prop.name].of_queues
    return any(isinstance(each, Identifier) and each.name in rules.composites for each in walk(prop.argument))


def rule_comparison(
    left: RuleSet,
    right: RuleSet,
    bounds: RuleBounds | None = None,
    settings: Settings = WITH_TIME,
    mode: EquivalenceMode = "stepwise",
    *,
    deepen: bool = True,
) -> RuleProblem:
    """Whether two rule sets emit the same composites at the same steps, not decided yet.

    Where they are the same but for some rules, models are made of these and what they depend on.

    Raises
    ------
    InputError: they are not about the same types (`align_types`). Refused: one of them has no finite model.
    """
    sides = dict(zip(("left", "right"), align_types(left, right), strict=True))
    rule_sets = tuple(sides.values())
    whole = RuleSubject(rule_sets[0], bounds or RuleBounds(), settings, deepen)

    def problem_with(more: RuleBounds) -> Problem:
        asked, own = sides, more
        if mode == "stepwise":
            asked, own = slice_difference(sides, settle_bounds(rule_sets, more), ordered=True)
        one, other = build_models(tuple(asked.values()), own)
        return comparison(one, other, mode, settings)

    first = problem_with(whole.bounds)
    question = growing_comparison(lambda more: problem_with(more).decide(), rule_sets, whole)
    return RuleProblem(first.subject, first.prop, settings, first.syntax, first.title, growing=question)


def growing_comparison(
    ask: Callable[[RuleBounds], Verdict], rule_sets: Sequence[RuleSet], subject: RuleSubject
) -> GrowingQuestion:
    """The comparison of two rule sets; it says nothing where none of the differing rules fires.

    Parameters
    ----------
    subject: the first of them, with the bounds of both.
    """
    pairs, trex = zip_longest(*(rules.rules for rules in rule_sets)), subject.bounds.trex
    others = (pair for pair in pairs if trex or len({f"{each and each.name} {each}" for each in pair}) > 1)
    names = {each.name for pair in others for each in pair if each is not None}
    fires, never = partial(can_any_fire, rule_sets, names, subject.settings), _never(rule_sets, names)
    return GrowingQuestion(ask, subject, fires, never, computes=any(map(computes, rule_sets)))
