"""Stutter: every event several times (BeepBeep, `Stutter`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from workbench.core.domain import Domain, Value
from workbench.core.processor import Burst, Emission, Processor, State, Stream, event
from workbench.errors import check_count


@dataclass(frozen=True)
class Stutter(Processor):
    """Emits each event `count` times, all in the step in which it arrives."""

    count: int

    keyword: ClassVar[str] = "stutter"
    shift: ClassVar[int] = 0
    prompt: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_count("the number of times of stutter", self.count, least=1)

    @property
    def label(self) -> str:
        return f"⧉ {self.count}"

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        return self.count

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return ([value for value in streams[0] for _ in range(self.count)],)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
        once = event(front[0])
        return state, (once if self.count == 1 else Burst((once,) * self.count),)

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return (cls(1), cls(2), cls(3))
