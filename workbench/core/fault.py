"""Faults: what may go wrong on a pipe, as a description.

A fault changes nothing by itself: a pipeline says which faults its pipes have, and `faults.inject` puts a processor
on each such pipe that lets them happen when an oracle says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from workbench.core.domain import Domain, ModelScope
from workbench.core.function import Function
from workbench.errors import Location, PipelineError


class Kind(StrEnum):
    """What can happen to an event."""

    LOSE = "lose"
    """It does not come out."""
    DUPLICATE = "duplicate"
    """It comes out twice, in one step."""
    DELAY = "delay"
    """It comes out up to so many steps later, and the events behind it wait for it."""


@dataclass(frozen=True)
class Fault:
    """What may happen, any time, to the events on a pipe.

    Parameters
    ----------
    pipe: the name of the pipe; inside a group `group.add`.
    by: of a delay, the most steps.
    most: how many events it happens to at most; None: any number.
    when: a function from the event to a truth value: it happens only to events of which it is true.
    where: the place in the text that says so.

    Raises
    ------
    PipelineError: a number that is not positive, or a delay without steps.
    """

    kind: Kind
    pipe: str
    by: int = 0
    most: int | None = None
    when: Function | None = None
    where: Location | str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        if (self.kind is Kind.DELAY) != (self.by > 0) or self.by < 0:
            what = "needs" if self.kind is Kind.DELAY else "has no"
            raise PipelineError(
                f"{self.kind} {self.pipe} {what} number of steps",
                where=self.where,
                hint="write delay y by 2, for at most 2 steps",
            )
        if self.most is not None and self.most < 1:
            raise PipelineError(
                f"a fault happens to at least one event, not to {self.most}", where=self.where, hint="leave it out"
            )

    def resolve(self, over: Domain | ModelScope) -> Fault:
        """This fault with the unbounded types in its condition replaced."""
        return self if self.when is None else replace(self, when=self.when.resolve(over))

    def __str__(self) -> str:
        by = f" by {self.by}" if self.by else ""
        most = "" if self.most is None else f" at most {self.most}"
        when = "" if self.when is None else f" when {self.when}"
        return f"{self.kind} {self.pipe}{by}{most}{when}"


def lose(pipe: str, *, most: int | None = None, when: Function | None = None) -> Fault:
    """Events of the pipe may be lost (see `Fault`)."""
    return Fault(Kind.LOSE, pipe, most=most, when=when)


def duplicate(pipe: str, *, most: int | None = None, when: Function | None = None) -> Fault:
    """Events of the pipe may come twice (see `Fault`)."""
    return Fault(Kind.DUPLICATE, pipe, most=most, when=when)


def delay(pipe: str, by: int, *, most: int | None = None, when: Function | None = None) -> Fault:
    """Events of the pipe may come up to `by` steps later, in order (see `Fault`)."""
    return Fault(Kind.DELAY, pipe, by, most, when)
