"""ApplyFunction: a function of any arity lifted over streams (TIME 2021, section 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from workbench.core import function as f
from workbench.core.determinism import Determinism
from workbench.core.domain import Domain, Value
from workbench.core.kinds import Functional
from workbench.core.processor import Maybe, State, Stream, event, specialise_function


@dataclass(frozen=True)
class ApplyFunction(Functional):
    """Applies `function` to each front: one event from every input, one result."""

    keyword: ClassVar[str] = "apply"
    symbol: ClassVar[str] = "ƒ"
    lockstep: ClassVar[bool] = True

    @property
    def in_arity(self) -> int:
        return self._function.arity

    @property
    def label(self) -> str:
        return self._function.name

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        return replace(self, function=specialise_function(self.function, inputs))

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return (self._typed.result,)

    @property
    def determinism(self) -> Determinism:
        sums = self.in_arity == 1 and self._function.is_rounding(self._typed.domains[0])
        return Determinism.TOLERANCE if sums else Determinism.EXACT

    @property
    def on_values(self) -> Callable[..., Any]:
        return self._typed.plain

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        # a stream vector is as long as its shortest stream
        return ([self.function(*front) for front in zip(*streams, strict=False)],)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        return state, (event(self.function(*front)),)

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return tuple(map(cls, (f.ADD, f.MUL, f.SUB, f.DIV, f.MOD, f.MIN, f.MAX, f.EVEN, f.NOT, f.AND, f.LT, f.IF)))
