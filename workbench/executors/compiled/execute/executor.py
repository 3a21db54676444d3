"""The compiled executor: columns of events, or Python values step by step as in the reference executor."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from workbench.core.domain import Value
from workbench.core.fields import Map
from workbench.core.processor import END, Maybe
from workbench.core.term import leaves
from workbench.executors.backend import StepRecord
from workbench.executors.compiled.execute.column_executor import ColumnExecutor
from workbench.executors.compiled.execute.observe import Observer, bind_inputs, in_rows, show_pipe, watch_pipe
from workbench.ir.system import Pipe, System

BLOCK = 1 << 18
"""Steps whose Python values are converted to columns at a time."""


class Compiled(ColumnExecutor):
    """A running pipeline, compiled, which takes columns of events (`feed`, `finish`) or Python values."""

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

        Pipes that carry maps kept by a processor are left out.
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
            ends = [name for name, _ in self.flat.inputs] if events is END else []
            inputs = bind_inputs(self.system, events, self.texts, ends)
            self._state.lay_maps()
            observer, row_observers = self._observers = self._observers or self._observe_pipes()
            numbers = iter(observer(inputs))
            for name, row_observer in row_observers.items():
                pipe = self.system.pipes[name]
                more[name] = in_rows(pipe, self.flat.domains[name], row_observer, self._state, inputs)
        self.check_open()
        outputs = self.finish() if events is END else self.fed(columns, 1, False)
        assert numbers is not None
        pipes = {
            name: self._show_pipe(name, pipe, numbers, more.get(name, [])) for name, pipe in self.system.pipes.items()
        }
        queues = dict(zip(self.system.queues, numbers, strict=True))
        return StepRecord(pipes, {name: output.events() for name, output in outputs.items()}, queues)

    def _show_pipe(self, name: str, pipe: Pipe, numbers: Iterator[Any], more: list[Value]) -> Maybe:
        """Return what a pipe carried in the last step, from the values of its terms."""
        domain, content = self.flat.domains[name], self._state.content(pipe.slots[0].value)
        if content is None:
            return show_pipe(pipe, domain, self.flat.widths[name], numbers, self.texts, more)
        assert isinstance(domain, Map)
        changed = show_pipe(pipe, domain.change, 1, numbers, self.texts)
        return Maybe(True, content()) if changed.present else changed

    def _observe_pipes(self) -> tuple[Observer, Mapping[str, Observer]]:
        """Return observers of all pipes and queues, and of each pipe that carries events for rows of a table."""
        pipes = (leaf for pipe in self.system.pipes.values() for leaf in watch_pipe(pipe))
        lengths = (queue.length for queue in self.system.queues.values())
        observe = partial(Observer, self.system, self.form, self._state.arrays)
        return observe([*pipes, *lengths]), {
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
