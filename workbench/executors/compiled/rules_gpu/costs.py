"""What a rule costs on a device, as a model: kernels that are started, waits for the device, and words moved.

The rule of this module: it counts what the code does, which tests hold it to; times are made of these counts and of
what somebody says of a device. None has been measured.

Source: Cugola and Margara, 5.3 to 5.5 and 6 (what starts, copies and memory cost).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.executors.compiled.rules.layout import VALUES
from workbench.executors.compiled.rules_gpu.device_step import DeviceStep
from workbench.executors.compiled.rules_gpu.kernel_source import KernelSource
from workbench.tesla.resolved import OWN, slots

STRETCH = 1 << 14
"""Events that are taken together; those behind them are copied meanwhile."""
TO_ADOPT = 4
"""Kernels that put events of a stretch on top of a column: counted, added up, written, counted with the others."""
WORD = 8


@dataclass(frozen=True)
class KernelCost:
    """What a stretch of events costs a rule that consumes nothing; one that does takes triggers one by one.

    Attributes
    ----------
    columns: that it looks into. copied: bytes of an event of each of their types.
    kernels, waits: for a stretch with matches, without its columns; scans of many numbers take some more.
    read: bytes of each candidate, step by step.
    written: bytes of a composite.
    one_by_one: whether this is for each trigger, and not for a stretch.
    """

    columns: int
    copied: int
    kernels: int
    waits: int
    read: Sequence[int]
    written: int
    one_by_one: bool

    def seconds(self, device: DeviceSpeed, triggers: float, candidates: Sequence[float], composites: float) -> float:
        """What a stretch takes.

        Parameters
        ----------
        triggers: how many there are. candidates: of each step, for one trigger. composites: of one trigger.
        """
        turns = triggers if self.one_by_one else 1
        started = TO_ADOPT * self.columns + turns * self.kernels
        inside = triggers * sum(count * size for count, size in zip(candidates, self.read, strict=True))
        across = STRETCH * self.copied + triggers * composites * self.written
        busy = started * device.start + turns * self.waits * device.wait + inside / device.memory
        return busy + max(0.0, across / device.bus - busy)  # copies go on while kernels run


@dataclass(frozen=True)
class DeviceSpeed:
    """What is said of a device: seconds for a start and a wait, bytes a second in its memory and to the host."""

    start: float
    wait: float
    memory: float
    bus: float


def kernel_cost(source: KernelSource) -> KernelCost:
    """The cost of a rule."""
    kernels, waits = 3, 1  # triggers are counted, added up and written
    for each in source.steps[1:]:
        kernels += 2 + (each.total >= 0) + (3 if each.each else 0 if each.counted else 1)
        waits += 2 if each.each else 1
    plans = [each.planned for each in source.steps if each.planned is not None]
    columns = {source.places[planned.column] for planned in plans if not planned.step.fact}
    types = {each.step.type: VALUES + len(each.step.declared.attributes) for each in source.steps if not each.step.fact}
    return KernelCost(
        len(columns), WORD * max(types.values()), kernels + 3, waits + 4, [_read(each) for each in source.steps[1:]],
        WORD * (source.size + source.keys), source.consumes,
    )  # fmt: skip


def _read(each: DeviceStep) -> int:
    """Bytes of a candidate that are read."""
    assert each.planned is not None
    if each.counted:
        return 0
    own = {slot.name for slot in slots(*each.planned.constraints) if slot.place == OWN and slot.is_attribute}
    own |= {each.aggregate.attribute} - {None} if each.aggregate is not None else set()  # type: ignore[arg-type]
    return WORD * (len(own) + bool(own))


__all__ = ["STRETCH", "TO_ADOPT", "DeviceSpeed", "KernelCost", "kernel_cost"]
