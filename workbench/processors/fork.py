"""Fork: one input replicated on n outputs (TIME 2021, section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from workbench.core.domain import Domain, Value
from workbench.core.processor import Maybe, Processor, S, State, Stream, event
from workbench.errors import check_count


@dataclass(frozen=True)
class Fork(Processor):
    """Emits every event on each of its `branches` outputs.

    A pipe that is read twice is a fork already; this processor makes it explicit.
    """

    branches: int = 2

    keyword: ClassVar[str] = "fork"
    symbol: ClassVar[str] = "●"
    lockstep: ClassVar[bool] = True

    if TYPE_CHECKING:

        def __call__(self, *streams: S) -> tuple[S, ...]: ...  # type: ignore[override]

    def __post_init__(self) -> None:
        check_count("the number of branches of a fork", self.branches, least=1)

    @property
    def out_arity(self) -> int:
        return self.branches

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return inputs * self.branches

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return tuple(list(streams[0]) for _ in range(self.branches))

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        return state, (event(front[0]),) * self.branches

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return (cls(2), cls(3))
