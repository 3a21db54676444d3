"""The reference executor: runs a pipeline on any Python objects, one step at a time.

The rule of this module: a step happens completely or not at all. One step is one upstream push and all that
it triggers; a queue's length is counted when the step is over, so an event that arrives and is consumed in
the same step needs no slot. After an error (overflow, a value outside its domain, a failing function) the
executor is as it was before the step. Pull mode is a second, demand driven algorithm (`reference_pull`).
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, Self

from workbench.core.domain import Value
from workbench.core.kinds import Clocked, Push
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END, Maybe, State, carried, events_of
from workbench.core.program import unknown
from workbench.errors import DomainError, Overflow, PipelineError, Refused, StateError, did_you_mean
from workbench.processors.held.group import flatten, with_room
from workbench.run.base import Oracle, StepRecord, Steps, check_support
from workbench.run.pending import Done, Pending
from workbench.run.reference.cell import ABSENT, JOINED, Cell, failure
from workbench.run.reference.pull import Pull
from workbench.run.snapshot import HINT, fingerprint, from_text, opened, sealed, to_text


class Reference:
    """A running pipeline.

    Parameters
    ----------
    pipeline: what to run; its groups are flattened, so pipes and queues of groups are called `group.name`.
    capacities: queue name to capacity; None takes the pipeline's own. Queues without one are unbounded.
    oracle: what makes the faults of the pipeline strike, beside the events on its oracles: asked whenever one could,
        with the name of the oracle; None: nothing happens.
    """

    name = "reference"

    def __init__(
        self, pipeline: Pipeline, capacities: Mapping[str, int] | None = None, oracle: Oracle | None = None
    ) -> None:
        check_support(pipeline, self.name)
        self.pipeline = pipeline
        self.oracle = oracle
        self.flat = with_room(flatten(pipeline), capacities or {})
        self.capacities = self._checked(self.flat.capacities if capacities is None else capacities)
        self._pipes = [name for name, _ in self.flat.inputs] + [p for n in self.flat.nodes for p in n.outputs]
        slots = {pipe: slot for slot, pipe in enumerate(self._pipes)}
        self._cells = [
            Cell(node, self.flat.typed[node.name], self._pushing(node.name), slots) for node in self.flat.nodes
        ]
        self._shown = [(output, slots[pipe]) for output, pipe in self.flat.outputs]
        self._oracles = {oracle: slots[oracle] for oracle in self.flat.oracles}
        self._empty = [ABSENT] * len(self._pipes)
        self._width = self.flat.widths
        self._wide = [self._width[pipe] != 1 for pipe in self._pipes]
        self._plan = [cell.plan(index, self._wide) for index, cell in enumerate(self._cells)]
        self._advance = self._advance_clocked if self.flat.clocked else self._advance_fronts
        self._sources = self.flat.inputs
        self._holds = [domain.__contains__ for _, domain in self.flat.inputs]
        self._positions = {name: i for i, (name, _) in enumerate(self.flat.inputs)}
        self._inside = [
            (index, cell.node.pending) for index, cell in enumerate(self._cells) if cell.node.pending in self.flat.rooms
        ]
        self._bounded = [
            (queue, self.capacities[name], name)
            for cell in self._cells
            for queue, name in zip(cell.queues, cell.node.queues, strict=True)
            if name in self.capacities
        ]
        self.reset()

    def _checked(self, capacities: Mapping[str, int]) -> dict[str, int]:
        capacities = {name: size for name, size in capacities.items() if name not in self.flat.rooms}
        for name, capacity in capacities.items():
            if name not in self.flat.queues:
                raise PipelineError(
                    f"pipeline {self.flat.name} has no queue '{name}'",
                    hint=did_you_mean(name, self.flat.queues),
                )
            if capacity < 0:
                raise PipelineError(f"the capacity of queue '{name}' is {capacity}", hint="0 is the least")
        return dict(capacities)

    def _pushing(self, name: str) -> Push:
        """What the processor of this name is stepped with."""
        return self.flat.typed[name].step

    def reset(self) -> None:
        """Back to the state before the first event; sources connected for pulling are let go."""
        for cell in self._cells:
            cell.reset()
        self._states = [cell.processor.initial() for cell in self._cells]
        self._ended = [False] * len(self._sources)
        self._closed = False
        self._pull: Pull | None = None
        self.steps = 0
        """Number of steps so far; the first one is step 0."""

    # --- pushing ------------------------------------------------------------------------------------------

    def step(self, events: Mapping[str, Value]) -> StepRecord:
        """One step: these events arrive together. `{}` is an idle step, which changes nothing; `END` ends the input."""
        if events is END:
            return self._record(self._end(None))
        current = self._empty.copy()
        for name, value in events.items():
            position = self._positions.get(name)
            if position is None:
                position = self.flat.ports.position(name)
            current[position] = self._admitted(position, value)
        self._advance(current)
        return self._record([self._events(slot, content) for slot, content in enumerate(current)])

    def _record(self, contents: Sequence[list[Value]]) -> StepRecord:
        shown = ((pipe, self._width[pipe], content) for pipe, content in zip(self._pipes, contents, strict=True))
        return StepRecord(
            {pipe: Maybe(bool(content), carried(content, width)) for pipe, width, content in shown},
            {output: contents[slot] for output, slot in self._shown},
            self.lengths(),
        )

    def _events(self, slot: int, carried: Any) -> list[Value]:
        """What a pipe carries, as a list: a wide pipe carries a list already."""
        if carried is ABSENT:
            return []
        return carried if self._wide[slot] else [carried]

    def trace(self, steps: Steps) -> list[StepRecord]:
        """The records of several steps."""
        return [self.step(events) for events in steps]

    def push(self, value: Value, input: str | None = None) -> Any:
        """One event on one input; the output's events, or a dictionary of them where there are several."""
        outputs = self.step({self._only("input", input, [n for n, _ in self._sources]): value}).outputs
        return next(iter(outputs.values())) if len(outputs) == 1 else dict(outputs)

    def push_fast(self, value: Value, input: str | None = None) -> Pending[Any]:
        """`push`, which may still go on when this returns (here it does not); `wait_for` gives its events."""
        return Done(lambda: self.push(value, input))

    def run(self, streams: Any, *, end: bool = True) -> dict[str, list[Value]]:
        """Whole streams in lockstep (step i carries the i-th event of each), then their end.

        Streams are a mapping by input name, a sequence in the order of the inputs, or, for a single input,
        the stream itself. With `end=False` the inputs stay open.
        """
        shown: dict[str, list[Value]] = {output: [] for output, _ in self._shown}
        sinks = [
            (shown[output].extend if self._wide[slot] else shown[output].append, slot) for output, slot in self._shown
        ]
        empty, advance, holds, closed = self._empty, self._advance, self._holds, self._closed
        given = self.flat.ports.streams(streams)
        positions = range(len(given))
        for front in itertools.zip_longest(*given.values(), fillvalue=ABSENT):
            current = empty.copy()
            for position in positions:
                value = front[position]
                if value is not ABSENT:
                    if closed or not holds[position](value):
                        self._admitted(position, value)
                    current[position] = value
            advance(current)
            for keep, slot in sinks:
                if current[slot] is not ABSENT:
                    keep(current[slot])
        if end:
            for output, values in self.end().items():
                shown[output] += values
        return shown

    def lengths(self) -> dict[str, int]:
        """Queue name to the number of events waiting now."""
        found = {
            name: len(queue) for cell in self._cells for queue, name in zip(cell.queues, cell.node.queues, strict=True)
        }
        return found | {name: self._states[index][0] for index, name in self._inside} if self._inside else found

    @cached_property
    def lines(self) -> Mapping[str, deque[Value]]:
        """The queues themselves: the events waiting now, oldest first. To be looked at only."""
        pairs = (pair for cell in self._cells for pair in zip(cell.node.queues, cell.queues, strict=True))
        return dict(pairs)

    def contents(self) -> dict[str, tuple[Value, ...]]:
        """Queue name to the events waiting now, oldest first."""
        return {
            name: tuple(queue)
            for cell in self._cells
            for queue, name in zip(cell.queues, cell.node.queues, strict=True)
        }

    @property
    def states(self) -> dict[str, State]:
        """The state of every processor now, by name."""
        return {cell.node.name: state for cell, state in zip(self._cells, self._states, strict=True)}

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
            )
        return value

    def _check_open(self, position: int) -> None:
        name, _ = self._sources[position]
        if self._ended[position]:
            raise PipelineError(
                f"step {self.steps}: input '{name}' has ended",
                hint="call reset() to start afresh",
            )
        if self._pull is not None:
            raise PipelineError(
                f"step {self.steps}: pipeline {self.flat.name} is connected to sources and is pulled",
                hint="push into an executor of its own, or call reset() first",
            )

    def _advance_clocked(self, current: list[Any]) -> None:
        """One step where some processors work on steps."""
        before, fed = self._states.copy(), 0
        when = self.steps
        contents: list[list[Value]] = [[] if value is ABSENT else [value] for value in current]
        for slot in self._oracles.values():
            contents[slot] = []  # it shows what counts

        def oracle(pipe: str) -> Value | None:
            said = current[self._oracles[pipe]]
            return said if said is not ABSENT else self.oracle(pipe) if self.oracle else None

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
        """One step over the pipes' contents, in place: an event, or a list of events on a pipe of another width."""
        states = self._states
        before = states.copy()
        met: list[Cell] = []
        cell = None
        found: Any = ABSENT
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
                    several, cell = cell, None  # it says itself what failed
                    self._advance_several(index, several, current, met)
                    continue
                found = ABSENT
                found = states[index], results = step(states[index], front)
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
            raise failure(self.steps, cell.node, front or (), error, found) from error
        self.steps += 1

    def _advance_several(self, index: int, cell: Cell, current: list[Any], met: list[Cell]) -> None:
        """All fronts of one processor in a step, where several can be complete."""
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
            f"step {step}: queue '{queue}' of pipeline {self.flat.name} overflows: "
            f"its capacity is {self.capacities[queue]} and {length} events would wait",
            hint="give it a larger capacity",
            queue=queue,
        )

    # --- the end of streams -------------------------------------------------------------------------------

    def end(self, name: str | None = None) -> dict[str, list[Value]]:
        """End one input, or all that are still open; the outputs' events that this causes.

        A processor finishes when all its inputs have ended; what it emits then flows on before the processors
        downstream finish in their turn.
        """
        contents = self._end(name)
        return {output: list(contents[slot]) for output, slot in self._shown}

    def _end(self, name: str | None) -> list[list[Value]]:
        """End inputs; what every pipe carries then."""
        cells = [cell.save() for cell in self._cells]
        states, ended, closed = self._states.copy(), self._ended.copy(), self._closed
        self._close_inputs(name)
        try:
            contents = self._drain()
            self._check_capacities()
        except BaseException:
            for cell, saved in zip(self._cells, cells, strict=True):
                cell.restore(saved)
            self._states, self._ended, self._closed = states, ended, closed
            raise
        finally:
            for cell in self._cells:
                cell.settle()
        self.steps += 1
        return contents

    def _close_inputs(self, name: str | None) -> None:
        """Take no more events on one input, or on all that are still open."""
        names = [name] if name is not None else [n for n, i in self._positions.items() if not self._ended[i]]
        if not names:
            raise PipelineError(
                f"all inputs of pipeline {self.flat.name} have ended", hint="call reset() to start afresh"
            )
        positions = [self.flat.ports.position(each) for each in names]
        for position in positions:
            self._check_open(position)
        for position in positions:
            self._ended[position] = self._closed = True

    def _drain(self) -> list[list[Value]]:
        """Let the processors whose inputs have all ended finish; the events on every pipe meanwhile."""
        contents: list[list[Value]] = [[] for _ in self._pipes]
        over = self._ended + [False] * (len(self._pipes) - len(self._ended))
        when = self.steps
        for index, cell in enumerate(self._cells):
            sources = cell.sources
            if cell.clocked:
                sources = sources[:1]  # what oracles say has no end
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

    # --- to be continued elsewhere ------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """The state between two steps, for `restore` of an executor of the same pipeline; `run/snapshot.py`.

        Raises
        ------
        Refused: it holds Python objects of other types than data has, or the pipeline is pulled.
        """
        if self._pull is not None:
            raise Refused("the state of a pipeline that is pulled cannot be saved: its sources would have to be, too")
        cells = [cell.save() for cell in self._cells]
        return sealed(self.fingerprint, to_text((self.steps, self._closed, self._ended, self._states, cells)))

    def restore(self, snapshot: bytes) -> None:
        """Go on from a saved state.

        Raises
        ------
        StateError: it is damaged, or of another pipeline; then nothing has changed.
        """
        content = from_text(opened(self.fingerprint, snapshot))
        try:
            steps, closed, ended, states, cells = content
            fits = [len(queues) for queues, _ in cells] == [len(cell.queues) for cell in self._cells]
            fits = fits and (len(ended), len(states)) == (len(self._ended), len(self._states))
        except (TypeError, ValueError):
            fits = False
        if not fits:
            raise StateError("this state is damaged: it has another form", hint=HINT)
        self.steps, self._closed, self._ended, self._states, self._pull = steps, closed, ended, states, None
        for cell, saved in zip(self._cells, cells, strict=True):
            cell.restore(saved)

    @cached_property
    def fingerprint(self) -> bytes:
        """What tells the states of this pipeline from those of others."""
        return fingerprint(self.name, self.flat, self.capacities)

    # --- pulling ------------------------------------------------------------------------------------------

    def connect(self, **sources: Iterable[Value]) -> Self:
        """Connect every input to a source (any iterable) to pull from; returns the executor itself."""
        if self.capacities:
            raise Refused(
                "pull mode has no steps, so queue capacities have no meaning in it",
                hint="use Reference(pipeline, capacities={}) for pulling",
            )
        for node in self.flat.nodes:
            if node.processor.merges or isinstance(node.processor, Clocked):
                raise Refused(
                    f"the output of '{node.name}' ({node.processor}) depends on the steps at which events arrive,"
                    " and pull mode has none",
                    where=node.where,
                    hint="push the events",
                )
        if self.steps or self._pull is not None:
            raise PipelineError(f"pipeline {self.flat.name} is already running", hint="call reset() first")
        missing = [name for name in self._positions if name not in sources]
        if missing:
            raise PipelineError(f"input '{missing[0]}' of pipeline {self.flat.name} has no source")
        steps = {cell.node.name: cell.step for cell in self._cells}
        self._pull = Pull(self.flat, self.flat.ports.streams(sources), steps)
        self._closed = True
        return self

    def pull(self, output: str | None = None) -> Value:
        """The next event of an output; StopIteration when the sources have ended and no more can come."""
        return self._connected.next(self._only("output", output, [name for name, _ in self._shown]))

    def puller(self, output: str | None = None) -> Callable[[], Value]:
        """`pull` of one output, for many events: whether it can be called is looked at once."""
        return partial(self._connected.next, self._only("output", output, [name for name, _ in self._shown]))

    @property
    def _connected(self) -> Pull:
        if self._pull is None:
            raise PipelineError(f"pipeline {self.flat.name} has no sources", hint="call connect(x=iterable) first")
        return self._pull

    def pull_fast(self, output: str | None = None) -> Pending[Value]:
        """`pull`, which may still go on when this returns (here it does not); `wait_for` gives the event."""
        return Done(lambda: self.pull(output))

    def __iter__(self) -> Iterator[Value]:
        return self

    def __next__(self) -> Value:
        return self.pull()

    def _only(self, kind: str, name: str | None, names: list[str]) -> str:
        if name is None and len(names) != 1:
            raise PipelineError(
                f"pipeline {self.flat.name} has {len(names)} {kind}s", hint=f"say which: {', '.join(names)}"
            )
        if name is not None and name not in names:
            raise unknown(self.flat.ports.of, kind, name, names)
        return names[0] if name is None else name
