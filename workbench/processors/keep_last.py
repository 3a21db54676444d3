"""KeepLast: the last event, at the end of the stream (BeepBeep, `KeepLast`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.core.domain import BOOL, Domain, Value
from workbench.core.processor import Machine, Maybe, Processor, Slot, State, Stream


@dataclass(frozen=True)
class KeepLast(Processor):
    """Is silent until the stream ends, and then emits its last event (nothing if there was none)."""

    keyword: ClassVar[str] = "keep_last"
    symbol: ClassVar[str] = "⇥"
    finishes: ClassVar[int] = 1
    prompt: ClassVar[bool] = True

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return (list(streams[0][-1:]),)

    def denote_open(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return ([],)

    def initial(self) -> State:
        return (False, None)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        return (True, front[0]), (Maybe(False, front[0]),)

    def finish(self, state: State) -> tuple[Maybe, ...]:
        return (Maybe(*state),)

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        (domain,) = inputs
        return Machine((Slot("seen", BOOL, False), Slot("last", domain, domain.default)), self.step, self.finish)
