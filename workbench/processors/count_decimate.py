"""CountDecimate: one event in every k (TIME 2021, section 2: events 0, k, 2k, ...)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from workbench.core.domain import BOOL, Domain, Range, Value
from workbench.core.ops import EQ, ite, negate
from workbench.core.processor import NOTHING, Machine, Maybe, Processor, Slot, State, Stream, event
from workbench.core.term import const
from workbench.errors import check_count


@dataclass(frozen=True)
class CountDecimate(Processor):
    """Emits the first event and every `interval`-th after it.

    With `last`, the last event of the stream is emitted at its end too, unless it has been emitted already.
    """

    interval: int
    last: bool = False

    keyword: ClassVar[str] = "decimate"
    shift: ClassVar[int] = 0
    prompt: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_count("the interval of decimate", self.interval, least=1)

    @property
    def label(self) -> str:
        return f"1 of {self.interval}"

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        (stream,) = streams
        events = list(stream[:: self.interval])
        if self.last and (len(stream) - 1) % self.interval:
            events.extend(stream[-1:])
        return (events,)

    def denote_open(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return (list(streams[0][:: self.interval]),)

    @property
    def finishes(self) -> int:
        return 1 if self.last else 0

    def initial(self) -> State:
        return (0, NOTHING) if self.last else (0,)

    def slots(self, inputs: tuple[Domain, ...]) -> tuple[tuple[str, Domain], ...]:
        return (("position", Range(0, self.interval - 1)),)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        position, (value,) = state[0], front
        first = EQ(position, 0)
        following = (position + 1) % self.interval
        if self.last:
            return (following, NOTHING if first else event(value)), (Maybe(first, value),)
        return (following,), (Maybe(first, value),)

    def finish(self, state: State) -> tuple[Maybe, ...]:
        return (state[1] if self.last else NOTHING,)

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        if not self.last:
            return super().machine(inputs, horizon)
        (domain,) = inputs
        position = Slot("position", Range(0, self.interval - 1), 0)
        left_out = (Slot("left_out", BOOL, False), Slot("latest", domain, domain.default))

        def step(state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
            position, (value,) = state[0], front
            first = EQ(position, 0)
            following = (position + 1) % self.interval
            return (following, negate(first), ite(first, const(domain.default, domain), value)), (Maybe(first, value),)

        return Machine((position, *left_out), step, lambda state: (Maybe(state[1], state[2]),))

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return (cls(1), cls(2), cls(3), cls(2, last=True))
