"""Prefix: the first events of a stream (BeepBeep, `Prefix`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from workbench.core.domain import Domain, Range, Value
from workbench.core.ops import LT, ite
from workbench.core.processor import Maybe, Processor, State, Stream
from workbench.errors import check_count


@dataclass(frozen=True)
class Cut(Processor):
    """Base of the processors that count the first `count` events, and are silent before or after that."""

    count: int

    def __post_init__(self) -> None:
        check_count(f"the number of events of {self.keyword}", self.count, least=0)

    def initial(self) -> State:
        return (0,)

    def slots(self, inputs: tuple[Domain, ...]) -> tuple[tuple[str, Domain], ...]:
        return (("seen", Range(0, self.count)),)

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return (cls(0), cls(1), cls(2))


@dataclass(frozen=True)
class Prefix(Cut):
    """Emits the first `count` events and is silent from then on."""

    keyword: ClassVar[str] = "prefix"
    shift: ClassVar[int] = 0

    @property
    def prompt(self) -> bool:
        return self.count > 0

    @property
    def label(self) -> str:
        return f"first {self.count}"

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return (list(streams[0][: self.count]),)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        (position,) = state
        open_ = LT(position, self.count)
        return (ite(open_, position + 1, position),), (Maybe(open_, front[0]),)
