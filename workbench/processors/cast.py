"""Cast: numbers moved from one domain to another, by the target domain's own rule.

A range holds exact numbers: one that is not in it is an error, as in a checked domain. Domains of integers have no
fractions: these are rounded down, as by `div`. NaN is an error, and so is an infinity where numbers are wrapped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from workbench.core.domain import Domain, Integer, Overflowing, Range, Reals, Value, see_domain
from workbench.core.ops import Conversion
from workbench.core.processor import Maybe, Processor, State, Stream, event
from workbench.core.term import Term
from workbench.errors import Overflow, TypingError


@dataclass(frozen=True)
class Cast(Processor):
    """Converts every event to `domain`: numbers are wrapped, clamped or checked by its rule, fractions rounded down."""

    domain: Domain

    keyword: ClassVar[str] = "cast"
    lockstep: ClassVar[bool] = True

    def __post_init__(self) -> None:
        see_domain(self.domain, "domain")

    @property
    def label(self) -> str:
        return f"as {self.domain}"

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        (source,) = inputs
        if not (source.numeric and self.domain.numeric):
            raise TypingError(f"cannot convert values of {source} to {self.domain}", hint="cast converts only numbers")
        return self

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return (self.domain,)

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return ([self._convert(v) for v in streams[0]],)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        (value,) = front
        if not isinstance(value, Term):
            return state, (event(self._convert(value)),)
        if isinstance(self.domain, Range):
            return state, (event(Conversion.check_range(value, self.domain)),)
        return state, (event(Conversion.to(value, self.domain)),)

    def _convert(self, value: Value) -> Value:
        if isinstance(value, float) and math.isfinite(value) and not isinstance(self.domain, Reals):
            value = math.floor(value)
        overflow = self.domain.overflow if isinstance(self.domain, Integer) else Overflowing.CHECKED
        fits = {Overflowing.MODULAR: isinstance(value, int), Overflowing.SATURATING: value == value}
        if not fits.get(overflow, value in self.domain):
            kind = "range" if isinstance(self.domain, Range) else "domain"
            raise Overflow(f"{value} leaves the domain {self.domain}", hint=f"choose a larger {kind}")
        return self.domain.fit(value)

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return (cls(Integer(3)), cls(Range(0, 15)))
