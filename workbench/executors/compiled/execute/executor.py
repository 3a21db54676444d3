"""The compiled executor: columns of events, or Python values step by step as in the reference executor."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from workbench.core.domain import Domain, Value
from workbench.core.fields import Map, join_parts, scalars, split
from workbench.core.processor import END, Maybe, show_carried
from workbench.core.term import leaves
from workbench.errors import StateError
from workbench.executors.backend import StepRecord
from workbench.executors.compiled.execute.column_executor import ColumnExecutor
from workbench.executors.compiled.execute.observe import Observer
from workbench.executors.compiled.lower.shape import shape
from workbench.executors.compiled.lower.tables import order_rows
from workbench.executors.snapshot import HINT, fingerprint
from workbench.ir.system import Pipe, System
from workbench.stored import mark_of, seal, unseal

BLOCK = 1 << 18
"""Steps whose Python values are converted to columns at a time."""


class Compiled(ColumnExecutor):
    """A running pipeline, compiled, which takes columns of events (`feed`, `finish`) or Python values.

    An `int` is a 64-bit integer; a result outside that range is an error. A `float` is a double.

    Parameters
    ----------
    pipeline: what to run.
    capacities: queue name to capacity; None takes the pipeline's own. A queue without one grows as needed.
    warm_up_steps: number of steps, including those before a reset, to run in plain Python before the loop is compiled.
    machine: whether to compile at all; otherwise Python runs the same loops.
    maps: whether inputs may carry maps of any size; not for callers that build columns of events themselves.
    schedule: the order in which steps run; None: one after the other.

    Attributes
    ----------
    flat: the pipeline without groups.
    allocation: its transition systems, which differ in the capacity of queues; `system` is the one that runs.
    form: the arrays of its loops.
    results: name, domain and pipe of each output.

    Raises
    ------
    Refused: something in the pipeline has no compiled form.
    """

    def _take(self, system: System) -> None:
        super()._take(system)
        self._observers: tuple[Observer, Mapping[str, Observer]] | None = None

    def outputs(self, steps: Sequence[Mapping[str, Value]]) -> list[dict[str, list[Value]]]:
        """Run steps, which map input names to events; return the outputs of each step as Python values."""
        self.check_open()
        for name in {name for events in steps for name in events}:
            self.flat.ports.position(name)
            self.check_open(name)
        columns = {}
        for name, domain in self.flat.inputs:
            here = [name in events for events in steps]
            values = [events.get(name) for events in steps]
            columns[name] = self._columns.column(name, domain, values, None if all(here) else here, self.texts)
        start = self.steps
        rows: list[dict[str, list[Value]]] = [{name: [] for name, _, _ in self.results} for _ in steps]
        for name, output in self.fed(columns, len(steps), True).items():
            assert output.steps is not None
            for step, value in zip(output.steps.tolist(), output.events(), strict=True):
                rows[step - start][name].append(value)
        return rows

    def step(self, events: Mapping[str, Value]) -> StepRecord:
        """Run one step in plain Python, and return what every pipe carries; `END` ends all inputs.

        Pipes that carry a processor's own maps are left out.
        """
        if len(events) < len(self.flat.inputs):
            self.widen()
        for name in events:
            self.flat.ports.position(name)
            self.check_open(name)
        here = [(name, domain) for name, domain in self.flat.inputs if name in events]
        columns = {n: self._columns.column(n, domain, [events[n]], None, self.texts) for n, domain in here}
        numbers, more = None, dict[str, list[Value]]()
        if not any(column.wrong for column in columns.values()):
            inputs = self._bind_inputs(events)
            self._state.lay_maps()
            observer, row_observers = self._observers = self._observers or self._observe_pipes()
            numbers = iter(observer(inputs))
            more = {name: self._row_events(name, each, inputs) for name, each in row_observers.items()}
        self.check_open()
        outputs = self.finish() if events is END else self.fed(columns, 1, False)
        assert numbers is not None
        pipes = {
            name: self._show_pipe(name, pipe, numbers, more.get(name, [])) for name, pipe in self.system.pipes.items()
        }
        queues = dict(zip(self.system.queues, numbers, strict=True))
        return StepRecord(pipes, {name: output.events() for name, output in outputs.items()}, queues)

    def _bind_inputs(self, events: Mapping[str, Value]) -> dict[str, Any]:
        """Return the leaves of the inputs of a step with these events, or at which all inputs end."""
        bindings: dict[str, Any] = {end.now.name: events is END for end in self.system.ends.values()}
        for source in self.system.inputs:
            if source.name in events:
                bindings[source.present.name] = True
                pairs = zip(leaves(source.value), split(source.domain, events[source.name]), strict=True)
                bindings.update((leaf.name, self.texts.number(leaf.domain, value)) for leaf, value in pairs)
        return bindings

    def _row_events(self, name: str, observer: Observer, inputs: Mapping[str, Any]) -> list[Value]:
        """Return the events that a pipe carries for rows of a table."""
        others = self.system.pipes[name].rows
        assert others is not None
        rows = order_rows(self._state.array(others.used), self._state.array(others.keys))
        values = (observer(inputs, row) for row in rows)
        return [self._decode(self.flat.domains[name], event) for happens, which, *event in values if happens and which]

    def _show_pipe(self, name: str, pipe: Pipe, numbers: Iterator[Any], more: list[Value]) -> Maybe:
        """Return what a pipe carried in the last step, from the values of its terms."""
        domain, content = self.flat.domains[name], self._state.content(pipe.slots[0].value)
        if isinstance(domain, Map) and content is not None:
            domain = domain.change
        size, events = len(scalars(domain)), list[Value]()
        for _ in pipe.slots:
            present, *event = itertools.islice(numbers, 1 + size)
            events += [self._decode(domain, event)] if present else []
        if content is not None:
            return Maybe(True, content()) if events else Maybe(False, show_carried([], 1))
        if pipe.more is not None:
            events *= 1 + next(numbers)
        events += more
        return Maybe(bool(events), show_carried(events, self.flat.widths[name]))

    def _decode(self, domain: Domain, numbers: Sequence[Any]) -> Value:
        """Return the value of a domain that numbers represent."""
        pairs = zip(scalars(domain), numbers, strict=True)
        return join_parts(domain, iter([self.texts.value(part, number) for (_, part), number in pairs]))

    def _observe_pipes(self) -> tuple[Observer, Mapping[str, Observer]]:
        """Return observers of all pipes and queues, and of each pipe that carries events for rows of a table."""
        pipes = [(pipe.slots, () if pipe.more is None else pipe.more) for pipe in self.system.pipes.values()]
        lengths = (queue.length for queue in self.system.queues.values())
        observe = partial(Observer, self.system, self.form, self._state.arrays)
        return observe([*leaves(tuple(pipes)), *lengths]), {
            name: observe(list(leaves(tuple(pipe.rows[:3]))), row=True)
            for name, pipe in self.system.pipes.items()
            if pipe.rows is not None
        }

    def trace(self, steps: Iterable[Mapping[str, Value]]) -> list[StepRecord]:
        """Return the records of several steps."""
        return [self.step(events) for events in steps]

    def run(self, streams: Any, *, end: bool = True) -> dict[str, list[Value]]:
        """Run whole streams in lockstep (step i takes the i-th event of each), then end them; return the outputs."""
        outputs: dict[str, list[Value]] = {name: [] for name, _, _ in self.results}
        sources = {name: iter(stream) for name, stream in self.flat.ports.streams(streams).items()}
        while True:
            parts = {name: list(itertools.islice(source, BLOCK)) for name, source in sources.items()}
            size = max(map(len, parts.values()), default=0)
            if size == 0:
                break
            short = {name: [True] * len(p) + [False] * (size - len(p)) for name, p in parts.items() if len(p) < size}
            padded = {name: part + [None] * (size - len(part)) for name, part in parts.items()}
            for name, output in self.feed(padded, short).items():
                outputs[name] += output.events()
        for name, values in (self.end() if end else {}).items():
            outputs[name] += values
        return outputs

    def end(self, name: str | None = None) -> dict[str, list[Value]]:
        """End one input, or all that are open; return the output events that this causes. See `finish`."""
        return {output: column.events() for output, column in self.finish(name).items()}

    # --- saving ---------------------------------------------------------------------------------------------

    @cached_property
    def _systems(self) -> Mapping[bytes, System]:
        """The systems that the pipeline may run as, by a digest of the pipeline and of the layout of its state."""
        systems = {}
        for system in filter(None, self.allocation[:2]):
            variables = [(each.name, each.domain, each.initial) for each in system.variables]
            capacities = [(queue.name, queue.capacity) for queue in system.queues.values()]
            systems[fingerprint(self.name, self.flat, variables, shape(system).memories, capacities)] = system
        return systems

    def _mark(self, system: System) -> bytes:
        """Return the digest of a system, whatever code runs it."""
        return next(mark for mark, each in self._systems.items() if each is system)

    @property
    def fingerprint(self) -> bytes:
        """The hash that identifies states of this pipeline."""
        return self._mark(self.allocation.first)

    def snapshot(self) -> bytes:
        """Return the state between two steps, for `restore` of an executor of the same pipeline.

        The bytes: number of steps (8 bytes), whether each input has ended (1 byte each), length of each array of the
        state (8 bytes), and the arrays, little endian; then the texts in them, a JSON list.
        """
        head = self.steps.to_bytes(8, "little") + bytes(name in self._ended for name, _ in self.flat.inputs)
        return seal(self._mark(self.system), head + self._state.to_bytes())

    def restore(self, snapshot: bytes) -> None:
        """Resume from a saved state.

        Raises
        ------
        StateError: the state is damaged, or of another pipeline; then nothing has changed.
        """
        system = self._systems.get(mark_of(snapshot), self.system)
        payload = unseal(self._mark(system), snapshot)
        if system is not self.system:
            self._take(system)
        start = 8 + len(self.flat.inputs)
        if not self._state.read(payload[start:]):
            raise StateError("this state is damaged: it has another length", hint=HINT)
        self.steps = int.from_bytes(payload[:8], "little")
        self._ended = {name for (name, _), over in zip(self.flat.inputs, payload[8:start], strict=True) if over}
        self._state.look(self.steps, first=True)
