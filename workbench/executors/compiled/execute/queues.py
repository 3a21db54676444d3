"""Queues without a capacity: their initial capacity, and its growth.

The rule of this module: the user need not decide, and no estimate is trusted. A queue that provably never holds an
event has no storage. The others initially get the capacity that they need where every input has an event in every step,
as far as counters show: so inputs that come together cost no more than one. If that is too little, they get growing
storage (`ir.ring_buffer.ENDLESS`), and the steps are repeated.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from workbench.core.fields import scalars
from workbench.core.fold import Substitute
from workbench.core.join import Join
from workbench.core.pipeline import Pipeline
from workbench.core.term import FALSE
from workbench.executors.compiled.execute.state import LoopArrays
from workbench.executors.compiled.lower.periodic_part import LONGEST, circles
from workbench.executors.compiled.lower.system import dense, find_capacities, find_constants, translate
from workbench.ir.ring_buffer import ENDLESS, is_long, name_max_waited
from workbench.ir.system import System


class Allocation(NamedTuple):
    """The systems that a pipeline may run as.

    Attributes
    ----------
    first: queues have the capacity needed where all inputs come together.
    wide: queues grow; None where none needs to, or it is `first`.
    open: the queues without a capacity that can hold events.
    """

    first: System
    wide: System | None = None
    open: tuple[str, ...] = ()


def allocate(flat: Pipeline, backend: str, capacities: Mapping[str, int] | None, *, maps: bool = False) -> Allocation:
    """Build the systems of a pipeline, given the capacities that are set; see `translate`."""
    known = find_capacities(flat, capacities)
    bare = [queue for queue in flat.queues if queue not in known]
    closed = translate(flat, backend, known, 0, maps=maps)
    # may a step read such a queue, if it has never held an event?
    empty = Substitute(find_constants(closed))
    if all(empty(closed.inline(closed.queues[queue].overflow)) is FALSE for queue in bare):
        return Allocation(closed)
    wide = translate(flat, backend, known, maps=maps)
    open_queues = tuple(queue for queue in bare if wide.queues[queue].capacity == ENDLESS)
    counted = circles(wide, dense(wide), LONGEST)
    sizes = dict(known)
    for queue in open_queues:
        name = name_max_waited(queue)
        if name in counted:
            column = counted[name].cone.index(name)
            sizes[queue] = max(values[column] for values in counted[name].values)
    if len(sizes) == len(known):
        return Allocation(wide, None, open_queues)
    return Allocation(translate(flat, backend, sizes, maps=maps), wide, open_queues)


def widen(flat: Pipeline, narrow: LoopArrays, wide: LoopArrays) -> None:
    """Copy the state of the system with small queues into the arrays of the system whose queues grow."""
    numbers, arrays = narrow.numbers(), narrow.named()
    for node in flat.nodes:
        queues = [narrow.system.queues[queue] for queue in node.queues]
        if all(wide.system.queues[queue.name].capacity == queue.capacity for queue in queues):
            continue
        domains = tuple(flat.domains[pipe] for pipe in node.inputs)
        slots = Join(domains, tuple(queue.capacity for queue in queues))
        for position, queue in enumerate(queues):
            prefix = f"{node.name}.queue:"
            if is_long(slots.capacities):  # waiting events are in an array already
                waiting = numbers.get(f"{prefix}length{position + 1}", 0)
            else:
                waiting = _move_slots(slots, position, prefix, numbers, wide)
            numbers.setdefault(name_max_waited(queue.name), waiting)
    wide.put(numbers, arrays)


def _move_slots(slots: Join, position: int, prefix: str, numbers: dict[str, Any], wide: LoopArrays) -> int:
    """Copy the events of a queue that are in variables into its array; return their number."""
    brim = slots.brim(position)
    level = numbers[prefix + brim.level]
    waiting: int = max(0, -level if position and len(slots.domains) == 2 else level)
    for path, _ in scalars(slots.domains[position]):
        for index, slot in enumerate(brim.stores[:waiting]):
            array = wide.named()[".".join((f"{prefix}events{position + 1}", *path))]
            array[index] = numbers[".".join((prefix + slot, *path))]
    numbers[f"{prefix}length{position + 1}"] = waiting
    return waiting
