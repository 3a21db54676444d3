"""The temporal operators that refer to the past: one truth value for each event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from workbench.core.domain import BOOL, Domain, Value
from workbench.core.ops import both, either
from workbench.core.processor import Maybe, State, Stream, event
from workbench.processors.temporal import Truth


class Look(NamedTuple):
    """An operator, defined twice: on all fronts up to now, and on the front and its previous value."""

    prefix: Callable[..., bool]
    start: bool
    update: Callable[..., Any]


@dataclass(frozen=True)
class LookingBack(Truth):
    """Base of the operators whose value depends only on the front and on their previous value."""

    lockstep: ClassVar[bool] = True

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        lengths = range(1, min(map(len, streams)) + 1)
        return ([self.rule.prefix(*(stream[:n] for stream in streams)) for n in lengths],)

    def initial(self) -> State:
        return (self.rule.start,)

    def slots(self, inputs: tuple[Domain, ...]) -> tuple[tuple[str, Domain], ...]:
        return (("before", BOOL),)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        now = self.rule.update(*state, *front)
        return (now,), (event(now),)


@dataclass(frozen=True)
class Once(LookingBack):
    """Emits, at each event, whether it or an earlier one is true."""

    keyword: ClassVar[str] = "once"
    symbol: ClassVar[str] = "◇⁻"
    rule: ClassVar[Look] = Look(any, False, either)


@dataclass(frozen=True)
class Historically(LookingBack):
    """Emits, at each event, whether it and all earlier ones are true."""

    keyword: ClassVar[str] = "historically"
    symbol: ClassVar[str] = "□⁻"
    rule: ClassVar[Look] = Look(all, True, both)


@dataclass(frozen=True)
class Since(LookingBack):
    """Emits, at each front, whether right is true at it or an earlier one, and left at all fronts after that one."""

    keyword: ClassVar[str] = "since"
    symbol: ClassVar[str] = "S"
    streams: ClassVar[int] = 2
    rule: ClassVar[Look] = Look(
        lambda left, right: any(right[j] and all(left[j + 1 :]) for j in range(len(right))),
        False,
        lambda before, a, b: either(b, both(a, before)),
    )


@dataclass(frozen=True)
class Yesterday(LookingBack):
    """Emits, at each event, the event before it; false at the first one."""

    keyword: ClassVar[str] = "yesterday"
    symbol: ClassVar[str] = "Y"
    rule: ClassVar[Look] = Look(lambda x: len(x) > 1 and x[-2], False, lambda _, x: x)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        return front, (event(state[0]),)
