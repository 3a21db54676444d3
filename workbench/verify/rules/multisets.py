"""Events of one step as multisets: what pipes carry, whatever the order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.core.domain import Range
from workbench.core.ops import ADD, EQ, GE, both, conjunction, either, ite, negate
from workbench.core.processor import Maybe
from workbench.core.term import FALSE, Term, const, leaves
from workbench.ir.system import System
from workbench.verify.ask.properties import pipe_named


def carried_by(system: System, output: str) -> list[Maybe]:
    """What an output may carry in a step."""
    return [slot for slot in pipe_named(system, output).slots if slot.present is not FALSE]


def all_among(some: Sequence[Maybe], others: Sequence[Maybe]) -> Term:
    """Whether each event of some is among the others, as often as there."""
    found = [either(negate(each.present), GE(_times(others, each.value), _times(some, each.value))) for each in some]
    every: Term = conjunction(found)
    return every


def same_events(some: Sequence[Maybe], others: Sequence[Maybe]) -> Term:
    """Whether they are the same, whatever the order."""
    found: Term = both(all_among(some, others), all_among(others, some))
    return found


def _times(slots: Sequence[Maybe], value: Any) -> Any:
    """How often there is an event with this value."""
    total: Any = const(0, Range(0, 0))
    for slot in slots:
        equal = conjunction(EQ(a, b) for a, b in zip(leaves(slot.value), leaves(value), strict=True))
        total = ADD(total, ite(both(slot.present, equal), 1, 0))
    return total
