"""Proofs that a queue is unbounded: pumping streams.

A pumping stream is a prefix and a cycle of input steps; each round of the cycle leaves the queue longer by the same
number of events. Found on a run of the system, it is a proof (docs/reference/buffers.md, "Why a pumping stream is a
proof"):

- the state that decides the length of the queue (its cone of influence) is the same before and after the cycle,
  except that some queues in it have grown;
- a queue that has grown held an event for every front that a step can take (one, mostly) when a step of the cycle
  began, so more events in it change nothing for a join, which only asks whether an event waits;
- if the values in a queue that has grown matter, each round takes the same values from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from workbench.core.domain import Overflowing, Value
from workbench.core.pipeline import Pipeline
from workbench.core.term import Term
from workbench.ir.compose import outline
from workbench.ir.open_queues import brims, look_ahead
from workbench.ir.reduce import escape_in
from workbench.ir.simulate import Simulator
from workbench.ir.system import System, instance_of
from workbench.verify.answer.trace import Growth, InputSteps

SeenEvents = tuple[tuple[Value, ...], ...]
"""Events as the cone sees them; an empty tuple each if it sees nothing."""


class Moment(NamedTuple):
    """A queue between two steps, and the number of events that arrive at it in the next step."""

    length: int
    content: SeenEvents
    arriving: int


class RecordedRun(NamedTuple):
    """A run of a system: states and lengths of queues before each step and after the last, and labels of each step."""

    states: list[tuple[Value, ...]]
    lengths: dict[str, list[int]]
    labels: list[tuple[Value, ...]]


def record_run(system: System, labels: Sequence[Term], inputs: InputSteps) -> RecordedRun:
    """Run a system up to the first step at which a queue overflows, or the first of the labels is true."""
    simulator = Simulator(system, labels)
    run = RecordedRun([simulator.state], {name: [0] for name in system.queues}, [])
    for step in simulator.trace_before(inputs):
        run.states.append(simulator.state)
        run.labels.append(step.labels)
        for name, length in step.queues.items():
            run.lengths[name].append(length)
    return run


class Course:
    """A run of the cone that decides the length of one queue.

    It ends before the first step that exceeds a capacity, or in which a number leaves its checked domain.

    Parameters
    ----------
    pipeline: flat and resolved.
    queue: the queue in question.
    inputs: the run, from the first step on.
    capacities: the capacity of each queue, at least one event.
    """

    def __init__(
        self, pipeline: Pipeline, queue: str, inputs: Sequence[Mapping[str, Value]], capacities: Mapping[str, int]
    ) -> None:
        self.queue = queue
        self._inputs = tuple(inputs)
        system = outline(pipeline, capacities)
        cut = cone(system, queue)
        self._rounds = look_ahead(pipeline)
        heads = {name: brim for name, brim in brims(pipeline, system).items() if name in cut.queues}
        slots = {name: system.pipes[pipeline.sources[name]].slots for name in heads}
        escapes = escape_in(cut, set(cut.names()), Overflowing.CHECKED)
        run = record_run(cut, [escapes, *(slot.present for name in heads for slot in slots[name])], self._inputs)
        joins = {instance_of(brim.level) for brim in heads.values()}
        control = [i for i, v in enumerate(cut.variables) if instance_of(v.name) not in joins]
        self.control = [tuple(state[i] for i in control) for state in run.states]
        """The state of the cone without its queues, before each step and after the last."""
        self.moments: dict[str, list[Moment]] = {}
        index, first = {v.name: i for i, v in enumerate(cut.variables)}, 1
        for name, brim in heads.items():
            arriving = [sum(map(bool, labels[first : first + len(slots[name])])) for labels in run.labels]
            first += len(slots[name])
            # the part of an event that the cone sees: nothing, all, or some fields
            field_indices = [
                [i for own, i in index.items() if own == store or own.startswith(f"{store}.")] for store in brim.stores
            ]
            self.moments[name] = [
                Moment(length, tuple(tuple(state[i] for i in fields) for fields in field_indices[:length]), arrived)
                for state, length, arrived in zip(run.states, run.lengths[name], [*arriving, 0], strict=True)
            ]

    @property
    def lengths(self) -> list[int]:
        """The length of the queue before each step and after the last."""
        return [moment.length for moment in self.moments[self.queue]]

    # --- pumping ------------------------------------------------------------------------------------------

    def find_growth(self) -> Growth | None:
        """Return the earliest and shortest part of the run that can be repeated for ever; None if there is none."""
        return find_growth(self._inputs, self.control, self.lengths, self._repeats)

    def _repeats(self, start: int, end: int) -> bool:
        """Whether all queues allow the steps between these moments to be repeated for ever."""
        return all(_repeats(m[start : end + 1], self._rounds[name]) for name, m in self.moments.items())


def find_growth(
    inputs: InputSteps,
    control: Sequence[tuple[Value, ...]],
    lengths: Sequence[int],
    repeats: Callable[[int, int], bool],
) -> Growth | None:
    """Return the earliest and shortest part of a run that leaves a queue longer, and can be repeated for ever.

    Parameters
    ----------
    control, lengths: before each step and after the last: the state that must return, and the length of the queue.
    repeats: whether everything else allows the steps between two such moments to be repeated.
    """
    before: dict[tuple[Value, ...], list[int]] = {}
    for end, state in enumerate(control):
        for start in reversed(before.setdefault(state, [])):
            by = lengths[end] - lengths[start]
            if by > 0 and repeats(start, end):
                return Growth(inputs[:end], start, by, end - start)
        before[state].append(end)
    return None


def cone(system: System, queue: str) -> System:
    """Return the subsystem that decides the length of a queue, with the lengths of the other queues that matter."""
    target = system.queues[queue]
    inside = {instance_of(name) for name in system.cone(target.length)}
    roots = tuple((q.length, q.overflow) for q in system.queues.values() if instance_of(q.length.name) in inside)
    names = system.cone(roots)
    return system.seen(names).restrict(names)


def _repeats(moments: Sequence[Moment], rounds: int) -> bool:
    """Whether a queue, from which a step takes at most `rounds` events, allows these steps to be repeated for ever."""
    first, last = moments[0], moments[-1]
    growth = last.length - first.length
    if growth == 0:
        return first.content == last.content
    if growth < 0 or any(moment.length < rounds for moment in moments[:-1]):
        return False
    # the queue held enough for the step, so the arrivals were last in line at its end
    arrived = tuple(event for now, after in pairwise(moments) for event in after.content[after.length - now.arriving :])
    return _takes_same_events(first.content, arrived, len(arrived) - growth)


def _takes_same_events(waiting: SeenEvents, arrived: SeenEvents, count: int) -> bool:
    """Whether each round takes the same events, if the same `arrived` events come in each.

    Together the rounds take what waits and then `arrived` over and over, `count` events each. Whether an event of
    that sequence equals the one `count` positions later repeats with the length of `arrived`: one length is enough.
    """
    if count == 0:
        return True
    line = list(waiting)
    while len(line) < len(waiting) + len(arrived) + count:
        line.extend(arrived)
    return all(a == b for a, b in zip(line, line[count:], strict=False))
