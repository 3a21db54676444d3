"""A compiled executor as the reference executor is used: with Python values, and step by step."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.core.domain import Domain, Value
from workbench.core.fields import Map
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END, Maybe
from workbench.core.term import leaves
from workbench.executors.backend import StepRecord, Steps
from workbench.executors.compiled.execute.observe import Observer, given_inputs, in_rows, shown, watched
from workbench.executors.compiled.lower.shape import Shape
from workbench.ir.system import Pipe, System

if TYPE_CHECKING:
    from workbench.executors.compiled.execute.columns import OutputColumn
    from workbench.executors.compiled.execute.state import LoopArrays
    from workbench.executors.compiled.execute.text_codes import TextCodes

BLOCK = 1 << 18
"""Steps of which Python values are turned into columns at a time."""


class Stepping:
    """What makes an executor of columns (`Compiled`, which has what is declared here) one of Python values."""

    flat: Pipeline
    system: System
    form: Shape
    results: list[tuple[str, Domain, Pipe]]
    steps: int
    _columns: Any
    _state: LoopArrays
    texts: TextCodes
    feed: Callable[..., dict[str, OutputColumn]]
    fed: Callable[..., dict[str, OutputColumn]]
    finish: Callable[..., dict[str, OutputColumn]]
    check_open: Callable[..., None]
    widen: Callable[[], None]

    def outputs(self, steps: Sequence[Mapping[str, Value]]) -> list[dict[str, list[Value]]]:
        """What comes out in each of these steps, as Python values; a step is a mapping from input name to event."""
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
        """One step with these events, in plain Python, and what every pipe carries; `END` ends all inputs.

        Pipes that carry maps which a processor keeps are left out.
        """
        for name in events:
            self.flat.ports.position(name)
            self.check_open(name)
        here = [(name, domain) for name, domain in self.flat.inputs if name in events]
        columns = {n: self._columns.column(n, domain, [events[n]], None, self.texts) for n, domain in here}
        if len(columns) < len(self.flat.inputs):
            self.widen()
        numbers, more = None, dict[str, list[Value]]()
        if not any(column.wrong for column in columns.values()):
            ends = [name for name, _ in self.flat.inputs] if events is END else []
            given = given_inputs(self.system, events, self.texts, ends)
            self._state.lay_maps()
            numbers = iter(self._observer(given))
            for name, observer in self._row_observers.items():
                pipe = self.system.pipes[name]
                more[name] = in_rows(pipe, self.flat.domains[name], observer, self._state, given)
        self.check_open()
        made = self.finish() if events is END else self.fed(columns, 1, False)
        assert numbers is not None
        pipes = {
            name: self._carried(name, pipe, numbers, more.get(name, [])) for name, pipe in self.system.pipes.items()
        }
        queues = dict(zip(self.system.queues, numbers, strict=True))
        return StepRecord(pipes, {name: output.events() for name, output in made.items()}, queues)

    def _carried(self, name: str, pipe: Pipe, numbers: Iterator[Any], more: list[Value]) -> Maybe:
        """What a pipe carried in the step that has been made, from the values of the terms that say it."""
        domain, content = self.flat.domains[name], self._state.content(pipe.slots[0].value)
        if content is None:
            return shown(pipe, domain, self.flat.widths[name], numbers, self.texts, more)
        assert isinstance(domain, Map)
        changed = shown(pipe, domain.change, 1, numbers, self.texts)
        return Maybe(True, content()) if changed.present else changed

    @cached_property
    def _observer(self) -> Observer:
        pipes = (leaf for pipe in self.system.pipes.values() for leaf in watched(pipe))
        lengths = (queue.length for queue in self.system.queues.values())
        return Observer(self.system, self.form, self._state.arrays, [*pipes, *lengths])

    @cached_property
    def _row_observers(self) -> dict[str, Observer]:
        """Per pipe that carries events for rows of a table, what tells which."""
        return {
            name: Observer(self.system, self.form, self._state.arrays, list(leaves(tuple(pipe.rows[:3]))), row=True)
            for name, pipe in self.system.pipes.items()
            if pipe.rows is not None
        }

    def trace(self, steps: Steps) -> list[StepRecord]:
        """The records of several steps."""
        return [self.step(events) for events in steps]

    def run(self, streams: Any, *, end: bool = True) -> dict[str, list[Value]]:
        """Whole streams in lockstep (step i carries the i-th event of each), then their end, as lists of values."""
        found: dict[str, list[Value]] = {name: [] for name, _, _ in self.results}
        sources = {name: iter(stream) for name, stream in self.flat.ports.streams(streams).items()}
        while True:
            parts = {name: list(itertools.islice(source, BLOCK)) for name, source in sources.items()}
            size = max(map(len, parts.values()), default=0)
            if size == 0:
                break
            short = {name: [True] * len(p) + [False] * (size - len(p)) for name, p in parts.items() if len(p) < size}
            padded = {name: part + [None] * (size - len(part)) for name, part in parts.items()}
            for name, output in self.feed(padded, short).items():
                found[name] += output.events()
        for name, values in (self.end() if end else {}).items():
            found[name] += values
        return found

    def end(self, name: str | None = None) -> dict[str, list[Value]]:
        """End one input, or all that are still open; the outputs' events that this causes. See `finish`."""
        return {output: column.events() for output, column in self.finish(name).items()}
