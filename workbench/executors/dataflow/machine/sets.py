"""The sets of the scheduler as arrays that machine code keeps, for graphs whose vertices compile.

The rule of this module: whoever uses it from several threads has a lock around every call. Imports numpy.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from workbench.executors.compiled.code.machine import MachineLoop
from workbench.executors.compiled.code.objects import code_of
from workbench.executors.compiled.execute import columns
from workbench.executors.dataflow import minima
from workbench.executors.dataflow.listings import Variant, check_numbering
from workbench.executors.dataflow.machine.layout import BEGUN, COMPLETE, HEAD, SHIFT, SIZE, TAIL, SetArrays
from workbench.executors.dataflow.numbering import NumberedGraph

_FOLDER = "workbench.executors.dataflow.machine"


@cache
def flow_loop(module: str, name: str) -> MachineLoop:
    """A function of a module here."""
    others = [f"{_FOLDER}.{each}" for each in ("layout", "set_loops") if each != module]
    return MachineLoop(code_of(f"{_FOLDER}.{module}", name, *others, minima.__name__))


class MachineSets:
    """The sets.

    Parameters
    ----------
    graph: with a satisfactory numbering.
    phases: the most that are not complete at a time.

    Attributes
    ----------
    arrays: what machine code takes.

    Raises
    ------
    PipelineError: the numbering is not satisfactory.
    """

    def __init__(self, graph: NumberedGraph, phases: int) -> None:
        check_numbering(graph, Variant.WHOLE)
        self.graph = graph
        size, rows = graph.size, 1 << max(phases - 1, 0).bit_length()
        head = columns.zeros(32)
        head[SIZE], head[SHIFT] = size, 1
        of_vertices, of_phases = _levels(size + 1), _levels(rows)
        self.arrays = SetArrays(
            head,
            np.array(graph.last, np.int64),
            np.array(graph.m, np.int64),
            np.zeros((rows, _words(of_vertices)), np.uint64),
            of_vertices,
            np.zeros((size + 1, _words(of_phases)), np.uint64),
            of_phases,
            np.full(4 * rows, size),
            np.full(4 * rows, size + 1),
            np.zeros(size + 1, np.int8),
            columns.zeros(1 << size.bit_length()),
        )
        self.head, self.rows = head, rows

    @property
    def begun(self) -> int:
        """p_max, the number of phases begun."""
        return int(self.head.item(BEGUN))

    @property
    def complete(self) -> int:
        """The phases up to this one have nothing left to do."""
        return int(self.head.item(COMPLETE))

    @property
    def waits(self) -> bool:
        """Whether a vertex is in the run queue."""
        return bool(self.head.item(HEAD) != self.head.item(TAIL))


def _levels(count: int) -> Any:
    """Of a set of so many numbers as words: where each level of bits begins, and how many bits it has."""
    sizes = [count]
    while sizes[-1] > 64:
        sizes.append(-(-sizes[-1] // 64))
    starts = np.cumsum([0, *(-(-size // 64) for size in sizes[:-1])])
    return np.array([starts, sizes], np.int64)


def _words(levels: Any) -> int:
    return int(levels[0, -1]) + 1
