"""One long stream on a GPU: a block for each of its threads. Imports numpy.

The blocks are those of `compiled_parallel`, and the rule is the same: nothing is believed. Here they are as long as
each other, so that they lie side by side as the traces of `compiled_batch` do: a row per step and a column per block.
In front of a block lie the events before it that its state depends on. What is left over runs on the CPU.
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
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.compiled.execute.loops import LoopKind
from workbench.executors.compiled.gpu import cuda
from workbench.executors.compiled.gpu.available import libm_refusal
from workbench.executors.compiled.parallel.blocks import Last, Scan
from workbench.executors.compiled.parallel.in_blocks import Attempt, InBlocks
from workbench.executors.pending import Pool
from workbench.executors.threaded.manager import ThreadManager

BLOCKS = 1 << 15
"""Most blocks at a time: what a large GPU needs to be busy."""

SHORTEST = 64
"""Steps of the shortest block."""


class ParallelGpu(Compiled):
    """A running pipeline that makes the steps of a long piece on a GPU, in blocks.

    Parameters
    ----------
    pipeline, capacities, reassociate, patience, machine: as `Parallel` has them.
    blocks: the most blocks at a time.
    shortest: the fewest steps of a block.

    Raises
    ------
    Refused: as `Parallel` does. EngineMissing: there is no GPU.
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
        if not cuda.found():
            raise EngineMissing("no NVIDIA GPU answers", hint="`workbench doctor` says what was found")
        on_gpu = InBlocksOnGpu(blocks, ThreadManager(0), reassociate=reassociate, shortest=shortest)
        super().__init__(pipeline, capacities, maps=False, schedule=on_gpu, **options)
        if refusal := libm_refusal(self.system):
            raise refusal
        on_gpu.prepare(self)
        self._on_gpu = on_gpu

    @property
    def blocks(self) -> int:
        """How many blocks have run beside others so far."""
        return self._on_gpu.made


class InBlocksOnGpu(InBlocks):
    """Blocks of steps at the same time, a thread of a GPU for each."""

    def prepare(self, one: Compiled) -> None:
        super().prepare(one)
        self._kernels: dict[Hashable, Any] = {}

    def share(self, pool: Pool) -> None:
        """Nothing: blocks run on the GPU."""

    def _edges(self, first: int, last: int, size: int) -> list[int]:
        found = super()._edges(first, last, size)
        count = len(found) - 1
        length = (last - first) // max(count, 1) // size * size
        return [first + k * length for k in range(count + 1)]

    def _attempt(self, edges: list[int], kind: LoopKind) -> Attempt:
        return _OnGpu(self, edges, kind)

    def lead_kernel(self, kind: str, level: int) -> Any:
        """The kernel of `lead_loop`."""

        def make() -> Any:
            return cuda.kernel(self.cuts.silent(self.one.system, level), self.lead_phases(kind, level), watch=False)

        return self._get(("lead", kind, level), make)

    def kernel(self, kind: LoopKind) -> Any:
        """The kernel of the loop with outputs."""
        system, phases = self.one.system, self.one.phases(kind.name)
        return self._get(kind, lambda: cuda.kernel(system, phases, places=kind.places))

    def offset_kernel(self, scan: Scan) -> Any:
        """The kernel of `offset_loop`."""
        domain = self.one.system.variables[scan.position].domain
        return self._get((domain, scan.op), lambda: cuda.offset_kernel(offset_function(domain, scan.op)))

    def _get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """A kernel, made when it is first needed."""
        if key not in self._kernels:
            self._kernels[key] = make()
        return self._kernels[key]


class _OnGpu(Attempt):
    """The loop that makes steps in blocks on a GPU."""

    of: InBlocksOnGpu

    def __call__(self, first: int, last: int, whole: Any, real: Any, counts: Any, *arrays: Any) -> bool:
        del last
        of, (memories, self.inputs, written) = self.of, self.of.one.form.split(arrays)
        self.state = [whole, real, *memories]
        self.count, self.length = len(self.edges) - 1, self.edges[1] - self.edges[0]
        levels = len(of.cuts.levels)
        self.lead = (levels + 1) * self.shift
        self.clocks = {position: of.clock(position, self.state) for position in of.cuts.clocks}
        if None in self.clocks.values():
            return False
        rows = np.arange(-self.lead, self.length)[:, None] + np.array(self.edges[:-1])[None, :]
        self.columns = [cuda.sent(x[np.maximum(rows, 0)]) for x in self.inputs]
        state = [np.repeat(array[:, None], self.count, axis=1) for array in self.state]
        self._set_clocks(state, -self.lead)
        for level in range(levels):
            state = self._folded(level, state)
        state = self._made(of.lead_kernel(self.kind.name, levels), state, levels * self.shift, self.lead)
        for each in of.cuts.last:
            self._set(state, each.scan.position, [each.scan.neutral] * (self.count - 1))
        return self._finished(first, counts, state, written)

    # --- states: an array per array of the state, with a column per block ----------------------------------------

    def _set(self, state: Sequence[Any], position: int, values: Sequence[Value]) -> None:
        """Change a variable in all blocks but the first one."""
        array, index = self.of.place(position)
        domain = self.of.one.system.variables[position].domain
        state[array][index, 1:] = [encode_any(domain, value) for value in values]

    def _values(self, state: Sequence[Any], position: int) -> list[Value]:
        """A variable in all blocks."""
        return [self.of.value([array[:, k] for array in state], position) for k in range(self.count)]

    def _set_clocks(self, state: Sequence[Any], offset: int) -> None:
        """Set the clocks to what they are so many steps after the start of each block."""
        for position, clock in self.clocks.items():
            assert clock is not None
            self._set(state, position, [clock(edge - self.edges[0] + offset) for edge in self.edges[1:-1]])

    def _made(self, kernel: Any, state: Sequence[Any], first: int, last: int) -> list[Any]:
        """The states after these rows, of which nothing is put out; the first block stays where it was."""
        if first < last:
            whole, real, *memories = there = [cuda.sent(array) for array in state]
            counts, bad = cuda.sent(np.zeros((0, self.count), np.int64)), self._good()
            cuda.launch(kernel, self.count, first, last, whole, real, counts, *memories, *self.columns, bad)
            state = [array.copy_to_host() for array in there]
        for array, content in zip(state, self.state, strict=True):
            array[:, 0] = content
        return list(state)

    def _good(self) -> Any:
        return cuda.sent(np.zeros(self.count, np.bool_))

    def _folded(self, level: int, state: list[Any]) -> list[Any]:
        """The states at the next place in front of the blocks, with the scans of this level."""
        scans, kernel = self.of.cuts.levels[level], self.of.lead_kernel(self.kind.name, level)
        start = (level + 1) * self.shift
        state = self._made(kernel, state, level * self.shift, start)
        self._set_clocks(state, start - self.lead)
        inside = [array.copy() for array in state]
        for scan in scans:
            self._set(inside, scan.position, [scan.neutral] * (self.count - 1))
        after = self._made(kernel, inside, start, start + self.length)
        beginning = [array.copy() for array in self.state]  # the first block begins where its own state is known
        loop = self.of.lead_loop(self.kind.name, level)
        whole, real, *memories = beginning
        stop = self.edges[1] + start - self.lead
        loop(self.edges[0], stop, whole, real, np.zeros(0, np.int64), *memories, *self.inputs)
        for scan in scans:
            found = [self.of.value(beginning, scan.position)]
            for total in self._values(after, scan.position)[1:-1]:
                found.append(self.of.join(scan, found[-1], total))
            self._set(state, scan.position, found)
        return state

    # --- outputs ------------------------------------------------------------------------------------------------

    def _finished(self, first: int, counts: Any, begun: list[Any], written: Sequence[Any]) -> bool:
        of = self.of
        whole, real, *memories = there = [cuda.sent(array) for array in begun]
        made, bad = cuda.sent(np.zeros((len(counts), self.count), np.int64)), self._good()
        owners = of.one.form.owners[: len(written)]
        widths = [pipe.width for _, _, pipe in of.one.results]
        views = [
            cuda.room((self.length + 1) * widths[j] + 1, self.count, y.dtype)
            for j, y in zip(owners, written, strict=True)
        ]
        cuda.launch(
            of.kernel(self.kind), self.count, self.lead, self.lead + self.length,
            whole, real, made, *memories, *self.columns, *views, bad,
        )  # fmt: skip
        ended = [array.copy_to_host() for array in there]
        self.misfit = not of.same([a[:, :-1].copy() for a in ended], [a[:, 1:].copy() for a in begun])
        if self.misfit or bad.copy_to_host().any():
            return False
        numbers = made.copy_to_host()
        if any(self._corrected(last, numbers, views, ended, bad) for last in of.cuts.last):
            return False
        for position, (j, y, view) in enumerate(zip(owners, written, views, strict=True)):
            table = view.copy_to_host()
            if position >= len(owners) - len(counts) and self.kind.places:  # rows of the block, as steps of the piece
                table += np.array(self.edges[:-1])[None, :] - self.lead
            flat = table.T[np.arange(len(table))[None, :] < numbers[j][:, None]]
            y[counts[j] : counts[j] + len(flat)] = flat
        counts += numbers.sum(axis=1)
        for array, content in zip(self.state, ended, strict=True):
            array[:] = content[:, -1]
        self.done = True
        return False

    def _corrected(self, last: Last, numbers: Any, views: Sequence[Any], ended: list[Any], bad: Any) -> bool:
        """Put what the blocks before have done to a scan into the outputs; whether a hazard occurred."""
        of, position = self.of, last.scan.position
        domain = of.one.system.variables[position].domain
        totals = self._values(ended, position)
        before = [last.scan.neutral]
        for total in totals:
            before.append(of.join(last.scan, before[-1], total))
        kind = of.one._columns.dtype(domain)
        offsets = cuda.sent(np.array([encode_any(domain, value) for value in before[:-1]], kind))
        fields = [(j, k) for j, (_, kinds) in enumerate(of.one.form.results) for k in range(len(kinds))]
        for j, k in last.shown:
            made = cuda.sent(numbers[j])
            cuda.launch(of.offset_kernel(last.scan), self.count, made, offsets, views[fields.index((j, k))], bad)
        self._set(ended, position, before[2:])
        return bool(bad.copy_to_host().any())
