"""TurnInto: every event becomes the same constant (TIME 2021, appendix: "turns every event into a 1")."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from workbench.core.domain import BOOL, FLOAT, INT, Anything, Domain, Enum, Integer, Integers, Label, Value, outside
from workbench.core.processor import Maybe, Processor, State, Stream, event
from workbench.core.term import const, is_symbolic, python_value
from workbench.core.typing_rules import literal_domain


def constant_domain(value: Value, like: Domain, integers: Domain) -> Domain:
    """Return the domain of a constant stream: that of the input where the constant is of its kind.

    Integer constants beside other types than integers are of the type `int` (`integers`: its chosen domain).
    """
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, int):
        return like if isinstance(like, Integer | Integers) else integers
    if isinstance(value, float):
        return FLOAT
    if isinstance(value, str):
        return like if isinstance(like, Enum) and not isinstance(value, Label) else literal_domain(value, like)
    return Anything()


@dataclass(frozen=True)
class TurnInto(Processor):
    """Emits `constant` for every event it receives.

    `domain` is the output's domain; None takes the input's where the constant fits in, else `int`.
    """

    constant: Value
    domain: Domain | None = None
    integers: Domain = INT

    keyword: ClassVar[str] = "turn"
    lockstep: ClassVar[bool] = True

    @property
    def label(self) -> str:
        return f"↦ {self.constant}"

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        constant = python_value(self.constant)
        domain = self.domain or constant_domain(constant, inputs[0], self.integers)
        if constant not in domain:
            what = f"the constant {constant!r} is not in the domain {domain}"
            raise outside(what, constant, domain, "choose a domain that has this value")
        return replace(self, constant=constant, domain=domain)

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        assert self.domain is not None
        return (self.domain,)

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return ([self.constant for _ in streams[0]],)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        if is_symbolic(front) and self.domain is not None:
            return state, (event(const(self.constant, self.domain)),)
        return state, (event(self.constant),)

    def __str__(self) -> str:
        return f"TurnInto({self.constant})"

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return (cls(1), cls(True))
