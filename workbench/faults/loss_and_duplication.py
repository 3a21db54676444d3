"""Lose and Duplicate: processors on pipes that may drop or repeat an event."""

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
    """A processor that emits every event once, and a struck one `times` times in a row."""

    times: ClassVar[int]
    oracle_label: ClassVar[str]
    """The label that its oracles carry."""

    @property
    def oracle(self) -> Domain:
        return Enum((self.oracle_label,))

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
    """A processor that emits every event that is not struck."""

    participle: ClassVar[str] = "lost"
    oracle_label: ClassVar[str] = "lost"
    times: ClassVar[int] = 0


@dataclass(frozen=True)
class Duplicate(Copied):
    """A processor that emits every event once, and a struck one twice in a row."""

    participle: ClassVar[str] = "duplicated"
    oracle_label: ClassVar[str] = "twice"
    times: ClassVar[int] = 2
