"""The executors as a worker of Spark's uses them: columns of rows in, columns of events out, key after key.

The rule of this module: the compiled executor where it can, else the reference executor, which runs everything; which
of the two is decided once, before the first event, and said.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from workbench.core.program import Program
from workbench.errors import Refused
from workbench.events.columns import to_column
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.reference.executor import Reference
from workbench.executors.spark.columns import InputColumn, arrays_to_column

Made = dict[str, tuple[Any, Any]]
"""Per output: its events as an Arrow array, and the step of each, counted from 0 for each key."""


@dataclass(frozen=True)
class Choice:
    """Which executor runs a pipeline.

    Attributes
    ----------
    pipeline: what runs.
    backend: `numba` or `reference`.
    why: why it is not the compiled one, if it is not.
    mark: the fingerprint of its states, in hexadecimal digits.
    """

    pipeline: Program
    backend: str
    why: str
    mark: str

    def executor(self) -> Executor:
        """An executor; a worker process keeps the one that it has made."""
        if self.mark not in _made:
            _made[self.mark] = (OnColumns if self.backend == "numba" else OnSteps)(self.pipeline)
        return _made[self.mark]


def choose(pipeline: Program, backend: str = "auto") -> Choice:
    """The executor for a pipeline.

    Parameters
    ----------
    backend: `numba`, `reference`, or `auto` for the first of the two that runs it.

    Raises
    ------
    Refused: neither does.
    """
    why = ""
    made: Compiled | Reference
    try:
        if backend == "reference":
            raise Refused("the reference executor was asked for")
        made = Compiled(pipeline)
    except Refused as error:
        if backend == "numba":
            raise
        made, why = Reference(pipeline), error.what
    return Choice(pipeline, made.name, why, made.fingerprint.hex())


class Executor(ABC):
    """What both have."""

    def __init__(self, running: Compiled | Reference) -> None:
        self.running = running
        ports = running.flat.ports
        self.inputs, self.outputs = list(ports.domains), list(ports.shown.items())

    @abstractmethod
    def feed(self, inputs: list[InputColumn], first: int, last: int) -> Made:
        """The steps of these rows."""

    @abstractmethod
    def end(self) -> Made:
        """The end of the streams."""


class OnColumns(Executor):
    """The compiled executor."""

    running: Compiled

    def __init__(self, pipeline: Program) -> None:
        super().__init__(Compiled(pipeline))

    def feed(self, inputs: list[InputColumn], first: int, last: int) -> Made:
        parts = [events.part(first, last) for events in inputs]
        streams = dict(zip(self.inputs, (values for values, _ in parts), strict=True))
        present = {n: p for n, (_, p) in zip(self.inputs, parts, strict=True) if p is not None}
        return self._columns(self.running.feed(streams, present, steps=True))

    def end(self) -> Made:
        return self._columns(self.running.finish())

    def _columns(self, made: dict[str, Any]) -> Made:
        return {name: (arrays_to_column(domain, made[name], name), made[name].steps) for name, domain in self.outputs}


class OnSteps(Executor):
    """The reference executor."""

    running: Reference

    def __init__(self, pipeline: Program) -> None:
        super().__init__(Reference(pipeline))

    def feed(self, inputs: list[InputColumn], first: int, last: int) -> Made:
        columns = []
        for name, events in zip(self.inputs, inputs, strict=True):
            values, present = events.part(first, last)
            values = values if isinstance(values, list) else values.tolist()
            columns.append((name, values, [True] * len(values) if present is None else present.tolist()))
        start = self.running.steps
        rows = [
            self.running.step({name: values[i] for name, values, present in columns if present[i]}).outputs
            for i in range(last - first)
        ]
        return self._gathered(rows, start)

    def end(self) -> Made:
        start = self.running.steps
        return self._gathered([self.running.end()], start)

    def _gathered(self, rows: list[Any], start: int) -> Made:
        import numpy as np

        made = {}
        for name, domain in self.outputs:
            events = [(value, step) for step, row in enumerate(rows, start) for value in row[name]]
            steps = np.array([step for _, step in events], np.int64)
            made[name] = (to_column(domain, [value for value, _ in events], f"output '{name}'"), steps)
        return made


_made: dict[str, Executor] = {}
