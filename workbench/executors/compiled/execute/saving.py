"""The state of a compiled executor between two steps, saved and restored."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.errors import StateError
from workbench.executors.compiled.execute.steps import Stepping
from workbench.executors.compiled.lower.shape import shape
from workbench.executors.snapshot import HINT, fingerprint
from workbench.ir.system import System
from workbench.stored import mark_of, opened, sealed

if TYPE_CHECKING:
    from workbench.executors.compiled.execute.queues import Allocation


class Saving(Stepping):
    """What saves an executor of columns (`Compiled`, which has what is declared here)."""

    name: str
    allocation: Allocation
    _ended: set[str]
    _marks: dict[bool, bytes]
    _take: Callable[[System], None]

    def snapshot(self) -> bytes:
        """The state between two steps, for `restore` of an executor of the same pipeline; `executors/snapshot.py`.

        The number of steps (8 bytes), whether each input has ended (1 byte each), the length of each array of `state`
        (8 bytes), and the arrays, little endian.
        """
        head = self.steps.to_bytes(8, "little") + bytes(name in self._ended for name, _ in self.flat.inputs)
        return sealed(self._mark(self.system), head + self._state.to_bytes())

    def restore(self, snapshot: bytes) -> None:
        """Go on from a saved state.

        Raises
        ------
        StateError: it is damaged, or of another pipeline; then nothing has changed.
        """
        mine = (each for each in self.allocation[:2] if each and self._mark(each) == mark_of(snapshot))
        system = next(mine, self.system)
        payload = opened(self._mark(system), snapshot)
        if system is not self.system:
            self._take(system)
        start = 8 + len(self.flat.inputs)
        if not self._state.read(payload[start:]):
            raise StateError("this state is damaged: it has another length", hint=HINT)
        self.steps = int.from_bytes(payload[:8], "little")
        self._ended = {name for (name, _), over in zip(self.flat.inputs, payload[8:start], strict=True) if over}
        self._state.look(self.steps, first=True)

    @property
    def fingerprint(self) -> bytes:
        """What tells the states of this pipeline from those of others."""
        return self._mark(self.allocation.first)

    def _mark(self, system: System) -> bytes:
        """Digest of the pipeline and of the layout of its state in a system of it, whatever code computes it."""
        first = system is self.allocation.first
        if first not in self._marks:
            variables = [(each.name, each.domain, each.initial) for each in system.variables]
            capacities = [(queue.name, queue.capacity) for queue in system.queues.values()]
            self._marks[first] = fingerprint(self.name, self.flat, variables, shape(system).memories, capacities)
        return self._marks[first]
