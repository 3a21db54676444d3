"""A compiled executor with the interface of the reference executor: Python values, step by step."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.core.domain import Value
from workbench.core.fields import Map
from workbench.core.processor import END, Maybe
from workbench.core.term import leaves
from workbench.executors.backend import StepRecord
from workbench.executors.compiled.execute.observe import Observer, bind_inputs, in_rows, show_pipe, watch_pipe
from workbench.ir.system import Pipe

if TYPE_CHECKING:
    from workbench.executors.compiled.execute.executor import Compiled

BLOCK = 1 << 18
"""Steps whose Python values are converted to columns at a time."""


class StepView:
    """A view of a column executor that takes Python values.

    Parameters
    ----------
    one: the executor; the view is valid while it runs the same system.
    """

    def __init__(self, one: Compiled) -> None:
        self.one = one

    def outputs(self, steps: Sequence[Mapping[str, Value]]) -> list[dict[str, list[Value]]]:
        """Run steps, which map input names to events; return the outputs of each step as Python values."""
        self.one.check_open()
        for name in {name for events in steps for name in events}:
            self.one.flat.ports.position(name)
            self.one.check_open(name)
        columns = {}
        for name, domain in self.one.flat.inputs:
            here = [name in events for events in steps]
            values = [events.get(name) for events in steps]
            columns[name] = self.one._columns.column(name, domain, values, None if all(here) else here, self.one.texts)
        start = self.one.steps
        rows: list[dict[str, list[Value]]] = [{name: [] for name, _, _ in self.one.results} for _ in steps]
        for name, output in self.one.fed(columns, len(steps), True).items():
            assert output.steps is not None
            for step, value in zip(output.steps.tolist(), output.events(), strict=True):
                rows[step - start][name].append(value)
        return rows

    def step(self, events: Mapping[str, Value]) -> StepRecord:
        """Run one step in plain Python, and return what every pipe carries; `END` ends all inputs.

        Pipes that carry maps kept by a processor are left out.
        """
        for name in events:
            self.one.flat.ports.position(name)
            self.one.check_open(name)
        here = [(name, domain) for name, domain in self.one.flat.inputs if name in events]
        columns = {n: self.one._columns.column(n, domain, [events[n]], None, self.one.texts) for n, domain in here}
        numbers, more = None, dict[str, list[Value]]()
        if not any(column.wrong for column in columns.values()):
            ends = [name for name, _ in self.one.flat.inputs] if events is END else []
            inputs = bind_inputs(self.one.system, events, self.one.texts, ends)
            self.one._state.lay_maps()
            numbers = iter(self._observer(inputs))
            for name, observer in self._row_observers.items():
                pipe = self.one.system.pipes[name]
                more[name] = in_rows(pipe, self.one.flat.domains[name], observer, self.one._state, inputs)
        self.one.check_open()
        outputs = self.one.finish() if events is END else self.one.fed(columns, 1, False)
        assert numbers is not None
        pipes = {
            name: self._show_pipe(name, pipe, numbers, more.get(name, []))
            for name, pipe in self.one.system.pipes.items()
        }
        queues = dict(zip(self.one.system.queues, numbers, strict=True))
        return StepRecord(pipes, {name: output.events() for name, output in outputs.items()}, queues)

    def _show_pipe(self, name: str, pipe: Pipe, numbers: Iterator[Any], more: list[Value]) -> Maybe:
        """Return what a pipe carried in the last step, from the values of its terms."""
        domain, content = self.one.flat.domains[name], self.one._state.content(pipe.slots[0].value)
        if content is None:
            return show_pipe(pipe, domain, self.one.flat.widths[name], numbers, self.one.texts, more)
        assert isinstance(domain, Map)
        changed = show_pipe(pipe, domain.change, 1, numbers, self.one.texts)
        return Maybe(True, content()) if changed.present else changed

    @cached_property
    def _observer(self) -> Observer:
        pipes = (leaf for pipe in self.one.system.pipes.values() for leaf in watch_pipe(pipe))
        lengths = (queue.length for queue in self.one.system.queues.values())
        return Observer(self.one.system, self.one.form, self.one._state.arrays, [*pipes, *lengths])

    @cached_property
    def _row_observers(self) -> dict[str, Observer]:
        """Observers of the pipes that carry events for rows of a table, by pipe."""
        return {
            name: Observer(
                self.one.system, self.one.form, self.one._state.arrays, list(leaves(tuple(pipe.rows[:3]))), row=True
            )
            for name, pipe in self.one.system.pipes.items()
            if pipe.rows is not None
        }

    def run(self, streams: Any, *, end: bool = True) -> dict[str, list[Value]]:
        """Run whole streams in lockstep (step i takes the i-th event of each), then end them; return the outputs."""
        outputs: dict[str, list[Value]] = {name: [] for name, _, _ in self.one.results}
        sources = {name: iter(stream) for name, stream in self.one.flat.ports.streams(streams).items()}
        while True:
            parts = {name: list(itertools.islice(source, BLOCK)) for name, source in sources.items()}
            size = max(map(len, parts.values()), default=0)
            if size == 0:
                break
            short = {name: [True] * len(p) + [False] * (size - len(p)) for name, p in parts.items() if len(p) < size}
            padded = {name: part + [None] * (size - len(part)) for name, part in parts.items()}
            for name, output in self.one.feed(padded, short).items():
                outputs[name] += output.events()
        for name, values in (self.one.end() if end else {}).items():
            outputs[name] += values
        return outputs
