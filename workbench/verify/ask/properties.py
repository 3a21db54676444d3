"""Properties: what can be asked of a pipeline, turned into questions about its transition system.

`liveness` is AG EF some output; `response` is GF inputs -> GF outputs; they differ, and both say what is meant
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
from workbench.core.escape import can_escape
from workbench.core.kinds import pack_slots
from workbench.core.ops import AND, EQ, GE, GT, LT, NOT, as_term, both, conjunction, disjunction, either, ite, negate
from workbench.core.pipeline import Pipeline
from workbench.core.program import Program
from workbench.core.term import Term, leaves, var
from workbench.errors import PipelineError, TypingError
from workbench.ir.reduce import FLAG, escape_in, observe
from workbench.ir.system import Pipe, Queue, StateVariable, System
from workbench.smv.engines.engine import QueryKind
from workbench.verify.ask.formula import Formula, atom, build

SILENCE = "silence"


@dataclass(frozen=True)
class Question:
    """A property of one system, ready to be asked.

    Attributes
    ----------
    system: the pipeline's system, with an observer where the property needs one.
    roots: what the model has, too, although the formula does not depend on it.
    kind, formula: what the engine decides.
    stutter: whether steps without input are left out of the model: the property does not speak of them, or they
        cannot change whether it holds.
    ends: whether the streams may end, where a processor acts at their end.
    about_overflow: the property itself speaks of overflow, so it is not weakened by it.
    about_ranges: it does, and of numbers that leave their ranges only, not of queues.
    failure: what a counterexample shows, in words.
    in_bounds: for a property that promises something to come, that it comes before any overflow does; asked
        besides, to say how far the bounds reach.
    kleene: also ask the pessimistic formula, which can hold although a queue overflows.
    compares: it compares two pipelines that may have much in common, which is looked for (`ir.correspond`).
    exercised: conditions of which each must come true on some run, or the property holds for want of cases; with
        their words.
    wanted: the run that refutes the formula is what is asked for: the property holds where there is one.
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
"""What makes pipelines over finite domains of programs that are asked about together (`Settings.over`)."""


@dataclass(frozen=True)
class Property:
    """A named property; `question` is given the system of a pipeline.

    `conditions` are terms over the pipes of a pipeline, those that it compares numbers in.
    """

    name: str
    question: Callable[[System], Question]
    conditions: Callable[[Pipeline], Iterable[Any]] = lambda _: ()

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"<{self.name}>"

    def sides(self, subject: Program) -> tuple[Program, ...]:
        """The pipelines that it is about."""
        return (subject,)

    def pose(self, subject: Program, over: OverDomains) -> tuple[Pipeline, Property]:
        """The pipeline that is asked about, over finite domains, and what is asked of it."""
        return over(subject)[0], self


def outputs(system: System) -> list[Term]:
    """When each output carries an event."""
    return [system.pipes[pipe].present for _, pipe in system.outputs]


def arrivals(system: System) -> list[Term]:
    """When an event arrives on each input."""
    return [i.present for i in system.arrivals]


def speaking(system: System) -> tuple[tuple[str, Term], ...]:
    """What a property of outputs is about: that some output carries an event."""
    return (("an output carries an event", disjunction(outputs(system))),)


def waiting(system: System) -> tuple[tuple[str, Term], ...]:
    """What a property of queues is about: that an event waits."""
    if not system.queues:
        return ()
    return (("an event waits in a queue", disjunction(GT(q.length, 0) for q in system.queues.values())),)


Exercised = Callable[[System], tuple[tuple[str, Term], ...]]
"""The `exercised` conditions of a question."""


def no_cases(_: System) -> tuple[tuple[str, Term], ...]:
    """None are known."""
    return ()


def make_property(
    name: str,
    kind: QueryKind,
    formula: Callable[[System], Formula],
    failure: str,
    exercised: Exercised = no_cases,
    **flags: Any,
) -> Property:
    """That a formula over a system holds; the rest, and the flags, are as in `Question`."""

    def question(system: System) -> Question:
        return Question(system, kind, formula(system), failure=failure, exercised=exercised(system), **flags)

    return Property(name, question)


def invariant(
    name: str, term: Callable[[System], Any], failure: str, exercised: Exercised = no_cases, **flags: Any
) -> Property:
    """That a condition on a system is true at every step; the rest is as in `make_property`."""
    return make_property(name, "invar", lambda s: atom(as_term(term(s), BOOL)), failure, exercised, **flags)


def liveness() -> Property:
    """From every reachable state some continuation emits an output (AG EF out)."""

    def emits(system: System) -> Formula:
        return build("AG", build("EF", atom(disjunction(outputs(system)))))

    def emits_in_bounds(system: System, overflow: Term) -> Formula:
        soon = build("EF", atom(AND(disjunction(outputs(system)), NOT(overflow))))
        return build("AG", build("or", atom(overflow), soon))

    failure = "from here no continuation of the input emits an output"
    found = make_property("liveness", "ctl", emits, failure, speaking, ends=False)

    def question(system: System) -> Question:
        return replace(found.question(system), in_bounds=partial(emits_in_bounds, system))

    return replace(found, question=question)


def again_and_again(terms: Sequence[Term]) -> Formula:
    """Each of the terms is true infinitely often."""
    return reduce(partial(build, "and"), (build("G", build("F", atom(term))) for term in terms))


def response() -> Property:
    """Events for ever on every input give outputs for ever (GF in -> GF out)."""

    def answers(system: System) -> Formula:
        return build("implies", again_and_again(arrivals(system)), again_and_again(outputs(system)))

    failure = "the loop feeds every input for ever, and an output falls silent"
    return make_property("response", "ltl", answers, failure, speaking, ends=False)


def bounded_liveness(k: int) -> Property:
    """Never more than k steps in a row with an input event and without an output."""
    if k < 0:
        raise PipelineError(f"bounded-liveness needs a number of steps that is not negative, not {k}")

    def question(system: System) -> Question:
        silent = both(disjunction(arrivals(system)), negate(disjunction(outputs(system))))
        text = f"more than {k} steps with input and without output"
        watched, count = _silence(system, k, silent) if k else (system, 0)
        broken = both(silent, GE(count, k))
        return Question(watched, "invar", atom(NOT(broken)), failure=text, exercised=speaking(system))

    return Property(f"bounded-liveness({k})", question)


def _silence(system: System, k: int, silent: Term) -> tuple[System, Term]:
    """The system with an observer that counts silent steps up to k, unless it has that already; and its count."""
    known = {variable.name: variable.domain for variable in system.variables}
    first = f"{SILENCE}:count"
    observer = SILENCE if first not in known or known[first] == Range(0, k) else f"{SILENCE}_{k}"
    count = var(f"{observer}:count", Range(0, k))
    if count.name in known:
        return system, count
    speaks = disjunction(outputs(system))
    after = ite(speaks, 0, ite(both(silent, LT(count, k)), count + 1, count))
    return observe(system, observer, [StateVariable(count.name, Range(0, k), 0, after)], []), count


def always(make: Callable[[System], Term], text: str, cases: Exercised = no_cases) -> Property:
    """An invariant of every step that carries an input event, as a term over the system's labels."""
    return invariant(f"always {text}", make, f"'{text}' is false", cases)


def never(make: Callable[[System], Term], text: str, cases: Exercised = no_cases) -> Property:
    """A condition is true at no step; where pipes that it looks at carry no event, it is false."""
    return invariant(f"never {text}", lambda system: negate(make(system)), f"'{text}' is true", cases)


def can(make: Callable[[System], Term], text: str, cases: Exercised = no_cases) -> Property:
    """A condition is true at some step of some run, which is shown: what `never` refutes."""
    inner = never(make, text, cases)
    return Property(f"can {text}", lambda system: replace(inner.question(system), wanted=True))


def overflow_of(queues: Iterable[Queue]) -> Any:
    """An event arrives at one of these queues and finds no room, before any other has."""
    happened = var(f"{FLAG}:happened", BOOL)
    return disjunction(both(queue.overflow, negate(happened)) for queue in queues)


def no_overflow() -> Property:
    """No event ever arrives at a full queue."""
    failure = "an event arrives at a full queue"
    return invariant(
        "no-overflow", lambda s: negate(overflow_of(s.queues.values())), failure, waiting, about_overflow=True
    )


def stays_in_range() -> Property:
    """No number ever leaves its range, whatever the types say."""

    def stays(system: System) -> Any:
        escapes = escape_in(system, set(system.names()), Overflowing.CHECKED)
        return negate(both(escapes, negate(var(f"{FLAG}:happened", BOOL))))

    failure = "a number leaves its range"
    found = invariant("stays-in-range", stays, failure, about_overflow=True, about_ranges=True)

    def question(system: System) -> Question:
        escaping = [name for name, term in system.names().items() if can_escape([term], Overflowing.CHECKED)]
        return replace(found.question(system), roots=tuple(var(name, system.domains[name]) for name in escaping))

    return replace(found, question=question)


def no_full_queues() -> Property:
    """The paper's condition: no queue ever holds as many events as it can (TIME 2021, section 4.2)."""
    full = "a queue is full at the end of a step"
    held = invariant("no-full-queues", lambda s: negate(disjunction(map(is_full, s.queues.values()))), full, waiting)

    def question(system: System) -> Question:
        # what holds nothing is full before the first event, too
        return replace(held.question(system), stutter=all(q.capacity > 0 for q in system.queues.values()))

    return replace(held, question=question)


def is_full(queue: Queue) -> Any:
    """A queue holds as many events as it can."""
    return EQ(queue.length, queue.capacity)


def never_false() -> Property:
    """No output ever says false: what a monitor promises (TIME 2021, section 4.3)."""

    def said(system: System) -> Any:
        slots = [slot for pipe in _verdicts(system) for slot in pipe.slots]
        return conjunction(either(negate(slot.present), slot.value) for slot in slots)

    return invariant("never-false", said, "the monitor says false", speaking)


def often_true() -> Property:
    """Every output says true again and again, for ever (GF out)."""

    def speaks(system: System) -> Formula:
        return again_and_again([says_true(pipe) for pipe in _verdicts(system)])

    failure = "from some step on the monitor never says true"
    return make_property("often-true", "ltl", speaks, failure, speaking, stutter=False, ends=False)


def silent() -> Property:
    """No output ever carries an event."""
    return invariant("silent", lambda system: negate(disjunction(outputs(system))), "an output carries an event")


def says_true(pipe: Pipe) -> Term:
    """When one of the events that a Boolean pipe carries at a step is true."""
    found: Term = disjunction(both(slot.present, slot.value) for slot in pipe.slots)
    return found


def _verdicts(system: System) -> list[Pipe]:
    """What each output can carry at a step; it must be Boolean."""
    for name, pipe in system.outputs:
        domain = system.domains_of_pipes[pipe]
        if not isinstance(domain, Bool):
            raise TypingError(
                f"output '{name}' of {system.name} carries {domain}, not truth values",
                hint="a monitor ends in streams of bool: compare the values, e.g. out <= 3",
            )
    return [system.pipes[pipe] for _, pipe in system.outputs]


def temporal(kind: QueryKind, make: Callable[[System], Formula], text: str, cases: Exercised = no_cases) -> Property:
    """A CTL or LTL formula over the system's labels, asked of the unreduced model."""
    name, failure = f"{kind}({text})", f"the run violates {text}"
    return make_property(name, kind, make, failure, cases, stutter=False, kleene=kind == "ctl")


def stepwise_equal(left: str, right: str, *, approximates: bool = False) -> Property:
    """Two pipes carry the same event, or none, at every step (TIME 2021, section 4.1)."""

    def cases(system: System) -> tuple[tuple[str, Term], ...]:
        a, b = system.pipes[left], system.pipes[right]
        if approximates:
            return ((f"'{right}' says true", says_true(b)),)
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
    """Several invariants asked as one; one alone keeps its name."""
    if len(parts) == 1:
        return parts[0]

    def question(system: System) -> Question:
        asked = [part.question(system) for part in parts]
        terms = [q.formula.term for q in asked]
        exercised = tuple(dict.fromkeys(case for q in asked for case in q.exercised))
        return replace(asked[0], formula=atom(conjunction(terms)), exercised=exercised)

    return Property(name, question)


def pipe_named(system: System, name: str) -> Pipe:
    """The pipe that a name of a pipe, or of an output, means."""
    return system.pipes[dict(system.outputs).get(name, name)]


def queue_named(system: System, name: str) -> Queue:
    """The queue of that name; PipelineError listing those there are."""
    if name not in system.queues:
        known = ", ".join(system.queues) or "none"
        raise PipelineError(f"{system.name} has no queue '{name}'", hint=f"queues: {known}")
    return system.queues[name]
