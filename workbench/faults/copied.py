"""Lose and Duplicate: pipes that may carry an event not at all, or twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from workbench.core.domain import Domain, Enum, Value
from workbench.core.kinds import Happening, Tick
from workbench.core.ops import both, negate
from workbench.core.processor import Burst, Emission, Maybe, State
from workbench.faults.unreliable import Unreliable


@dataclass(frozen=True)
class Copied(Unreliable):
    """Emits every event, and one that is struck so many `times`, one right behind the other."""

    times: ClassVar[int]
    said: ClassVar[str]
    """What its oracles say."""

    @property
    def oracle(self) -> Domain:
        return Enum((self.said,))

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        del inputs
        return max(1, self.times)

    def unfold(self, steps: Sequence[Happening], *, ended: bool) -> list[Value]:
        del ended
        return [event for _, event, strike in self.struck(steps) for _ in range(1 if strike is None else self.times)]

    def step(self, state: State, front: Tick) -> tuple[State, tuple[Emission, ...]]:  # type: ignore[override]
        used, strikes = self.strikes(state, front)
        slots: list[Maybe] = []
        for event, strike in zip(front.events, strikes, strict=True):
            first = event if self.times else Maybe(both(event.present, negate(strike.present)), event.value)
            slots += [first, *[Maybe(strike.present, event.value)] * (self.times - 1)]
        return used, (Burst(slots),)

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return (cls(), cls(2), cls(1, 1))


@dataclass(frozen=True)
class Lose(Copied):
    """Emits every event that is not struck."""

    participle: ClassVar[str] = "lost"
    said: ClassVar[str] = "lost"
    times: ClassVar[int] = 0


@dataclass(frozen=True)
class Duplicate(Copied):
    """Emits every event, and one that is struck a second time, right behind it."""

    participle: ClassVar[str] = "duplicated"
    said: ClassVar[str] = "twice"
    times: ClassVar[int] = 2
