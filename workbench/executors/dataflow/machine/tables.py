"""The vertices of a graph as numbers for machine code: their inputs and outputs, code, and state.

The rule of this module: the vertices are `CompiledVertex`es whose pipes carry rows of words. Imports numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from workbench.core.domain import BOOL, INT, Domain, Value
from workbench.core.fields import scalars
from workbench.executors.compiled.code.machine import MachineLoop
from workbench.executors.compiled.execute import columns
from workbench.executors.compiled.execute.columns import Column
from workbench.executors.dataflow.compiled_vertex import CompiledVertex
from workbench.executors.dataflow.machine import layout as at


class FlowPipe(NamedTuple):
    """A pipe between vertices.

    Attributes
    ----------
    number: the number of its row in `stamps`.
    rows: the rows of its fields in `values`.
    """

    number: int
    domain: Domain
    rows: range


class VertexTables:
    """The arrays of vertices and pipes.

    Parameters
    ----------
    runs: the vertices by number; vertex 0 does not exist, and vertex 1 is the log: these are not used.
    slots: the slots and domains of the pipes between vertices, the inputs first.
    readers: for each slot the vertices that read it.
    rows: maximum number of phases in flight: a power of two.
    batch: maximum number of phases of a vertex that are taken at once.

    Attributes
    ----------
    pipes: by slot.
    width: number of columns of a thread.
    of_vertices, of_pipes: the arrays for machine code.
    """

    def __init__(
        self,
        runs: Sequence[Any],
        slots: Sequence[tuple[int, Domain]],
        readers: Sequence[tuple[int, ...]],
        rows: int,
        batch: int,
    ) -> None:
        self.runs: list[CompiledVertex] = list(runs)
        self._loops: dict[str, MachineLoop] = {}
        self.pipes: dict[int, FlowPipe] = {}
        pipes, sizes, reading, row_count = [], list[int](), list[int](), 0
        for slot, domain in slots:
            parts = [part for _, part in scalars(domain)]
            self.pipes[slot] = FlowPipe(len(self.pipes), domain, range(row_count, row_count := row_count + len(parts)))
            pipes.append((len(sizes), len(reading)))
            sizes += [columns.dtype(part)().itemsize for part in parts]
            reading += readers[slot]
        pipes.append((len(sizes), len(reading)))
        stamps, values = _rows(max(len(slots), 1), rows), _rows(max(row_count, 1), rows)
        self.of_pipes = at.PipeArrays(_numbers(pipes, 2), _numbers(sizes), _numbers(reading), stamps, values)
        self._lay(batch)

    def _lay(self, batch: int) -> None:
        """Build the arrays of the vertices."""
        count = len(self.runs)
        vertices = _rows(count + 1, 8)
        vertices[:, at.BATCH], vertices[0, at.BATCH] = 1, min(batch, at.MAXIMUM)
        reads, writes, self.width = list[int](), list[tuple[int, int, int]](), 1
        for v, run in enumerate(self.runs[2:], 2):
            inputs, outputs = [self.pipes[s] for _, s in run.inputs], [self.pipes[s] for _, s, _ in run.outputs]
            vertices[v, [at.INPUTS, at.OUTPUTS, at.CELL]] = len(reads), len(writes), run.first
            column = sum(len(pipe.rows) for pipe in inputs) + len(inputs)
            when = column + sum(len(pipe.rows) for pipe in outputs)
            reads += [pipe.number for pipe in inputs]
            for pipe in outputs:
                writes.append((pipe.number, column, when))
                column, when = column + len(pipe.rows), when + 1
            self.width = max(self.width, when)
        vertices[count, [at.INPUTS, at.OUTPUTS]] = len(reads), len(writes)
        self._vertices, self._counts = vertices, columns.zeros(len(writes) + 1)
        self._column = columns.zeros(at.STRIDE)
        """Placeholder for the columns of threads in the words of vertices."""
        words, states, self._aside = list[int](), list[tuple[int, int, int]](), list[Any]()
        for v, run in enumerate(self.runs[2:], 2):
            vertices[v, [at.WORDS, at.STATES]] = len(words), len(states)
            vertices[v, at.CODE], vertices[v, at.COLUMNS], own = self._locate_vertex(v)
            words += own
            for array in run.running.state:
                self._aside.append(np.zeros(array.nbytes, np.uint8))
                states.append((_address(array), array.nbytes, _address(self._aside[-1])))
        vertices[count, [at.WORDS, at.STATES]] = len(words), len(states)
        self.of_vertices = at.VertexArrays(
            vertices, _numbers(words), _numbers(reads), _numbers(writes, 3), _numbers(states, 3), self._counts,
            columns.zeros(count),
        )  # fmt: skip

    def _locate_vertex(self, v: int) -> tuple[int, int, list[int]]:
        """Return the address of a vertex's code, the offset of columns in its words, and its words."""
        running = self.runs[v].running
        form, source = running.form, self.runs[v].source
        loop = self._loops.setdefault(source, MachineLoop(source))
        first = int(self._vertices[v, at.OUTPUTS])
        counts = self._counts[first : first + len(form.results)]
        front = [0, 0, *running.state[:2], counts, *running.state[2:]]
        kinds = [domain for _, domain in form.values] + [BOOL] * len(form.inputs)
        kinds += [domain for _, domains in form.results for domain in domains] + [INT] * len(form.results)
        behind = [self._column.view(columns.dtype(domain))[: at.MAXIMUM] for domain in kinds]
        address, words = loop.located(*front, *behind)
        return address, len(words) - 2 * len(behind), words

    def relocate(self, v: int) -> None:
        """Update the address of a vertex's state after Python has run it."""
        start, first = self._vertices[v, [at.WORDS, at.STATES]].tolist()
        self._vertices[v, at.CODE], _, words = self._locate_vertex(v)
        self.of_vertices.words[start : start + len(words)] = words
        for number, array in enumerate(self.runs[v].running.state, first):
            if len(self._aside[number]) != array.nbytes:
                self._aside[number] = np.zeros(array.nbytes, np.uint8)
            self.of_vertices.states[number] = _address(array), array.nbytes, _address(self._aside[number])

    # --- columns of a thread ------------------------------------------------------------------------------

    def collect_inputs(self, v: int, thread: Any, live: int) -> dict[str, Column]:
        """Return the input events of a vertex that a thread has gathered for `live` phases."""
        run, rest = self.runs[v], iter(thread)
        fields = [
            tuple(next(rest).view(columns.dtype(part))[:live].copy() for _, part in scalars(self.pipes[slot].domain))
            for _, slot in run.inputs
        ]
        present = [next(rest).view(np.bool_)[:live].copy() for _ in run.inputs]
        return {name: Column(f, p, None) for (name, _), f, p in zip(run.inputs, fields, present, strict=True)}

    def store_outputs(self, v: int, thread: Any, outputs: Sequence[tuple[Sequence[Any], Any]]) -> None:
        """Store the emissions of a vertex on each of its outputs: the fields, and the indexes of the phases."""
        first = int(self._vertices[v, at.OUTPUTS])
        for number, (fields, indices) in enumerate(outputs, first):
            _, column, when = self.of_vertices.writes[number].tolist()
            self._counts[number] = len(indices)
            for array in fields:
                thread[column].view(array.dtype)[: len(indices)] = array
                column += 1
            thread[when, : len(indices)] = indices

    # --- contents of pipes ---------------------------------------------------------------------------------

    def put(self, slot: int, phases: Any, fields: Sequence[Any]) -> None:
        """Put events on a pipe in these phases."""
        pipe, rows = self.pipes[slot], phases & self.of_pipes.stamps.shape[1] - 1
        self.of_pipes.stamps[pipe.number, rows] = phases
        for row, array in zip(pipe.rows, fields, strict=True):
            self.of_pipes.values[row, rows] = array.view(np.int64) if array.itemsize == 8 else array

    def carried(self, slot: int, phases: Any) -> tuple[list[int], list[Value]]:
        """Return the indexes of the phases in which a pipe carries an event, and the events."""
        pipe, rows = self.pipes[slot], phases & self.of_pipes.stamps.shape[1] - 1
        there = np.flatnonzero(self.of_pipes.stamps[pipe.number, rows] == phases)
        kinds = [columns.dtype(part) for _, part in scalars(pipe.domain)]
        word_columns = [self.of_pipes.values[row, rows[there]] for row in pipe.rows]
        fields = tuple(f.view(k) if k != np.bool_ else f != 0 for f, k in zip(word_columns, kinds, strict=True))
        return there.tolist(), columns.OutputColumn(pipe.domain, fields).events()


def _rows(count: int, width: int) -> Any:
    return columns.zeros(count * width).reshape(count, width)


def _numbers(numbers: Sequence[Any], width: int = 0) -> Any:
    """Build an array, or a matrix with rows of this width."""
    return np.array(numbers, np.int64).reshape(-1, width) if width else np.array([*numbers, 0], np.int64)


def _address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])
