"""The executors as a worker of Spark's uses them: columns of rows go in, and columns of events come out, key after key.

The rule of this module: the compiled executor runs what it can, and the reference executor the rest. Which of the two
it is, is decided once, before the first event, and reported.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from workbench.core.domain import Domain
from workbench.core.pipeline import Pipeline
from workbench.core.program import Program
from workbench.errors import Refused, WorkbenchError
from workbench.events.columns import has_array, to_column
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.compiled.keyed.executor import CompiledKeys
from workbench.executors.reference.executor import Reference
from workbench.executors.spark.columns import InputColumn, arrays_to_column
from workbench.executors.table import ALIASES

KeyOutputs = dict[str, tuple[Any, Any]]
"""Per output: its events as an Arrow array, and the slot of each (`Executor`), or its step."""


@dataclass(frozen=True)
class Choice:
    """Which executor runs a pipeline.

    Attributes
    ----------
    pipeline: what runs.
    backend: `compiled` or `reference`.
    reason: why it is not the compiled one, if it is not.
    fingerprint: that of its states, in hexadecimal digits.
    """

    pipeline: Program
    backend: str
    reason: str
    fingerprint: str

    def open_groups(self) -> Executor:
        """Open an executor for successive keys; a worker process has one for all its tasks."""
        if (self.fingerprint, True) not in _opened:
            running = self._start()
            single = isinstance(running, Reference) or any(memory.keyed for memory in running.system.memories)
            _opened[self.fingerprint, True] = self.open_group() if single else BatchedKeys(cast(Compiled, running))
        _opened[self.fingerprint, True].begin()
        return _opened[self.fingerprint, True]

    def open_group(self) -> SingleKeys:
        """Open an executor whose state can be saved."""
        if (self.fingerprint, False) not in _opened:
            running = self._start()
            _opened[self.fingerprint, False] = (
                ReferenceSingleKeys(running) if isinstance(running, Reference) else CompiledSingleKeys(running)
            )
        return cast(SingleKeys, _opened[self.fingerprint, False])

    def _start(self) -> Compiled | Reference:
        return Compiled(self.pipeline, maps=False) if self.backend == Compiled.name else Reference(self.pipeline)


def choose(pipeline: Program, backend: str = "auto") -> Choice:
    """The executor for a pipeline.

    Parameters
    ----------
    backend: `compiled`, `reference`, or `auto` for the first of the two that runs it.

    Raises
    ------
    Refused: neither does.
    """
    reason = ""
    running: Compiled | Reference
    try:
        if backend == "reference":
            raise Refused("the reference executor was asked for")
        running = Compiled(pipeline, maps=False)
    except Refused as error:
        if ALIASES.get(backend, backend) == Compiled.name:
            raise
        running, reason = Reference(pipeline), error.what
    return Choice(pipeline, running.name, reason, running.fingerprint.hex())


class GroupError(Exception):
    """An error in the rows, or at the end, of one of successive keys.

    Attributes
    ----------
    key: its number among them.
    row: among those of the batch; None at the end of the key's streams.
    """

    def __init__(self, key: int, row: int | None, error: WorkbenchError) -> None:
        self.key, self.row, self.error = key, row, error


class Executor(ABC):
    """Runs a pipeline on the rows of successive keys.

    Each row of a batch has a slot, and so has the end of each key's streams but the last: the slot of a row is its
    number plus that of its key, and that of an end comes before the first row of the next key.
    """

    def __init__(self, flat: Pipeline) -> None:
        self.inputs, self.outputs = flat.ports.domains, list(flat.ports.shown.items())

    @abstractmethod
    def begin(self) -> None:
        """Forget the last key: a task may have been given up before its end."""

    @property
    @abstractmethod
    def steps(self) -> int:
        """How many steps the last key has run."""

    def events(self, domain: Domain, column: Any, name: str) -> Any:
        """Read the events of an input from an Arrow column."""
        del name
        return InputColumn(domain, column)

    @abstractmethod
    def feed(self, inputs: Sequence[Any], cuts: Any, *, further: bool) -> KeyOutputs:
        """Run the rows of some keys, and end the streams of all but the last.

        Parameters
        ----------
        cuts: an array of where the rows of each key begin, and where the last ones end.
        further: whether the first of the keys is that which was the last one before.

        Raises
        ------
        GroupError: the first error, by rows.
        """

    @abstractmethod
    def end(self) -> KeyOutputs:
        """End the last key's streams, in slot 0."""


class BatchedKeys(Executor):
    """The compiled executor of pipelines without tables: all keys of a batch are one call of its loop."""

    def __init__(self, running: Compiled) -> None:
        super().__init__(running.flat)
        self.keys = CompiledKeys(running)

    def begin(self) -> None:
        self.keys.begin()

    @property
    def steps(self) -> int:
        return self.keys.states.steps(0)

    def events(self, domain: Domain, column: Any, name: str) -> Any:
        from workbench.events.input_columns import decode_column
        from workbench.executors.compiled.execute import columns

        given: Any = decode_column(domain, column) if has_array(domain) else None
        if given is None:
            given = InputColumn(domain, column)
        values = given.values if isinstance(given, InputColumn) else given.fields
        return columns.column(name, domain, values, given.present, self.keys.one.texts)

    def feed(self, inputs: Sequence[Any], cuts: Any, *, further: bool) -> KeyOutputs:
        import numpy as np

        every: Any = np.arange(len(cuts) - 1)
        codes: Any = np.repeat(every, np.diff(cuts))
        made = self.keys.feed(codes, dict(zip(self.inputs, inputs, strict=True)), len(every))
        over = self.keys.finish(len(every) - 1 if made.wrong is None else int(codes[made.wrong[0]]))
        if over.wrong is not None:
            raise GroupError(over.wrong[0], None, over.wrong[1])
        if made.wrong is not None:
            row, error = made.wrong
            raise GroupError(int(codes[row]), row, error)
        self.keys.begin(len(every) - 1)
        found = {}
        for name, domain in self.outputs:
            rows, ends = made.outputs[name], over.outputs[name]
            first = arrays_to_column(domain, rows, name), rows.steps + codes[rows.steps]
            last = arrays_to_column(domain, ends, name), cuts[1:][ends.steps] + ends.steps
            found[name] = in_slots([first, last])
        return found

    def end(self) -> KeyOutputs:
        made = self.keys.finish()
        if made.wrong is not None:
            raise GroupError(0, None, made.wrong[1])
        self.keys.begin()
        return {name: (arrays_to_column(domain, made.outputs[name], name), made.outputs[name].steps)
                for name, domain in self.outputs}  # fmt: skip


class SingleKeys(Executor):
    """An executor that runs one key after the other, and whose state can be saved and restored."""

    def __init__(self, running: Compiled | Reference) -> None:
        super().__init__(running.flat)
        self.running = running

    def begin(self) -> None:
        self.running.reset()

    @property
    def steps(self) -> int:
        return self.running.steps

    def feed(self, inputs: Sequence[Any], cuts: Any, *, further: bool) -> KeyOutputs:
        parts = []
        for key, (first, last) in enumerate(itertools.pairwise(cuts.tolist())):
            if key:
                parts.append(self._in_slots(self._end, key - 1, first, None))
            if key or not further:
                self.running.reset()
            parts.append(self._in_slots(partial(self._rows, inputs, first, last), key, first, first))
        return {name: in_slots([part[name] for part in parts]) for name, _ in self.outputs}

    def end(self) -> KeyOutputs:
        return self._in_slots(self._end, 0, 0, None)

    def _in_slots(self, make: Callable[[], KeyOutputs], key: int, first: int, row: int | None) -> KeyOutputs:
        """The outputs of the rows of a key from the first on, or of its end, in their slots."""
        start = self.running.steps
        try:
            made = make()
        except WorkbenchError as error:
            raise GroupError(
                key, None if row is None or error.step is None else row + error.step - start, error
            ) from error
        return {name: (events, steps + (first + key - start)) for name, (events, steps) in made.items()}

    @abstractmethod
    def _rows(self, inputs: Sequence[InputColumn], first: int, last: int) -> KeyOutputs:
        """Run the steps of these rows."""

    @abstractmethod
    def _end(self) -> KeyOutputs:
        """End the streams."""


class CompiledSingleKeys(SingleKeys):
    """The compiled executor."""

    running: Compiled

    def _rows(self, inputs: Sequence[InputColumn], first: int, last: int) -> KeyOutputs:
        parts = [events.part(first, last) for events in inputs]
        streams = dict(zip(self.inputs, (values for values, _ in parts), strict=True))
        present = {n: p for n, (_, p) in zip(self.inputs, parts, strict=True) if p is not None}
        return self._columns(self.running.feed(streams, present, steps=True))

    def _end(self) -> KeyOutputs:
        return self._columns(self.running.finish())

    def _columns(self, made: dict[str, Any]) -> KeyOutputs:
        return {name: (arrays_to_column(domain, made[name], name), made[name].steps) for name, domain in self.outputs}


class ReferenceSingleKeys(SingleKeys):
    """The reference executor."""

    running: Reference

    def _rows(self, inputs: Sequence[InputColumn], first: int, last: int) -> KeyOutputs:
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

    def _end(self) -> KeyOutputs:
        start = self.running.steps
        return self._gathered([self.running.end()], start)

    def _gathered(self, rows: list[Any], start: int) -> KeyOutputs:
        import numpy as np

        made = {}
        for name, domain in self.outputs:
            events = [(value, step) for step, row in enumerate(rows, start) for value in row[name]]
            steps = np.array([step for _, step in events], np.int64)
            made[name] = (to_column(domain, [value for value, _ in events], f"output '{name}'"), steps)
        return made


def in_slots(parts: Sequence[tuple[Any, Any]]) -> tuple[Any, Any]:
    """Merge events with their slots, in the order of slots."""
    import numpy as np
    import pyarrow as pa

    from workbench.events.buffers import taken

    some = [part for part in parts if len(part[1])] or parts[:1]
    if len(some) == 1:
        return some[0]
    slots: Any = np.concatenate([each for _, each in some])
    order = np.argsort(slots, kind="stable")
    return taken(pa.concat_arrays([events for events, _ in some]), order), slots[order]


_opened: dict[tuple[str, bool], Executor] = {}
