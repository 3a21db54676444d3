"""The loops of a transition system, each created when first needed, and the ranges of steps that they run."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from workbench.core.encoding import decode
from workbench.core.fold import postorder
from workbench.core.memory import RowSearch
from workbench.executors.compiled.code.loop import Target, loop_source
from workbench.executors.compiled.code.plain import PlainLoop
from workbench.executors.compiled.lower.periodic_part import MAX_PHASES, Steady, steady
from workbench.executors.compiled.lower.shape import Shape
from workbench.executors.compiled.lower.system import Substitution, dense, list_known
from workbench.ir.system import System

if TYPE_CHECKING:
    from workbench.executors.compiled.execute.column_executor import ColumnExecutor
    from workbench.executors.pending import Pool

BLOCK = 1 << 18
"""Number of steps between two checks for failures."""

MAX_LINES = 200
"""Maximum number of lines of a loop that is unrolled over steps: a hundred lines take a second to compile."""

Loop = Callable[..., bool | int]
StepRange = tuple[int, int, Loop]
"""The first step, the end (exclusive), and the loop that runs them."""


class LoopKind(NamedTuple):
    """The kind of steps that a loop runs.

    Attributes
    ----------
    name: its values that are constant: see `list_known`; or `steady`.
    with_steps: whether it records the step of each output event.
    machine: whether it is machine code, where possible.
    size: its number of steps is a multiple of this.
    """

    name: str
    with_steps: bool = False
    machine: bool = False
    size: int = 1


class SystemLoops:
    """The loops of a system.

    Parameters
    ----------
    machine: whether to compile loops; otherwise Python runs the same loops.

    Attributes
    ----------
    made: the loops so far, by kind and whether they are machine code.
    """

    def __init__(self, system: System, form: Shape, *, machine: bool) -> None:
        self.system, self.form, self.machine = system, form, machine
        self.made: dict[tuple[Hashable, bool], Loop] = {}

    def loop(self, kind: LoopKind) -> Loop:
        """Return a loop of this kind."""

        def source(target: Target) -> str:
            return loop_source(self.system, self.phases(kind.name), with_steps=kind.with_steps, target=target)

        return self.get((kind.name, kind.with_steps), source, machine=kind.machine)

    def get(self, key: Hashable, source: Callable[[Target], str], *, machine: bool = True) -> Loop:
        """Return the loop of a source for its target, as machine code or for Python."""
        machine = machine and self.machine
        if (key, machine) not in self.made:
            if machine:
                from workbench.executors.compiled.code.machine import MachineLoop

                self.made[key, machine] = MachineLoop(source("cpu"))
            else:
                self.made[key, machine] = PlainLoop(source("python"))
        return self.made[key, machine]

    def phases(self, kind: str) -> Sequence[Substitution]:
        """Return the constants of successive steps in a loop of this kind: see `list_known`; or `steady`."""
        return self.steady.phases if kind == "steady" else [list_known(self.system, kind)]

    @cached_property
    def searches(self) -> bool:
        """Whether a step may search all rows of a table."""
        nodes = postorder([definition.term for definition in self.system.definitions])
        return any(isinstance(node.op, RowSearch) for node in nodes)

    @cached_property
    def steady(self) -> Steady:
        """The part of the system that is periodic whatever the events are."""
        constants = dense(self.system)
        lines = loop_source(self.system, [constants]).count("\n")
        return steady(self.system, constants, max(1, min(MAX_PHASES, MAX_LINES // lines)))

    def distance(self, state: Sequence[Any]) -> int | None:
        """Return the number of steps to the first phase of the steady part; None if the state does not lead to it."""
        if not self.steady.variables:
            return None
        variables = [(self.system.variables[i], self.form.whole.index(i)) for i in self.steady.variables]
        return self.steady.distance.get(tuple(decode(v.domain, state[0].item(at)) for v, at in variables))


class StepSchedule(Protocol):
    """The order in which steps run, and the threads that run them."""

    def share(self, pool: Pool) -> None:
        """Share a thread pool that also does other work."""

    def ranges(self, one: ColumnExecutor, first: int, last: int, kind: LoopKind) -> Iterator[StepRange]:
        """Yield these steps of an executor in ranges, each of a multiple of `kind.size` steps."""


class InTurn:
    """A schedule that runs all steps one after the other."""

    def share(self, pool: Pool) -> None:
        """Ignore the pool: there is no work to share."""

    def ranges(self, one: ColumnExecutor, first: int, last: int, kind: LoopKind) -> Iterator[StepRange]:
        """Yield these steps in ranges, each of as many steps as the tables have space for."""
        while first < last:
            length = max(1, min(BLOCK, one.fitting()) // kind.size) * kind.size
            yield first, (first := min(first + length, last)), one.loops.loop(kind)
