"""Properties of a pipeline, turned into questions about its transition system.

`liveness` is AG EF some output; `response` is GF inputs -> GF outputs. They differ, and both express the intention
where the paper's liveness fails merely because the environment may stop sending. Properties that are invariants
become invariants.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import Any

from workbench.core.domain import BOOL, Bool, Overflowing, Range
from workbench.core.kinds import pack_slots
from workbench.core.ops import AND, EQ, GE, GT, LT, NOT, as_term, both, conjunction, disjunction, either, ite, negate
from workbench.core.pipeline import Pipeline
from workbench.core.program import Program
from workbench.core.range_escape import can_escape
from workbench.core.term import Term, leaves, var
from workbench.errors import PipelineError, TypingError, check_count
from workbench.ir.reduce import FLAG, escape_in, observe
from workbench.ir.system import Pipe, Queue, StateVariable, System
from workbench.processors.held.contracts import watch
from workbench.smv.engines.engine import QueryKind
from workbench.verify.ask.formula import Formula, atom, build

LEAVES_RANGE = "a number leaves its range"
"""The end of a run in which a number does not fit."""
SILENCE = "(silence)"


@dataclass(frozen=True)
class Question:
    """A property of one system, ready for an engine.

    Attributes
    ----------
    system: the pipeline's system, with an observer if the property needs one.
    roots: terms that the model includes although the formula does not depend on them.
    kind, formula: what the engine decides.
    stutter: whether steps without input are left out of the model: the property is not about them, or they
        cannot change whether it holds.
    ends: whether the streams may end, where a processor acts at their end.
    about_overflow: whether the property itself is about overflow, and so is not weakened by it.
    about_ranges: whether, of overflow, it is about numbers that leave their ranges only, not about queues.
    failure: what a counterexample shows, in words.
    in_bounds: for a property that promises an event, the formula that the event comes before any overflow; a side
        question that shows how far the bounds reach.
    kleene: whether to query also the pessimistic formula, which can hold even if a queue overflows.
    compares: whether it compares two pipelines that may have equal parts, which `ir.correspond` looks for.
    exercised: conditions that must each come true on some run, or else the property holds for want of cases; with
        their words.
    wanted: whether the run that refutes the formula is the goal: the property holds if there is one.
    """

    system: System
    kind: QueryKind
    formula: Formula
    stutter: bool = True
    ends: bool = True
    about_overflow: bool = False
    about_ranges: bool = False
    failure: str = ""
    in_bounds: Callable[[Term], Formula] | None = None
    kleene: bool = False
    compares: bool = False
    exercised: tuple[tuple[str, Term], ...] = ()
    wanted: bool = False
    roots: tuple[Term, ...] = ()


OverDomains = Callable[..., tuple[Pipeline, ...]]
"""A function that turns programs into pipelines over the finite domains of one model (`Settings.over`)."""


@dataclass(frozen=True)
class Property:
    """A named property; `question` takes the system of a pipeline.

    `conditions` are the comparisons of the property, as terms over the pipes of a pipeline.
    """

    name: str
    question: Callable[[System], Question]
    conditions: Callable[[Pipeline], Iterable[Any]] = lambda _: ()

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def sides(self, subject: Program) -> tuple[Program, ...]:
        """Return the pipelines that the property is about."""
        return (subject,)

    def pose(self, subject: Program, over: OverDomains) -> tuple[Pipeline, Property]:
        """Return the pipeline over finite domains, under its assumptions, and the property to ask of it."""
        return under_assumptions(over(subject)[0]), self


def under_assumptions(pipeline: Pipeline) -> Pipeline:
    """Return a pipeline that is about runs which meet its assumptions; without any, the pipeline itself."""
    return watch(pipeline, lambda each: each.is_own_assumption) if pipeline.own_assumptions else pipeline


def outputs(system: System) -> list[Term]:
    """Return, for each output, the condition that it carries an event."""
    return [system.pipes[pipe].present for _, pipe in system.outputs]


def arrivals(system: System) -> list[Term]:
    """Return, for each input, the condition that an event arrives."""
    return [i.present for i in system.arrivals]


def speaking(system: System) -> tuple[tuple[str, Term], ...]:
    """Return the case that a property of outputs needs: some output carries an event."""
    return (("an output carries an event", disjunction(outputs(system))),)


def waiting(system: System) -> tuple[tuple[str, Term], ...]:
    """Return the case that a property of queues needs: an event waits."""
    if not system.own_queues:
        return ()
    return (("an event waits in a queue", disjunction(GT(q.length, 0) for q in system.own_queues)),)


Exercised = Callable[[System], tuple[tuple[str, Term], ...]]
"""The `exercised` conditions of a question."""


def no_cases(_: System) -> tuple[tuple[str, Term], ...]:
    """Return no cases: none are known."""
    return ()


def make_property(
    name: str,
    kind: QueryKind,
    formula: Callable[[System], Formula],
    failure: str,
    exercised: Exercised = no_cases,
    **flags: Any,
) -> Property:
    """Make the property that a formula over a system holds; the other arguments are as in `Question`."""

    def question(system: System) -> Question:
        return Question(system, kind, formula(system), failure=failure, exercised=exercised(system), **flags)

    return Property(name, question)


def invariant(
    name: str, term: Callable[[System], Any], failure: str, exercised: Exercised = no_cases, **flags: Any
) -> Property:
    """Make the property that a condition on a system is true at every step; see `make_property`."""
    return make_property(name, "invar", lambda s: atom(as_term(term(s), BOOL)), failure, exercised, **flags)


def liveness() -> Property:
    """Return the property that from every reachable state some continuation emits an output (AG EF out)."""

    def emits(system: System) -> Formula:
        return build("AG", build("EF", atom(disjunction(outputs(system)))))

    def emits_in_bounds(system: System, overflow: Term) -> Formula:
        soon = build("EF", atom(AND(disjunction(outputs(system)), NOT(overflow))))
        return build("AG", build("or", atom(overflow), soon))

    failure = "from here no continuation of the input emits an output"
    prop = make_property("liveness", "ctl", emits, failure, speaking, ends=False)

    def question(system: System) -> Question:
        return replace(prop.question(system), in_bounds=partial(emits_in_bounds, system))

    return replace(prop, question=question)


def again_and_again(terms: Sequence[Term]) -> Formula:
    """Return the formula that each of the terms is true infinitely often."""
    return reduce(partial(build, "and"), (build("G", build("F", atom(term))) for term in terms))


def response() -> Property:
    """Return the property that events for ever on every input give outputs for ever (GF in -> GF out)."""

    def answers(system: System) -> Formula:
        return build("implies", again_and_again(arrivals(system)), again_and_again(outputs(system)))

    failure = "the loop feeds every input for ever, and some output stops"
    return make_property("response", "ltl", answers, failure, speaking, ends=False)


def bounded_liveness(k: int) -> Property:
    """Return the property that there are never more than k consecutive steps with input and without output."""
    check_count("the number of steps of bounded-liveness", k, least=0)

    def question(system: System) -> Question:
        silent = both(disjunction(arrivals(system)), negate(disjunction(outputs(system))))
        text = f"more than {k} steps with input and without output"
        watched, count = _silence(system, k, silent) if k else (system, 0)
        broken = both(silent, GE(count, k))
        return Question(watched, "invar", atom(NOT(broken)), failure=text, exercised=speaking(system))

    return Property(f"bounded-liveness({k})", question)


def _silence(system: System, k: int, silent: Term) -> tuple[System, Term]:
    """Return the system with an observer that counts silent steps up to k (shared if present), and the count."""
    known = {variable.name: variable.domain for variable in system.variables}
    first = f"{SILENCE}:count"
    observer = SILENCE if first not in known or known[first] == Range(0, k) else f"(silence {k})"
    count = var(f"{observer}:count", Range(0, k))
    if count.name in known:
        return system, count
    speaks = disjunction(outputs(system))
    after = ite(speaks, 0, ite(both(silent, LT(count, k)), count + 1, count))
    return observe(system, observer, [StateVariable(count.name, Range(0, k), 0, after)], []), count


def always(make: Callable[[System], Term], text: str, cases: Exercised = no_cases) -> Property:
    """Return the property that a condition over labels is true at every step that carries an input event."""
    return invariant(f"always {text}", make, f"'{text}' is false", cases)


def never(make: Callable[[System], Term], text: str, cases: Exercised = no_cases) -> Property:
    """Return the property that a condition is true at no step; it is false where pipes that it reads carry no event."""
    return invariant(f"never {text}", lambda system: negate(make(system)), f"'{text}' is true", cases)


def can(make: Callable[[System], Term], text: str, cases: Exercised = no_cases) -> Property:
    """Return the property that a condition is true at some step of some run, which is shown: `never` negated."""
    inner = never(make, text, cases)
    return Property(f"can {text}", lambda system: replace(inner.question(system), wanted=True))


def overflow_of(queues: Iterable[Queue]) -> Any:
    """Return the condition that an event arrives at one of these queues, which is full, before any other overflow."""
    happened = var(f"{FLAG}:happened", BOOL)
    return disjunction(both(queue.overflow, negate(happened)) for queue in queues)


def no_overflow() -> Property:
    """Return the property that no event ever arrives at a full queue."""
    failure = "an event arrives at a full queue"
    return invariant("no-overflow", lambda s: negate(overflow_of(s.own_queues)), failure, waiting, about_overflow=True)


def stays_in_range() -> Property:
    """Return the property that no number ever leaves its range."""

    def stays(system: System) -> Any:
        escapes = escape_in(system, set(system.names()), Overflowing.CHECKED)
        return negate(both(escapes, negate(var(f"{FLAG}:happened", BOOL))))

    failure = LEAVES_RANGE
    prop = invariant("stays-in-range", stays, failure, about_overflow=True, about_ranges=True)

    def question(system: System) -> Question:
        escaping = [name for name, term in system.names().items() if can_escape([term], Overflowing.CHECKED)]
        return replace(prop.question(system), roots=tuple(var(name, system.domains[name]) for name in escaping))

    return replace(prop, question=question)


def no_full_queues() -> Property:
    """Return the paper's condition that no queue is ever full at the end of a step (TIME 2021, section 4.2)."""
    full = "a queue is full at the end of a step"
    held = invariant("no-full-queues", lambda s: negate(disjunction(map(is_full, s.own_queues))), full, waiting)

    def question(system: System) -> Question:
        # a queue of capacity 0 is full before the first event, too
        return replace(held.question(system), stutter=all(q.capacity > 0 for q in system.own_queues))

    return replace(held, question=question)


def is_full(queue: Queue) -> Any:
    """Return the condition that a queue is full."""
    return EQ(queue.length, queue.capacity)


def never_false() -> Property:
    """Return the property that no output is ever false, as of a monitor (TIME 2021, section 4.3)."""

    def all_true(system: System) -> Any:
        slots = [slot for pipe in _verdicts(system) for slot in pipe.slots]
        return conjunction(either(negate(slot.present), slot.value) for slot in slots)

    return invariant("never-false", all_true, "the monitor emits false", speaking)


def often_true() -> Property:
    """Return the property that every output is true infinitely often (GF out)."""

    def speaks(system: System) -> Formula:
        return again_and_again([says_true(pipe) for pipe in _verdicts(system)])

    failure = "from some step on the monitor never emits true"
    return make_property("often-true", "ltl", speaks, failure, speaking, stutter=False, ends=False)


def silent() -> Property:
    """Return the property that no output ever carries an event."""
    return invariant("silent", lambda system: negate(disjunction(outputs(system))), "an output carries an event")


def says_true(pipe: Pipe) -> Term:
    """Return the condition that one of the events on a Boolean pipe at a step is true."""
    condition: Term = disjunction(both(slot.present, slot.value) for slot in pipe.slots)
    return condition


def _verdicts(system: System) -> list[Pipe]:
    """Return the pipe of each output; each must be Boolean."""
    for name, pipe in system.outputs:
        domain = system.domains_of_pipes[pipe]
        if not isinstance(domain, Bool):
            raise TypingError(
                f"output '{name}' of {system.name} carries {domain}, not truth values",
                hint="a monitor ends in streams of bool: compare the values, e.g. out <= 3",
            )
    return [system.pipes[pipe] for _, pipe in system.outputs]


def temporal(kind: QueryKind, make: Callable[[System], Formula], text: str, cases: Exercised = no_cases) -> Property:
    """Return the property of a CTL or LTL formula over the system's labels, on the model with all steps."""
    name, failure = f"{kind}({text})", f"the run violates {text}"
    return make_property(name, kind, make, failure, cases, stutter=False, kleene=kind == "ctl")


def stepwise_equal(left: str, right: str, *, approximates: bool = False) -> Property:
    """Return the property that two pipes carry the same event, or none, at every step (TIME 2021, section 4.1)."""

    def cases(system: System) -> tuple[tuple[str, Term], ...]:
        a, b = system.pipes[left], system.pipes[right]
        if approximates:
            return ((f"'{right}' emits true", says_true(b)),)
        return ((f"'{left}' and '{right}' carry an event", both(a.present, b.present)),)

    name = f"{'approximates' if approximates else 'stepwise-equal'}({left}, {right})"
    agree = partial(_agree, left=left, right=right, approximates=approximates)
    return invariant(name, agree, f"'{left}' and '{right}' differ", cases, compares=True)


def _agree(system: System, left: str, right: str, *, approximates: bool) -> Any:
    a, b = pack_slots(system.pipes[left].slots), pack_slots(system.pipes[right].slots)
    agree: list[Term] = []
    for x, y in itertools.zip_longest(a, b):
        if x is None or y is None:
            agree.append(negate((x or y).present))
            continue
        if approximates:
            same: Term = either(negate(y.value), x.value)
        else:
            same = conjunction(EQ(m, n) for m, n in zip(leaves(x.value), leaves(y.value), strict=True))
        agree.append(AND(EQ(x.present, y.present), either(negate(x.present), same)))
    return conjunction(agree)


def conjoin(name: str, parts: list[Property]) -> Property:
    """Combine several invariants into one; a single one keeps its name."""
    if len(parts) == 1:
        return parts[0]

    def question(system: System) -> Question:
        questions = [part.question(system) for part in parts]
        terms = [q.formula.term for q in questions]
        exercised = tuple(dict.fromkeys(case for q in questions for case in q.exercised))
        return replace(questions[0], formula=atom(conjunction(terms)), exercised=exercised)

    return Property(name, question)


def pipe_named(system: System, name: str) -> Pipe:
    """Return the pipe of the name of a pipe or of an output."""
    return system.pipes[dict(system.outputs).get(name, name)]


def queue_named(system: System, name: str) -> Queue:
    """Return the queue of that name; raise a PipelineError that lists the queues if there is none."""
    if name not in system.queues:
        known = ", ".join(system.queues) or "none"
        raise PipelineError(f"{system.name} has no queue '{name}'", hint=f"queues: {known}")
    return system.queues[name]
