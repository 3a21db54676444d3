"""One long stream in several threads: it is cut into blocks, which run at the same time (docs/running.md).

The rule of this module: nothing is believed. `ir.blocks` says how to find the state in which a block begins, and the
state in which the block before it ends is compared with that, number by number. Where they differ, or where something
may have gone wrong in a block, all of it is void, and the steps are made one after the other. So values, order, steps
and errors are those of one thread.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from workbench.core.domain import Integer, Integers, Value
from workbench.core.term import Term, var
from workbench.errors import NoCapacity
from workbench.executors.compiled.code.loop import Target, loop_source, offset_function
from workbench.executors.compiled.code.numbers import decode_any, encode_any
from workbench.executors.compiled.code.plain import SCOPE, PlainArray, PlainLoop, copies
from workbench.executors.compiled.code.printer import executable, print_function
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.compiled.execute.loops import InTurn, Loop, LoopKind, StepRange
from workbench.executors.compiled.lower.shape import shape
from workbench.executors.compiled.lower.system import Substitution, dense
from workbench.executors.compiled.parallel.blocks import Last, Scan, Starts, blocks
from workbench.executors.pending import Pool
from workbench.executors.threaded.manager import ThreadManager
from workbench.ir.ring import ENDLESS

SHORTEST = 1 << 16
"""Steps of the shortest block: less is done before a thread has woken up."""

LONGEST = 1 << 20
"""Steps of the longest block."""

PROBE = 1 << 15
"""Steps that tell what one costs."""

SHARED = 4
"""Blocks for each thread where threads take them when they have nothing else to do."""

PATIENT = 3
"""How often blocks may not fit together before no more are made."""

LoopValues = list[Any]


class InBlocks:
    """Blocks of steps at the same time, each from a state that is found beforehand and checked afterwards.

    Parameters
    ----------
    threads, manager, reassociate, shortest, costly: as `Parallel` has them.

    Attributes
    ----------
    one: whose steps are made.
    made: how many blocks have run beside others so far.
    cuts: what it takes to start the system anywhere.
    """

    one: Compiled
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

    def prepare(self, one: Compiled) -> None:
        """Find what it takes to start an executor's system anywhere; Refused where that cannot be known."""
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
        """Have blocks run by a pool that also does other work, and by the caller, from now on."""
        self.manager = pool

    def ranges(self, one: Compiled, first: int, last: int, kind: LoopKind) -> Iterator[StepRange]:
        """These steps in blocks, where they are worth it."""
        able = not one.allocation.wide or one.narrow
        able = able and kind.machine and kind.name in ("dense", "steady") and self.threads > 1
        size, in_turn = kind.size, InTurn()
        while able and self._cost < self._costly and first < last:
            begun = first
            first = last if kind.name in self._measured else min(first + max(1, PROBE // size) * size, last)
            yield from self._timed_ranges(begun, first, kind, in_turn.ranges(one, begun, first, kind))
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

    def _timed_ranges(self, first: int, last: int, kind: LoopKind, made: Iterator[StepRange]) -> Iterator[StepRange]:
        """The same ranges; what a step of them costs is known then."""
        begun = time.thread_time()
        yield from made
        if kind.name in self._timed:  # the first time is spent in compiling
            self._cost = (time.thread_time() - begun) / (last - first)
            self._measured.add(kind.name)
        self._timed.add(kind.name)

    def _attempt(self, edges: list[int], kind: LoopKind) -> Attempt:
        """The loop that makes steps in blocks."""
        return Attempt(self, edges, kind)

    def _edges(self, first: int, last: int, size: int) -> list[int]:
        """Where the blocks begin, and where the last one ends; each a multiple of `size` steps from the first."""
        lead = (len(self.cuts.levels) + 1) * (self.cuts.history + size)
        count = min(self.threads, (last - first) // max(self._shortest, lead, 1))
        if count > 1 and isinstance(self.manager, Pool):  # many, where what comes before them is short
            count = max(count, min(SHARED * count, (last - first) // (SHARED * SHARED * lead)))
        return [first + (last - first) * k // max(count, 1) // size * size for k in range(count)] + [last]

    # --- the loops ------------------------------------------------------------------------------------------

    def lead_loop(self, kind: str, level: int) -> Loop:
        """A loop without outputs: of what the scans of a level need, or of all above the last level."""

        def source(_: Target) -> str:
            return loop_source(self.cuts.silent(self.one.system, level), self.lead_phases(kind, level), watch=False)

        def plain(text: str) -> Loop:
            return PlainLoop(text, shape(self.cuts.silent(self.one.system, level)), sparse=False)

        return self.one.loops.get(("lead", kind, level), source, plain)

    def lead_phases(self, kind: str, level: int) -> Sequence[Substitution]:
        """What is known of the steps of such a loop."""
        phases = self.one.phases(kind)
        if level < len(self.cuts.levels) and not self._follows(level, phases[0]):
            return [dense(self.one.system)]  # one step written once is faster than several, if they are the same
        return phases

    def offset_loop(self, scan: Scan) -> Loop:
        """`run(first, last, offset, values)`: combines values with an offset; whether a hazard occurred."""
        domain = self.one.system.variables[scan.position].domain

        def plain(text: str) -> Loop:
            run = executable(text, SCOPE)
            return lambda first, last, offset, y: bool(run(first, last, offset, PlainArray(y)))

        def source(_: Target) -> str:
            return print_function(offset_function(domain, scan.op))

        return self.one.loops.get(("offset", scan.op, domain), source, plain)

    def _follows(self, level: int, known: Mapping[Term, Term]) -> bool:
        """Whether the scans of a level depend on what a phase of the loop says of the variables."""
        return any(
            v.name in self.cuts.needed[level] for v in self.one.system.variables if var(v.name, v.domain) in known
        )

    # --- the state ------------------------------------------------------------------------------------------

    def place(self, position: int) -> tuple[int, int]:
        """Which of the arrays of the state holds a variable, and where."""
        form = self.one.form
        return (0, form.whole.index(position)) if position in form.whole else (1, form.real.index(position))

    def value(self, state: LoopValues, position: int) -> Value:
        """A variable."""
        array, index = self.place(position)
        return decode_any(self.one.system.variables[position].domain, state[array].item(index))

    def set(self, state: LoopValues, position: int, value: Value) -> None:
        """Change a variable."""
        array, index = self.place(position)
        state[array][index] = encode_any(self.one.system.variables[position].domain, value)

    def advance(self, state: LoopValues, start: LoopValues, steps: int) -> bool:
        """Set the clocks to what they are so many steps after the start; False where they are not on their way then."""
        for position in self.cuts.clocks:
            values = self.clock(position, start)
            if values is None:
                return False
            self.set(state, position, values(steps))
        return True

    def clock(self, position: int, start: LoopValues) -> Callable[[int], Value] | None:
        """The value of a clock so many steps after the start; None where it is not on its way then."""
        names = {v.name: i for i, v in enumerate(self.one.system.variables)}
        circle = self.cuts.clocks[position]
        column = circle.cone.index(self.one.system.variables[position].name)
        now = tuple(self.value(start, names[name]) for name in circle.cone)
        if now not in circle.values:
            return None
        time = circle.values.index(now)
        return lambda steps: circle.values[circle.at(time + steps)][column]

    def join(self, scan: Scan, a: Value, b: Value) -> Value:
        """What two blocks do to a scan, one after the other."""
        domain, exact = self.one.system.variables[scan.position].domain, scan.op.exact(a, b)
        if isinstance(domain, Integers):
            return (exact + 2**63) % 2**64 - 2**63 if isinstance(exact, int) else exact
        return domain.fit(exact) if isinstance(domain, Integer) else exact

    def same(self, a: LoopValues, b: LoopValues) -> bool:
        """Whether two states are one, but for the scans that only outputs depend on."""
        a, b = copies(a), copies(b)
        for last in self.cuts.last:
            for state in (a, b):
                self.set(state, last.scan.position, last.scan.neutral)
        return all(x.tobytes() == y.tobytes() or (self._rounded and _close(x, y)) for x, y in zip(a, b, strict=True))


@dataclass
class Attempt:
    """The loop that makes steps in blocks. It never says that a hazard occurred: then it has done nothing.

    Attributes
    ----------
    done: whether it has made the steps.
    misfit: whether blocks did not fit together.
    """

    of: InBlocks
    edges: list[int]
    kind: LoopKind
    done: bool = False
    misfit: bool = False

    def __call__(self, first: int, last: int, whole: Any, real: Any, counts: Any, *arrays: Any) -> bool:
        del first, last
        memories, self.inputs, written = self.of.one.form.split(arrays)
        self.state: LoopValues = [whole, real, *memories]
        count = len(self.edges) - 1
        self.nothing = counts[:0]
        self.states = [copies(self.state) for _ in range(count)]
        lead = (len(self.of.cuts.levels) + 1) * self.shift
        for state, edge in zip(self.states[1:], self.edges[1:], strict=False):
            if not self.of.advance(state, self.state, edge - lead - self.edges[0]):
                return False
        for level in range(len(self.of.cuts.levels)):
            self._fold(level)
        made = [counts.copy() for _ in range(count)]
        for each in made:
            each[:] = 0
        owners = self.of.one.form.owners[: len(written)]
        starts = [self._starts(counts, k) for k in range(count)]
        views = [[y[at[j] :] for j, y in zip(owners, written, strict=True)] for at in starts]
        loop = self.of.one.loops.loop(self.kind)
        runs = self._all([partial(self._run, loop, k, made[k], views[k]) for k in range(count)])
        self.misfit = not all(
            self.of.same(self.states[k - 1], begun) for k, (begun, _) in enumerate(runs) if begun is not None
        )
        if self.misfit or any(bad for _, bad in runs):
            return False
        if any(self._shown(last, made, views) for last in self.of.cuts.last):
            return False
        self._finish(counts, made, starts, written, owners)
        self.done = True
        return False

    @property
    def shift(self) -> int:
        """The steps of the history, rounded up."""
        return -(-self.of.cuts.history // self.kind.size) * self.kind.size

    def _all(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        """Do this work, the first of it here."""
        begun = [self.of.manager.start(work) for work in works[1:]]
        try:
            here = works[0]()
        finally:
            others = [each.wait_for() for each in begun]
        return [here, *others]

    def _steps(self, loop: Loop, first: int, last: int, state: LoopValues) -> None:
        """Make steps that put nothing out."""
        whole, real, *memories = state
        if first < last:
            loop(first, last, whole, real, self.nothing, *memories, *self.inputs)

    # --- the scans of a level -------------------------------------------------------------------------------

    def _fold(self, level: int) -> None:
        """Find these scans at the start of each block, or before it, by as many steps as are still to be made."""
        later = (len(self.of.cuts.levels) - level) * self.shift
        edges = [self.edges[0], *(edge - later for edge in self.edges[1:-1])]
        scans = self.of.cuts.levels[level]
        totals = self._all([partial(self._total, level, k, edges) for k in range(len(edges))])
        found = totals[0]
        for state, edge, total in zip(self.states[1:], edges[1:], totals[1:], strict=True):
            self.of.advance(state, self.state, edge - self.edges[0])  # those that the scans do not need stood still
            for scan, value in zip(scans, found, strict=True):
                self.of.set(state, scan.position, value)
            found = [self.of.join(*each) for each in zip(scans, found, total, strict=True)]

    def _total(self, level: int, k: int, edges: Sequence[int]) -> list[Value]:
        """What a block does to the scans; the state is left as it is before it, but for them."""
        loop, scans = self.of.lead_loop(self.kind.name, level), self.of.cuts.levels[level]
        state = self.states[k]
        if k:
            self._steps(loop, edges[k] - self.shift, edges[k], state)
        state = copies(state)
        for scan in scans if k else ():
            self.of.set(state, scan.position, scan.neutral)
        if k + 1 < len(edges):
            self._steps(loop, edges[k], edges[k + 1], state)
        return [self.of.value(state, scan.position) for scan in scans]

    # --- the blocks -----------------------------------------------------------------------------------------

    def _run(self, loop: Loop, k: int, made: Any, views: Sequence[Any]) -> tuple[LoopValues | None, bool]:
        """Run a block; the state in which it was begun, if that had to be found, and whether a hazard occurred."""
        state, begun, first = self.states[k], None, self.edges[k]
        if k:
            self._steps(self.of.lead_loop(self.kind.name, len(self.of.cuts.levels)), first - self.shift, first, state)
            for last in self.of.cuts.last:
                self.of.set(state, last.scan.position, last.scan.neutral)
            begun = copies(state)
        whole, real, *memories = state
        return begun, bool(loop(first, self.edges[k + 1], whole, real, made, *memories, *self.inputs, *views))

    def _starts(self, counts: Any, k: int) -> list[int]:
        """Where a block writes into each of the outputs: behind all that the blocks before it can write."""
        before = self.edges[k] - self.edges[0]
        return [
            int(n) + before * pipe.width for n, (_, _, pipe) in zip(counts.tolist(), self.of.one.results, strict=True)
        ]

    def _shown(self, last: Last, made: Sequence[Any], views: Sequence[Sequence[Any]]) -> bool:
        """Put what the blocks before have done to a scan into the outputs; whether a hazard occurred."""
        scan, position, loop = last.scan, last.scan.position, self.of.offset_loop(last.scan)
        fields = [(j, k) for j, (_, kinds) in enumerate(self.of.one.form.results) for k in range(len(kinds))]
        columns = [(j, fields.index((j, k))) for j, k in last.shown]
        value = self.of.value(self.states[0], position)
        works = []
        for k in range(1, len(self.states)):
            offset = encode_any(self.of.one.system.variables[position].domain, value)
            for j, at in columns:
                cuts = [int(made[k][j]) * part // self.of.threads for part in range(self.of.threads + 1)]
                works += [partial(loop, a, b, offset, views[k][at]) for a, b in itertools.pairwise(cuts)]
            value = self.of.join(scan, value, self.of.value(self.states[k], position))
        self.of.set(self.states[-1], position, value)
        return any(self._all(works))

    def _finish(
        self, counts: Any, made: Sequence[Any], starts: list[list[int]], written: Sequence[Any], owners: Sequence[int]
    ) -> None:
        """Move the outputs of the blocks together, and go on from where the last one ended."""
        for each, at in zip(made, starts, strict=True):
            for j, y in zip(owners, written, strict=True):
                behind, start, n = int(counts[j]), at[j], int(each[j])
                if behind != start:
                    y[behind : behind + n] = y[start : start + n]
            counts += each
        for array, content in zip(self.state, self.states[-1], strict=True):
            array[:] = content


def _close(a: Any, b: Any) -> bool:
    """Whether two arrays of floats are the same up to rounding."""
    if a.dtype.kind != "f":
        return False
    pairs = list(zip(a.ravel().tolist(), b.ravel().tolist(), strict=True))
    largest = max((abs(x) for x, _ in pairs), default=0.0)
    return all(math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9 * largest) for x, y in pairs)
