"""The running processors of the reference executor: explicit state, and a queue per input of a join.

The rule of this module: all effects of a cell within a step can be undone, because a step that fails must leave no
trace.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from workbench.core.domain import Value
from workbench.core.kinds import Clocked, Keeping, Listening, Push, Tick
from workbench.core.pipeline import Node
from workbench.core.processor import NOTHING, SHAPE, Emission, Maybe, Processor, State, events_of, misshapen
from workbench.errors import Overflow, PipelineError, WorkbenchError
from workbench.executors.backend import Oracle
from workbench.processors.held.contracts import EnforcedContract

Emissions = tuple[Emission, ...]
Saved = tuple[list[list[Value]], bool]
Carried = Mapping[int, list[Value]] | Sequence[list[Value]]
"""The events on each pipe, by slot."""
CellPlan = tuple[int, "Cell", Push, int, int, bool, tuple[tuple[int, bool], ...]]
"""The plan of a processor for a step: see `Cell.plan`."""

JOINED, SEVERAL = -1, -2
"""In place of the pipe that a processor reads: it joins several, at most one event of each; several fronts a step."""


class _Absent:
    """The content of a pipe without an event; a type of its own, since any value may be an event."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "(no event)"


ABSENT: Any = _Absent()


class Cell:
    """A running processor: its queues, and the slots of the pipes it reads and writes.

    The states of all processors are in one list of the executor, which a step copies so that it can be undone.

    Parameters
    ----------
    step: the function that steps the processor.
    """

    __slots__ = (
        "_arrived", "_front", "_pairs", "_popped", "_received", "_taken",
        "clocked", "finished", "node", "processor", "queues", "sources", "step", "targets",
    )  # fmt: skip

    def __init__(self, node: Node, processor: Processor, step: Push, slots: Mapping[str, int]) -> None:
        self.node = node
        self.processor = processor
        self.step = step
        self.clocked = isinstance(processor, Clocked)
        self.sources = tuple(slots[pipe] for pipe in node.inputs)
        self.targets = tuple(slots[pipe] for pipe in node.outputs)
        self.queues: tuple[deque[Value], ...] = tuple(deque() for _ in node.queues)
        self._pairs = tuple(zip(self.queues, self.sources, strict=True)) if self.queues else ()
        self._front = itemgetter(*self.sources) if self.queues else tuple
        self._arrived: list[deque[Value]] = []
        self._popped: tuple[Value, ...] | None = None
        self._received: list[int] = []
        self._taken: list[tuple[Value, ...]] = []
        self.reset()

    def plan(self, index: int, wide: Sequence[bool]) -> CellPlan:
        """Return what the loop of the executor needs of the cell.

        These are its number, the cell, its step, and its source: the one pipe that it reads, `JOINED` or `SEVERAL`;
        then its only target, or -1; whether that target is wide; and all targets, each with whether it is wide.
        """
        narrow = not any(wide[slot] for slot in self.sources)
        source = self.sources[0] if len(self.sources) == 1 else JOINED if self.queues else SEVERAL
        targets = tuple((slot, wide[slot]) for slot in self.targets)
        target, is_wide = targets[0] if len(targets) == 1 else (-1, False)
        return index, self, self.step, source if narrow else SEVERAL, target, is_wide, targets

    def reset(self) -> None:
        """Empty the queues."""
        self.finished = False
        for queue in self.queues:
            queue.clear()

    # --- within a step ---

    def join(self, current: Sequence[Any] | Mapping[int, Any]) -> tuple[Value, ...] | None:
        """Queue the arrived events; return the front that is consumed, if every queue has an event."""
        arrived, self._popped = self._arrived, None
        arrived.clear()
        if not any(self.queues):
            front: tuple[Value, ...] = self._front(current)
            for value in front:
                if value is ABSENT:
                    break
            else:  # an event on every input, and none waits
                return front
        complete = True
        for queue, slot in self._pairs:
            if current[slot] is not ABSENT:
                queue.append(current[slot])
                arrived.append(queue)
            elif not queue:
                complete = False
        if complete:
            self._popped = tuple([queue.popleft() for queue in self.queues])
        return self._popped

    def unjoin(self) -> None:
        """Undo the last `join` or `feed`."""
        if self._taken or self._received:
            self.unfeed()
            return
        if self._popped is not None:
            for queue, value in zip(self.queues, self._popped, strict=True):
                queue.appendleft(value)
        for queue in self._arrived:
            queue.pop()
        self._arrived, self._popped = [], None

    # --- where a pipe can carry several events ---

    def feed(self, state: State, arrivals: Sequence[Sequence[Value]], when: int) -> tuple[State, list[Emissions]]:
        """Process every front that these arrivals complete; return the last state, and the results."""
        emitted, step = [], self.step
        for front in self.collect(arrivals):
            outcome = ABSENT
            try:
                outcome = state, results = step(state, front)
            except Exception as error:
                raise failure(when, self.node, front, error, outcome) from error
            emitted.append(results)
        return state, emitted

    def collect(self, arrivals: Sequence[Sequence[Value]]) -> list[tuple[Value, ...]]:
        """Return the fronts that these arrivals complete; other events wait in the queues."""
        if not self.queues:
            return self.processor.merge_arrivals(arrivals)
        fronts: list[tuple[Value, ...]] = []
        self._received, self._taken = [len(values) for values in arrivals], fronts
        for queue, values in zip(self.queues, arrivals, strict=True):
            queue.extend(values)
        while all(self.queues):
            fronts.append(tuple([queue.popleft() for queue in self.queues]))
        return fronts

    def tick(
        self, state: State, carried: Carried, oracle: Oracle, when: int, *, ends: bool = False
    ) -> tuple[State, list[Emissions]]:
        """Run one step of a clocked processor; return its state and its emissions.

        Values of its oracles are put on their pipes where they take effect.
        """
        source, *oracles = self.sources
        events = carried[source]
        absent = (NOTHING,) * (len(oracles) - len(events))

        def strike(number: int, possible: bool) -> Maybe:
            oracle_value = oracle(self.node.inputs[1 + number]) if possible and not ends else None
            if oracle_value is None:
                return NOTHING
            carried[oracles[number]][:] = [oracle_value]
            return Maybe(True, oracle_value)

        front = Tick((*(Maybe(True, value) for value in events), *absent), strike, ends)
        outcome = ABSENT
        try:
            outcome = state, results = self.step(state, front)
        except Exception as error:
            raise failure(when, self.node, tuple(events), error, outcome) from error
        return state, [results]

    def carry(self, emitted: Sequence[Emissions], carried: Sequence[list[Value]]) -> None:
        """Put emissions on the pipes."""
        for results in emitted:
            for slot, emission in zip(self.targets, results, strict=True):
                carried[slot].extend(events_of(emission))

    def settle(self) -> None:
        """End the step: `feed` can no longer be undone."""
        self._received, self._taken = [], []

    def unfeed(self) -> None:
        """Undo the events fed since the last `settle` to a processor that joins."""
        for front in reversed(self._taken):
            for queue, value in zip(self.queues, front, strict=True):
                queue.appendleft(value)
        for queue, count in zip(self.queues, self._received, strict=False):
            for _ in range(count):
                queue.pop()
        self.settle()

    def finish(self, state: State, when: int) -> list[Emissions]:
        """Return the emission of the processor at its end; nothing the second time."""
        if self.finished:
            return []
        self.finished = True
        try:
            return [self.processor.finish(state)]
        except Exception as error:
            raise failure(f"{when} (end of the stream)", self.node, (), error) from error

    def save(self) -> Saved:
        """Return a copy of the mutable state."""
        return [list(queue) for queue in self.queues], self.finished

    def restore(self, saved: Saved) -> None:
        """Restore a saved copy."""
        contents, self.finished = saved
        for queue, content in zip(self.queues, contents, strict=True):
            queue.clear()
            queue.extend(content)


def failure(
    when: int | str, node: Node, front: tuple[Value, ...], error: Exception, outcome: Any = ABSENT
) -> WorkbenchError:
    """Return the error of a processor's step, with time, place and events; `outcome` is its result, if any."""
    step_error = _locate_error(when, node, front, error, outcome)
    return step_error.at(step=when) if isinstance(when, int) else step_error


def _locate_error(
    when: int | str, node: Node, front: tuple[Value, ...], error: Exception, outcome: Any
) -> WorkbenchError:
    ports = node.processor.ports
    if node.processor.marks and front:
        ports, front = (ports[front[0]],), front[1:]
    if isinstance(node.processor, Listening) and front:
        heard = [(port, each.value) for port, each in zip(ports, front, strict=True) if each.present]
        ports, front = zip(*heard, strict=True)
    front_text = ", ".join(f"{port} = {value!r}" for port, value in zip(ports, front, strict=False))
    start = f"step {when}: processor '{node.name}' ({node.processor})" + (f" on {front_text}" if front else "")
    if isinstance(node.processor, EnforcedContract):  # which the user has not written
        start = f"step {when}"
    if isinstance(error, Overflow) and isinstance(node.processor, Keeping) and error.queue in node.capacities:
        # its own queue, not one of an inner processor
        queue, capacity = f"{node.name}.{error.queue}", node.capacities[error.queue]
        what = f"queue '{queue}' overflows: its capacity is {capacity} and more {node.processor.holds} would wait"
        full = error.retold(f"{start}: {what}", where=error.where or node.where)
        full.queue = queue
        return full
    if isinstance(error, WorkbenchError):
        return error.retold(f"{start}: {error.what}", where=error.where or node.where)
    wrong = "" if outcome is ABSENT else misshapen(outcome, None, node.processor.out_arity)
    if wrong:
        return PipelineError(f"{start}: {wrong}", where=node.where, hint=SHAPE)
    return WorkbenchError(
        f"{start} failed: {type(error).__name__}: {error}",
        where=node.where,
        hint="the original error is its __cause__",
    )
