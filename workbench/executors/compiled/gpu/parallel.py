"""One long stream on a GPU: a block for each of its threads. Imports numpy.

The blocks are those of `compiled.parallel`, and the rule is the same: nothing is trusted. Here they have equal lengths,
so that they are stored side by side as the traces of `gpu.batch` are: a row per step and a column per block. Each block
is preceded by the events on which its initial state depends. The remainder runs on the CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.core.domain import Value
from workbench.core.program import Program
from workbench.errors import EngineMissing
from workbench.executors.compiled.code.loop import offset_function
from workbench.executors.compiled.code.numbers import encode_any
from workbench.executors.compiled.execute.column_executor import ColumnExecutor
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.compiled.execute.loops import LoopKind
from workbench.executors.compiled.gpu import cuda
from workbench.executors.compiled.gpu.available import libm_refusal
from workbench.executors.compiled.parallel.block_threads import Attempt, InBlocks, LoopValues, row_of
from workbench.executors.compiled.parallel.blocks import Scan
from workbench.executors.pending import Pool
from workbench.executors.threaded.manager import ThreadManager

BLOCKS = 1 << 15
"""Maximum number of blocks at a time: enough to keep a large GPU busy."""

SHORTEST = 64
"""Minimum number of steps in a block."""


class ParallelGpu(Compiled):
    """A compiled pipeline that runs the steps of a long piece on a GPU, in blocks.

    Parameters
    ----------
    pipeline, capacities, reassociate, warm_up_steps, machine: as for `Parallel`.
    blocks: maximum number of blocks at a time.
    shortest: minimum number of steps in a block.

    Raises
    ------
    Refused: as for `Parallel`. EngineMissing: there is no GPU.
    """

    def __init__(
        self,
        pipeline: Program,
        capacities: Mapping[str, int] | None = None,
        *,
        blocks: int = BLOCKS,
        reassociate: bool = False,
        shortest: int = SHORTEST,
        **options: Any,
    ) -> None:
        if not cuda.device_name():
            raise EngineMissing("no NVIDIA GPU answers", hint="`workbench doctor` shows what was found")
        on_gpu = InBlocksOnGpu(blocks, ThreadManager(0), reassociate=reassociate, shortest=shortest)
        super().__init__(pipeline, capacities, maps=False, schedule=on_gpu, **options)
        if refusal := libm_refusal(self.system):
            raise refusal
        on_gpu.prepare(self)
        self._on_gpu = on_gpu

    @property
    def blocks(self) -> int:
        """Number of blocks that have run concurrently so far."""
        return self._on_gpu.made


class InBlocksOnGpu(InBlocks):
    """A schedule of concurrent blocks, with a GPU thread for each."""

    def prepare(self, one: ColumnExecutor) -> None:
        super().prepare(one)
        self._kernels: dict[Hashable, Any] = {}

    def share(self, pool: Pool) -> None:
        """Ignore the pool: blocks run on the GPU."""

    def _edges(self, first: int, last: int, size: int) -> list[int]:
        edges = super()._edges(first, last, size)
        count = len(edges) - 1
        length = (last - first) // max(count, 1) // size * size
        return [first + k * length for k in range(count + 1)]

    def _attempt(self, edges: list[int], kind: LoopKind) -> Attempt:
        return _OnGpu(self, edges, kind)

    def lead_kernel(self, kind: str, level: int) -> Any:
        """Return the kernel of `lead_loop`."""

        def make() -> Any:
            return cuda.kernel(self.cuts.silent(self.one.system, level), self.lead_phases(kind, level), watch=False)

        return self._get(("lead", kind, level), make)

    def kernel(self, kind: LoopKind) -> Any:
        """Return the kernel of the loop with outputs."""
        system, phases = self.one.system, self.one.phases(kind.name)
        return self._get(kind, lambda: cuda.kernel(system, phases, with_steps=kind.with_steps))

    def offset_kernel(self, scan: Scan) -> Any:
        """Return the kernel of `offset_loop`."""
        domain = self.one.system.variables[scan.position].domain
        return self._get((domain, scan.op), lambda: cuda.offset_kernel(offset_function(domain, scan.op)))

    def _get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return a kernel, created when first needed."""
        if key not in self._kernels:
            self._kernels[key] = make()
        return self._kernels[key]


class _OnGpu(Attempt):
    """The loop that runs steps in blocks on a GPU, where arrays have a column for each block."""

    of: InBlocksOnGpu

    def _prepare(self) -> None:
        super()._prepare()
        self.length = self.edges[1] - self.edges[0]
        self.lead = (len(self.of.cuts.levels) + 1) * self.shift
        rows = np.arange(-self.lead, self.length)[:, None] + np.array(self.edges[:-1])[None, :]
        self.columns = [cuda.send_array(x[np.maximum(rows, 0)]) for x in self.inputs]

    def _make(self, level: int, states: LoopValues, first: int, last: int) -> None:
        """Run the steps in this range of all blocks but the first, without outputs."""
        if first < last:
            there = [cuda.send_array(array.T) for array in states]
            whole, real, *memories = there
            counts, bad = cuda.send_array(np.zeros((0, self.count), np.int64)), self._good()
            kernel, rows = self.of.lead_kernel(self.kind.name, level), (first + self.lead, last + self.lead)
            cuda.launch(kernel, self.count, *rows, whole, real, counts, *memories, *self.columns, bad)
            for array, content in zip(states, there, strict=True):
                array[1:] = content.copy_to_host().T[1:]

    def _good(self) -> Any:
        return cuda.send_array(np.zeros(self.count, np.bool_))

    def _totals(self, level: int, states: LoopValues, later: int) -> list[list[Value]]:
        self._make(level, states, -later - self.shift, -later)
        inside, scans = [array.copy() for array in states], self.of.cuts.levels[level]
        for scan in scans:
            self.of.set(inside, scan.position, [scan.neutral] * (self.count - 1))
        self._make(level, inside, -later, self.length - later)
        loop = self.of.lead_loop(self.kind.name, level)  # the first block starts from a known state
        self._steps(loop, self.edges[0], self.edges[1] - later, row_of(inside, 0))
        return [self.of.values(inside, scan.position)[:-1] for scan in scans]

    def _run(self, states: LoopValues) -> tuple[LoopValues, Any, bool]:
        of = self.of
        self._make(len(of.cuts.levels), states, -self.shift, 0)
        for last in of.cuts.last:
            of.set(states, last.scan.position, [last.scan.neutral] * (self.count - 1))
        initial_states, there = [array.copy() for array in states], [cuda.send_array(array.T) for array in states]
        whole, real, *memories = there
        new_counts, self.bad = cuda.send_array(np.zeros((len(self.counts), self.count), np.int64)), self._good()
        widths = [pipe.width for _, _, pipe in of.one.results]
        self.views = [
            cuda.allocate((self.length + 1) * widths[j] + 1, self.count, y.dtype)
            for j, y in zip(self.owners, self.written, strict=True)
        ]
        cuda.launch(
            of.kernel(self.kind), self.count, self.lead, self.lead + self.length,
            whole, real, new_counts, *memories, *self.columns, *self.views, self.bad,
        )  # fmt: skip
        for array, content in zip(states, there, strict=True):
            array[:] = content.copy_to_host().T
        return initial_states, new_counts.copy_to_host().T, bool(self.bad.copy_to_host().any())

    def _offset(self, scan: Scan, before: Sequence[Value], outputs: Sequence[tuple[int, int]], new_counts: Any) -> bool:
        domain = self.of.one.system.variables[scan.position].domain
        kind = self.of.one._columns.dtype(domain)
        offsets = cuda.send_array(np.array([encode_any(domain, value) for value in before], kind))
        for j, at in outputs:
            kernel = self.of.offset_kernel(scan)
            cuda.launch(kernel, self.count, cuda.send_array(new_counts[:, j]), offsets, self.views[at], self.bad)
        return bool(self.bad.copy_to_host().any())

    def _gather(self, new_counts: Any) -> None:
        for position, (j, y, view) in enumerate(zip(self.owners, self.written, self.views, strict=True)):
            table = view.copy_to_host()
            if position >= len(self.owners) - len(self.counts) and self.kind.with_steps:
                table += np.array(self.edges[:-1])[None, :] - self.lead  # rows of the block, as steps of the piece
            flat = table.T[np.arange(len(table))[None, :] < new_counts[:, j][:, None]]
            y[self.counts[j] : self.counts[j] + len(flat)] = flat
