"""The common base of the processors on faulty pipes.

The first input is the pipe; the others are oracles, one for each event that the pipe can carry in a step: an event on
the i-th oracle means that the fault strikes the i-th event of this step. An impossible strike (no such event, the
condition is false, the limit is reached, the streams have ended) is ignored.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

from workbench.core.domain import Anything, Bool, Domain, Range, Value
from workbench.core.function import Function, TypedFunction
from workbench.core.kinds import Clocked, Happening, Tick
from workbench.core.ops import LT, both, ite
from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import Maybe, State, Stream, specialise_function
from workbench.errors import TypingError


@dataclass(frozen=True)
class Unreliable(Clocked):
    """The base class of the processors that inject faults.

    Parameters
    ----------
    width: the maximum number of events that the pipe carries in a step.
    at_most: the maximum number of events that are struck; None: any number.
    when: the condition on the event.
    """

    width: int = 1
    at_most: int | None = None
    when: Function | TypedFunction | None = None

    participle: ClassVar[str]
    """The effect on an event: `lost`."""

    @property
    @abstractmethod
    def oracle(self) -> Domain:
        """The domain of its oracles."""

    @property
    def oracles(self) -> int:
        return self.width

    @property
    def in_arity(self) -> int:
        return 1 + self.width

    @property
    def ports(self) -> tuple[str, ...]:
        return ("in", *(f"strike{i}" for i in range(1, self.width + 1)))

    @property
    def label(self) -> str:
        return f"⚡ {self.participle}"

    @property
    def words(self) -> str:
        """The possible effect on events: `may be lost, at most 2, when y > 3`."""
        limit = "" if self.at_most is None else f", at most {self.at_most}"
        when = self.when.name if self.when else ""
        return f"may be {self.participle}{limit}" + (f", when {when}" if when else "")

    # --- typing ---

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        if self.when is None:
            return self
        when = specialise_function(self.when, inputs[:1])
        if not isinstance(when.result, Bool | Anything):
            raise TypingError(
                f"the condition of a fault must be a truth value, not '{when.name}' of type {when.result}",
                hint="compare: y > 2",
            )
        return replace(self, when=when)

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return inputs[:1]

    # --- meaning ---

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        """Return the events unchanged: without oracles no fault strikes."""
        return (list(streams[0]),)

    def struck(self, steps: Sequence[Happening]) -> Iterator[tuple[int, Value, Value | None]]:
        """Yield every event with its step and its effective strike, or None, for the specification."""
        used = 0
        for step, (events, strikes) in enumerate(steps):
            for event, strike in zip(events, strikes, strict=False):
                allowed = self.at_most is None or used < self.at_most
                if strike is None or not allowed or not (self.when is None or self.when(event)):
                    yield step, event, None
                else:
                    used += 1
                    yield step, event, strike

    def heard(self, steps: Sequence[Happening]) -> list[Value | None]:
        strikes = [strike for step, _, strike in self.struck(steps) if step == len(steps) - 1]
        return [*strikes, *[None] * (self.width - len(strikes))]

    # --- operation ---

    def initial(self) -> State:
        return () if self.at_most is None else (0,)

    def slots(self, inputs: tuple[Domain, ...]) -> tuple[tuple[str, Domain], ...]:
        del inputs
        return () if self.at_most is None else (("used", Range(0, self.at_most)),)

    def strikes(self, state: State, tick: Tick) -> tuple[State, list[Maybe]]:
        """Return the count of strikes after this step, and for each event the strike of the fault, if any."""
        used, strikes = state, []
        for position, event in enumerate(tick.events):
            strike = tick.strike(position, self._possible(used, event))
            strikes.append(strike)
            used = tuple(ite(strike.present, count + 1, count) for count in used)
        return used, strikes

    def _possible(self, used: State, event: Maybe) -> Any:
        """Whether the fault can strike this event."""
        if event.present is False:  # there is no value to test
            return False
        condition = event.present
        for count in used:
            condition = both(condition, LT(count, self.at_most))
        return condition if self.when is None else both(condition, self.when(event.value))


# --- which faults struck -----------------------------------------------------------------------------------


class Strike(NamedTuple):
    """A fault that struck."""

    pipe: str
    domain: Domain
    event: Value
    what: str
    """`lost`, `duplicated`, `delayed by 2`."""

    def __str__(self) -> str:
        return f"{self.event} on {self.pipe} was {self.what}"


def name_pipe(node: Node) -> str:
    """Return the user's name for the pipe of a fault."""
    return node.name.rpartition(".")[0]


def struck(pipeline: Pipeline, carried: Mapping[str, Value | None]) -> Iterator[Strike]:
    """Yield the faults that struck in a step of a flat pipeline with these contents of pipes."""
    for oracle, node in pipeline.oracles.items():
        strike, processor = carried.get(oracle), node.processor
        if strike is None or not isinstance(processor, Unreliable):
            continue
        events = carried[node.inputs[0]]
        position = node.inputs.index(oracle) - 1
        event = events[position] if isinstance(events, list) else events
        by = f" by {strike}" if isinstance(strike, int) else ""
        yield Strike(name_pipe(node), pipeline.domains[node.inputs[0]], event, f"{processor.participle}{by}")
