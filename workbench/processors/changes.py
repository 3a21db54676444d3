"""Changes: what differs from the event before; the absence of an event means "as before" (Zimmerman and Chandy)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from workbench.core import function as f
from workbench.core.domain import BOOL, Domain, Value
from workbench.core.ops import either, equal, negate
from workbench.core.processor import Machine, Maybe, Processor, Slot, State, Stream, event


@dataclass(frozen=True)
class Changes(Processor):
    """Emits the first event, and every event that does not equal the one before."""

    keyword: ClassVar[str] = "changes"
    symbol: ClassVar[str] = "Δ"

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        f.NE.specialise(inputs * 2)
        return self

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        (stream,) = streams
        return ([now for i, now in enumerate(stream) if i == 0 or f.NE(stream[i - 1], now)],)

    def initial(self) -> State:
        return (False, None)

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        (domain,) = inputs
        return Machine((Slot("seen", BOOL, False), Slot("before", domain, domain.default)), self.step)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        (has_before, before), (now,) = state, front
        if has_before is False:
            return (True, now), (event(now),)
        return (True, now), (Maybe(either(negate(has_before), negate(equal(before, now))), now),)
