"""Filter: keep the events at which a Boolean stream is true (TIME 2021, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from workbench.core.domain import Anything, Bool, Domain, Value
from workbench.core.processor import Maybe, Processor, State, Stream
from workbench.errors import TypingError


@dataclass(frozen=True)
class Filter(Processor):
    """Emits the i-th event of its first input if the i-th event of its second is true."""

    keyword: ClassVar[str] = "filter"
    symbol: ClassVar[str] = "▽"
    streams: ClassVar[int] = 2
    ports: ClassVar[tuple[str, ...]] = ("data", "condition")

    def typed(self, inputs: tuple[Domain, ...]) -> Self:
        if not isinstance(inputs[1], Bool | Anything):
            raise TypingError(
                f"the condition of a filter is a bool stream, not {inputs[1]}", hint="compare it, e.g. x > 0"
            )
        return self

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return inputs[:1]

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return ([value for value, keep in zip(*streams, strict=False) if keep],)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        value, keep = front
        return state, (Maybe(keep, value),)
