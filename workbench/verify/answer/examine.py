"""Examine a verdict: whether it holds for want of cases, and whether it is the same within other bounds.

Each ground of a verdict is tested here. Conditions without which the property is vacuous must come true on some
run (the witness is shown); the module checks whether queues fill up; and it decides the property again with one
more value, and with one more position in each queue. Where there is an argument for all larger N or Q, it is
given.

For every N: if a model only moves the values of a type and compares them for equality, any renaming of the values
gives another run (P. Wolper, Expressing interesting properties of programs in propositional temporal logic, POPL
1986). Let s variables and i inputs of the model hold such values, and c constants occur in it. Relate two states, over
N and over N' values, if one is the other with values renamed one to one, the constants kept. If N and N' are at least s
+ i + c, there are always enough unused values left to answer each new input with one, so the relation is a
bisimulation, and every formula about equalities of values and about anything else has the same truth value for both.
Python functions are not covered, since they are tabulated anew for each N: their results for more values are unknown.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from workbench.budget import Budget, share
from workbench.core.domain import BOOL, Integer
from workbench.core.fold import postorder, variables
from workbench.core.function import Function, TypedFunction, remove_types
from workbench.core.ops import EQ, ITE, NE, NOT, both, negate
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Processor
from workbench.core.term import Term, var
from workbench.errors import LimitMet, WorkbenchError, check_kind
from workbench.ir.reduce import FLAG, keys_in
from workbench.ir.system import System
from workbench.processors.moore import Transition
from workbench.verify.answer.prepare import Prepared, prepare
from workbench.verify.answer.problem import Problem, check
from workbench.verify.answer.settings import Settings
from workbench.verify.answer.trace import Trace
from workbench.verify.answer.verdict import FROM_CHECK, Ground, Outcome, Reliance, Verdict
from workbench.verify.ask.formula import atom
from workbench.verify.ask.properties import Property, Question, invariant, is_full


def _report(kind: str, finding: Reliance, text: str, witness: Trace | None = None) -> Ground:
    return Ground(kind, text, None, finding, witness)


BRIEFLY = 5.0
"""Minimum time in seconds for a brief examination, which takes no longer than deciding did."""


def examine(verdict: Verdict, *, brief: bool = False) -> Verdict:
    """Return the verdict with the findings about its grounds in `examined`.

    An `unknown` verdict is returned unchanged, and so is one on inputs that a system drives, or about several models:
    their grounds are not varied.

    Parameters
    ----------
    brief: only test whether the bounds could be larger, within a short time.

    Raises
    ------
    WorkbenchError: the verdict comes from another process, so its question is not known.
    """
    check_kind(verdict, Verdict, FROM_CHECK)
    if verdict.problem is None:
        raise WorkbenchError(
            f"the question of the verdict on '{verdict.property}' is not known",
            hint="examine verdicts of `check` in this process",
        )
    if verdict.outcome is Outcome.UNKNOWN or verdict.problem.system or verdict.problem.has_models:
        return verdict
    findings = list[Ground]()
    with suppress(LimitMet), Budget(max(BRIEFLY, verdict.seconds)) if brief else share(1):
        examination = _Examination(verdict, verdict.problem)
        for each in examination.brief_findings() if brief else examination.findings():
            findings.append(each)
    return replace(verdict, examined=tuple(findings))


class _Examination:
    def __init__(self, verdict: Verdict, problem: Problem) -> None:
        self.verdict = verdict
        self.pose = problem.pose
        self.settings = problem.fitting
        self.pipeline, self.property = problem.pipeline, problem.pose(problem.fitting)[1]
        self.prepared: Prepared = prepare(self.pipeline, self.property, self.settings)

    def findings(self) -> Iterator[Ground]:
        if self.prepared.trivial:
            if not self.prepared.question.about_ranges:
                yield _report("vacuity", Reliance.WEAK, "true by construction: it cannot be false")
            return
        if self.verdict.vacuity is not None:
            yield _report("vacuity", Reliance.WEAK, f"vacuous: {self.verdict.vacuity}")
        elif self.verdict.outcome is not Outcome.FAILS:
            yield from self._examine_vacuity()
        yield self._arithmetic()
        yield from self._examine_queues()
        yield from self._examine_values()
        yield from self._examine_larger_queues()

    def brief_findings(self) -> Iterator[Ground]:
        """Yield whether the outcome is the same with one more value, and with one more position in each queue."""
        if self.prepared.trivial:
            return
        if self.verdict.ground("N"):
            yield self._examine_one_value_more()
        if self.prepared.model.queues:
            known = [*self._argue_for_larger_queues()]
            yield known[0] if known else self._examine_one_place_more()

    # --- is it vacuous? ---

    def _examine_vacuity(self) -> Iterator[Ground]:
        cases = self.prepared.question.exercised
        if not cases:
            yield _report("vacuity", Reliance.UNKNOWN, "no condition is known that makes it vacuous")
        for words, _ in cases:
            verdict = check(self.pipeline, self._never(words), self.settings)
            if verdict.outcome is Outcome.FAILS and verdict.counterexample:
                step = len(verdict.counterexample.steps) - 1
                text = f"not vacuous: {words}, at step {step} for example"
                yield _report("vacuity", Reliance.CONFIRMED, text, verdict.counterexample)
            elif verdict.outcome is Outcome.UNKNOWN:
                yield _report("vacuity", Reliance.UNKNOWN, f"not decided whether ever: {words} ({verdict.reason})")
            else:
                bounds = "" if verdict.outcome is Outcome.HOLDS else " before a bound is met"
                yield _report("vacuity", Reliance.WEAK, f"vacuous: never{bounds}: {words}")

    def _never(self, words: str) -> Property:
        """Return the property that a case never occurs."""

        def question(system: System) -> Question:
            original = self.property.question(system)
            term = dict(original.exercised)[words]
            return Question(original.system, "invar", atom(NOT(term)), stutter=original.stutter, failure=words)

        return Property(f"never: {words}", question)

    # --- arithmetic and queues ---

    def _arithmetic(self) -> Ground:
        wraps, clamps = self.verdict.wraps, self.verdict.ground("saturates")
        if wraps or clamps:
            word = "wraps" if wraps else "saturates"
            return _report(
                "arithmetic", Reliance.WEAK, f"{word} on some run: this proves nothing about unbounded integers"
            )
        if wraps is None or clamps is None:
            return _report("arithmetic", Reliance.UNKNOWN, "not decided whether it wraps or saturates")
        return _report("arithmetic", Reliance.CONFIRMED, "never wraps or saturates where the property sees it")

    def _examine_queues(self) -> Iterator[Ground]:
        full = []
        undecided = []
        queues = [queue for queue in self.prepared.model.queues if queue.capacity > 0]
        for queue in queues:
            verdict = check(self.pipeline, _never_full(queue.name), self.settings)
            if verdict.outcome is Outcome.FAILS:
                full.append(f"{queue.name} ({queue.capacity})")
            elif verdict.outcome is Outcome.UNKNOWN:
                undecided.append(queue.name)
        if undecided:
            yield _report("queues", Reliance.UNKNOWN, f"not decided whether they fill: {', '.join(undecided)}")
        overflow = self.verdict.ground("overflow")
        if full:
            finding = Reliance.CONFIRMED if overflow is False else Reliance.WEAK
            more = ", and none overflows" if overflow is False else ", and what follows an overflow is not known"
            if self.prepared.question.about_overflow:
                more = ""
            yield _report("queues", finding, f"filled on some run: {', '.join(full)}{more}")
        elif queues and not undecided:
            yield _report("queues", Reliance.CONFIRMED, "none is ever full")

    # --- other bounds ---

    def _decide_again(self, aspect: str, words: str, settings: Settings) -> Ground:
        try:
            pipeline, prop = self.pose(settings)
            outcome = check(pipeline, prop, settings).outcome
        except WorkbenchError as error:
            return _report(aspect, Reliance.UNKNOWN, f"not decided for {words}: {error.what}")
        if outcome is self.verdict.outcome:
            return _report(aspect, Reliance.CONFIRMED, f"the same for {words}")
        finding = Reliance.UNKNOWN if outcome is Outcome.UNKNOWN else Reliance.WEAK
        return _report(aspect, finding, f"{outcome} for {words}")

    def _examine_values(self) -> Iterator[Ground]:
        if self.verdict.for_every_n:
            yield _report("every N", Reliance.CONFIRMED, "the same for every N: no value of type int is read")
            return
        if self.verdict.n is None:  # the values of the model are its own
            return
        yield self._examine_one_value_more()
        enough = None if self.prepared.model.instead else self._find_enough(self.settings)
        if enough is None or enough != self._find_enough(replace(self.settings, n=self.settings.n + 1)):
            text = "not known: the values are used in arithmetic or compared in order"
            yield _report("every N", Reliance.UNKNOWN, text)
            return
        argument = f"for every N >= {max(enough, 1)}: values are only moved and compared for equality"
        if self.settings.n >= enough:
            yield _report("every N", Reliance.CONFIRMED, f"the same {argument}")
            return
        ground = self._decide_again("every N", f"N = {enough}", replace(self.settings, n=enough))
        yield replace(ground, text=f"{ground.text}, and so {argument}")

    def _examine_one_value_more(self) -> Ground:
        more = self.settings.n + 1
        return self._decide_again("N + 1", f"N = {more}", replace(self.settings, n=more))

    def _find_enough(self, settings: Settings) -> int | None:
        """Return the N from which on the outcome is the same, computed with these settings."""
        pipeline, prop = self.pose(settings)
        flat = settings.flat(pipeline)
        if uses_python(flat):
            return None
        prepared = prepare(flat, prop, settings)
        return enough_values(prepared.model.system, prepared.question.formula.atoms(), settings.domain)

    def _examine_larger_queues(self) -> Iterator[Ground]:
        if not self.prepared.model.queues:
            yield _report("every Q", Reliance.CONFIRMED, "the same for every Q: it depends on no queue")
            return
        yield self._examine_one_place_more()
        yield from self._argue_for_larger_queues()

    def _examine_one_place_more(self) -> Ground:
        sizes = {queue.name: queue.capacity + 1 for queue in self.prepared.model.queues}
        capacities = self.settings.q
        if isinstance(capacities, int):
            # keep the capacities of queues that do not matter, so that the pipeline is otherwise the same
            capacities = {name: self.pipeline.capacities.get(name, capacities) for name in self.pipeline.queues}
        return self._decide_again(
            "Q + 1", "queues with one more slot", replace(self.settings, q={**capacities, **sizes})
        )

    def _argue_for_larger_queues(self) -> Iterator[Ground]:
        if self._looks_at_queues():
            return
        text = "larger queues change nothing"
        if self.verdict.counterexample is not None:
            yield _report("every Q", Reliance.CONFIRMED, f"{text}: none overflows on the run shown")
        elif self.verdict.ground("overflow") is False:
            yield _report("every Q", Reliance.CONFIRMED, text)

    def _looks_at_queues(self) -> bool:
        """Whether the formula itself mentions lengths, capacities or overflow."""
        question = self.prepared.question
        if question.about_overflow and self.verdict.outcome is Outcome.HOLDS:
            return False  # what never overflows does not overflow with a larger capacity
        looked_at = {t.name for q in question.system.queues.values() for t in (q.length, q.overflow) if t.is_var}
        return not looked_at.isdisjoint(variables(question.formula.atoms()))


def _never_full(queue: str) -> Property:
    """Return the property that a queue is never full."""

    def term(system: System) -> Any:
        overflowed = var(f"{FLAG}:happened", BOOL)
        return negate(both(is_full(system.queues[queue]), negate(overflowed)))

    return invariant(f"{queue} is never full", term, f"'{queue}' is full", about_overflow=True)


# --- for every N ----------------------------------------------------------------------------------------------------


MOVES = (ITE, EQ, NE)
"""The operators that only compare a value for equality, or pass it on."""


def enough_values(system: System, atoms: Iterable[Term], domain: Integer) -> int | None:
    """Return the N from which on all verdicts agree; None if values of `domain` are computed with, or ordered."""
    if any(domain in keys_in(each.domain) for each in system.inputs):
        return None  # there is a variable for each key
    constants = {variable.initial for variable in system.variables if variable.domain == domain}
    for term in postorder([*system.names().values(), *atoms]):
        if term.is_const:
            constants |= {term.payload} if term.domain == domain else set()
        elif not term.is_var and term.op not in MOVES and _touches(term, domain):
            return None
    held = [variable for variable in system.variables if variable.domain == domain]
    free = [name for name, leaf in system.free.items() if leaf == domain]
    return len(held) + len(free) + len(constants)


def uses_python(pipeline: Pipeline) -> bool:
    """Whether a pipeline uses a Python function anywhere."""
    return any(_uses_python(node.processor) for node in pipeline.nodes)


def _uses_python(item: object) -> bool:
    if isinstance(item, TypedFunction | Function):
        return remove_types(item).opaque
    if isinstance(item, Pipeline):
        return uses_python(item)
    if isinstance(item, tuple):
        return any(map(_uses_python, item))
    if isinstance(item, Processor | Transition):
        return any(_uses_python(getattr(item, field.name)) for field in dataclasses.fields(item))
    return False


def _touches(term: Term, domain: Integer) -> bool:
    return term.domain == domain or any(arg.domain == domain for arg in term.args)
