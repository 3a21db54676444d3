"""Passthrough: the identity on streams (TIME 2021, appendix)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.core.domain import Value
from workbench.core.processor import Maybe, Processor, State, Stream, event


@dataclass(frozen=True)
class Passthrough(Processor):
    """Emits every event it receives, unchanged."""

    keyword: ClassVar[str] = "passthrough"
    symbol: ClassVar[str] = "→"
    lockstep: ClassVar[bool] = True

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return (list(streams[0]),)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        return state, (event(front[0]),)
