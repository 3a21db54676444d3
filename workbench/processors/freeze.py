"""Freeze: the first event, for ever (BeepBeep, `Freeze`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.core.domain import BOOL, Domain, Value
from workbench.core.ops import ite
from workbench.core.processor import Machine, Maybe, Processor, Slot, State, Stream, event


@dataclass(frozen=True)
class Freeze(Processor):
    """Emits the first event once for every event that arrives."""

    keyword: ClassVar[str] = "freeze"
    symbol: ClassVar[str] = "❄"
    lockstep: ClassVar[bool] = True

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        (stream,) = streams
        return (list(stream[:1]) * len(stream),)

    def initial(self) -> State:
        return (False, None)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        has_first, first = state
        first_value = ite(has_first, first, front[0])
        return (True, first_value), (event(first_value),)

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        (domain,) = inputs
        return Machine((Slot("seen", BOOL, False), Slot("first", domain, domain.default)), self.step)
