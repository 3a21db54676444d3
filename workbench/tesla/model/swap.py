"""Compare two orders of simultaneous events: a stream in its order, and with two neighbours exchanged.

The rule of this module: at most one of its inputs brings an event in a step, as in models of rules, and it stops if the
orders would otherwise differ in more than these two events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from workbench.core.domain import BOOL, Domain, Range, Value
from workbench.core.kinds import Listening
from workbench.core.ops import EQ, both, disjunction, either, ite
from workbench.core.processor import NOTHING, Machine, Maybe, Slot, State, Stream

TURNS = Range(1, 3)
"""The values of `turn`: the first event comes, the second comes, and the first comes late in the other order."""
_TOGETHER, _ARMED, _HELD, _OWED, _DONE, _OVER = range(6)


@dataclass(frozen=True)
class SwappedEvents(Listening):
    """A processor that passes events to two sets of outputs, with two neighbours exchanged on the second.

    An event on its first input arms it: the next event goes to the first set only, the one after it to both, and the
    next event on the first input releases the missing event on the second set. Then both continue. If time passes in
    between, or the first input brings anything else, it stops for ever.

    Parameters
    ----------
    names: the names of the inputs after the first; the first of them carries the time that passes.
    facts: the number of inputs at the end that carry facts, which have no order; they are passed like time.
    shapes: the types of the inputs; typing sets them.
    """

    names: tuple[str, ...]
    facts: int = 0
    shapes: tuple[Domain, ...] = ()

    keyword: ClassVar[str] = ""
    symbol: ClassVar[str] = "⇄"

    @property
    def in_arity(self) -> int:
        return 1 + len(self.names)

    @property
    def out_arity(self) -> int:
        return 2 * len(self.names) + 1

    @property
    def ports(self) -> tuple[str, ...]:
        return ("swap", *self.names)

    @property
    def results_named(self) -> tuple[str, ...]:
        """The names of its outputs: those of the first order, those of the second, and `turn`."""
        return (*(f"{order}_{name}" for order in ("first", "second") for name in self.names), "turn")

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        return replace(self, shapes=inputs[1:])

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return (*inputs[1:], *inputs[1:], TURNS)

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        came = [next((i, each.value) for i, each in enumerate(front) if each.present) for front in streams[0]]
        start = next((at for at, (port, _) in enumerate(came) if port == 0), len(came))
        first, second, turns = came[:start], came[:start], list[Value]()
        pair = [each for each in came[start + 1 : start + 3] if 1 < each[0] < self.in_arity - self.facts]
        if came[start + 1 : start + 2] == pair[:1]:
            turns = list(range(1, len(pair) + 1))
            first, second = first + pair, second + pair[1:]
        if len(pair) == 2 and [port for port, _ in came[start + 3 : start + 4]] == [0]:
            rest = came[start + 4 :]
            end = next((at for at, (port, _) in enumerate(rest) if port == 0), len(rest))
            first, second, turns = first + rest[:end], second + pair[:1] + rest[:end], [1, 2, 3]
        ports = range(1, self.in_arity)
        outputs = ([value for port, value in side if port == i] for side in (first, second) for i in ports)
        return (*outputs, turns)

    @property
    def swapped_inputs(self) -> slice:
        """The inputs, after the first, whose events are exchanged."""
        return slice(1, len(self.names) - self.facts)

    def initial(self) -> State:
        return (_TOGETHER, *(part for each in self.shapes[self.swapped_inputs] for part in (False, each.default)))

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        held = [(f"held{i}", f"value{i}", domain) for i, domain in enumerate(inputs[1:][self.swapped_inputs], 1)]
        slots = [Slot("phase", Range(_TOGETHER, _OVER), _TOGETHER)]
        for here, value, domain in held:
            slots += [Slot(here, BOOL, False), Slot(value, domain, domain.default)]
        return Machine(tuple(slots), self.step)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        phase, *slots = state
        swap, elapsed, *_ = front
        events, others = front[1:][self.swapped_inputs], [elapsed, *front[1:][self.swapped_inputs.stop :]]
        held = [Maybe(*slots[i : i + 2]) for i in range(0, len(slots), 2)]
        comes = disjunction(each.present for each in events)

        def at(*phases: int) -> Any:
            return disjunction(EQ(phase, each) for each in phases)

        alike, release = at(_TOGETHER, _DONE), both(swap.present, at(_OWED))
        still = [_pass_where(alike, each) for each in others]
        first = [still[0], *(_pass_where(either(alike, at(_ARMED, _HELD)), each) for each in events), *still[1:]]
        second = [still[0]]
        for each, owed in zip(events, held, strict=True):
            passes, late = _pass_where(either(alike, at(_HELD)), each), _pass_where(release, owed)
            second.append(Maybe(either(passes.present, late.present), ite(late.present, late.value, passes.value)))
        begins, follows = both(comes, at(_ARMED)), both(comes, at(_HELD))
        turn = Maybe(either(either(begins, follows), release), ite(begins, 1, ite(follows, 2, 3)))
        passes_by = disjunction(each.present for each in others)
        after = ite(swap.present, _swap_phase(phase), ite(passes_by, ite(alike, phase, _OVER), _advance_phase(phase)))
        keeps = []
        for each, owed, domain in zip(events, held, self.shapes[self.swapped_inputs], strict=True):
            here = either(both(begins, each.present), both(follows, owed.present))
            keeps += [here, ite(here, ite(begins, each.value, owed.value), domain.default)]
        return (after, *keeps), (*first, *second, *still[1:], turn)

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return ()


def _pass_where(condition: Any, event: Maybe) -> Maybe:
    return NOTHING if event is NOTHING else Maybe(both(condition, event.present), event.value)


def _swap_phase(phase: Any) -> Any:
    return ite(EQ(phase, _TOGETHER), _ARMED, ite(EQ(phase, _OWED), _DONE, _OVER))


def _advance_phase(phase: Any) -> Any:
    return ite(EQ(phase, _ARMED), _HELD, ite(EQ(phase, _HELD), _OWED, ite(EQ(phase, _OWED), _OVER, phase)))


def both_orders(steps: Sequence[Any], swaps: Sequence[bool]) -> tuple[list[Any], list[Any]]:
    """Return the steps in the first and in the second order, given the steps of a run and where `swap` comes."""
    first = [step for step, swap in zip(steps, swaps, strict=True) if not swap]
    at = swaps.index(True)
    return first, [*first[:at], *reversed(first[at : at + 2]), *first[at + 2 :]]
