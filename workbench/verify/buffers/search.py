"""The search for the smallest capacity of one queue, with a model checker.

The model of a queue is the system that decides its length; every other queue that matters has a proven capacity, or
is open (`ir.open_queues`) if it has none. So nothing overflows but the queue in question, and what the model rules out
is ruled out for unbounded queues. A run that the engine finds is repeated with unbounded queues; only the result of
that counts.

In a long pipeline the model has only the part between the queue and a pipe from which all its events come. If
nothing but the events of that pipe decides what a queue holds, then a capacity that is enough for any events on it is
enough for those that come. Whether it is the smallest is shown by one run of the whole pipeline, with an event on each
input at every step: if that reaches the capacity, both sides are proven, at a cost for the model checker that does
not depend on the length of the pipeline. Otherwise the model has everything before the queue. Proven capacities of
queues in the part may be too small for some events on the pipe, but not for those that come.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial

from workbench.budget import phase, share
from workbench.core.domain import BOOL, Integer, SomeFloats, SomeTexts
from workbench.core.ops import AND, GT, NOT, disjunction
from workbench.core.pipeline import Node, Pipeline
from workbench.core.term import FALSE, Term, var
from workbench.errors import LimitMet, Overflow
from workbench.executors.reference.executor import Reference
from workbench.ir.compose import compose, outline
from workbench.ir.open_queues import look_ahead, open_queues, queue_instance
from workbench.ir.reduce import Model, domains_in, focus
from workbench.ir.system import System
from workbench.smv.engines.engine import Answer, EngineLimits
from workbench.smv.printer import SmvModel, print_model
from workbench.verify.answer.replay import inputs_of
from workbench.verify.answer.settings import Settings
from workbench.verify.answer.trace import InputSteps, Trace
from workbench.verify.ask.environment import Environment
from workbench.verify.ask.formula import atom
from workbench.verify.buffers.pumping import Course
from workbench.verify.decide.deciders import get_decider
from workbench.verify.decide.part import Part, PartQuestion, remaining_limits
from workbench.verify.maximum import Counted, KnownMaximum, SearchAbandoned, find_maximum


@dataclass(kw_only=True)
class QueueMaximum(KnownMaximum):
    """The knowledge about the maximum length of one queue.

    Attributes
    ----------
    shortest: whether no shorter run reaches it.
    model: the last model that an engine got.
    wraps: whether arithmetic that decides the length can wrap; None if undecided.
    region: the pipe where the model begins, for any events on it; empty: it begins at the inputs.
    witness: for a queue inside a processor, the run that overflows the next smaller capacity.
    part: for such a queue, the pipeline up to that processor.
    """

    shortest: bool = True
    model: Model | None = None
    wraps: bool | None = False
    engine: str = "none needed"
    region: str = ""
    witness: Trace | None = None
    part: Pipeline | None = None


@dataclass(frozen=True)
class QueueQuestion:
    """The question for the smallest capacity of a queue.

    Attributes
    ----------
    pipeline: flat and resolved.
    proven: capacities of other queues known to be enough.
    settings: how to decide it; the budget of the calling work limits it.
    max_capacity: the largest capacity to check.
    """

    pipeline: Pipeline
    queue: str
    proven: Mapping[str, int]
    settings: Settings
    max_capacity: int

    def upstream(self, source: str = "") -> Pipeline:
        """Return the part of the pipeline that ends with the processor of this queue; it begins with `source` if given.

        `source` is a pipe, which becomes the input. With the inputs come the assumptions about them.
        """
        pipeline = self.pipeline
        last = next(node for node in pipeline.nodes if self.queue in (*node.queues, node.pending))
        assumed = () if source or self.queue in pipeline.contract_queues else pipeline.own_assumptions
        nodes = (*pipeline.upstream((*last.inputs, *(each.name for each in assumed)), source), last)
        read = {pipe for node in nodes for pipe in node.inputs}
        inputs = tuple(each for each in pipeline.inputs if each[0] not in pipeline.oracles or each[0] in read)
        inputs = ((source, pipeline.domains[source]),) if source else inputs
        return Pipeline(pipeline.name, inputs, nodes, (("out", last.outputs[0]),), contracts=assumed)


def depends_on(queues: list[str]) -> str:
    """Return the reason why nothing is known of a queue."""
    return f"it depends on queues that have no proven capacity: {', '.join(queues)}"


GROWTH = 4
"""Factor by which the next capacity to check is larger than the last one."""


NEVER_AHEAD = "its events derive one by one from those that they meet, so none of them ever waits"


def never_ahead(pipeline: Pipeline, queue: str) -> bool:
    """Whether counting shows that no event ever waits in this queue of a flat pipeline.

    A processor that emits at most one event for each front emits no more events than it takes. So no pipe carries
    more events than one that it derives from through such processors. A join takes as many fronts as its slowest
    input has events: if a queue's pipe derives from the pipes of all other inputs, it is the slowest. This needs no
    bound on any queue in between.
    """
    node = next(node for node in pipeline.nodes if queue in node.queues)
    system = compose(pipeline, 1)
    makers = {pipe: maker for maker in pipeline.nodes for pipe in maker.outputs}
    sources, todo = {pipeline.sources[queue]}, [pipeline.sources[queue]]
    while todo:
        pipe = todo.pop()
        if pipe in makers and _at_most_one(pipeline, system, makers[pipe], pipe):
            fresh = set(makers[pipe].inputs) - sources
            sources |= fresh
            todo += fresh
    return sources.issuperset(node.inputs)


def _at_most_one(pipeline: Pipeline, system: System, maker: Node, pipe: str) -> bool:
    """Whether a processor emits an event on a pipe only when it takes a front, and then at most one."""
    if any(pipeline.widths[each] != 1 for each in (pipe, *maker.inputs)):
        return False
    takes: Term = system.pipes[maker.inputs[0]].slots[0].present
    if maker.queues:
        takes = var(f"{queue_instance(maker)}:fires", BOOL)
    emits = system.names()[system.pipes[pipe].slots[0].present.name]
    return emits is takes or (emits.op is AND and any(arg is takes for arg in emits.args))


class QueueSearch:
    """The search for the capacity of one queue."""

    def __init__(self, question: QueueQuestion) -> None:
        self.pipeline, self.queue = question.upstream(), question.queue
        self.settings, self.max_capacity = question.settings, question.max_capacity
        self.proven = {name: size for name, size in question.proven.items() if name in self.pipeline.queues}
        self.open = {name for name in self.pipeline.queues if name not in self.proven and name != self.queue}
        self.taken = look_ahead(self.pipeline)
        self.capacity = 1
        """The capacity of open queues: the larger it is, the fewer spurious runs the model has."""
        self.found = QueueMaximum()

    def run(self) -> QueueMaximum:
        """Return the maximum, as far as it is found within the limits."""
        try:
            with share(1), phase(f"looking for the capacity of queue '{self.queue}'"):
                find_maximum(Counted(self.found, self._exceeds, "events", self.max_capacity, GROWTH))
        except LimitMet as met:
            self.found.reason = met.what
        return self.found

    def _exceeds(self, capacity: int, lengths: Sequence[int]) -> list[bool | None]:
        """Return whether the queue can get longer than each of these lengths, none of them above `capacity`."""
        answers = list[bool | None]()
        for length, inputs in zip(lengths, self._find_runs(capacity, lengths), strict=True):
            known = inputs is None or (length < capacity and length < self.found.at_least)
            answers.append(inputs is not None if known else self._learn(length, inputs or ()))
        return answers

    def _learn(self, length: int, inputs: InputSteps) -> bool | None:
        """Record a run on which the model says the queue gets longer than `length`; return whether it really does.

        If not, the capacities of the model are raised, or it is known that no event waits.
        """
        sizes = {name: max(size, 1) for name, size in self.proven.items()}
        widths = {name: self.pipeline.widths[pipe] or 1 for name, pipe in self.pipeline.sources.items()}
        capacities = {name: widths[name] * len(inputs) for name in self.open}
        capacities |= {**sizes, self.queue: length + widths[self.queue]}
        course = Course(self.pipeline, self.queue, inputs, capacities)
        reached = max(course.lengths)
        if self.found.learn(reached, inputs[: course.lengths.index(reached)]):
            self.found.shortest = reached > length
        self.found.growth = course.find_growth() or self.found.growth
        if reached > length:
            return True
        others = sorted(self.open.intersection(course.moments))
        if not others:
            raise SearchAbandoned(f"model gap: a run of the model does not make more than {length} events wait")
        if never_ahead(self.pipeline, self.queue):
            self.found.at_most, self.found.argument = 0, NEVER_AHEAD
            return None
        self.capacity *= 2
        if self.capacity > self.max_capacity:
            raise SearchAbandoned(depends_on(others))
        return None

    # --- the engine ---------------------------------------------------------------------------------------

    def _find_runs(self, capacity: int, lengths: Sequence[int]) -> list[InputSteps | None]:
        """Return the inputs of runs of the model on which the queue gets longer than these lengths; None: no run."""
        system, conditions = self._make_system(capacity, lengths)
        # no other queue overflows, so none needs the flag, except those inside processors, whose capacity is given
        inside = {name: system.queues[name] for name in self.pipeline.inner_capacities}
        model = focus(replace(system, queues=inside), conditions)
        self.found.model = model
        env = self.settings.environment
        assume = tuple(env.assumptions(model.system, stutter_reduced=True))
        smv = print_model(
            model.system,
            assume=assume,
            header=[f"{self.pipeline.name}: can queue({self.queue}) hold more than {', '.join(map(str, lengths))}?"],
        )
        never = conditions
        if model.overflow is not FALSE:  # nothing is concluded once a number has left its checked domain
            beyond = disjunction([model.escapes, *(queue.overflow for queue in model.queues)])
            never = [*(AND(term, NOT(model.overflow)) for term in conditions), beyond]
        questions = {str(number): PartQuestion("invar", atom(NOT(term))) for number, term in enumerate(never)}
        if model.wraps is not FALSE:
            questions["wraps"] = PartQuestion("invar", atom(NOT(model.wraps)), side=True)
        part = Part(model, smv, questions, assume)
        result = get_decider(self.settings.engine).decide(part, self._find_limits())
        self.found.engine = result.engine
        if "wraps" in questions and self.found.wraps is not True:
            truth = result.answers["wraps"].truth
            self.found.wraps = None if truth is None else not truth
        answers = [result.answers[str(number)] for number in range(len(conditions))]
        overflows = all(answer.truth is False for answer in answers)
        if not overflows and model.overflow is not FALSE and result.answers[str(len(conditions))].truth is not True:
            full = f"queue {', '.join(queue.name for queue in model.queues)} can overflow" if model.queues else ""
            what = full or "a number can leave its checked domain"
            raise SearchAbandoned(f"{what}, and nothing is concluded from what follows")
        return [self._read_inputs(system, smv, answer) for answer in answers]

    def _make_system(self, capacity: int, lengths: Sequence[int]) -> tuple[System, list[Term]]:
        open_ = {name: max(self.capacity, self.taken[name]) for name in self.open}
        sizes = {**open_, **self.proven, self.queue: capacity}
        system = outline(self.pipeline, sizes)
        queue = system.queues[self.queue]
        conditions = [queue.overflow if length == capacity else GT(queue.length, length) for length in lengths]
        return open_queues(self.pipeline, system, self.open), conditions

    def _find_limits(self) -> EngineLimits:
        left = remaining_limits()
        if left.seconds == 0.0:
            raise SearchAbandoned(left.time)
        return left

    def _read_inputs(self, system: System, smv: SmvModel, answer: Answer) -> InputSteps | None:
        if answer.truth is None:
            raise SearchAbandoned(answer.reason)
        if answer.truth:
            return None
        env, steps = self.settings.environment, answer.trace.steps if answer.trace else ()
        return tuple(inputs_of(system, partial(smv.read, state), env) for state in steps)


# --- on a part of a long pipeline -----------------------------------------------------------------------------------


LONG = 12
"""Number of processors before a queue from which a part is tried; with fewer, the whole gives a shortest run."""


class Regions:
    """The parts of a flat pipeline, resolved to finite domains, without capacities."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline

    def find(self, question: QueueQuestion) -> QueueMaximum | None:
        """Find the capacity by the part between a pipe and the queue; None if it is not proven for every N."""
        before = question.upstream()
        if before.contracts:  # the run with an event on each input at every step may break them
            return None
        if len(before.nodes) < LONG or before.late or before.oracles:
            return None
        source = self._find_source(before.nodes[-1])
        if source is None or before.widths[source] != 1 or self._depends_on_integers(source):
            return None
        free = replace(question.settings, environment=Environment())
        maximum = QueueSearch(replace(question, pipeline=question.upstream(source), settings=free)).run()
        if maximum.at_most == math.inf or maximum.reason or maximum.model is None:
            return None
        if maximum.model.integers or maximum.model.instead:
            return None
        lengths = [held[question.queue] for held in self._busy]
        if max(lengths, default=-1) < maximum.at_most:
            return None
        capacity = int(maximum.at_most)
        reaching: InputSteps = (self._events,) * (1 + lengths.index(capacity)) if capacity else ()
        return replace(maximum, at_least=capacity, reaching=reaching, shortest=False, region=source)

    def _find_source(self, last: Node) -> str | None:
        """Return the nearest pipe, not read by the processor itself alone, that every path to this processor passes."""
        common = set.intersection(*(self._through[pipe] for pipe in last.inputs))
        return next((pipe for pipe in reversed(list(self.pipeline.domains)) if pipe in common), None)

    @cached_property
    def _through(self) -> dict[str, set[str]]:
        """Per pipe, itself and the pipes that every path to it passes."""
        dominators = {name: {name} for name, _ in self.pipeline.inputs}
        for node in self.pipeline.nodes:
            shared = set.intersection(*(dominators[pipe] for pipe in node.inputs))
            dominators.update((pipe, shared | {pipe}) for pipe in node.outputs)
        return dominators

    def _depends_on_integers(self, pipe: str) -> bool:
        """Whether integers decide when the pipe carries an event, or can leave a checked domain on the way."""
        names = self._system.cone((self._system.pipes[pipe].present,))
        return any(isinstance(each, Integer | SomeTexts | SomeFloats) for each in domains_in(self._system, names))

    @cached_property
    def _system(self) -> System:
        return compose(self.pipeline, 1)

    @cached_property
    def _events(self) -> dict[str, object]:
        return {name: domain.default for name, domain in self.pipeline.inputs}

    @cached_property
    def _busy(self) -> list[Mapping[str, int]]:
        """The lengths of all queues on a run with events on all inputs at every step, until a number overflows."""
        executor = Reference(self.pipeline, {})
        lengths: list[Mapping[str, int]] = []
        with suppress(Overflow):
            for _ in range(len(self.pipeline.nodes) + LONG):
                lengths.append(executor.step(self._events).queues)
        return lengths
