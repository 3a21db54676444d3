"""Values that a running pipeline computes, whether or not anything depends on them.

An executor is strict: the inner processors of a window compute each of their events, and an event that leaves its
checked domain ends the run. The term of a step is lazy: it lacks what has been simplified away. A step on symbols that
runs inner processors marks their events (`mark_computed`), and `Computed` states when these leave a checked domain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from workbench.core.domain import BOOL, Overflowing
from workbench.core.ops import as_term, both, disjunction
from workbench.core.range_escape import escapes_of
from workbench.core.term import TRUE, Term


@dataclass
class Computed:
    """The values that a step computes, with their conditions."""

    guard: Term = TRUE
    """The condition of the present place in the step."""
    values: list[tuple[Any, Term]] = field(default_factory=list)
    known: list[Term] = field(default_factory=list)
    """Further conditions under which the step leaves a checked domain."""
    ends: list[Term] = field(default_factory=list)
    """Conditions under which the terms of the step, and of later ones, are not what the processor does."""

    @property
    def escape(self) -> Term:
        """The condition that any of the values leaves a checked domain."""
        condition: Term = disjunction([*self.known, escapes_of(self.values, Overflowing.CHECKED)])
        return condition


_COMPUTED: ContextVar[Computed | None] = ContextVar("computed", default=None)


@contextmanager
def strictly(guard: Term) -> Iterator[Computed]:
    """Collect the values that are computed in this context, which is entered when `guard` holds."""
    collector = Computed(guard)
    token = _COMPUTED.set(collector)
    try:
        yield collector
    finally:
        _COMPUTED.reset(token)


@contextmanager
def when(condition: Any) -> Iterator[None]:
    """Restrict the values that are computed in this context to where the condition (a term or a bool) holds."""
    collector = _COMPUTED.get()
    if collector is None:
        yield
        return
    before = collector.guard
    collector.guard = both(before, as_term(condition, BOOL))
    try:
        yield
    finally:
        collector.guard = before


def mark_computed(values: Iterable[Any], present: Any = True) -> None:
    """Record that these values are computed here, where `present` holds."""
    collector = _COMPUTED.get()
    if collector is not None:
        guard = both(collector.guard, as_term(present, BOOL))
        collector.values += [(value, guard) for value in values]


def leaves_domain(condition: Term) -> None:
    """Record a condition under which the step leaves a checked domain here."""
    collector = _COMPUTED.get()
    if collector is not None:
        collector.known.append(both(collector.guard, condition))


def leaves_model(condition: Term) -> None:
    """Record a condition under which the terms of this step, and of later ones, are not what the processor does."""
    collector = _COMPUTED.get()
    if collector is not None:
        collector.ends.append(both(collector.guard, condition))


def find_guard() -> Term:
    """Return the condition under which the present place in the step is computed."""
    collector = _COMPUTED.get()
    return TRUE if collector is None else collector.guard
