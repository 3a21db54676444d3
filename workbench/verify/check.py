"""Checking: a property of a pipeline, decided by a model checker, with what the verdict rests on.

Per property: crawl, cut down to the cone of influence, print, ask. Beside the property itself the engine is asked
whether the overflow flag can be set and whether arithmetic wraps, since the outcome depends on both.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from workbench.backends.smv import SmvModel, print_model
from workbench.core.domain import Domain, Integer, Overflowing
from workbench.core.ops import NOT
from workbench.core.pipeline import Pipeline
from workbench.core.term import FALSE, TRUE, Term
from workbench.ir.compose import DEFAULT_CAPACITY, compose
from workbench.ir.reduce import Model, focus
from workbench.processors.group import flatten
from workbench.verify.engines import Answer, Limits, Query, Result, Task, get_engine
from workbench.verify.environment import Environment
from workbench.verify.formula import Formula, to_smv, weaken
from workbench.verify.properties import Property, Question
from workbench.verify.replay import decode
from workbench.verify.verdict import Outcome, Trace, Verdict


@dataclass(frozen=True)
class Settings:
    """How a check is made.

    Parameters
    ----------
    q: capacity of every queue in events, or per queue name.
    n: size of the integer domain 0..n-1.
    integers: what integer arithmetic does at the ends of the domain.
    environment: what is assumed of the inputs.
    engine: `auto`, `pynusmv`, `nusmv` or `nuxmv`.
    seconds, memory_mb: limits of one property; None: none.
    count_states: also report the number of reachable states.
    """

    q: int | Mapping[str, int] = DEFAULT_CAPACITY
    n: int = 4
    integers: Overflowing = Overflowing.MODULAR
    environment: Environment = field(default_factory=Environment)
    engine: str = "auto"
    seconds: float | None = None
    memory_mb: int | None = None
    count_states: bool = False

    @property
    def domain(self) -> Domain:
        """The domain that `int` stands for."""
        return Integer(self.n, self.integers)


@dataclass(frozen=True)
class Prepared:
    """A property printed for the engine: the model, its cone, and the queries by role."""

    question: Question
    model: Model
    smv: SmvModel
    queries: Mapping[str, Query]
    settled: Mapping[str, bool]
    """Roles that need no engine, because the term is constant."""
    trivial: bool = False
    """The property is the constant true."""


def prepare(pipeline: Pipeline, prop: Property, settings: Settings) -> Prepared:
    """Everything up to the engine; `pipeline` is resolved to finite domains."""
    question = prop.question(compose(pipeline, settings.q))
    model = focus(question.system, tuple(question.formula.atoms()))
    env = settings.environment
    smv = print_model(
        model.system,
        assume=env.assumptions(model.system, stutter_reduced=question.stutter),
        fair=env.fairness(model.system),
        header=[f"{pipeline.name}: {prop}", f"Q = {settings.q}, {settings.domain}, {env.describe()}"],
    )
    hidden = FALSE if question.about_overflow else model.overflow
    queries = {"property": _query(question.kind, weaken(question.formula, hidden), smv)}
    if question.kleene and hidden is not FALSE:
        queries["surely"] = _query(question.kind, weaken(question.formula, hidden, optimistic=False), smv)
    settled = {}
    beyond = model.escapes if question.about_overflow else model.overflow
    for role, term in (("overflow", beyond), ("wraps", model.wraps), ("clamps", model.clamps)):
        if term is FALSE:
            settled[role] = False
        else:
            queries[role] = _never(term, smv)
    return Prepared(question, model, smv, queries, settled, question.formula.term is TRUE)


def _query(kind: str, formula: Formula, smv: SmvModel) -> Query:
    text = to_smv(formula, smv.formula)
    return Query(kind, text)  # type: ignore[arg-type]


def _never(term: Term, smv: SmvModel) -> Query:
    return Query("invar", smv.formula(NOT(term)))


def check(pipeline: Pipeline, prop: Property, settings: Settings | None = None) -> Verdict:
    """Decide a property of a pipeline.

    Raises
    ------
    Refused, DomainError, TypingError: the pipeline has no finite model over these domains.
    EngineError, EngineMissing: the engine cannot be used. Limits and crashes are the outcome `unknown`.
    """
    settings = settings or Settings()
    start = time.monotonic()
    resolved = flatten(pipeline.resolve(settings.domain))
    prepared = prepare(resolved, prop, settings)
    if prepared.trivial:
        answers: dict[str, Answer] = {"property": Answer(True), "wraps": Answer(True), "clamps": Answer(True)}
        result = Result((), "none needed", 0.0, 0.0)
    else:
        roles = list(prepared.queries)
        task = Task(
            prepared.smv.text, tuple(prepared.queries.values()), prepared.smv.order, settings.count_states
        )
        result = get_engine(settings.engine).check(task, Limits(settings.seconds, settings.memory_mb))
        answers = dict(zip(roles, result.answers, strict=True))
    verdict = _verdict(resolved, prop, settings, prepared, answers, result)
    return replace(verdict, pipeline=pipeline.name, seconds=time.monotonic() - start)


def _verdict(
    pipeline: Pipeline,
    prop: Property,
    settings: Settings,
    prepared: Prepared,
    answers: Mapping[str, Answer],
    result: Result,
) -> Verdict:
    def reachable(role: str) -> bool | None:
        """Whether the condition of a `_never` query can come true."""
        if role in prepared.settled or prepared.trivial:
            return False
        truth = answers[role].truth
        return None if truth is None else not truth

    main, overflow, wraps = answers["property"], reachable("overflow"), reachable("wraps")
    surely = answers.get("surely")
    outcome = _outcome(main.truth, overflow, surely.truth if surely else None)
    reason = next((a.reason for a in (main, answers.get("overflow")) if a and a.truth is None), "")
    shortest = prepared.question.kind != "ltl" and settings.engine != "nuxmv"

    def trace(answer: Answer | None, shows: str) -> Trace | None:
        if answer is None or answer.trace is None:
            return None
        return decode(
            pipeline,
            settings.q,
            prepared.question.system,
            prepared.smv,
            answer.trace,
            shows,
            shortest,
            settings.environment,
        )

    counterexample = trace(main, prepared.question.failure) if outcome is Outcome.FAILS else None
    beyond = (
        trace(answers.get("overflow"), _overflow_text(prepared.model))
        if outcome is Outcome.WITHIN_BOUNDS
        else None
    )
    wrapped = None if wraps is None else bool(wraps)
    free_of_n = not prepared.model.numbers and not prepared.trivial or prepared.trivial
    return Verdict(
        pipeline.name,
        str(prop),
        outcome,
        result.engine,
        0.0,
        result.cpu_seconds,
        settings.q if isinstance(settings.q, int) else dict(settings.q),
        settings.n,
        str(settings.integers),
        _rests_on(settings, prepared, outcome, overflow, wraps, reachable("clamps")),
        counterexample,
        beyond,
        reason if outcome is Outcome.UNKNOWN else "",
        wrapped,
        free_of_n,
        result.reachable_states,
    )


def _outcome(truth: bool | None, overflow: bool | None, surely: bool | None) -> Outcome:
    if truth is False:
        return Outcome.FAILS
    if truth is None:
        return Outcome.UNKNOWN
    if overflow is False or surely is True:
        return Outcome.HOLDS
    # where it is not known whether a queue overflows, the bound may have been what made it hold
    return Outcome.WITHIN_BOUNDS


def _overflow_text(model: Model) -> str:
    if model.queues and model.escapes is not FALSE:
        return "a queue overflows, or a number leaves its checked domain"
    return "a queue overflows" if model.queues else "a number leaves its checked domain"


def _rests_on(
    settings: Settings,
    prepared: Prepared,
    outcome: Outcome,
    overflow: bool | None,
    wraps: bool | None,
    clamps: bool | None,
) -> tuple[str, ...]:
    model, found = prepared.model, []
    if prepared.trivial:
        return ("nothing: the pipeline has no queue",)
    if model.queues:
        sizes = {q.capacity for q in model.queues}
        shown = (
            f"Q = {sizes.pop()}"
            if len(sizes) == 1
            else ", ".join(f"{q.name}: {q.capacity}" for q in model.queues)
        )
        text = {
            None: "whether a queue overflows was not decided",
            True: "a queue overflows on some input; nothing is concluded from what follows",
            False: "no queue overflows",
        }[overflow]
        found.append(f"{shown}: {text}" if not prepared.question.about_overflow else shown)
    elif overflow:
        found.append(
            "a number leaves its checked domain on some input; nothing is concluded from what follows"
        )
    if not model.numbers:
        found.append("every N: the property does not depend on data")
    else:
        found.append(f"N = {settings.n}, {settings.integers} integers")
        found += _arithmetic(settings.n, wraps, clamps)
    found.append(settings.environment.describe())
    if prepared.question.stutter and settings.environment.arrivals != "always":
        found.append("steps without input left out (they change nothing)")
    if outcome is Outcome.UNKNOWN:
        found.append("undecided: the engine met a limit")
    return tuple(found)


def _arithmetic(n: int, wraps: bool | None, clamps: bool | None) -> list[str]:
    found = []
    if wraps:
        found.append(f"arithmetic wraps modulo {n} on some input: this says nothing about unbounded integers")
    elif wraps is None:
        found.append("whether arithmetic wraps was not decided")
    if clamps:
        found.append(
            f"arithmetic saturates at {n - 1} on some input: this says nothing about unbounded integers"
        )
    return found
