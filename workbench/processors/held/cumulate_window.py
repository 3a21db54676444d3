"""Windows over cumulations, folded incrementally if the function is associative.

An associative function is folded with two stacks (the method is folklore; Tangwongsan, Hirzel and Schneider, "In-order
sliding-window aggregation in worst-case constant time", VLDB J. 30, 2021, section 2). One holds the older events, each
with the fold from that event to the youngest in this stack; the other holds the younger events and the fold of all of
them. An event costs three calls, for every width. Both are linked lists, since a state is a value.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

from workbench.core.domain import Range, Value
from workbench.core.function import TypedFunction, require_typed
from workbench.core.pipeline import Pipeline
from workbench.core.processor import NOTHING, Maybe, Processor, State
from workbench.processors.cumulate import Cumulate
from workbench.processors.held.group import Group

FLAT = 4
"""The greatest width at which a window is folded anew."""


Stack = tuple[Value, Value, Any]
"""An event, the fold from it to the end of its part, and the stack below it, or None."""


class CumulateWindow(NamedTuple):
    """A window of a cumulation. Its state: the last events; with `stacks` their number, and the two stacks."""

    width: int
    function: Callable[[Value, Value], Value]
    start: Value
    stacks: bool

    def initial(self) -> State:
        """Return the state without events."""
        return (0, None, None, 0) if self.stacks else ()

    def step(self, state: State, value: Value) -> tuple[State, tuple[Maybe, ...]]:
        """Add one event."""
        if not self.stacks:
            events = (*state, value)
            if len(events) < self.width:
                return events, (NOTHING,)
            return events[1:], (Maybe(True, reduce(self.function, events, self.start)),)
        return self._with_stacks(state, value)

    def _with_stacks(self, state: State, value: Value) -> tuple[State, tuple[Maybe, ...]]:
        count, old, young, inexact = state
        # a float among integers: the order of operations matters as long as it is in the window
        inexact = self.width if type(value) is float else max(0, inexact - 1)
        if count == self.width:  # the oldest leaves
            if old is None:
                old, young = self._turn_stack(young), None
            old = old[2]
        else:
            count += 1
        young = (value, value if young is None else self.function(young[1], value), young)
        state = (count, old, young, inexact)
        if count < self.width:
            return state, (NOTHING,)
        if inexact:
            return state, (Maybe(True, reduce(self.function, _events(old, young), self.start)),)
        total = young[1] if old is None else self.function(old[1], young[1])
        return state, (Maybe(True, self.function(self.start, total)),)

    def _turn_stack(self, young: Stack | None) -> Any:
        """Return the younger events as a stack of older ones: the oldest on top."""
        old: Stack | None = None
        while young is not None:
            value, _, young = young
            old = (value, value if old is None else self.function(value, old[1]), old)
        return old


def _events(old: Stack | None, young: Stack | None) -> list[Value]:
    """Return the events of a window, the oldest first."""
    older, younger = [], []
    while old is not None:
        older.append(old[0])
        old = old[2]
    while young is not None:
        younger.append(young[0])
        young = young[2]
    return older + younger[::-1]


def cumulation(inner: Processor) -> Cumulate | None:
    """Return the cumulation that a typed processor is, or that a group applies to its only input."""
    if isinstance(inner, Group):
        if not is_single(inner.flat):
            return None
        inner = inner.flat.typed[inner.flat.nodes[0].name]
    return inner if type(inner) is Cumulate and isinstance(inner.function, TypedFunction) else None


def is_single(flat: Pipeline) -> bool:
    """Whether a pipeline is its only processor: it has the same inputs and outputs."""
    if len(flat.nodes) != 1:
        return False
    (node,) = flat.nodes
    return [name for name, _ in flat.inputs] == [*node.inputs] and [pipe for _, pipe in flat.outputs] == [*node.outputs]


def associative(inner: Processor) -> Cumulate | None:
    """Return the cumulation that a typed processor is, if its function is associative on its events."""
    cumulate = cumulation(inner)
    if cumulate is None or cumulate.domain is None:
        return None
    function = require_typed(cumulate.function)
    # the operators on ranges are those of all integers, so what holds on the range of the totals holds on all ranges
    same = all(domain == cumulate.domain or isinstance(domain, Range) for domain in function.domains)
    return cumulate if same and not function.obliged and function.function.is_associative(cumulate.domain) else None


def fold_of(width: int, inner: Processor) -> CumulateWindow | None:
    """Return the fold of a window over this typed processor; None if it is not a cumulation."""
    cumulate = cumulation(inner)
    if cumulate is None:
        return None
    function = require_typed(cumulate.function).plain
    return CumulateWindow(width, function, cumulate.start, width > FLAT and associative(inner) is not None)
