"""Descriptions of faults on pipes.

A fault has no effect by itself: a pipeline lists the faults of its pipes, and `faults.inject` puts on each such pipe a
    processor, which makes a fault strike when an oracle decides that it does.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from workbench.core.domain import Domain, ModelScope
from workbench.core.function import Function
from workbench.errors import Location, PipelineError


class Kind(StrEnum):
    """The effect of a fault on an event."""

    LOSE = "lose"
    """The event is lost."""
    DUPLICATE = "duplicate"
    """The event comes twice, in one step."""
    DELAY = "delay"
    """The event comes some steps later, up to a bound, and the events behind it wait for it."""


@dataclass(frozen=True)
class Fault:
    """A fault that may strike events on a pipe at any time.

    Parameters
    ----------
    pipe: the name of the pipe; inside a group `group.add`.
    by: the maximum number of steps of a delay.
    at_most: the maximum number of events it strikes; None: any number.
    when: a function from the event to a truth value: the fault strikes only events for which it is true.
    where: the place of the fault in the text.

    Raises
    ------
    PipelineError: a number that is not positive, or a delay without steps.
    """

    kind: Kind
    pipe: str
    by: int = 0
    at_most: int | None = None
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
        if self.at_most is not None and self.at_most < 1:
            raise PipelineError(
                f"the limit of a fault is at least one event, not {self.at_most}", where=self.where, hint="leave it out"
            )

    def resolve(self, over: Domain | ModelScope) -> Fault:
        """Return this fault with the unbounded types in its condition replaced."""
        return self if self.when is None else replace(self, when=self.when.resolve(over))

    def __str__(self) -> str:
        by = f" by {self.by}" if self.by else ""
        limit = "" if self.at_most is None else f" at most {self.at_most}"
        when = "" if self.when is None else f" when {self.when}"
        return f"{self.kind} {self.pipe}{by}{limit}{when}"


def lose(pipe: str, *, at_most: int | None = None, when: Function | None = None) -> Fault:
    """Return a fault by which events of the pipe may be lost (see `Fault`)."""
    return Fault(Kind.LOSE, pipe, at_most=at_most, when=when)


def duplicate(pipe: str, *, at_most: int | None = None, when: Function | None = None) -> Fault:
    """Return a fault by which events of the pipe may come twice (see `Fault`)."""
    return Fault(Kind.DUPLICATE, pipe, at_most=at_most, when=when)


def delay(pipe: str, by: int, *, at_most: int | None = None, when: Function | None = None) -> Fault:
    """Return a fault by which events of the pipe may come up to `by` steps later, in order (see `Fault`)."""
    return Fault(Kind.DELAY, pipe, by, at_most, when)
