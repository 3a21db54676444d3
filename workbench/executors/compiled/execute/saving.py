"""Saving and restoring the state of a compiled executor between two steps.

The bytes: number of steps (8 bytes), whether each input has ended (1 byte each), length of each array of the state (8
bytes), and the arrays, little endian; then the texts in them, a JSON list.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.errors import StateError
from workbench.executors.compiled.lower.shape import shape
from workbench.executors.snapshot import HINT, fingerprint
from workbench.ir.system import System
from workbench.stored import mark_of, seal, unseal

if TYPE_CHECKING:
    from workbench.executors.compiled.execute.column_executor import ColumnExecutor


def save(one: ColumnExecutor) -> bytes:
    """Return the state of an executor."""
    head = one.steps.to_bytes(8, "little") + bytes(name in one._ended for name, _ in one.flat.inputs)
    return seal(mark_system(one, one.system), head + one._state.to_bytes())


def restore(one: ColumnExecutor, snapshot: bytes) -> None:
    """Restore the state of an executor.

    Raises
    ------
    StateError: the state is damaged, or of another pipeline; then nothing has changed.
    """
    matches = (each for each in one.allocation[:2] if each and mark_system(one, each) == mark_of(snapshot))
    system = next(matches, one.system)
    payload = unseal(mark_system(one, system), snapshot)
    if system is not one.system:
        one._take(system)
    start = 8 + len(one.flat.inputs)
    if not one._state.read(payload[start:]):
        raise StateError("this state is damaged: it has another length", hint=HINT)
    one.steps = int.from_bytes(payload[:8], "little")
    one._ended = {name for (name, _), over in zip(one.flat.inputs, payload[8:start], strict=True) if over}
    one._state.look(one.steps, first=True)


def mark_system(one: ColumnExecutor, system: System) -> bytes:
    """Return a digest of the pipeline and of the layout of its state in a system, whatever code runs it."""
    first = system is one.allocation.first
    if first not in one._marks:
        variables = [(each.name, each.domain, each.initial) for each in system.variables]
        capacities = [(queue.name, queue.capacity) for queue in system.queues.values()]
        one._marks[first] = fingerprint(one.name, one.flat, variables, shape(system).memories, capacities)
    return one._marks[first]
