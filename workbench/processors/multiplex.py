"""Multiplex: the events of several streams as they come (BeepBeep, `Multiplex`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from workbench.core.domain import Domain, Value
from workbench.core.function import same_domain
from workbench.core.processor import Maybe, Processor, State, Stream, event
from workbench.errors import TypingError, check_count


@dataclass(frozen=True)
class Multiplex(Processor):
    """Emits every event of each of its `ways` inputs at the step at which it comes.

    Events of one step come out in the order of the inputs.
    """

    ways: int = 2

    keyword: ClassVar[str] = "multiplex"
    symbol: ClassVar[str] = "⋎"
    merges: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_count("the number of streams of multiplex", self.ways, least=2)

    @property
    def in_arity(self) -> int:
        return self.ways

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        odd = next((domain for domain in inputs if not same_domain(domain, inputs[0])), None)
        if odd is not None:
            raise TypingError(
                f"multiplex makes one stream of streams of {inputs[0]} and of {odd}", hint="cast them to one domain"
            )
        return self

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return inputs[:1]

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        (merged,) = streams
        return (list(merged),)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        return state, (event(front[0]),)

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return (cls(), cls(3))
