"""The compiled executor of columns: a pipeline as one loop over whole columns of events.

The rule of this module: a block of input takes effect completely or not at all, as a step does in the reference
executor. The loop only detects that something went wrong in a block of steps; to find the step and the error, the steps
are repeated in plain Python, in exact arithmetic.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from workbench.core.pipeline import graph_of
from workbench.core.program import Program
from workbench.errors import PipelineError, Refused
from workbench.executors.compiled.execute.loops import InTurn, Loop, LoopKind, StepRange, StepSchedule, SystemLoops
from workbench.executors.compiled.execute.observe import overflow_in
from workbench.executors.compiled.lower.shape import shape
from workbench.executors.compiled.lower.system import Substitution, texts_in
from workbench.executors.compiled.lower.tables import FULL
from workbench.extras import install_extra
from workbench.ir.ring_buffer import ENDLESS, name_max_waited
from workbench.processors.held.group import flatten

if TYPE_CHECKING:
    from workbench.executors.compiled.execute.columns import OutputColumn
    from workbench.executors.compiled.execute.outputs import OutputArrays
    from workbench.executors.pending import Pool
    from workbench.ir.system import System

WARM_UP_STEPS = 20_000
"""Steps run in plain Python before the loop is compiled, which takes as long as some 100 000 of them."""

SEARCHED = 32
"""Weight of a step that may search all rows of a table or all entries of a map."""


class _OutOfCapacity(Exception):
    """A failure where a queue may have had too little capacity."""


class ColumnExecutor:
    """A running pipeline, compiled, which takes columns of events; `Compiled` describes the parameters."""

    name = "compiled"

    def __init__(
        self,
        pipeline: Program,
        capacities: Mapping[str, int] | None = None,
        *,
        warm_up_steps: int = WARM_UP_STEPS,
        machine: bool = True,
        maps: bool = True,
        schedule: StepSchedule | None = None,
    ) -> None:
        if find_spec("numba") is None:
            raise Refused(f"backend '{self.name}' needs the package numba", hint=install_extra("fast"))
        from workbench.executors.compiled.execute import columns
        from workbench.executors.compiled.execute.outputs import ArrayPool
        from workbench.executors.compiled.execute.queues import allocate

        self._columns = columns
        self.pipeline = pipeline
        known = capacities is None or tuple(sorted(capacities.items()))
        self.flat, self.allocation = graph_of(pipeline).derive(
            ("allocation", self.name, known, maps),
            lambda: (flat := flatten(pipeline), allocate(flat, self.name, capacities, maps=maps)),
        )
        self.threads = 1
        self._schedule = schedule or InTurn()
        self._warm_up_steps, self._warm, self._made = warm_up_steps, False, 0
        self._with_machine = machine and not os.environ.get("NUMBA_DISABLE_JIT", "0").strip("0")
        self._pool = ArrayPool()
        self._take(self.allocation.first)
        self.loops.loop(LoopKind("sparse"))  # refuses constructs without code now
        self.reset()

    def _take(self, system: System) -> None:
        """Switch to a system of the pipeline, in its initial state."""
        from workbench.executors.compiled.execute.state import LoopArrays
        from workbench.executors.compiled.execute.text_codes import TextCodes

        form = shape(system)
        if not hasattr(self, "texts"):
            self.texts = TextCodes(texts_in(system))
        state = LoopArrays(system, form, self.texts)
        state.reset()
        self.loops = SystemLoops(system, form, machine=self._with_machine)
        self.results = [(name, self.flat.domains[pipe], system.pipes[pipe]) for name, pipe in self.flat.outputs]
        self.system, self.form, self._state = system, form, state

    @property
    def narrow(self) -> bool:
        """Whether queues have only the capacity for inputs that come together, and can get more."""
        return self.allocation.wide is not None and self.system is self.allocation.first

    def widen(self) -> None:
        """Let queues grow, if they may need it; the state is unchanged."""
        if self.narrow and self.allocation.wide is not None:
            from workbench.executors.compiled.execute.queues import widen

            before = self._state
            self._take(self.allocation.wide)
            widen(self.flat, before, self._state)
            self._state.look(self.steps, first=True)

    @property
    def needed_capacities(self) -> dict[str, int]:
        """The largest number of events that waited at the end of a step, for each queue without a capacity.

        Queues in which none waited are left out. Until some input has no event in a step, this is what steps with
        events on all inputs need.
        """
        sizes = {queue: self.system.queues[queue].capacity for queue in self.allocation.open}
        capacities = {q: self._state.number(name_max_waited(q)) if n == ENDLESS else n for q, n in sizes.items()}
        return {queue: capacity for queue, capacity in capacities.items() if capacity}

    @property
    def state(self) -> list[Any]:
        """The arrays that hold the state: integers, floats, and the memories."""
        return self._state.arrays

    def reset(self) -> None:
        """Return to the state before the first event."""
        self._state.reset()
        self._ended = set[str]()
        self.steps = 0
        """Number of steps so far; the first one is step 0."""

    def share(self, pool: Pool) -> None:
        """Share a thread pool that also does other work."""
        self._schedule.share(pool)

    # --- whole columns --------------------------------------------------------------------------------------

    def feed(
        self, streams: Any, present: Mapping[str, Any] | None = None, *, steps: bool = False, reuse: bool = False
    ) -> dict[str, OutputColumn]:
        """Run steps on columns: step i takes the i-th event of every input; return a column per output.

        The state is kept, so a long stream can be fed in pieces.

        Parameters
        ----------
        streams: an array of events per input, all of one length (a tuple of arrays for a tuple or record), or a list
            of Python values; by input name, or bare for a single input. An input that is not named has no events.
        present: an array of bools for inputs that do not have an event in every step.
        steps: whether to return the step of each output event.
        reuse: whether the next `feed` may overwrite the returned arrays, which saves allocations.

        Returns
        -------
        Output name to `OutputColumn`: arrays of the events, one per scalar field.

        Raises
        ------
        DomainError, Overflow: in one of the steps; then none of them takes effect.
        """
        self.check_open()
        flags = present or {}
        named_streams = streams if isinstance(streams, Mapping) else self.flat.ports.streams(streams)
        for name in (*named_streams, *flags):
            self.flat.ports.position(name)
            if name not in named_streams:
                raise PipelineError(f"'present' marks the steps in which input '{name}' has events, but none are given")
        columns = {
            name: self._columns.column(name, domain, named_streams[name], flags.get(name), self.texts)
            for name, domain in self.flat.inputs
            if name in named_streams
        }
        for name, column in columns.items():
            if name in self._ended and (column.present is None or column.present.any()):
                self.check_open(name)
        lengths = {name: len(column.fields[0]) for name, column in columns.items()}
        if len(set(lengths.values())) > 1:
            listing = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise PipelineError(
                f"the inputs have different numbers of steps: {listing}",
                hint="make their lengths equal, and mark with `present` the steps in which an input has an event",
            )
        return self.fed(columns, next(iter(lengths.values()), 0), steps, reuse=reuse)

    def finish(self, name: str | None = None) -> dict[str, OutputColumn]:
        """End one input, or all that are open; return the output that this causes, as `feed` does.

        A processor finishes when all its inputs have ended; its output then flows on before the processors downstream
        finish in turn.
        """
        if name is not None:
            self.flat.ports.position(name)
        self.check_open(name)
        columns = {each: self._columns.silent(domain, 1) for each, domain in self.flat.inputs}
        last = name is not None and len(self._ended) + 1 < len(self.flat.inputs)
        outputs = self.fed(columns, 1, True, kind=f"ending {name}" if last else "ending")
        self._ended |= {each for each in columns if name in (None, each)}
        return outputs

    def fed(
        self, columns: dict[str, Any], count: int, with_steps: bool, *, kind: str = "", reuse: bool = False
    ) -> dict[str, OutputColumn]:
        """Run steps on checked columns, as `feed` does."""
        if not kind and (len(columns) < len(self.flat.inputs) or any(c.present is not None for c in columns.values())):
            self.widen()
        self._state.lay_maps()
        saved, before = self._state.save(), self.steps
        columns |= {n: self._columns.silent(domain, count) for n, domain in self.flat.inputs if n not in columns}
        wrong = min((c.wrong for c in columns.values() if c.wrong), key=lambda each: int(each[0]), default=None)
        try:
            outputs = self._run(columns, count if wrong is None else wrong[0], with_steps, kind, reuse, saved)
            if wrong is not None:
                raise wrong[1].retold(f"step {self.steps}: {wrong[1].what}", where="").at(step=self.steps)
        except _OutOfCapacity:
            self._state.restore(saved)
            self.steps = before
            self.widen()
            return self.fed(columns, count, with_steps, kind=kind, reuse=reuse)
        except BaseException:
            self._state.restore(saved)
            self.steps = before
            raise
        self._state.forget_maps()
        self.texts.forget(self._state.texts_held, self._state.texts_used())
        return outputs

    def _run(
        self, columns: dict[str, Any], count: int, with_steps: bool, kind: str, reuse: bool, snapshot: list[Any]
    ) -> dict[str, OutputColumn]:
        """Run steps; return the outputs."""
        import numpy as np

        ordered = [columns[name] for name, _ in self.flat.inputs]
        full = all(column.present is None for column in ordered)
        inputs = [array for column in ordered for array in column.fields]
        if not full and not kind:
            inputs += [np.ones(count, np.bool_) if c.present is None else c.present for c in ordered]
        start = self.steps
        outputs = self._allocate(count, with_steps, reuse=reuse)
        kind = kind or ("dense" if full else "sparse")
        before = [self._state.content(pipe.slots[0].value) for _, _, pipe in self.results]
        for first, last, loop in self._plan(count, kind, with_steps):
            if self.steps > start:
                snapshot = self._state.keep()
            counts = outputs.counts.copy()
            while self._bad(loop, first, last, inputs, outputs):
                if outputs.enlarge(counts):
                    self._state.restore(snapshot)
                elif self._state.enlarge(snapshot, FULL, last - first) or self._state.lengthen(snapshot, self.steps):
                    snapshot, outputs.counts[:] = self._state.keep(), counts
                elif self.narrow:
                    raise _OutOfCapacity
                else:
                    self._examine(snapshot, first, last, inputs, kind)
                    break
            self._state.grow(last - first)
            self._state.look(self.steps + last - first)
            self.steps += last - first
        return outputs.columns(start, before)

    def _bad(self, loop: Loop, first: int, last: int, inputs: Sequence[Any], outputs: OutputArrays) -> bool:
        """Run steps with a loop; return whether one of them may have failed."""
        whole, real, *memories = self.state
        return bool(loop(first, last, whole, real, outputs.counts, *memories, *inputs, *outputs.arrays, *outputs.spots))

    def _allocate(self, count: int, with_steps: bool, *, reuse: bool = False) -> OutputArrays:
        """Allocate arrays for the outputs of `count` steps from here."""
        from workbench.executors.compiled.execute.outputs import OutputArrays, compute_capacity

        self._pool.begin()
        sizes = [compute_capacity(pipe, count, self._state) for _, _, pipe in self.results]
        empty = self._pool.empty if reuse else self._columns.empty
        fields, texts = [fields for _, fields in self.form.results], self.texts.reader()
        return OutputArrays(self.results, fields, sizes, empty, with_steps=with_steps, texts=texts)

    # --- the choice of loops for steps -----------------------------------------------------------------------

    def _plan(self, count: int, kind: str, with_steps: bool) -> Iterator[StepRange]:
        """Yield successive ranges of steps with their loops, chosen as the state evolves."""
        self._made += count
        searches = self.loops.searches
        self._warm = self._warm or self._made * (SEARCHED if searches else 1) > self._warm_up_steps
        begin, machine = 0, self._warm and (searches or not kind.startswith("ending"))
        if machine and kind == "dense" and self.loops.distance(self.state) is not None:
            # the steps before the steady part, and after its last round, are few: they need no machine code
            first, last = self.steady_part(count)
            yield from self._schedule.ranges(self, 0, first, LoopKind(kind, with_steps))
            steady = LoopKind("steady", with_steps, machine=True, size=len(self.phases("steady")))
            yield from self._schedule.ranges(self, first, last, steady)
            begin, machine = last, False
        yield from self._schedule.ranges(self, begin, count, LoopKind(kind, with_steps, machine=machine))

    def phases(self, kind: str) -> Sequence[Substitution]:
        """Return the constants of successive steps in a loop of this kind: see `list_known`; or `steady`."""
        return self.loops.phases(kind)

    def fitting(self) -> int:
        """Return the number of steps for which tables have space, at the present fill rate."""
        return self._state.fitting()

    def steady_part(self, count: int) -> tuple[int, int]:
        """Return the start and the end of the steady part in `count` steps in which every input has an event."""
        distance = self.loops.distance(self.state)
        if distance is None or distance >= count:
            return count, count
        size = len(self.phases("steady"))
        return distance, distance + (count - distance) // size * size

    def _examine(self, before: list[Any], first: int, last: int, inputs: list[Any], kind: str) -> None:
        """Find the step that failed, and raise its error; return after a false alarm."""
        after = self._state.copy()
        self._state.restore(before)
        loop = self.loops.loop(LoopKind(kind))
        for position in range(first, last):
            here = [array[position : position + 1] for array in inputs]
            saved = self._state.copy()
            while self._bad(loop, 0, 1, here, self._allocate(1, False)):
                if not (self._state.enlarge(saved, FULL) or self._state.lengthen(saved, self.steps)):
                    self._state.restore(saved)
                    raise overflow_in(self.system, self.form, self.state, self.steps + position - first, here, kind)
                saved = self._state.copy()
        self._state.restore(after)

    def check_open(self, name: str | None = None) -> None:
        """Refuse to continue where an input has ended, or all of them."""
        if len(self._ended) < len(self.flat.inputs) and name not in self._ended:
            return
        several = len(self._ended) == len(self.flat.inputs)
        what = f"the inputs of {self.flat.ports.of} have" if several else f"input '{name}' has"
        raise PipelineError(f"step {self.steps}: {what} ended", hint="call reset() to start afresh").at(step=self.steps)
