"""Checking: a property of a pipeline, decided by a model checker, with what the verdict rests on.

Per property: crawl, cut down to the cone of influence, print, ask. Beside the property itself the engine is asked
whether the overflow flag can be set and whether arithmetic wraps, since the outcome depends on both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from workbench.budget import lengthen, phase, share
from workbench.core.fields import within
from workbench.core.fold import postorder, substitute, variables
from workbench.core.ops import AND, IMPLIES, NOT
from workbench.core.pipeline import Pipeline
from workbench.core.term import FALSE, TRUE, Term
from workbench.errors import EngineDisagreement, LimitMet, Refused
from workbench.ir.compose import outline
from workbench.ir.correspond import correspond
from workbench.ir.reduce import Model, flag_alone, focus
from workbench.ir.system import System, instance_of
from workbench.processors.held.group import flatten
from workbench.smv.engines.engine import Answer, EngineLimits, patience
from workbench.verify.answer.advice import advise
from workbench.verify.answer.rests_on import (
    EngineRemarks,
    Ground,
    beyond,
    depends_on_no_n,
    ending,
    find_grounds,
    misfortunes,
)
from workbench.verify.answer.settings import Settings
from workbench.verify.answer.vacuity import find_vacuity
from workbench.verify.answer.verdict import Depth, Outcome, Trace, Verdict
from workbench.verify.ask.environment import Environment
from workbench.verify.ask.formula import atom, weaken
from workbench.verify.ask.properties import Property, Question
from workbench.verify.ask.scope import Adjustable
from workbench.verify.decide.deciders import get_decider
from workbench.verify.decide.decision import Decision, limits_left
from workbench.verify.decide.part import Asked, Part

OPPOSITE = {
    Outcome.FAILS: Outcome.HOLDS,
    Outcome.HOLDS: Outcome.FAILS,
    Outcome.WITHIN_BOUNDS: Outcome.UNKNOWN,
    Outcome.UNKNOWN: Outcome.UNKNOWN,
}
"""What it means for a question that wants a run that the formula which no such run satisfies has this outcome."""
NO_RUN = "no run shows it"
QUIET = "steps without input"
PATIENT = "steps without input, while no event is delayed,"
"""The steps that are left out of a model where that is sound."""
REPLAYING = 2.0
"""Seconds that are kept for replaying what is found, at most a tenth of those that there are."""
SHOWING = 5.0
"""Seconds at least for a run that was found, beyond the time for larger models or a share of it."""


@dataclass(frozen=True)
class Prepared:
    """A property, ready for the engine.

    Attributes
    ----------
    main: the property on its cone.
    bound: whether the bounds are ever met, on a model of its own where that is a smaller one.
    settled: roles that need no engine, because the term is constant.
    trivial: the property is the constant true.
    structure: how structure alone proves the property; empty where it does not.
    """

    question: Question
    main: Part
    bound: Part | None
    settled: Mapping[str, bool]
    trivial: bool = False
    structure: str = ""

    @property
    def model(self) -> Model:
        """The cone of the property."""
        return self.main.model


def prepare(pipeline: Pipeline, prop: Property, settings: Settings) -> Prepared:
    """Everything up to the engine; `pipeline` is resolved to finite domains."""
    alone = next((node for node in flatten(pipeline).nodes if node.processor.singly), None)
    if alone is not None and not settings.environment.row.single:
        given = settings.environment.arrivals
        what = f"the model of `{alone.processor}` takes one event at a step, and the inputs are {given}"
        raise Refused(what, hint='ask with Settings(environment=Environment("one")), as `rule_problem` does')
    question, structure = _alike(settings.environment.adapt(prop.question(outline(pipeline, settings.q))))
    model = focus(question.system, tuple(question.formula.atoms()))
    if not question.compares and question.kind == "invar":
        question = replace(question, exercised=(*question.exercised, *_implications(model.system)))
    hidden = FALSE if question.about_overflow else model.overflow
    measures = question.kind == "longest"  # only what overflow does not hide is measured
    asked = {"property": Asked(question.kind, weaken(question.formula, hidden, optimistic=not measures))}
    if question.kleene and hidden is not FALSE:
        asked["surely"] = Asked(question.kind, weaken(question.formula, hidden, optimistic=False))
    bound = _bound(pipeline, prop, settings, question, model)
    settled = {}
    if structure and settings.engine != "all":  # which asks the engines, too
        settled["property"] = True
        del asked["property"]
    never = {"wraps": model.wraps, "clamps": model.clamps}
    if bound is None:
        never = {"overflow": model.escapes if question.about_overflow else model.overflow, **never}
    for role, term in never.items():
        if term is FALSE:
            settled[role] = False
        else:
            # of a run that is wanted it does not count what others meet
            asked[role] = _never(term, side=role != "overflow")._replace(unless="property" if question.wanted else "")
    if question.in_bounds and hidden is not FALSE:
        asked["in bounds"] = Asked(question.kind, question.in_bounds(hidden), side=True)
    if not structure and not question.wanted and not settings.environment.row.single:
        for role, _, term in _cases(question):
            if variables([term]).keys() <= model.system.domains.keys():
                case = weaken(atom(NOT(term)), hidden, optimistic=True)
                asked[role] = Asked("invar", case, side=True, unless="property")
    main = _part(pipeline, prop, settings, question, model, asked)
    return Prepared(question, main, bound, settled, question.formula.term is TRUE and not measures, structure)


def _cases(question: Question) -> Iterator[tuple[str, str, Term]]:
    """The conditions that must come true on some run: the role in which each is asked for, its words, and it."""
    for number, (words, term) in enumerate(question.exercised):
        yield f"case {number}", words, term


def _implications(system: System) -> Iterator[tuple[str, Term]]:
    """The left sides of the implications that a system computes."""
    for name, term, *_ in system.definitions:
        for part in postorder([term]):
            if part.op is IMPLIES:
                words = f"the left side of an implication in '{instance_of(name)}' is true"
                yield words, AND(system.uses.get(name, TRUE), part.args[0])


def _alike(question: Question) -> tuple[Question, str]:
    """The question over a system in which registers that are always equal are one, and how that proves it, if it does.

    Where something changes at an overflow, this still is what the model does there; as always, nothing is concluded
    from it, since whether an overflow can be reached is asked besides.
    """
    term = question.formula.term
    if not question.compares or term is None or term is TRUE:
        return question, ""
    end = question.system.end
    found = correspond(question.system.whole(), [end.over.name] if end else [])
    proved = found.simplified(term) is TRUE
    count, many = len(found.equal), len(found.system.variables)
    text = f"structure: {count} of {many} state variables never differ from others, and what is compared is one term"
    equal = dict(found.equal)
    cases = tuple(
        (words, FALSE if found.simplified(case) is FALSE else substitute(case, equal))
        for words, case in question.exercised
    )
    question = replace(question, system=found.reduced(), formula=atom(substitute(term, equal)), exercised=cases)
    return question, text if proved else ""


def _part(
    pipeline: Pipeline, prop: Property, settings: Settings, question: Question, model: Model, asked: Mapping[str, Asked]
) -> Part:
    env = settings.environment
    header = [f"{pipeline.name}: {prop}", f"Q = {settings.q}, {settings.domain}, {env.describe()}"]
    assume = env.assumptions(model.system, stutter_reduced=question.stutter, ends=question.ends)
    smv = env.print(model.system, assume, header)
    return Part(model, lambda: smv, asked, tuple(assume), tuple(env.fairness(model.system)), env.driven)


def _bound(pipeline: Pipeline, prop: Property, settings: Settings, question: Question, model: Model) -> Part | None:
    """The question whether the bounds are ever met, without the data that only the property looks at."""
    if question.about_overflow or model.overflow is FALSE:
        return None
    alone = flag_alone(question.system, model)
    if len(alone.system.variables) + len(alone.system.free) == len(model.system.variables) + len(model.system.free):
        return None
    return _part(pipeline, prop, settings, question, alone, {"overflow": _never(alone.overflow)})


def _never(term: Term, *, side: bool = False) -> Asked:
    return Asked("invar", atom(NOT(term)), side)


def decide(pipeline: Pipeline, prop: Property, settings: Settings) -> Verdict:
    """The verdict on a property of a pipeline over finite domains, within the budget that there is."""
    with phase("preparing the question"):
        prepared = prepare(pipeline, prop, settings)
    answers, result = _ask_engines(prepared, settings)
    return _verdict(pipeline, prop, settings, prepared, answers, result)


def undecided(pipeline: str, prop: str, settings: Settings, reason: str = "", *, system: str = "") -> Verdict:
    """The verdict on a property that could not be decided."""
    q = settings.q if isinstance(settings.q, int) else dict(settings.q)
    bounds = q, settings.n, str(settings.integers)
    return Verdict(pipeline, prop, Outcome.UNKNOWN, "none", 0.0, 0.0, *bounds, (), reason=reason, system=system)


def _ask_engines(prepared: Prepared, settings: Settings) -> tuple[dict[str, Answer], Decision]:
    """The answers by role, and what they cost together."""
    if prepared.trivial:
        roles = ("property", "overflow", "wraps", "clamps")
        return dict.fromkeys(roles, Answer(True)), Decision({}, "none needed")
    decider = get_decider(settings.engine)
    result = Decision({}, "")
    if prepared.main.asked or settings.count_states:
        with phase(f"deciding with {decider.name}"):
            result = decider.decide(prepared.main, _for_deciding(), count_states=settings.count_states)
    answers = dict(result.answers)
    if prepared.structure:
        if answers.get("property", Answer(True)).truth is False:
            raise EngineDisagreement("an engine refutes what structure proves", model=prepared.main.smv.text)
        answers["property"] = Answer(True)
        result = replace(result, engine=", ".join(filter(None, ("structure", result.engine))))
    if prepared.bound:
        limits, found = _for_deciding(), answers.get("property")
        if limits.seconds is not None and found is not None and found.trace is not None:  # which does not depend on it
            limits = replace(limits, seconds=min(limits.seconds / 4, patience(0)))
        with phase(f"deciding whether the bounds are met with {decider.name}"):
            second = decider.decide(prepared.bound, limits)
        answers |= second.answers
        result = replace(result, cpu_seconds=result.cpu_seconds + second.cpu_seconds)
    return answers, result


def _for_deciding() -> EngineLimits:
    """What engines may use: all that is left but for the time that it takes to replay what they find."""
    limits = limits_left()
    return replace(limits, seconds=limits.seconds and limits.seconds - min(REPLAYING, limits.seconds / 10))


def _verdict(
    pipeline: Pipeline,
    prop: Property,
    settings: Settings,
    prepared: Prepared,
    answers: Mapping[str, Answer],
    result: Decision,
) -> Verdict:
    findings = _findings(prepared, answers)
    env = settings.environment
    question = prepared.question
    outcome = OPPOSITE[findings.outcome] if question.wanted else findings.outcome

    late: list[str] = []

    def trace(role: str, shows: str) -> Trace | None:
        answer = answers.get(role)
        if answer is None or answer.trace is None:
            return None
        from workbench.verify.answer.replay import decode  # the reference executor, for verdicts that show a run

        part = prepared.bound if role == "overflow" and prepared.bound else prepared.main
        if role == "property":
            lengthen(SHOWING)
        try:
            with share(1):  # a budget of its own: what is decided stays so
                return decode(
                    pipeline, question.system, part.model, part.smv, answer.trace, env, shows, answer.shortest
                )
        except LimitMet as met:
            late.append(f"an engine found a run that shows it, which is not shown: {met.what}")
            return None

    run = trace("property", question.failure) if findings.outcome is Outcome.FAILS else None
    witness = trace("overflow", beyond(prepared.model)) if findings.outcome is Outcome.WITHIN_BOUNDS else None
    texts = (text for node in flatten(pipeline).nodes for text in node.processor.assumes)
    own = () if prepared.trivial else tuple(dict.fromkeys(texts))  # with values of its own only, N says nothing
    numbers = any(settings.domain in within(domain) for domain in pipeline.domains.values())
    every_n = not own and depends_on_no_n(prepared.model, settings.domain)
    assumed = [*_chosen(prepared, settings), *own, *_assumptions(prepared, env)]
    grounds = find_grounds(prepared.model, findings, settings.domain, every_n=every_n)
    grounds += (Ground("assumed", text) for text in assumed)
    if outcome is Outcome.UNKNOWN and not prepared.trivial:
        grounds.append(Ground("undecided", "undecided: the engine met a limit"))
    found = undecided(pipeline.name, str(prop), settings)
    found = replace(
        replace(found, n=None) if own and not numbers else found,
        outcome=outcome,
        engine=result.engine,
        cpu_seconds=result.cpu_seconds,
        grounds=tuple(grounds),
        counterexample=run,
        witness=witness,
        reason="; ".join([*filter(None, [_reason(findings.outcome, answers), _lacking(question, findings)]), *late]),
        phase="deciding" if outcome is Outcome.UNKNOWN else "",
        depth=_depth(prepared, findings, answers) if outcome is Outcome.UNKNOWN else None,
        reached=answers["property"].reached if outcome is Outcome.UNKNOWN else (),
        advice=tuple(advise(prepared, settings, answers["property"].reached)) if outcome is Outcome.UNKNOWN else (),
        reachable_states=result.reachable_states,
        length=answers["property"].length,
    )
    cases = [(words, Answer(True) if term is FALSE else answers.get(role)) for role, words, term in _cases(question)]
    never = [words for words, answer in cases if answer is not None and answer.truth is True]
    # of rules by themselves `verify.rules.growing_question` looks for it
    looked_for = settings.vacuity and not prepared.trivial and (never or not prepared.structure) and not env.row.single
    if not looked_for or outcome not in (Outcome.HOLDS, Outcome.WITHIN_BOUNDS):
        return found
    vacuity = find_vacuity(pipeline, prepared.model, settings, never, outcome, prop.conditions)
    all_never, bounded = len(never) == len(cases), outcome is Outcome.WITHIN_BOUNDS
    # what is compared, or not for want of numbers; or what rules emit, within bounds of them
    nothing = (all_never or not never) if question.compares else bool(own) and all_never and bounded and bool(never)
    return found if vacuity is None else found.mark_vacuous(vacuity, unknown=nothing)


def _chosen(prepared: Prepared, settings: Settings) -> list[str]:
    """Why N is what it is, where nobody has chosen it."""
    if not isinstance(settings.n, Adjustable) or settings.domain not in prepared.model.integers or not settings.n.why:
        return []
    return [f"N = {settings.n} was chosen since {settings.n.why}"]


def _findings(prepared: Prepared, answers: Mapping[str, Answer]) -> EngineRemarks:
    def reachable(role: str) -> bool | None:
        """Whether the condition of a `_never` query can come true; None where that was not decided."""
        if role in prepared.settled or prepared.trivial:
            return False
        truth = answers[role].truth
        return None if truth is None else not truth

    main, surely, overflow = answers["property"].truth, answers.get("surely"), reachable("overflow")
    late = answers.get("in bounds")
    return EngineRemarks(
        outcome=_outcome(main, overflow, surely.truth if surely else None),
        overflow=overflow,
        wraps=reachable("wraps"),
        clamps=reachable("clamps"),
        late=len(late.trace.steps) if late and late.truth is False and late.trace else None,
        about_overflow=prepared.question.about_overflow,
        trivial=prepared.trivial,
    )


def _depth(prepared: Prepared, findings: EngineRemarks, answers: Mapping[str, Answer]) -> Depth | None:
    """For how many steps something is known that is not known of all runs.

    The engine's question is weakened by overflow, so what it says of runs is so of those that do not overflow.
    """
    role, question = answers.get("overflow", Answer(False)), prepared.question
    fit = math.inf
    if findings.overflow is not False:
        fit = len(role.trace.steps) - 1 if role.trace and role.shortest else role.depth
    known = answers["property"]
    steps = fit if known.truth else known.depth  # what holds before the bounds are met is so where none is met
    if question.kind != "invar" or not 0 < steps < math.inf:
        return None
    return Depth(int(steps), question.wanted, "" if steps <= fit else beyond(prepared.model))


def _lacking(question: Question, findings: EngineRemarks) -> str:
    """Why there is no run that is wanted."""
    if not question.wanted or findings.outcome not in (Outcome.HOLDS, Outcome.WITHIN_BOUNDS):
        return ""
    return NO_RUN + (" before the bounds are met" if findings.outcome is Outcome.WITHIN_BOUNDS else "")


def _reason(outcome: Outcome, answers: Mapping[str, Answer]) -> str:
    """Why it is undecided, or fails without a run that shows it."""
    roles = {Outcome.UNKNOWN: ("property", "overflow"), Outcome.FAILS: ("property",)}.get(outcome, ())
    return next((answers[role].reason for role in roles if role in answers and answers[role].reason), "")


def _outcome(truth: bool | None, overflow: bool | None, surely: bool | None) -> Outcome:
    if truth is False:
        return Outcome.FAILS
    if truth is None:
        return Outcome.UNKNOWN
    if overflow is False or surely is True:
        return Outcome.HOLDS
    # where it is not known whether a queue overflows, the bound may have been what made it hold
    return Outcome.WITHIN_BOUNDS


def _assumptions(prepared: Prepared, env: Environment) -> list[str]:
    if prepared.trivial:
        return []
    found = [prepared.structure] if prepared.structure else []
    found += [*misfortunes(prepared.model.system), env.describe(prepared.question)]
    found += ending(prepared.model.system, may=prepared.question.ends and env.may_end)
    if prepared.question.stutter and env.reducible:
        found.append(f"{QUIET if prepared.model.system.waits is FALSE else PATIENT} left out (they change nothing)")
    return found
