"""One long stream in several threads: it is cut into blocks, which run concurrently (docs/reference/parallel.md).

The rule of this module: nothing is trusted. `parallel.blocks` defines how to compute the state in which a block begins,
and that state is compared, number by number, with the state in which the block before it ends. Where they differ, or
where a block may have failed, all blocks are void, and the steps run one after the other. So values, order, steps and
errors are those of one thread.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from workbench.core.domain import Integer, Integers, Value
from workbench.core.term import Term, var
from workbench.errors import NoCapacity
from workbench.executors.compiled.code.loop import Target, loop_source, offset_function
from workbench.executors.compiled.code.numbers import decode_any, encode_any
from workbench.executors.compiled.code.plain import copies
from workbench.executors.compiled.code.printer import print_function
from workbench.executors.compiled.execute.column_executor import ColumnExecutor
from workbench.executors.compiled.execute.loops import InTurn, Loop, LoopKind, StepRange
from workbench.executors.compiled.lower.system import Substitution, dense
from workbench.executors.compiled.parallel.blocks import Last, Scan, Starts, blocks
from workbench.executors.pending import Pool
from workbench.executors.threaded.manager import ThreadManager
from workbench.ir.ring_buffer import ENDLESS

SHORTEST = 1 << 16
"""Minimum number of steps in a block: fewer finish before a thread has woken up."""

LONGEST = 1 << 20
"""Maximum number of steps in a block."""

PROBE = 1 << 15
"""Number of steps with which the cost of a step is measured."""

SHARED = 4
"""Blocks per thread where threads also have other work."""

PATIENT = 3
"""Number of mismatches between blocks after which no more blocks are tried."""

LoopValues = list[Any]


class InBlocks:
    """A schedule of concurrent blocks, each from a state that is computed beforehand and checked afterwards.

    Parameters
    ----------
    threads, manager, reassociate, shortest, costly: as for `Parallel`.

    Attributes
    ----------
    one: the executor whose steps run.
    made: number of blocks that have run concurrently so far.
    cuts: how to start the system anywhere.
    """

    one: ColumnExecutor
    cuts: Starts

    def __init__(
        self, threads: int, manager: ThreadManager | None, *, reassociate: bool, shortest: int, costly: float = 0.0
    ) -> None:
        self.threads, self.made = threads, 0
        self._shortest, self._rounded = shortest, reassociate
        self.manager: ThreadManager | Pool = manager or ThreadManager(threads - 1)
        self._misfits = 0
        self._costly, self._cost = costly, 0.0
        self._timed, self._measured = set[str](), set[str]()

    def prepare(self, one: ColumnExecutor) -> None:
        """Analyse how to start an executor's system anywhere; Refused where that is not possible."""
        self.one = one
        endless = (queue for queue in one.allocation.open if one.system.queues[queue].capacity == ENDLESS)
        if queue := next(endless, None):
            raise NoCapacity(
                f"{one.flat.ports.of} cannot be started in the middle of a stream: how many events wait in queue"
                f" '{queue}' is not known beforehand, also where all inputs come together",
                hint=f"run it with one thread, or write `capacity queue({queue}) = ...` into the file",
                queue=queue,
            )
        self.cuts = blocks(one.system, dense(one.system), reassociate=self._rounded)

    def share(self, pool: Pool) -> None:
        """Run blocks in the caller and in a pool that also does other work, from now on."""
        self.manager = pool

    def ranges(self, one: ColumnExecutor, first: int, last: int, kind: LoopKind) -> Iterator[StepRange]:
        """Yield these steps in blocks, where that pays."""
        able = not one.allocation.wide or one.narrow
        able = able and kind.machine and kind.name in ("dense", "steady") and self.threads > 1
        size, in_turn = kind.size, InTurn()
        while able and self._cost < self._costly and first < last:
            begin = first
            first = last if kind.name in self._measured else min(first + max(1, PROBE // size) * size, last)
            yield from self._time_ranges(begin, first, kind, in_turn.ranges(one, begin, first, kind))
        length = self.threads * LONGEST // size * size
        for start in range(first, last, length):
            stop = min(start + length, last)
            edges = self._edges(start, stop, size) if able and self._misfits < PATIENT else []
            if len(edges) > 2:
                attempt = self._attempt(edges, kind)
                yield start, edges[-1], attempt
                if attempt.done:
                    self.made += len(edges) - 1
                    start = edges[-1]
                else:
                    self._misfits += attempt.misfit
                    one.steps -= edges[-1] - start
            yield from in_turn.ranges(one, start, stop, kind)

    def _time_ranges(self, first: int, last: int, kind: LoopKind, ranges: Iterator[StepRange]) -> Iterator[StepRange]:
        """Yield the same ranges, and measure the cost of a step."""
        start = time.thread_time()
        yield from ranges
        if kind.name in self._timed:  # the first time includes compilation
            self._cost = (time.thread_time() - start) / (last - first)
            self._measured.add(kind.name)
        self._timed.add(kind.name)

    def _attempt(self, edges: list[int], kind: LoopKind) -> Attempt:
        """Return the loop that runs steps in blocks."""
        return Attempt(self, edges, kind)

    def _edges(self, first: int, last: int, size: int) -> list[int]:
        """Return the starts of the blocks and the end of the last; each a multiple of `size` steps from the first."""
        lead = (len(self.cuts.levels) + 1) * (self.cuts.history + size)
        count = min(self.threads, (last - first) // max(self._shortest, lead, 1))
        if count > 1 and isinstance(self.manager, Pool):  # many blocks, where the lead of each is short
            count = max(count, min(SHARED * count, (last - first) // (SHARED * SHARED * lead)))
        return [first + (last - first) * k // max(count, 1) // size * size for k in range(count)] + [last]

    # --- the loops ------------------------------------------------------------------------------------------

    def lead_loop(self, kind: str, level: int) -> Loop:
        """Return a loop without outputs: for the scans of a level, or for everything above the last level."""

        def source(_: Target) -> str:
            return loop_source(self.cuts.silent(self.one.system, level), self.lead_phases(kind, level), watch=False)

        return self.one.loops.get(("lead", kind, level), source)

    def lead_phases(self, kind: str, level: int) -> Sequence[Substitution]:
        """Return the constants of the steps of such a loop."""
        phases = self.one.phases(kind)
        if level < len(self.cuts.levels) and not self._follows(level, phases[0]):
            return [dense(self.one.system)]  # one step without unrolling is faster, if all are the same
        return phases

    def offset_loop(self, scan: Scan) -> Loop:
        """Return `run(first, last, offset, values)`, which combines values with an offset and reports a hazard."""
        domain = self.one.system.variables[scan.position].domain

        def source(_: Target) -> str:
            return print_function(offset_function(domain, scan.op))

        return self.one.loops.get(("offset", scan.op, domain), source)

    def _follows(self, level: int, known: Mapping[Term, Term]) -> bool:
        """Whether the scans of a level depend on variables that are constant in a phase of the loop."""
        return any(
            v.name in self.cuts.needed[level] for v in self.one.system.variables if var(v.name, v.domain) in known
        )

    # --- the state ------------------------------------------------------------------------------------------

    def place(self, position: int) -> tuple[int, int]:
        """Return the array of the state that holds a variable, and the offset in it."""
        form = self.one.form
        return (0, form.whole.index(position)) if position in form.whole else (1, form.real.index(position))

    def values(self, state: LoopValues, position: int) -> list[Value]:
        """Return the values of a variable in the states of all blocks."""
        array, index = self.place(position)
        domain = self.one.system.variables[position].domain
        return [decode_any(domain, number) for number in state[array][:, index].tolist()]

    def set(self, state: LoopValues, position: int, values: Sequence[Value]) -> None:
        """Set a variable in the states of the last blocks, as many as there are values."""
        array, index = self.place(position)
        domain = self.one.system.variables[position].domain
        count = len(state[array])
        state[array][count - len(values) :, index] = [encode_any(domain, value) for value in values]

    def clock(self, position: int, start: LoopValues) -> Callable[[int], Value] | None:
        """Return the value of a clock as a function of the steps after the start; None where it is not on its cycle."""
        names = {v.name: i for i, v in enumerate(self.one.system.variables)}
        circle = self.cuts.clocks[position]
        column = circle.cone.index(self.one.system.variables[position].name)
        now = tuple(self.values(start, names[name])[0] for name in circle.cone)
        if now not in circle.values:
            return None
        time = circle.values.index(now)
        return lambda steps: circle.values[circle.at(time + steps)][column]

    def join(self, scan: Scan, a: Value, b: Value) -> Value:
        """Combine the effects of two successive blocks on a scan."""
        domain, exact = self.one.system.variables[scan.position].domain, scan.op.exact(a, b)
        if isinstance(domain, Integers):
            return (exact + 2**63) % 2**64 - 2**63 if isinstance(exact, int) else exact
        return domain.fit(exact) if isinstance(domain, Integer) else exact

    def same(self, a: LoopValues, b: LoopValues) -> bool:
        """Whether states are equal, except for the scans that only outputs depend on."""
        a, b = copies(a), copies(b)
        for last in self.cuts.last:
            for state in (a, b):
                self.set(state, last.scan.position, [last.scan.neutral] * len(state[0]))
        return all(x.tobytes() == y.tobytes() or (self._rounded and _close(x, y)) for x, y in zip(a, b, strict=True))


@dataclass
class Attempt:
    """The loop that runs steps in blocks. It never reports a hazard: on a hazard it has no effect.

    The states of all blocks are arrays with a row for each.

    Attributes
    ----------
    done: whether it has run the steps.
    misfit: whether the states of blocks did not match.
    """

    of: InBlocks
    edges: list[int]
    kind: LoopKind
    done: bool = False
    misfit: bool = False

    def __call__(self, first: int, last: int, whole: Any, real: Any, counts: Any, *arrays: Any) -> bool:
        del first, last
        memories, self.inputs, self.written = self.of.one.form.split(arrays)
        self.owners = self.of.one.form.owners[: len(self.written)]
        now, self.count, self.counts = [whole, real, *memories], len(self.edges) - 1, counts
        states = [np.repeat(array[None], self.count, axis=0) for array in now]
        clocks = {position: self.of.clock(position, states) for position in self.of.cuts.clocks}
        if None in clocks.values():
            return False
        self._prepare()
        levels = self.of.cuts.levels
        self._set_clocks(states, clocks, -(len(levels) + 1) * self.shift)
        for level, scans in enumerate(levels):
            later = (len(levels) - level) * self.shift
            totals = self._totals(level, states, later)
            self._set_clocks(states, clocks, -later)  # variables that the scans do not need were frozen
            for scan, block_totals in zip(scans, totals, strict=True):
                self.of.set(states, scan.position, self._join(scan, block_totals)[1:])
        initial_states, new_counts, bad = self._run(states)
        self.misfit = not self.of.same([array[:-1] for array in states], [array[1:] for array in initial_states])
        if self.misfit or bad or any(self._correct(last, states, new_counts) for last in self.of.cuts.last):
            return False
        self._gather(new_counts)
        counts += new_counts.sum(axis=0)
        for array, content in zip(now, states, strict=True):
            array[:] = content[-1]
        self.done = True
        return False

    @property
    def shift(self) -> int:
        """The length of the history in steps, rounded up."""
        return -(-self.of.cuts.history // self.kind.size) * self.kind.size

    def _set_clocks(self, states: LoopValues, clocks: Mapping[int, Any], offset: int) -> None:
        """Set the clocks to their values `offset` steps after the start of each block but the first."""
        for position, clock in clocks.items():
            self.of.set(states, position, [clock(edge - self.edges[0] + offset) for edge in self.edges[1:-1]])

    def _join(self, scan: Scan, totals: Sequence[Value]) -> list[Value]:
        """Return the value of a scan before each block and after the last, given the effect of each block."""
        values = [scan.neutral, totals[0]]
        for total in totals[1:]:
            values.append(self.of.join(scan, values[-1], total))
        return values

    def _correct(self, last: Last, states: LoopValues, new_counts: Any) -> bool:
        """Apply the effect of the earlier blocks on a scan to the outputs; return whether a hazard occurred."""
        scan = last.scan
        before = self._join(scan, self.of.values(states, scan.position))
        fields = [(j, k) for j, (_, kinds) in enumerate(self.of.one.form.results) for k in range(len(kinds))]
        bad = self._offset(scan, before[:-1], [(j, fields.index((j, k))) for j, k in last.outputs], new_counts)
        self.of.set(states, scan.position, before[-1:])
        return bad

    # --- where blocks run: in threads -----------------------------------------------------------------------

    def _prepare(self) -> None:
        """Set up the attempt."""
        self.nothing = self.counts[:0]

    def _totals(self, level: int, states: LoopValues, later: int) -> list[list[Value]]:
        """Compute the effect of each block on the scans of a level, where its edges are `later` steps earlier.

        The states become those at these edges, except for the scans.
        """
        edges = [self.edges[0], *(edge - later for edge in self.edges[1:-1])]
        inside = [array.copy() for array in states]
        self._all([partial(self._total, level, k, edges, states, inside) for k in range(len(edges))])
        return [self.of.values(inside, scan.position)[:-1] for scan in self.of.cuts.levels[level]]

    def _total(self, level: int, k: int, edges: Sequence[int], states: LoopValues, inside: LoopValues) -> None:
        loop = self.of.lead_loop(self.kind.name, level)
        if k:
            self._steps(loop, edges[k] - self.shift, edges[k], row_of(states, k))
            for array, content in zip(inside, states, strict=True):
                array[k] = content[k]
            for scan in self.of.cuts.levels[level]:
                self.of.set([array[k : k + 1] for array in inside], scan.position, [scan.neutral])
        if k + 1 < len(edges):
            self._steps(loop, edges[k], edges[k + 1], row_of(inside, k))

    def _run(self, states: LoopValues) -> tuple[LoopValues, Any, bool]:
        """Run all blocks; return their initial states, their numbers of outputs, and whether a hazard occurred."""
        initial_states = [array.copy() for array in states]
        new_counts: Any = np.zeros((self.count, len(self.counts)), np.int64)
        widths = [pipe.width for _, _, pipe in self.of.one.results]
        self.starts = [
            [int(n) + (edge - self.edges[0]) * width for n, width in zip(self.counts, widths, strict=True)]
            for edge in self.edges[:-1]
        ]  # a block writes after all that earlier blocks can write
        pairs = list(zip(self.owners, self.written, strict=True))
        self.views: list[Any] = [[y[at[j] :] for j, y in pairs] for at in self.starts]
        hazard_flags = self._all(
            [partial(self._run_block, k, states, initial_states, new_counts) for k in range(self.count)]
        )
        return initial_states, new_counts, any(hazard_flags)

    def _run_block(self, k: int, states: LoopValues, initial_states: LoopValues, new_counts: Any) -> bool:
        first, cuts = self.edges[k], self.of.cuts
        whole, real, *memories = state = row_of(states, k)
        if k:
            self._steps(self.of.lead_loop(self.kind.name, len(cuts.levels)), first - self.shift, first, state)
            for last in cuts.last:
                self.of.set([array[k : k + 1] for array in states], last.scan.position, [last.scan.neutral])
            for array, content in zip(initial_states, state, strict=True):
                array[k] = content
        loop = self.of.one.loops.loop(self.kind)
        last_step = self.edges[k + 1]
        return bool(loop(first, last_step, whole, real, new_counts[k], *memories, *self.inputs, *self.views[k]))

    def _offset(self, scan: Scan, before: Sequence[Value], outputs: Sequence[tuple[int, int]], new_counts: Any) -> bool:
        """Combine the outputs of blocks with the earlier value of a scan; `outputs`: the outputs, and their arrays."""
        domain, loop = self.of.one.system.variables[scan.position].domain, self.of.offset_loop(scan)
        works = []
        for k in range(1, self.count):
            offset = encode_any(domain, before[k])
            for j, at in outputs:
                cuts = [int(new_counts[k][j]) * part // self.of.threads for part in range(self.of.threads + 1)]
                works += [partial(loop, a, b, offset, self.views[k][at]) for a, b in itertools.pairwise(cuts)]
        return any(self._all(works))

    def _gather(self, new_counts: Any) -> None:
        """Make the outputs of the blocks contiguous."""
        behind = self.counts.copy()
        for each, at in zip(new_counts, self.starts, strict=True):
            for j, y in zip(self.owners, self.written, strict=True):
                first, start, n = int(behind[j]), at[j], int(each[j])
                if first != start:
                    y[first : first + n] = y[start : start + n]
            behind += each

    def _all(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        """Run these jobs in threads, and the first one here."""
        pending = [self.of.manager.start(work) for work in works[1:]]
        try:
            here = works[0]()
        finally:
            others = [each.wait_for() for each in pending]
        return [here, *others]

    def _steps(self, loop: Loop, first: int, last: int, state: LoopValues) -> None:
        """Run steps without outputs."""
        whole, real, *memories = state
        if first < last:
            loop(first, last, whole, real, self.nothing, *memories, *self.inputs)


def row_of(states: LoopValues, k: int) -> LoopValues:
    """Return the state of a block."""
    return [array[k] for array in states]


def _close(a: Any, b: Any) -> bool:
    """Whether two float arrays are equal up to rounding."""
    if a.dtype.kind != "f":
        return False
    pairs = list(zip(a.ravel().tolist(), b.ravel().tolist(), strict=True))
    largest = max((abs(x) for x, _ in pairs), default=0.0)
    return all(math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9 * largest) for x, y in pairs)
