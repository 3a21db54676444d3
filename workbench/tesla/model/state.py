"""The state of a run as terms: nested tuples of which some parts are variables, and records that stand in a line.

The rule of this module: what a state consists of is written once, as a template; from it come the variables of a
machine, the state that holds given values, and the values that a state holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, TypeVar

from workbench.core.domain import Domain, Value
from workbench.core.ops import both, either, ite, negate
from workbench.core.processor import Slot
from workbench.core.term import FALSE, Term, leaves


@dataclass(frozen=True)
class VariablePart:
    """A part of a template that is not the same in all states."""

    name: str
    domain: Domain
    initial: Value


T = TypeVar("T", bound=tuple[Any, ...])


def variables(template: tuple[Any, ...]) -> list[Slot]:
    """The variables of a template, in order."""
    found = (each for each in leaves(template) if isinstance(each, VariablePart))
    return [Slot(each.name, each.domain, each.initial) for each in found]


def fill_in(template: T, values: Iterator[Any]) -> T:
    """The state whose variables have these values."""

    def fill(part: Any) -> Any:
        if not isinstance(part, tuple):
            return next(values) if isinstance(part, VariablePart) else part
        parts = list(map(fill, part))
        return type(part)(*parts) if hasattr(part, "_fields") else tuple(parts)

    found: T = fill(template)
    return found


def values_of(template: tuple[Any, ...], state: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values of the variables of a template in a state."""
    parts = zip(leaves(template), leaves(state), strict=True)
    return tuple(value for part, value in parts if isinstance(part, VariablePart))


class LineRecord(Protocol):
    """A named tuple of terms that stands in a line, where there may be none."""

    @property
    def present(self) -> Term:
        """Whether there is one."""

    @property
    def vacant(self) -> Term:
        """Whether there is none."""

    @property
    def empty(self) -> Self:
        """What stands there where there is none."""


R = TypeVar("R", bound=LineRecord)


def choose(when: Any, one: R, other: R) -> R:
    """One record where a condition holds, else the other."""
    make: Any = type(one)
    found: R = make(*ite(when, one, other))
    return found


def compact(line: Sequence[R]) -> list[R]:
    """The same records in the same order, with no empty slot before a full one."""
    done: list[R] = []
    for record in line:
        free: Any = FALSE
        after: list[R] = []
        for other in done:  # it goes into the first empty slot of those before it
            after.append(choose(both(record.present, both(other.vacant, negate(free))), record, other))
            free = either(free, other.vacant)
        done = [*after, choose(both(record.present, negate(free)), record, record.empty)]
    return done
