"""The state of a run as terms: nested tuples in which some parts are variables, and lines of records.

The rule of this module: the structure of a state is defined once, as a template; it determines the variables of a
machine, the state with given values, and the values of a state.
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
    """A part of a template that is a variable."""

    name: str
    domain: Domain
    initial: Value


T = TypeVar("T", bound=tuple[Any, ...])


def variables(template: tuple[Any, ...]) -> list[Slot]:
    """Return the variables of a template, in order."""
    parts = (each for each in leaves(template) if isinstance(each, VariablePart))
    return [Slot(each.name, each.domain, each.initial) for each in parts]


def fill_in(template: T, values: Iterator[Any]) -> T:
    """Return the state whose variables have these values."""

    def fill(part: Any) -> Any:
        if not isinstance(part, tuple):
            return next(values) if isinstance(part, VariablePart) else part
        parts = list(map(fill, part))
        return type(part)(*parts) if hasattr(part, "_fields") else tuple(parts)

    state: T = fill(template)
    return state


def values_of(template: tuple[Any, ...], state: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the values of a template's variables in a state."""
    parts = zip(leaves(template), leaves(state), strict=True)
    return tuple(value for part, value in parts if isinstance(part, VariablePart))


class LineRecord(Protocol):
    """A record of a line: a named tuple of terms, which may be empty."""

    @property
    def present(self) -> Term:
        """Whether it is present."""

    @property
    def vacant(self) -> Term:
        """Whether it is empty."""

    @property
    def empty(self) -> Self:
        """The empty record."""


R = TypeVar("R", bound=LineRecord)


def choose(when: Any, one: R, other: R) -> R:
    """Return one record if a condition holds, otherwise the other."""
    make: Any = type(one)
    record: R = make(*ite(when, one, other))
    return record


def compact(line: Sequence[R]) -> list[R]:
    """Return the records in the same order, with empty ones moved to the end."""
    done: list[R] = []
    for record in line:
        free: Any = FALSE
        after: list[R] = []
        for other in done:  # it goes into the first empty slot before it
            after.append(choose(both(record.present, both(other.vacant, negate(free))), record, other))
            free = either(free, other.vacant)
        done = [*after, choose(both(record.present, negate(free)), record, record.empty)]
    return done
