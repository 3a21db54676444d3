"""The execution of a phase by a vertex: its processors on the contents of the pipes in that step.

The rule of this module: one thread at a time runs a vertex, its phases in order; it writes only the pipes and the
states of its own processors. A pipe carries an event, or a list of events if it is wide; absent pipes have no entry.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from workbench.core.domain import Value
from workbench.core.processor import State, events_of
from workbench.executors.reference.cell import ABSENT, JOINED, SEVERAL, CellPlan, Emissions, failure
from workbench.executors.threaded.primitives import Primitives


class StepContents(dict[int, Any]):
    """The contents of the pipes in a step, by slot."""

    __slots__ = ()

    def __missing__(self, slot: int) -> Any:
        return ABSENT


class FlowStep:
    """A step on its way through the vertices.

    Parameters
    ----------
    number: the number of the step.
    contents: the contents of the pipes so far. Values of oracles are at the complements of their slots: an oracle's
        pipe carries only those that take effect.
    ends: whether all streams end with this step.
    """

    __slots__ = ("contents", "ends", "number", "queues", "wide")

    def __init__(self, number: int, contents: StepContents, ends: bool, wide: Sequence[bool]) -> None:
        self.number, self.contents, self.ends, self.wide = number, contents, ends, wide
        self.queues: dict[str, int] = {}

    def events(self, slot: int) -> list[Value]:
        """Return the events that a pipe carries."""
        carried = self.contents[slot]
        if carried is ABSENT:
            return []
        return carried if self.wide[slot] else [carried]


class FirstFailure:
    """The first failure, in the order of the reference executor; later work is not run.

    Attributes
    ----------
    number, place: its step, and its place there: processors in order, then queues in order.
    """

    def __init__(self, primitives: Primitives) -> None:
        self.number = self.place = sys.maxsize
        self.error: Exception | None = None
        self._lock = primitives.RLock()

    def note(self, number: int, index: int, error: Exception) -> None:
        """Record a failure, if it comes before the first so far."""
        with self._lock:
            if (number, index) < (self.number, self.place):
                self.number, self.place, self.error = number, index, error

    def bound(self, number: int) -> int:
        """Return the bound below which processors, by number, still have to run in this step."""
        return sys.maxsize if number < self.number else self.place if number == self.number else 0


@dataclass(slots=True)
class VertexContext:
    """The context in which vertices run.

    Parameters
    ----------
    states: the states of all processors.
    failure: the first failure.
    look: records the queues of a processor that has run, given its number; None: not needed.
    watched: whether the lengths of all queues are recorded.
    """

    states: list[State]
    failure: FirstFailure
    look: Callable[[int, FlowStep], None] | None = None
    watched: bool = False


class VertexRun:
    """A running vertex of Python processors.

    Parameters
    ----------
    plans: the plans of its processors.
    readers: for each slot the other vertices that read it.
    oracles: the names of oracles and their slots.
    """

    __slots__ = ("_oracles", "_plans", "_readers", "_single")
    together: ClassVar[bool] = False
    """Whether many phases at once cost less than one by one."""

    def __init__(
        self, plans: Sequence[CellPlan], readers: Sequence[tuple[int, ...]], oracles: Mapping[str, int]
    ) -> None:
        self._plans, self._readers, self._oracles = tuple(plans), readers, oracles
        self._single: CellPlan | None = None
        if len(self._plans) == 1:
            (_, cell, _, source, target, wide, _) = self._plans[0]
            if source >= 0 and target >= 0 and not (wide or cell.clocked or cell.node.pending):
                self._single = self._plans[0]

    def run_all(self, steps: Sequence[FlowStep], context: VertexContext) -> list[Sequence[int]]:
        """Run phases; return for each the vertices that get messages."""
        failure = context.failure
        if self._single is not None and failure.error is None and not steps[-1].ends:
            return self._run_single(self._single, steps, context)
        return [self._run(step, context, failure.bound(step.number)) for step in steps]

    def _run_single(self, plan: CellPlan, steps: Sequence[FlowStep], context: VertexContext) -> list[Sequence[int]]:
        """Run phases of a vertex that is one processor with an input, an output and at most an event on each.

        It is as short as possible, since other threads wait for Python's lock meanwhile.
        """
        index, _, push, source, target, _, _ = plan
        states, readers, sent = context.states, self._readers[target], list[Sequence[int]]()
        for step in steps:
            front: tuple[Value, ...] = (step.contents[source],)
            outcome: Any = ABSENT
            try:
                outcome = push(states[index], front)
                states[index], ((present, value),) = outcome
            except Exception as error:
                self._record_failure(step, plan, context, front, error, outcome)
                return [*sent, *[()] * (len(steps) - len(sent))]
            if present:
                step.contents[target] = value
            sent.append(readers if present else ())
        return sent

    def _run(self, step: FlowStep, context: VertexContext, bound: int) -> Sequence[int]:
        """Run the processors with numbers below the bound; return the vertices that get messages."""
        sent: dict[int, None] = {}
        for plan in self._plans:
            if plan[0] < bound and not self._run_cell(plan, step, context, sent):
                break
        return tuple(sent)

    def _record_failure(
        self, step: FlowStep, plan: CellPlan, context: VertexContext, front: Any, error: Exception, outcome: Any
    ) -> None:
        step_error = failure(step.number, plan[1].node, front, error, outcome)
        step_error.__cause__ = error
        context.failure.note(step.number, plan[0], step_error)

    def _run_cell(self, plan: CellPlan, step: FlowStep, context: VertexContext, sent: dict[int, None]) -> bool:
        """Run a processor; return whether it succeeded."""
        index, cell, push, source, *_ = plan
        contents = step.contents
        if cell.clocked or step.ends or source == SEVERAL:
            try:
                emitted = self._many(plan, step, context.states)
            except Exception as error:
                context.failure.note(step.number, index, error)
                return False
        else:
            front = cell.join(contents) if source == JOINED else (contents[source],)
            emitted, outcome = [], ABSENT
            if front is not None and front[0] is not ABSENT:
                try:
                    outcome = push(context.states[index], front)
                    context.states[index], results = outcome
                    emitted.append(results)
                except Exception as error:
                    self._record_failure(step, plan, context, front, error, outcome)
                    return False
        if emitted:
            self._carry(plan, emitted, contents, sent)
        if context.look is not None and (cell.queues or cell.node.pending):
            context.look(index, step)
        return True

    def _many(self, plan: CellPlan, step: FlowStep, states: list[State]) -> list[Emissions]:
        """Return the emissions of a processor that works on steps, has several fronts in one, or ends."""
        index, cell = plan[:2]
        state, contents = states[index], step.contents
        if cell.clocked:
            source, *oracles = cell.sources
            carried = {source: step.events(source), **{slot: [] for slot in oracles}}
            state, emitted = cell.tick(
                state, carried, partial(self._read_oracle, contents), step.number, ends=step.ends
            )
            contents.update((slot, carried[slot][0]) for slot in oracles if carried[slot])
        else:
            state, emitted = cell.feed(state, [step.events(slot) for slot in cell.sources], step.number)
            cell.settle()
        states[index] = state
        return [*emitted, *cell.finish(state, step.number)] if step.ends else emitted

    def _read_oracle(self, contents: StepContents, oracle: str) -> Value | None:
        oracle_value = contents[~self._oracles[oracle]]
        return None if oracle_value is ABSENT else oracle_value

    def _carry(
        self, plan: CellPlan, emitted: Sequence[Emissions], contents: StepContents, sent: dict[int, None]
    ) -> None:
        """Put emissions on the pipes."""
        for number, (slot, wide) in enumerate(plan[6]):
            events: list[Value] = []
            for results in emitted:
                events += events_of(results[number])
            if events:
                contents[slot] = events if wide else events[0]
                sent.update(dict.fromkeys(self._readers[slot]))
