"""Proofs that a queue is unbounded: pumping streams.

A pumping stream is a prefix and a cycle of input steps; each round of the cycle leaves the queue longer by the same
number of events. Found on a run of the system, it is a proof (docs/buffers.md, "Why a pumping stream is a proof"):

- what decides the length of the queue (its cone of influence) is the same before and after the cycle, except
  that some queues in it have grown;
- a queue that has grown held an event for every front that a step can take (one, mostly) when a step of the cycle
  began, so more events in it change nothing for a join, which only asks whether an event waits;
- where the values in a queue that has grown matter, those that each round takes from it are the same again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from workbench.core.domain import Overflowing, Value
from workbench.core.pipeline import Pipeline
from workbench.ir.compose import outline
from workbench.ir.reduce import escape_in
from workbench.ir.relax import brims, look_ahead
from workbench.ir.simulate import Simulator
from workbench.ir.system import System, instance_of
from workbench.verify.answer.growth import Growth, InputSteps

SeenEvents = tuple[tuple[Value, ...], ...]
"""Events as what the cone sees of them; an empty tuple each where it sees nothing."""


class Moment(NamedTuple):
    """A queue between two steps, and how many events arrive at it in the step that follows."""

    length: int
    content: SeenEvents
    arriving: int


class Course:
    """A run of what decides the length of one queue.

    It ends before the first step for which there is no room, or in which a number leaves its checked domain.

    Parameters
    ----------
    pipeline: flat and resolved.
    queue: the queue in question.
    inputs: the run, from the first step on.
    room: how many events fit in each queue, at least one.
    """

    def __init__(
        self, pipeline: Pipeline, queue: str, inputs: Sequence[Mapping[str, Value]], room: Mapping[str, int]
    ) -> None:
        self.queue = queue
        self._inputs = tuple(inputs)
        system = outline(pipeline, room)
        cut = cone(system, queue)
        self._places = {name: brim for name, brim in brims(pipeline, system).items() if name in cut.queues}
        joins = {instance_of(brim.level) for brim in self._places.values()}
        self._control = [i for i, v in enumerate(cut.variables) if instance_of(v.name) not in joins]
        self._index = {v.name: i for i, v in enumerate(cut.variables)}
        self._slots = {name: system.pipes[pipeline.sources[name]].slots for name in self._places}
        self._rounds = look_ahead(pipeline)
        escapes = escape_in(cut, set(cut.names()), Overflowing.CHECKED)
        present = (slot.present for slots in self._slots.values() for slot in slots)
        self._simulator = Simulator(cut, [escapes, *present])
        self._fields = {name: self._find_seen(brim.stores[0]) for name, brim in self._places.items()}
        self.control: list[tuple[Value, ...]] = []
        """Before each step, and after the last: the state of the cone without its queues."""
        self.moments: dict[str, list[Moment]] = {name: [] for name in self._places}
        self._run(inputs)

    @property
    def lengths(self) -> list[int]:
        """The length of the queue before each step, and after the last."""
        return [moment.length for moment in self.moments[self.queue]]

    def _find_seen(self, store: str) -> list[str]:
        """The ends of the names of what the cone sees of an event: nothing, all, or some fields."""
        return [name.removeprefix(store) for name in self._index if name == store or name.startswith(f"{store}.")]

    def _run(self, inputs: Sequence[Mapping[str, Value]]) -> None:
        lengths = dict.fromkeys(self._places, 0)
        for events in inputs:
            state = self._simulator.state
            step = self._simulator.step(events)
            escapes, *present = step.labels
            if step.overflows or escapes:
                self._simulator.state = state
                break
            self._note(state, lengths, present)
            lengths = step.queues
        self._note(self._simulator.state, lengths, ())

    def _note(self, state: tuple[Value, ...], lengths: Mapping[str, int], present: Sequence[Any]) -> None:
        """Take down the moment before a step; `present` says which events arrive in it, for one queue after another."""
        self.control.append(tuple(state[i] for i in self._control))
        arrivals = iter(present)
        for name, brim in self._places.items():
            content = tuple(
                tuple(state[self._index[store + field]] for field in self._fields[name])
                for store in brim.stores[: lengths[name]]
            )
            arriving = sum(bool(next(arrivals)) for _ in self._slots[name]) if present else 0
            self.moments[name].append(Moment(lengths[name], content, arriving))

    # --- pumping ------------------------------------------------------------------------------------------

    def find_growth(self) -> Growth | None:
        """The part of the run that can be repeated for ever, the earliest and shortest; None if there is none."""
        return find_growth(self._inputs, self.control, self.lengths, self._repeats)

    def _repeats(self, start: int, end: int) -> bool:
        """Whether all queues let the steps between these moments be repeated for ever."""
        return all(_repeats(m[start : end + 1], self._rounds[name]) for name, m in self.moments.items())


def find_growth(
    inputs: InputSteps,
    control: Sequence[tuple[Value, ...]],
    lengths: Sequence[int],
    repeats: Callable[[int, int], bool],
) -> Growth | None:
    """The earliest and shortest part of a run that leaves a queue longer, and can be repeated for ever.

    Parameters
    ----------
    control, lengths: before each step, and after the last: what is to be the same again, and the length of the queue.
    repeats: whether all else lets the steps between two such moments be repeated.
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
    """What decides the length of a queue, with the lengths of the other queues that matter for it."""
    asked = system.queues[queue]
    inside = {instance_of(name) for name in system.cone(asked.length)}
    roots = tuple((q.length, q.overflow) for q in system.queues.values() if instance_of(q.length.name) in inside)
    names = system.cone(roots)
    return system.seen(names).restrict(names)


def _repeats(moments: Sequence[Moment], rounds: int) -> bool:
    """Whether a queue, of which a step takes at most `rounds` events, lets these steps be repeated for ever."""
    first, last = moments[0], moments[-1]
    growth = last.length - first.length
    if growth == 0:
        return first.content == last.content
    if growth < 0 or any(moment.length < rounds for moment in moments[:-1]):
        return False
    # it held enough for the step, so whatever arrived was last in line when the step was over
    arrived = tuple(event for now, after in pairwise(moments) for event in after.content[after.length - now.arriving :])
    return _same_events_taken(first.content, arrived, len(arrived) - growth)


def _same_events_taken(waiting: SeenEvents, arrived: SeenEvents, taken: int) -> bool:
    """Whether each round takes the same events, when `arrived` come again in each.

    Together the rounds take what waits and then `arrived` over and over, `taken` events each. Whether an event of
    that sequence equals the one `taken` places on repeats with the length of `arrived`, so one such length is enough.
    """
    if taken == 0:
        return True
    line = list(waiting)
    while len(line) < len(waiting) + len(arrived) + taken:
        line.extend(arrived)
    return all(a == b for a, b in zip(line, line[taken:], strict=False))
