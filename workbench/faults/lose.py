"""Lose: a pipe that may lose events."""

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
class Lose(Unreliable):
    """Emits every event that is not struck."""

    participle: ClassVar[str] = "lost"

    @property
    def oracle(self) -> Domain:
        return Enum(("lost",))

    def unfold(self, steps: Sequence[Happening], *, ended: bool) -> list[Value]:
        del ended
        return [event for _, event, strike in self.struck(steps) if strike is None]

    def step(self, state: State, front: Tick) -> tuple[State, tuple[Emission, ...]]:  # type: ignore[override]
        used, strikes = self.strikes(state, front)
        kept = Burst(
            Maybe(both(event.present, negate(strike.present)), event.value)
            for event, strike in zip(front.events, strikes, strict=True)
        )
        return used, (kept,)

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return (cls(), cls(2), cls(1, 1))
