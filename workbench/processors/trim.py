"""Trim: the stream without its first events (TIME 2021, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from workbench.core.domain import Value
from workbench.core.ops import EQ, ite
from workbench.core.processor import Maybe, State, Stream
from workbench.processors.prefix import Cut


@dataclass(frozen=True)
class Trim(Cut):
    """Discards the first `count` events and emits the others."""

    keyword: ClassVar[str] = "trim"
    shifts: ClassVar[bool] = True

    @property
    def label(self) -> str:
        return f"✂ {self.count}"

    @property
    def lag(self) -> int | None:
        return self.count

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return (list(streams[0][self.count :]),)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        (position,) = state
        open_ = EQ(position, self.count)
        return (ite(open_, position, position + 1),), (Maybe(open_, front[0]),)
