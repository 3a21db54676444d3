"""The queues of a join as a part of a system, with or without the events that wait in them.

What a join does depends on how many events wait, and not on which. So a system is made with the counters alone, and the
contents of queues are built when something reads them (`System.holding`): a property that reads none costs the same for
every capacity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

from workbench.core.domain import BOOL, Range
from workbench.core.join import Join, JoinRounds
from workbench.core.ops import as_term
from workbench.core.processor import Maybe, Slot, State
from workbench.core.term import Term, leaves, var
from workbench.ir.system import Block, Holding, Queue
from workbench.ir.wires import Wires

Round = tuple[Any, tuple[Any, ...]]
"""Whether a front is consumed, and its events, as terms."""

QueueStep = Callable[[State, Callable[[str, Any], Any]], JoinRounds]
"""A step of queues from their state; it gets a function that shares terms."""


class QueuePart(NamedTuple):
    """The contribution of a part of a system to the rest."""

    wires: Wires
    rounds: tuple[Round, ...]
    queues: tuple[Queue, ...]


@dataclass(frozen=True)
class Queues:
    """The queues of one processor.

    Attributes
    ----------
    name: the name of their instance.
    ports, names: the input names of the processor, and the names of the queues.
    arrivals: the events that arrive on each input, in order.
    """

    name: str
    ports: tuple[str, ...]
    names: tuple[str, ...]
    join: Join
    arrivals: tuple[tuple[Maybe, ...], ...]

    def part(self, window: int | None = None, *, blind: bool = False) -> QueuePart:
        """Return the queues with all contents, or with the `window` oldest events each; `blind` as in `step_slots`."""
        join = replace(self.join, window=window)
        return self.step_slots(join.slots(), lambda state, share: join.rounds(state, self.arrivals, share), blind=blind)

    def holding(self, rounds: Sequence[Round]) -> Holding:
        """Return what the rest of a system needs to know about the contents of the queues."""

        @cache
        def block(window: int | None) -> Block:
            wires = self.part(window).wires
            return Block(tuple(wires.variables), tuple(wires.definitions))

        return Holding(self.join, self.names, self.arrivals, tuple(fires for fires, _ in rounds), block)

    def step_slots(self, slots: Sequence[Slot], run: QueueStep, *, blind: bool = False) -> QueuePart:
        """Return the part for one step of the queues, given their slots; `blind`: leave events of fronts undefined."""
        wires = Wires()
        state = tuple(var(f"{self.name}:{slot.name}", slot.domain) for slot in slots)
        result = run(state, lambda local, term: wires.share(f"{self.name}:{local}", term))
        for slot, old, new in zip(slots, state, result.state, strict=True):
            wires.store(slot, old, new)
        fronts: list[list[Any]] = [[] for _ in result.rounds]
        queues = []
        for i, (port, queue, domain) in enumerate(zip(self.ports, self.names, self.join.domains, strict=True)):
            for number, (fires, events) in enumerate(result.rounds, 1):
                label = f"{self.name}:{port}_event{number if number > 1 else ''}"
                if blind:
                    event = var(label, domain)
                    wires.uses.update((leaf.name, fires) for leaf in leaves(event))
                else:
                    event = wires.define_value(label, events[i], domain, fires)
                fronts[number - 1].append(event)
            length = result.lengths[i]
            waiting: Term = as_term(length, Range(0, 0)) if isinstance(length, int) else length
            queues.append(
                Queue(
                    queue,
                    self.join.capacities[i],
                    wires.define(f"{self.name}:length_{port}", waiting),
                    wires.define(f"{self.name}:overflow_{port}", as_term(result.overflows[i], BOOL)),
                )
            )
        rounds = tuple((fires, tuple(front)) for (fires, _), front in zip(result.rounds, fronts, strict=True))
        return QueuePart(wires, rounds, tuple(queues))
