"""Checking: decide a property of a pipeline with a model checker, and state what the verdict rests on.

`prepare` lists the questions to the engines; this module queries the engines and concludes the verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property

from workbench.budget import lengthen, phase, share
from workbench.core.fields import within
from workbench.core.pipeline import Pipeline
from workbench.core.term import FALSE
from workbench.errors import DeadlockError, EngineDisagreement, LimitMet
from workbench.processors.held.group import flatten
from workbench.smv.engines.engine import Answer, EngineLimits, limit_side_questions
from workbench.verify.answer.advice import describe_state
from workbench.verify.answer.grounds import (
    beyond,
    deny,
    depends_on_no_n,
    ending,
    find_number_grounds,
    list_assumptions,
    misfortunes,
)
from workbench.verify.answer.legality import find_contradiction
from workbench.verify.answer.prepare import Prepared, cases_of, prepare
from workbench.verify.answer.settings import Settings
from workbench.verify.answer.trace import Trace
from workbench.verify.answer.vacuity import find_vacuity
from workbench.verify.answer.verdict import Depth, Ground, Outcome, Vacuity, Verdict
from workbench.verify.ask.abstraction import describe_calls, list_relied_on
from workbench.verify.ask.properties import LEAVES_RANGE, Property
from workbench.verify.ask.scope import Adjustable
from workbench.verify.decide.deciders import get_decider
from workbench.verify.decide.part import Decision, remaining_limits

NO_RUN = "no run shows it"
QUIET = "steps without input"
PATIENT = "steps without input, while no event is delayed,"
"""Descriptions of the steps that a model omits where that is sound."""
EXPLAINED_RANGES: Mapping[bool | None, str] = {
    None: "it was not decided whether a number leaves its range, where the run would end (stays-in-range)",
    False: f"{deny(LEAVES_RANGE)} (stays-in-range)",
}
PERMITTED = "a run that contracts permit shows the opposite, but the bodies that they replace may not permit it"
REPLAYING = 2.0
"""Seconds reserved for replaying a run that is found, at most a tenth of the time available."""
SHOWING = 5.0
"""Minimum time in seconds for showing a run that was found, beyond the time for larger models or a share of it."""


def decide(pipeline: Pipeline, prop: Property, settings: Settings) -> Verdict:
    """Return the verdict on a property of a pipeline over finite domains, within the current budget."""
    with phase("preparing the question"):
        prepared = prepare(pipeline, prop, settings)
    contradiction = find_contradiction(prepared)
    if contradiction:
        undecided = make_undecided(pipeline.name, str(prop), settings)
        return undecided.mark_vacuous(Vacuity(contradiction), unknown=True)
    decision = _query_engines(prepared)
    ranges = decision.answers.get("ranges")  # no engine is queried about what is true by construction
    if ranges is not None and ranges.truth is False:  # the run ends there: nothing follows from later steps
        with phase("preparing the question up to where a number leaves its range"):
            prepared = prepare(pipeline, prop, settings, up_to_escapes=True)
        decision = _query_engines(prepared)
    verdict = _Conclusion(prepared, decision).verdict()
    if contradiction is None:
        note = Ground("legality", "it was not decided whether the assumptions contradict each other")
        return replace(verdict, grounds=(*verdict.grounds, note))
    return verdict


def make_undecided(pipeline: str, prop: str, settings: Settings, reason: str = "", *, system: str = "") -> Verdict:
    """Return the verdict on a property that could not be decided."""
    q = settings.q if isinstance(settings.q, int) else dict(settings.q)
    bounds = q, settings.n, str(settings.integers)
    return Verdict(pipeline, prop, Outcome.UNKNOWN, "none", 0.0, 0.0, *bounds, (), reason=reason, system=system)


def _query_engines(prepared: Prepared) -> Decision:
    """Query the engines; return the answers by role, and the total cost."""
    if prepared.trivial:
        return Decision(dict.fromkeys(("property", "overflow", "wraps", "clamps"), Answer(True)), "none needed")
    settings = prepared.settings
    decider = get_decider(settings.engine)
    decision = Decision({}, "")
    if prepared.main.questions or settings.count_states:
        with phase(f"deciding with {decider.name}"), _explain_stuck(prepared):
            decision = decider.decide(prepared.main, _limit_deciding(), count_states=settings.count_states)
    if prepared.structure:
        if decision.answers.get("property", Answer(True)).truth is False:
            raise EngineDisagreement("an engine refutes what structure proves", model=prepared.main.smv.text)
        engines = ", ".join(filter(None, ("structure", decision.engine)))
        decision = replace(decision, answers={**decision.answers, "property": Answer(True)}, engine=engines)
    for part in filter(None, (prepared.bound, prepared.ranges)):
        limits, known = _limit_deciding(), decision.answers.get("property")
        needless = part is prepared.ranges or (known is not None and known.trace is not None)
        if limits.seconds is not None and needless:  # the outcome does not depend on this part
            limits = replace(limits, seconds=min(limits.seconds / 4, limit_side_questions(0)))
        with phase(f"deciding whether the bounds are met with {decider.name}"):
            second = decider.decide(part, limits)
        cpu_seconds = decision.cpu_seconds + second.cpu_seconds
        decision = replace(decision, answers={**decision.answers, **second.answers}, cpu_seconds=cpu_seconds)
    return decision


@contextmanager
def _explain_stuck(prepared: Prepared) -> Iterator[None]:
    """Explain the deadlock of a model whose inputs always come, where the assumptions allow no events."""
    try:
        yield
    except DeadlockError as error:
        if prepared.settings.environment.row.idle or not prepared.model.system.is_restricted_by_state:
            raise
        what = f"inputs are always present, and in some state no events meet the assumptions: {error.what}"
        explanation = error.retold(what, where=error.where)
        explanation.hint = "with --inputs synchronised, a run may stop there"
        raise explanation from error


def _limit_deciding() -> EngineLimits:
    """Return the limits of engines: all that is left except the time reserved for replaying."""
    limits = remaining_limits()
    return replace(limits, seconds=limits.seconds and limits.seconds - min(REPLAYING, limits.seconds / 10))


class _Conclusion:
    """Draws the conclusion from the answers of engines."""

    def __init__(self, prepared: Prepared, decision: Decision) -> None:
        self.prepared, self.question, self.settings = prepared, prepared.question, prepared.settings
        self.decision, self.answers = decision, decision.answers
        self.known = decision.answers["property"]
        self.unshown: list[str] = []
        """Reasons why a run that was found is not shown."""

    def verdict(self) -> Verdict:
        """Return the verdict; it is vacuous if it holds for want of cases."""
        prepared, formula, unknown = self.prepared, self.formula_outcome, self.outcome is Outcome.UNKNOWN
        run = self._replay("property", self.question.failure) if formula is Outcome.FAILS else None
        witness = self._replay("overflow", self.end) if formula is Outcome.WITHIN_BOUNDS else None
        undecided = make_undecided(prepared.pipeline.name, str(prepared.prop), self.settings)
        return self._mark_vacuous(
            replace(
                undecided,
                n=None if self.own_values and not self._has_numbers() else undecided.n,
                outcome=self.outcome,
                engine=self.decision.engine,
                cpu_seconds=self.decision.cpu_seconds,
                grounds=tuple(self._list_grounds()),
                counterexample=run,
                witness=witness,
                reason="; ".join([*filter(None, [self._find_reason(), self._explain_lack()]), *self.unshown]),
                phase="deciding" if unknown else "",
                depth=self._measure_depth() if unknown else None,
                reached=(*self.known.reached, describe_state(prepared.model.system)) if unknown else (),
                reachable_states=self.decision.reachable_states,
                length=self.known.length,
            )
        )

    @property
    def end(self) -> str:
        """The event at which the model ends, in words."""
        return beyond(self.prepared.model, about_ranges=self.question.about_ranges)

    # --- the outcome ---

    def _is_permitted(self) -> bool:
        """Whether the run that was found is one that contracts permit, but perhaps not the bodies that they replace."""
        return self.known.truth is False and bool(list_relied_on(self.prepared.pipeline))

    @cached_property
    def formula_outcome(self) -> Outcome:
        """The outcome of the formula; a wanted run refutes the formula."""
        if self.known.truth is not True:
            undecided = self.known.truth is None or self._is_permitted()
            return Outcome.UNKNOWN if undecided else Outcome.FAILS
        surely = self.answers.get("surely")
        if self.prepared.ranges is not None and self._happens("ranges") is None:
            return Outcome.WITHIN_BOUNDS  # the run may end where a number leaves its range
        if self._happens("overflow") is False or (surely is not None and surely.truth is True):
            return Outcome.HOLDS
        # as long as an overflow is not excluded, the bound may be the reason why the formula holds
        return Outcome.WITHIN_BOUNDS

    def _happens(self, role: str) -> bool | None:
        """Whether the condition that a question excludes can come true; None: not decided."""
        if role in self.prepared.settled or self.prepared.trivial:
            return False
        truth = self.answers[role].truth
        return None if truth is None else not truth

    @cached_property
    def outcome(self) -> Outcome:
        """The outcome of the property."""
        return self.formula_outcome.opposite if self.question.wanted else self.formula_outcome

    def _explain_lack(self) -> str:
        """Explain why there is no wanted run."""
        outcome = self.formula_outcome
        if not self.question.wanted or not outcome.is_proved:
            return ""
        return NO_RUN + (" before the bounds are met" if outcome is Outcome.WITHIN_BOUNDS else "")

    def _find_reason(self) -> str:
        """Return the reason why the property is undecided, or fails without a run that shows it."""
        if self._is_permitted():
            return PERMITTED
        outcome = self.formula_outcome
        roles = {Outcome.UNKNOWN: ("property", "overflow"), Outcome.FAILS: ("property",)}.get(outcome, ())
        reasons = (self.answers[role].reason for role in roles if role in self.answers)
        return next(filter(None, reasons), "")

    def _measure_depth(self) -> Depth | None:
        """Return up to how many steps a partial result holds, if it does not hold for all runs.

        Overflow weakens the engine's question, so its answer applies to the runs that do not overflow.
        """
        bound, fit = self.answers.get("overflow", Answer(False)), math.inf
        if self._happens("overflow") is not False:
            fit = len(bound.trace.steps) - 1 if bound.trace and bound.shortest else bound.depth
        # a result that holds before the bounds are met holds for every run that meets no bound
        steps = fit if self.known.truth else self.known.depth
        if self.question.kind != "invar" or not 0 < steps < math.inf:
            return None
        return Depth(int(steps), self.question.wanted, "" if steps <= fit else self.end)

    # --- what shows it, and what it rests on ---

    def _replay(self, role: str, shows: str) -> Trace | None:
        """Replay the run that was found in a role."""
        answer = self.answers.get(role)
        if answer is None or answer.trace is None:
            return None
        from workbench.verify.answer.replay import decode  # the reference executor, for verdicts that show a run

        prepared = self.prepared
        part = prepared.bound if role == "overflow" and prepared.bound else prepared.main
        arguments = (
            prepared.pipeline,
            self.question.system,
            part.model,
            part.smv,
            answer.trace,
            self.settings.environment,
        )
        if role == "property":
            lengthen(SHOWING)
        try:
            with share(1):  # a budget of its own: nothing here changes the decision
                return decode(*arguments, shows, answer.shortest)
        except LimitMet as met:
            self.unshown.append(f"an engine found a run, which is not shown: {met.what}")
            return None

    @cached_property
    def own_values(self) -> tuple[str, ...]:
        """Assumptions of processors about their values in a model. If a model has such values only, N is irrelevant."""
        texts = (text for node in flatten(self.prepared.pipeline).nodes for text in node.processor.assumes)
        return tuple(dict.fromkeys(texts))

    def _has_numbers(self) -> bool:
        """Whether a pipe carries the domain that stands for `int`."""
        return any(self.settings.domain in within(domain) for domain in self.prepared.pipeline.domains.values())

    def _list_grounds(self) -> Iterator[Ground]:
        """Yield what the outcome depends on, most important first."""
        model, domain, trivial = self.prepared.model, self.settings.domain, self.prepared.trivial
        every_n = not self.own_values and depends_on_no_n(model, domain)
        yield Ground("trivial", self._explain_trivial() if trivial else "", trivial)
        numbers = find_number_grounds(model, self._happens("wraps"), self._happens("clamps"), domain, every_n=every_n)
        for ground in (*self._ground_bounds(), *numbers):
            yield replace(ground, text="") if trivial else ground
        assumed = (*_explain_n(self.prepared), *self.own_values, *_list_assumptions(self.prepared))
        yield from (Ground("assumed", text) for text in assumed)
        sampling = (text for node in flatten(self.prepared.pipeline).nodes for text in node.processor.sampling)
        for text in dict.fromkeys(sampling) if self.formula_outcome.is_proved and not trivial else ():
            yield Ground("sampled", text, data=True)
        if self._is_permitted():
            run = self._replay("property", self.question.failure)
            # what was executed is the pipeline without the bodies, which confirms nothing about the program
            yield Ground("permitted", "", True, witness=run and (run if run.gap else replace(run, replay="")))
        elif self.outcome is Outcome.UNKNOWN and not self.prepared.trivial:
            yield Ground("undecided", "undecided")

    def _explain_trivial(self) -> str:
        if self.question.about_ranges:
            return "types and guards show that every update stays in its range: no engine was needed"
        return (
            "with these values it is true by construction" if self.own_values else "nothing: it is true by construction"
        )

    def _ground_bounds(self) -> Iterator[Ground]:
        """Yield the grounds about bounds.

        Kinds: `queues` (capacities of those that matter), `overflow` (whether one can overflow, or a number leave its
        range; None: undecided), `asked` (whether the property itself is about that), `ranges` (whether a number leaves
        its range that the property does not depend on; None: undecided), `late`.
        """
        about_overflow, late = self.question.about_overflow, self.answers.get("in bounds")
        yield Ground(
            "queues", self._explain_bounds(), {each.name: each.capacity for each in self.prepared.model.queues}
        )
        is_refuted = about_overflow and self.formula_outcome is Outcome.FAILS
        yield Ground("overflow", "", True if is_refuted else self._happens("overflow"))
        yield Ground("asked", "", about_overflow)
        if self.prepared.ranges:
            leaves = self._happens("ranges")  # never True: `decide` asks the property up to there
            yield Ground("ranges", EXPLAINED_RANGES[leaves], leaves)
        if late and late.truth is False and late.trace and self.formula_outcome is Outcome.WITHIN_BOUNDS:
            steps = len(late.trace.steps)
            yield Ground("late", f"not live within these bounds: after some {steps} steps no output comes before that")

    def _explain_bounds(self) -> str:
        model, overflow = self.prepared.model, self._happens("overflow")
        overflow_text = {
            True: f"{self.end} on some input; the verdict covers nothing after that",
            None: f"it was not decided whether {self.end}",
            False: deny(self.end),
        }[overflow]
        if not model.queues:
            return overflow_text if overflow is not False else ""
        sizes = {queue.capacity for queue in model.queues}
        named = ", ".join(f"{queue.name}: {queue.capacity}" for queue in model.queues)
        capacities = f"Q = {sizes.pop()}" if len(sizes) == 1 else f"queues {named}"
        return (
            capacities if self.question.about_overflow and model.escapes is FALSE else f"{capacities}: {overflow_text}"
        )

    def _mark_vacuous(self, verdict: Verdict) -> Verdict:
        prepared, settings, question = self.prepared, self.settings, self.question
        cases = [
            (words, Answer(True) if term is FALSE else self.answers.get(role))
            for role, words, term in cases_of(question)
        ]
        never = [words for words, answer in cases if answer is not None and answer.truth is True]
        # for rules by themselves, `verify.rules.growing_question` looks for vacuity
        looked_for = settings.vacuity and not prepared.trivial and not settings.environment.row.single
        if not self.formula_outcome.is_proved or not looked_for:
            return verdict
        if prepared.structure and not never:
            return verdict
        vacuity = find_vacuity(
            prepared.pipeline, prepared.model, settings, never, self.outcome, prepared.prop.conditions
        )
        all_never, bounded = len(never) == len(cases), self.outcome is Outcome.WITHIN_BOUNDS
        if question.compares:  # no comparison happens, perhaps for want of numbers
            nothing = all_never or not never
        else:  # or the rules emit nothing within their bounds
            nothing = bool(self.own_values) and all_never and bounded and bool(never)
        if question.wanted:  # a run may need what the bound prevents
            if vacuity is None or not vacuity.bound or self.formula_outcome is not Outcome.HOLDS:
                return verdict
            nothing = True
        return verdict if vacuity is None else verdict.mark_vacuous(vacuity, unknown=nothing)


def _explain_n(prepared: Prepared) -> Iterator[str]:
    """Explain the choice of N, if it was chosen automatically."""
    n = prepared.settings.n
    if isinstance(n, Adjustable) and n.why and prepared.settings.domain in prepared.model.integers:
        yield f"N = {n} was chosen since {n.why}"


def _list_assumptions(prepared: Prepared) -> Iterator[str]:
    """Yield the assumptions about inputs, and the proof by structure."""
    if prepared.trivial:
        return
    question, system, env = prepared.question, prepared.model.system, prepared.settings.environment
    yield from describe_calls(prepared.pipeline)
    yield from [prepared.structure] if prepared.structure else []
    if not env.driven:
        yield from (str(each) for each in list_assumptions(prepared.pipeline, system) if not each.relied_on)
    yield from misfortunes(system)
    yield env.describe(question)
    yield from ending(system, may=question.ends and env.may_end)
    if question.stutter and env.reducible and not system.is_restricted_by_state:
        yield f"{QUIET if system.waits is FALSE else PATIENT} are left out (they change nothing)"
