"""Windows over associative functions, in arrays: a step costs the same, or little more, for every width.

Folding a window anew costs as many operations as it is wide. An associative function allows less
(Tangwongsan, Hirzel and Schneider, "In-order sliding-window aggregation in worst-case constant time", VLDB J. 30, 2021,
compare such methods). Here are two that do the same work in every step:

- if the function has an inverse, the event that leaves the window is removed from the total;
- otherwise the folds of the last 1, 2, 4, ... events are kept, each from two earlier ones, and the window is combined
  from those in the binary form of its width: a step costs about log2 of the width.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from workbench.core.domain import Domain, Integers, Range
from workbench.core.function import remove_types, require_typed
from workbench.core.memory import Array, Cells
from workbench.core.ops import EQ, LT, MOD, as_term, ite, restrict_to_range
from workbench.core.processor import Machine, Maybe, Processor, Slot, State, Stored
from workbench.core.range_escape import can_escape
from workbench.core.term import const
from workbench.processors.cumulate import Cumulate
from workbench.processors.held.cumulate_window import associative

NARROW = 8
"""The greatest width at which folding the window anew is as fast."""


def sliding(width: int, inner: Processor, inputs: tuple[Domain, ...]) -> Stored | None:
    """Return the window's machine; None if folding it anew is best."""
    cumulate = associative(inner)
    if cumulate is None or width <= NARROW:
        return None
    (events,) = inputs
    if can_remove(cumulate, events):
        return _removing(width, cumulate, events)
    return _doubling(width, cumulate) if can_double(cumulate, events) else None


def can_remove(cumulate: Cumulate, events: Domain) -> bool:
    """Whether events can be removed from a total: before the first event, the default must remove nothing."""
    return remove_types(cumulate.function).inverse is not None and events.default == 0


def can_double(cumulate: Cumulate, events: Domain) -> bool:
    """Whether folds of parts of a window are values like its result, and all of them fit into words."""
    return events == cumulate.domain and not can_escape([require_typed(cumulate.function).body], Integers)


def _read_seen(width: int, count: Any) -> Any:
    return ite(EQ(count, width - 1), count, count + 1)


def _next(position: Any, size: int) -> Any:
    return ite(EQ(position, size - 1), 0, position + 1)


def _removing(width: int, cumulate: Cumulate, event_domain: Domain) -> Stored:
    """Maintain the total of the window, from which the oldest event is removed when a new one comes."""
    domain = cumulate.domain
    assert domain is not None
    slots = (
        Slot("seen", Range(0, width - 1), 0),
        Slot("oldest", Range(0, width - 1), 0),
        Slot("total", domain, cumulate.start),
    )

    def machine(cells: Sequence[Cells]) -> Machine:
        (events,) = cells

        def step(state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
            (count, oldest, total), (value,) = state, front
            after = as_term(
                restrict_to_range(_replace_oldest(cumulate, total, value, events.at(oldest, width)), domain), domain
            )
            events.put(oldest, value)
            full = EQ(count, width - 1)
            return (_read_seen(width, count), _next(oldest, width), after), (Maybe(full, after),)

        return Machine(slots, step)

    return Stored({"events": Array(event_domain, width)}, machine)


def _replace_oldest(cumulate: Cumulate, total: Any, value: Any, oldest: Any) -> Any:
    """Replace one event in a total by another; an intermediate total overflows a word only where the result does."""
    function: Any = cumulate.function
    inverse = function.function.inverse
    whole = inverse(function(total, value), oldest)
    if not can_escape([whole], Integers):
        return whole
    # an event of the total's sign is added last: by then the removed one has made it smaller, or larger anyway
    return ite(EQ(LT(total, 0), LT(value, 0)), function(inverse(total, oldest), value), whole)


def _doubling(width: int, cumulate: Cumulate) -> Stored:
    """Maintain folds of the last 1, 2, 4, ... events; earlier folds are remembered for that number of steps."""
    domain, function = cumulate.domain, require_typed(cumulate.function)
    assert domain is not None
    sizes = [1 << i for i in range(width.bit_length())]
    delays = sizes[:-1] + [size for size in sizes if size & width and size > width & -width]
    largest = max(delays)
    arrays = {f"delay{i}": Array(domain, size) for i, size in enumerate(delays)}
    slots = (Slot("seen", Range(0, width - 1), 0), Slot("now", Range(0, largest - 1), 0))

    def machine(cells: Sequence[Cells]) -> Machine:
        def step(state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
            (count, now), (value,) = state, front
            memories = iter(cells)
            folds = [value]
            for size in sizes[:-1]:
                folds.append(function(_delay(memories, now, size, folds[-1]), folds[-1]))
            total: Any = None
            for size, fold in zip(sizes, folds, strict=True):
                if size & width:
                    total = fold if total is None else function(_delay(memories, now, size, total), fold)
            result = as_term(function(const(cumulate.start, domain), total), domain)
            full = EQ(count, width - 1)
            return (_read_seen(width, count), _next(now, largest)), (Maybe(full, result),)

        return Machine(slots, step)

    return Stored(arrays, machine)


def _delay(memories: Iterator[Cells], now: Any, steps: int, value: Any) -> Any:
    """Return the value of `steps` steps ago."""
    cells, position = next(memories), MOD(now, steps)
    before = cells.at(position, steps)
    cells.put(position, value)
    return before
