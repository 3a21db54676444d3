"""Sample: the latest event of a stream, at each event of another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.core.domain import BOOL, Domain, Value
from workbench.core.kinds import Listening, latest
from workbench.core.ops import both
from workbench.core.processor import Machine, Maybe, Slot, State, Stream


@dataclass(frozen=True)
class Sample(Listening):
    """Emits the latest event of its first input at each event of its second, whatever the value of that event.

    An event that comes in the same step counts; before the first one nothing is emitted.
    """

    keyword: ClassVar[str] = "sample"
    symbol: ClassVar[str] = "◎"
    streams: ClassVar[int] = 2
    ports: ClassVar[tuple[str, ...]] = ("data", "at")

    @property
    def lag(self) -> int | None:
        return 0

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return inputs[:1]

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        (fronts,) = streams
        values: list[Value] = []
        out: list[Value] = []
        for data, at in fronts:
            values += [data.value] if data.present else []
            out += values[-1:] if at.present else []
        return (out,)

    def initial(self) -> State:
        return (False, None)

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        data = inputs[0]
        return Machine((Slot("seen", BOOL, False), Slot("latest", data, data.default)), self.step)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        data, at = front
        held = latest(Maybe(*state), data)
        return held, (Maybe(both(at.present, held.present), held.value),)
