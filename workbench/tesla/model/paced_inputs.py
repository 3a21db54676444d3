"""Rates of a pipeline's inputs: assumed upper bounds on how often they bring events.

The rule of this module: it reads inputs and emits nothing, so runs that keep the rates are unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from workbench.core.domain import Domain
from workbench.core.kinds import Listening
from workbench.core.ops import ite
from workbench.core.processor import NOTHING, Emission, Machine, Slot, State, Stream
from workbench.core.units import format_time
from workbench.tesla.model.encoding import ticks_of
from workbench.tesla.model.rates import EventRate


@dataclass(frozen=True)
class PacedInputs(Listening):
    """Assumption of rates for its inputs after the first, which carries the ticks that pass before the others' events.

    Parameters
    ----------
    rates: the rates by input name.
    tick, unit: the length of a tick, in the unit of times; `us` if windows have units.
    """

    rates: Mapping[str, EventRate] = field(hash=False)
    tick: int = 1
    unit: str | None = None

    keyword: ClassVar[str] = ""
    symbol: ClassVar[str] = "⏱"
    outs: ClassVar[int] = 0

    @property
    def in_arity(self) -> int:
        return 1 + len(self.rates)

    @property
    def ports(self) -> tuple[str, ...]:
        return ("elapsed", *self.rates)

    @property
    def assumes(self) -> tuple[str, ...]:
        times = [each.ticks * self.tick for each in self.rates.values()]
        periods = [format_time(time) if self.unit else str(time) for time in times]
        return tuple(
            f"at most {rate.max_events} {name} come in any {time}"
            for (name, rate), time in zip(self.rates.items(), periods, strict=True)
        )

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return ()

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Any], ...]:
        return ()

    def _variables(self) -> list[tuple[str, Domain, Any]]:
        return [each for n, rate in enumerate(self.rates.values(), 1) for each in rate.variables(f"rate{n}")]

    def initial(self) -> State:
        return tuple(value for _, _, value in self._variables())

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        return Machine(tuple(Slot(*each) for each in self._variables()), self.step, comes=self._may_come)

    def _now(self, state: State, front: tuple[Any, ...]) -> list[list[Any]]:
        """Return for each input the ages of its latest events, after the time of this step."""
        time, left, ages = front[0], list(state), list[list[Any]]()
        passed = 0 if time is NOTHING else ite(time.present, ticks_of(time.value), 0)
        for rate in self.rates.values():
            ages.append(rate.later(left[: rate.max_events], passed))
            del left[: rate.max_events]
        return ages

    def _may_come(self, state: State, front: tuple[Any, ...]) -> Mapping[int, Any]:
        """Return, for each input, the condition that another event keeps the rate."""
        ages = zip(self.rates.values(), self._now(state, front), strict=True)
        return {port: rate.may_come(own) for port, (rate, own) in enumerate(ages, 1)}

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
        next_ages: list[Any] = []
        for event, ages in zip(front[1:], self._now(state, front), strict=True):
            next_ages += [ite(event.present, one, age) for one, age in zip((0, *ages), ages, strict=False)]
        return tuple(next_ages), ()

    def __str__(self) -> str:
        return f"rates({', '.join(self.rates)})"

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return ()
