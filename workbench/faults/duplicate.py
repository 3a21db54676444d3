"""Duplicate: a pipe that may carry events twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from workbench.core.domain import Domain, Enum, Value
from workbench.core.kinds import Happening, Tick
from workbench.core.processor import Burst, Emission, Maybe, State
from workbench.faults.unreliable import Unreliable


@dataclass(frozen=True)
class Duplicate(Unreliable):
    """Emits every event, and one that is struck a second time, right behind it."""

    participle: ClassVar[str] = "duplicated"

    @property
    def oracle(self) -> Domain:
        return Enum(("twice",))

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        del inputs
        return 2

    def unfold(self, steps: Sequence[Happening], *, ended: bool) -> list[Value]:
        del ended
        return [event for _, event, strike in self.struck(steps) for _ in range(1 if strike is None else 2)]

    def step(self, state: State, front: Tick) -> tuple[State, tuple[Emission, ...]]:  # type: ignore[override]
        used, strikes = self.strikes(state, front)
        pairs = zip(front.events, strikes, strict=True)
        return used, (Burst(slot for event, strike in pairs for slot in (event, Maybe(strike.present, event.value))),)

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return (cls(), cls(2), cls(1, 1))
