"""The processors of a running pipeline, and the path of a step through them.

The rule of this module: a step takes effect completely or not at all. One step is one upstream push and everything that
it triggers; queue lengths count at its end, so an event that arrives and is consumed in the same step needs no slot.
After an error (overflow, a value outside its domain, a failing function) the state is as before the step.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from workbench.core.domain import Value
from workbench.core.kinds import Keeping, Push
from workbench.core.processor import State, events_of
from workbench.core.program import Program, unknown
from workbench.errors import DomainError, Overflow, PipelineError, check_count
from workbench.executors.backend import Oracle, check_support
from workbench.executors.reference.cell import ABSENT, JOINED, Cell, Saved, failure
from workbench.executors.reference.generated_step import WrittenOut, write_out
from workbench.processors.held.group import with_capacities


class Network:
    """The cells of a flat pipeline, their states, and the inputs that have ended.

    The parameters are those of `Reference`.
    """

    name = "reference"

    def __init__(
        self, pipeline: Program, capacities: Mapping[str, int] | None = None, oracle: Oracle | None = None
    ) -> None:
        self.pipeline = pipeline
        self.oracle = oracle
        self.flat = with_capacities(check_support(pipeline, self.name), capacities or {})
        self.capacities = self._checked(self.flat.capacities if capacities is None else capacities)
        self._pipes = [name for name, _ in self.flat.inputs] + [p for n in self.flat.nodes for p in n.outputs]
        slots = {pipe: slot for slot, pipe in enumerate(self._pipes)}
        self._cells = [
            Cell(node, self.flat.typed[node.name], self.pushing(node.name), slots) for node in self.flat.nodes
        ]
        self._shown = [(output, slots[pipe]) for output, pipe in self.flat.outputs]
        self._oracles = {oracle: slots[oracle] for oracle in self.flat.oracles}
        self._empty = [ABSENT] * len(self._pipes)
        self._width = self.flat.widths
        self._wide = [self._width[pipe] != 1 for pipe in self._pipes]
        self._arrange()
        self._advance = self._advance_clocked if self.flat.is_clocked else self._advance_fronts
        self._sources = self.flat.inputs
        self._holds = [domain.__contains__ for _, domain in self.flat.inputs]
        self._positions = {name: i for i, (name, _) in enumerate(self.flat.inputs)}
        self._inside = [
            index for index, cell in enumerate(self._cells) if self.flat.inner_capacities.keys() & cell.node.inside
        ]
        self._bounded = [
            (queue, self.capacities[name], name) for name, queue in self.lines.items() if name in self.capacities
        ]
        self.reset()

    def _checked(self, capacities: Mapping[str, int]) -> dict[str, int]:
        capacities = {name: size for name, size in capacities.items() if name not in self.flat.inner_capacities}
        for name, capacity in capacities.items():
            if name not in self.flat.queues:
                raise unknown(self.flat.ports.of, "queue", name, self.flat.queues)
            check_count(f"the capacity of queue '{name}'", capacity, least=0)
        return dict(capacities)

    def pushing(self, name: str) -> Push:
        """Return the function that steps this processor; executors override it."""
        return self.flat.typed[name].step

    def observe(self, observed: Callable[[Cell], Push], *, counts: bool = False) -> None:
        """Replace the step function of each processor by `observed` of its cell, to observe a run from outside.

        `counts`: the observer reads `steps`, so steps are run one by one.
        """
        for cell in self._cells:
            cell.step = observed(cell)
        self._arrange()
        if counts:
            self._whole = None

    def _arrange(self) -> None:
        self._plan = [cell.plan(index, self._wide) for index, cell in enumerate(self._cells)]
        self.__dict__.pop("_whole", None)

    @cached_property
    def _whole(self) -> WrittenOut | None:
        """A function for steps in which every input has an event and nothing waits, or None."""
        return write_out(self._cells, self._wide, len(self._sources), [slot for _, slot in self._shown])

    def reset(self) -> None:
        """Return to the state before the first event."""
        for cell in self._cells:
            cell.reset()
        self._states = [cell.processor.initial() for cell in self._cells]
        self._ended = [False] * len(self._sources)
        self._closed = False
        self.steps = 0
        """Number of steps so far; the first one is step 0."""

    def lengths(self) -> dict[str, int]:
        """Return the number of events that wait now, by queue."""
        lengths = {name: len(queue) for name, queue in self.lines.items()}
        for index in self._inside:
            lengths.update(self.inner_lengths(index))
        return lengths

    def inner_lengths(self, index: int) -> Iterator[tuple[str, int]]:
        """Return the queues inside a processor, and their lengths."""
        cell = self._cells[index]
        assert isinstance(cell.processor, Keeping)
        return zip(cell.node.inside, cell.processor.waiting(self._states[index]), strict=True)

    @cached_property
    def lines(self) -> Mapping[str, deque[Value]]:
        """The queues themselves: the events waiting now, oldest first. Read only."""
        pairs = (pair for cell in self._cells for pair in zip(cell.node.queues, cell.queues, strict=True))
        return dict(pairs)

    def contents(self) -> dict[str, tuple[Value, ...]]:
        """Return the events that wait now, oldest first, by queue."""
        return {name: tuple(queue) for name, queue in self.lines.items()}

    @property
    def states(self) -> dict[str, State]:
        """The present state of every processor, by name."""
        return {cell.node.name: state for cell, state in zip(self._cells, self._states, strict=True)}

    # --- inputs ---------------------------------------------------------------------------------------------

    def _admitted(self, position: int, value: Value) -> Value:
        if self._closed:
            self._check_open(position)
        name, domain = self._sources[position]
        if not self._holds[position](value):
            raise DomainError(
                f"step {self.steps}: {value!r} on input '{name}' is not a value of {domain}",
                hint="True and False are not numbers: use 1 and 0"
                if isinstance(value, bool)
                else "declare the input with a domain that has it",
            ).at(step=self.steps)
        return value

    def _check_open(self, position: int) -> None:
        name, _ = self._sources[position]
        if self._ended[position]:
            raise PipelineError(
                f"step {self.steps}: input '{name}' has ended",
                hint="call reset() to start afresh",
            ).at(step=self.steps)

    def _close_inputs(self, name: str | None) -> None:
        """Close one input, or all that are open."""
        names = [name] if name is not None else [n for n, i in self._positions.items() if not self._ended[i]]
        if not names:
            raise PipelineError(f"all inputs of {self.flat.ports.of} have ended", hint="call reset() to start afresh")
        positions = [self.flat.ports.position(each) for each in names]
        for position in positions:
            self._check_open(position)
        for position in positions:
            self._ended[position] = self._closed = True

    # --- a step ---------------------------------------------------------------------------------------------

    def _advance_clocked(self, current: list[Any]) -> None:
        """Run one step where some processors work on steps."""
        before, fed = self._states.copy(), 0
        when = self.steps
        contents: list[list[Value]] = [[] if value is ABSENT else [value] for value in current]
        for slot in self._oracles.values():
            contents[slot] = []  # the pipe carries only values that take effect

        def oracle(pipe: str) -> Value | None:
            oracle_value = current[self._oracles[pipe]]
            return oracle_value if oracle_value is not ABSENT else self.oracle(pipe) if self.oracle else None

        try:
            for index, cell in enumerate(self._cells):
                arrivals = [contents[slot] for slot in cell.sources]
                if cell.clocked:
                    self._states[index], emitted = cell.tick(before[index], contents, oracle, when)
                    cell.carry(emitted, contents)
                elif any(arrivals):
                    fed = index + 1
                    self._states[index], emitted = cell.feed(before[index], arrivals, when)
                    cell.carry(emitted, contents)
            self._check_capacities()
        except BaseException:
            for cell in self._cells[:fed]:
                cell.unfeed()
            self._states = before
            raise
        for cell in self._cells[:fed]:
            cell.settle()
        for slot in self._oracles.values():
            current[slot] = ABSENT
        for slot, events in enumerate(contents):
            if events:
                current[slot] = events if self._wide[slot] else events[0]
        self.steps += 1

    def _advance_fronts(self, current: list[Any]) -> None:
        """Run one step on the pipes' contents, in place: an event, or a list of events on a wide pipe."""
        states = self._states
        before = states.copy()
        met: list[Cell] = []
        cell = None
        nothing = outcome = ABSENT
        front: tuple[Any, ...] | None = ()
        try:
            for index, cell, step, source, target, wide, targets in self._plan:
                if source >= 0:
                    value = current[source]
                    if value is ABSENT:
                        continue
                    front = (value,)
                elif source == JOINED:
                    met.append(cell)
                    front = cell.join(current)
                    if front is None:
                        continue
                else:
                    several, cell = cell, None  # it reports its failure itself
                    self._advance_several(index, several, current, met)
                    continue
                outcome = nothing
                outcome = states[index], results = step(states[index], front)
                if target >= 0:
                    (emitted,) = results
                    if wide:
                        current[target] = list(events_of(emitted)) or ABSENT
                    elif emitted[0]:
                        current[target] = emitted[1]
                else:
                    for (slot, many), emitted in zip(targets, results, strict=True):
                        if many:
                            current[slot] = list(events_of(emitted)) or ABSENT
                        elif emitted[0]:
                            current[slot] = emitted[1]
            cell = None
            if self._bounded:
                self._check_capacities()
        except BaseException as error:
            for touched in reversed(met):
                touched.unjoin()
            states[:] = before
            if cell is None or not isinstance(error, Exception):
                raise
            raise failure(self.steps, cell.node, front or (), error, outcome) from error
        self.steps += 1

    def _advance_several(self, index: int, cell: Cell, current: list[Any], met: list[Cell]) -> None:
        """Process all fronts of one processor in a step, where several can be complete."""
        arrivals: list[Sequence[Value]] = []
        for slot in cell.sources:
            carried = current[slot]
            arrivals.append(() if carried is ABSENT else carried if self._wide[slot] else (carried,))
        if any(arrivals):
            met.append(cell)
            self._states[index], emitted = cell.feed(self._states[index], arrivals, self.steps)
            for number, slot in enumerate(cell.targets):
                events: list[Value] = []
                for results in emitted:
                    events += events_of(results[number])
                if events:
                    current[slot] = events if self._wide[slot] else events[0]

    def _check_capacities(self) -> None:
        for queue, capacity, name in self._bounded:
            if len(queue) > capacity:
                raise self._overflow(self.steps, name, len(queue))

    def _overflow(self, step: int, queue: str, length: int) -> Overflow:
        return Overflow(
            f"step {step}: queue '{queue}' of {self.flat.ports.of} overflows: "
            f"its capacity is {self.capacities[queue]} and {length} events would wait",
            hint="give it a larger capacity",
            queue=queue,
        ).at(step=step)

    # --- the end of streams ---------------------------------------------------------------------------------

    def _end(self, name: str | None) -> list[list[Value]]:
        """End inputs; return what every pipe then carries."""
        before = self._save()
        self._close_inputs(name)
        try:
            contents = self._drain()
            self._check_capacities()
        except BaseException:
            self._go_back(before)
            raise
        finally:
            for cell in self._cells:
                cell.settle()
        self.steps += 1
        return contents

    def _drain(self) -> list[list[Value]]:
        """Let the processors whose inputs have all ended finish; return the events on every pipe meanwhile."""
        contents: list[list[Value]] = [[] for _ in self._pipes]
        over = self._ended + [False] * (len(self._pipes) - len(self._ended))
        when = self.steps
        for index, cell in enumerate(self._cells):
            sources = cell.sources
            if cell.clocked:
                sources = sources[:1]  # oracles do not end
                ends = over[sources[0]]
                self._states[index], emitted = cell.tick(self._states[index], contents, lambda _: None, when, ends=ends)
            else:
                self._states[index], emitted = cell.feed(
                    self._states[index], [contents[slot] for slot in sources], when
                )
            if all(over[slot] for slot in sources):
                emitted += cell.finish(self._states[index], when)
                for slot in cell.targets:
                    over[slot] = True
            cell.carry(emitted, contents)
        return contents

    # --- switching between runs -----------------------------------------------------------------------------

    def leave(self) -> Any:
        """Return the state between two steps, with all inputs open, for `enter`; another state must then be entered."""
        return self.steps, self._states, tuple([tuple(queue) for queue in self.lines.values()])

    def enter(self, state: Any) -> None:
        """Resume from a state that was left."""
        self.steps, self._states, contents = state
        for queue, events in zip(self.lines.values(), contents, strict=True):
            queue.clear()
            queue.extend(events)

    # --- rollback -------------------------------------------------------------------------------------------

    def _save(self) -> tuple[int, bool, list[bool], list[State], list[Saved]]:
        """Return a copy of the mutable state."""
        cells = [cell.save() for cell in self._cells]
        return self.steps, self._closed, self._ended.copy(), self._states.copy(), cells

    def _go_back(self, saved: Any) -> None:
        """Restore a saved copy."""
        self.steps, self._closed, self._ended, self._states, cells = saved
        for cell, each in zip(self._cells, cells, strict=True):
            cell.restore(each)
