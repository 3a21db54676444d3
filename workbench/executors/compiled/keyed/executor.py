"""A compiled pipeline for each key of a log.

The rule of this module: rows are taken in their order, and a row in which something goes wrong has not happened. The
loop stops before a row of which it cannot say that nothing does; that row is made in plain Python, in exact arithmetic,
which decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from workbench.core.fields import scalars
from workbench.errors import WorkbenchError
from workbench.executors.compiled.code.loop import loop_source, spare
from workbench.executors.compiled.code.step import Target
from workbench.executors.compiled.execute import columns
from workbench.executors.compiled.execute.executor import PATIENCE, Compiled
from workbench.executors.compiled.execute.outputs import OutputArrays
from workbench.executors.compiled.keyed.plain import PlainKeys
from workbench.executors.compiled.keyed.states import KeyedStates
from workbench.executors.keyed import KeyedOutputs
from workbench.executors.threaded.manager import ThreadManager

KeyedLoop = Callable[..., int]


class CompiledKeys:
    """A running pipeline for each key; keys are numbered as they come.

    Parameters
    ----------
    one: has the pipeline, in its initial state, and no tables.
    threads: how many share the keys.
    patience, machine: as `Compiled` has them.
    """

    def __init__(self, one: Compiled, *, threads: int = 1, patience: int = PATIENCE, machine: bool = True) -> None:
        self.one = one
        self.flat, self._form, self._columns = self.one.flat, self.one.form, self.one._columns
        self.states = KeyedStates(self.one._state)
        self._threads, self._manager = threads, ThreadManager(threads - 1)
        self._patience, self._machine, self._rows = patience, machine, 0
        self._loops: dict[tuple[str, bool], KeyedLoop] = {}

    def feed(self, codes: Any, given: Mapping[str, Any], count: int) -> KeyedOutputs:
        """Some rows: the i-th is a step of key `codes[i]`.

        Parameters
        ----------
        codes: an array of whole numbers.
        given: by input name, as `columns.column` makes them.
        count: how many keys there are by now.
        """
        ordered = [given[name] for name, _ in self.flat.inputs]
        rows, wrong = before_wrong(given, len(codes))
        inputs = [array for column in ordered for array in column.fields]
        full = all(column.present is None for column in ordered)
        if not full:
            inputs += [self._columns.always(len(codes)) if c.present is None else c.present for c in ordered]
        made = self._made("dense" if full else "sparse", codes, rows, inputs, count)
        if made.wrong is None and wrong is not None:
            step = self.states.steps(int(codes[rows]))
            return made._replace(wrong=(rows, wrong[1].retold(f"step {step}: {wrong[1].what}", where="")))
        return made

    def finish(self) -> KeyedOutputs:
        """The end of all keys' streams, in their order; what comes out is of the key of that number."""
        count = self.states.count
        nothing = [self._columns.zeros(1, part) for _, domain in self.flat.inputs for _, part in scalars(domain)]
        return self._made("ending", self._columns.numbers(count), count, nothing, count)

    def _made(self, kind: str, codes: Any, rows: int, inputs: list[Any], count: int) -> KeyedOutputs:
        self.states.grow(count)
        self._rows += rows
        machine = self._machine and self._rows > self._patience
        parts = self._threads if machine else 1
        loops = self._loop(kind, machine=machine), self._loop(kind, machine=False)
        works = [_Part(self, loops, codes, rows, inputs, part, parts) for part in range(parts)]
        begun = [self._manager.start(work.run) for work in works[1:]]
        try:
            works[0].run()
        finally:
            for each in begun:
                each.wait_for()
        stop = min(work.stop for work in works)
        found = [work.outputs.found(0, [None] * len(self.one.results)) for work in works]
        outputs = {name: _joined([each[name] for each in found], stop) for name in found[0]}
        return KeyedOutputs(outputs, None if stop == rows else (stop, self._error(kind, codes, stop, inputs)))

    def _error(self, kind: str, codes: Any, row: int, inputs: list[Any]) -> WorkbenchError:
        """What goes wrong in a row."""
        key, at = int(codes[row]), 0 if kind == "ending" else row
        self.one._state.restore(self.states.of(key))
        return self.one._overflow(self.states.steps(key), [array[at : at + 1] for array in inputs], kind)

    def room(self, rows: int) -> list[int]:
        """How much each output can have of so many rows."""
        names, sizes = [v.name for v in self.one.system.variables], []
        for _, _, pipe in self.one.results:
            waiting = 0
            if pipe.more is not None:
                place = self._form.whole.index(names.index(pipe.more.name))
                waiting = int(self.states.arrays[0][: self.states.count, place].sum())
            sizes.append(waiting + rows * pipe.width + spare(pipe))
        return sizes

    def _loop(self, kind: str, *, machine: bool) -> KeyedLoop:
        """The loop for steps of this kind, made when it is first needed."""
        if (kind, machine) not in self._loops:
            target: Target = "cpu" if machine else "python"
            source = loop_source(self.one.system, self.one.phases(kind), places=True, target=target, keyed=True)
            code = self.one._code(source) if machine else None
            self._loops[kind, machine] = code or PlainKeys(source, self._form, sparse=kind == "sparse")
        return self._loops[kind, machine]


class _Part:
    """The rows of some of the keys, in one thread.

    Attributes
    ----------
    outputs: what has come out of them.
    stop: the first row that cannot be made; the number of rows if all can.
    """

    def __init__(
        self, of: CompiledKeys, loops: tuple[KeyedLoop, KeyedLoop], codes: Any, rows: int, inputs: list[Any],
        part: int, parts: int,
    ) -> None:  # fmt: skip
        fields = [fields for _, fields in of.one.form.results]
        self.outputs = OutputArrays(of.one.results, fields, of.room(rows), columns.empty, places=True)
        arrays = [*of.states.arrays[2:], *inputs, *self.outputs.arrays, *self.outputs.spots, codes]
        given = *of.states.arrays[:2], self.outputs.counts, *arrays
        self._fast, self._exact = (partial(_called, loop, (part, parts), given) for loop in loops)
        self.stop = self._rows = rows

    def run(self) -> None:
        """Make them."""
        self.stop = self._fast(0, self._rows)
        while self.stop < self._rows and self._exact(self.stop, self.stop + 1) > self.stop:  # it was a false alarm
            self.stop = self._fast(self.stop + 1, self._rows)


def before_wrong(given: Mapping[str, columns.Column], rows: int) -> tuple[int, tuple[int, WorkbenchError] | None]:
    """How many rows come before the first one with an event outside its domain, if there is one, and that error."""
    found = min((c.wrong for c in given.values() if c.wrong), key=lambda each: int(each[0]), default=None)
    return (rows, None) if found is None else (*found[:1], found)


def _called(loop: KeyedLoop, part: tuple[int, int], given: Sequence[Any], first: int, last: int) -> int:
    return int(loop(*part, first, last, *given))


def _joined(parts: Sequence[Any], stop: int) -> Any:
    """What has come out of the rows before `stop` in several threads, in the order of rows."""
    import numpy as np

    if len(parts) == 1:
        return parts[0]
    steps = np.concatenate([each.steps for each in parts])
    order = np.argsort(steps, kind="stable")
    order = order[: np.searchsorted(steps, stop, sorter=order)]
    fields = zip(*(each.fields for each in parts), strict=True)
    return columns.OutputColumn(parts[0].domain, tuple(np.concatenate(each)[order] for each in fields), steps[order])
