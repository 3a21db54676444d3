"""The sets of the scheduler as arrays for machine code, for graphs whose vertices compile.

The rule of this module: callers in several threads need a lock around every call. Imports numpy.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from workbench.executors.compiled.code.machine import MachineLoop
from workbench.executors.compiled.code.objects import code_of
from workbench.executors.compiled.execute import columns
from workbench.executors.dataflow import minima
from workbench.executors.dataflow.machine.layout import BEGUN, COMPLETE, HEAD, SHIFT, SIZE, TAIL, SetArrays
from workbench.executors.dataflow.numbering import NumberedGraph

_FOLDER = "workbench.executors.dataflow.machine"


@cache
def flow_loop(module: str, name: str) -> MachineLoop:
    """Return a function of a module here as machine code."""
    others = [f"{_FOLDER}.{each}" for each in ("layout", "set_loops") if each != module]
    return MachineLoop(code_of(f"{_FOLDER}.{module}", name, *others, minima.__name__))


class MachineSets:
    """The sets of the scheduler, in arrays.

    Parameters
    ----------
    graph: with a satisfactory numbering.
    phases: maximum number of incomplete phases at a time.

    Attributes
    ----------
    arrays: the arrays for machine code.

    Raises
    ------
    PipelineError: the numbering is not satisfactory.
    """

    def __init__(self, graph: NumberedGraph, phases: int) -> None:
        graph.check_numbering()
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
        """Number of the last phase up to which all phases are complete."""
        return int(self.head.item(COMPLETE))

    @property
    def waits(self) -> bool:
        """Whether the run queue has a vertex."""
        return bool(self.head.item(HEAD) != self.head.item(TAIL))


def _levels(count: int) -> Any:
    """Return the layout of a bit set of `count` numbers: the start of each level of bits, and its number of bits."""
    sizes = [count]
    while sizes[-1] > 64:
        sizes.append(-(-sizes[-1] // 64))
    starts = np.cumsum([0, *(-(-size // 64) for size in sizes[:-1])])
    return np.array([starts, sizes], np.int64)


def _words(levels: Any) -> int:
    return int(levels[0, -1]) + 1
