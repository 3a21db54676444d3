"""The memory of a processor, derived from its machine: an argument for all values, also of infinite domains.

The machine is run on symbols from its initial state, once on n fronts and once on all of them but the first. If both
reach the same state, their future is the same, whatever comes; so by induction a front is forgotten when n - 1 more
have come, and the processor depends on the last n fronts and on nothing before (`find_history_bound`). If a state
cannot change whatever comes, the processor has no memory from there on (`find_settled_states`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.core.domain import Domain, Value
from workbench.core.evaluate import compile_terms
from workbench.core.fold import map_leaves, substitute
from workbench.core.processor import Machine, Processor, Slot
from workbench.core.term import Term, const, leaves, same, var
from workbench.errors import WorkbenchError
from workbench.processors.held.inner_processor import as_state

MAX_FRONTS = 4096
"""The longest history to look for."""

MAX_CASES = 512
"""Maximum number of cases of small variables to try."""

MAX_WORK = 2_000_000
"""Maximum number of variable values to compute: a larger machine is not decided here."""


def stateless(processor: Processor) -> bool:
    """Whether a processor's class defines no state at all; then its machine need not be known (it may be opaque)."""
    kind = type(processor)
    return kind.initial is Processor.initial and kind.slots is Processor.slots and kind.machine is Processor.machine


def find_history_bound(processor: Processor, inputs: Sequence[Domain]) -> int | None:
    """Return how many of the last fronts, including the present one, determine what a processor does; None: unknown."""
    if stateless(processor):
        return 1
    unrolled = _symbolic(processor, inputs)
    return None if unrolled is None else unrolled.history()


def find_settled_states(processor: Processor, inputs: Sequence[Domain]) -> tuple[Mapping[int, Value], ...]:
    """Return states that nothing changes, as values at positions of the running state; empty if unknown."""
    unrolled = _symbolic(processor, inputs)
    if unrolled is None or unrolled.machine.step != processor.step:  # otherwise the running state has another form
        return ()
    return tuple(unrolled.find_settled())


def _symbolic(processor: Processor, inputs: Sequence[Domain]) -> _Unrolled | None:
    try:
        return _Unrolled(processor.machine(tuple(inputs)), inputs)
    except WorkbenchError:  # it has no machine
        return None


class _Unrolled:
    """One step of a machine on symbols, to be repeated."""

    def __init__(self, machine: Machine, inputs: Sequence[Domain]) -> None:
        self.machine = machine
        self.state = tuple(var(f"state{i}", slot.domain) for i, slot in enumerate(machine.slots))
        self.front = tuple(var(f"front{i}", domain) for i, domain in enumerate(inputs))
        after, _ = machine.step(self.state, self.front)
        self.after = _type_slots(after, machine.slots)
        self.symbols = [leaf for leaf in leaves(self.state) if isinstance(leaf, Term)]
        self.names = {symbol.name for symbol in self.symbols}

    def history(self) -> int | None:
        """See `find_history_bound`."""
        slots = self.machine.slots
        longer = shorter = _type_slots([const(slot.initial, slot.domain) for slot in slots], slots)
        for fronts in range(1, self._max_fronts() + 1):
            fresh = {leaf: var(f"{leaf.name}@{fronts}", leaf.domain) for leaf in leaves(self.front)}
            longer = self._next(longer, fresh)
            if fronts > 1:
                shorter = self._next(shorter, fresh)
            if same(longer, shorter):
                return fronts
        return None

    def _max_fronts(self) -> int:
        """Return the number of fronts after which nothing more is forgotten.

        A front moves from variable to variable, and small variables (the number of events so far) control it: a front
        that is still there when it could have passed through all of them stays.
        """
        small = sum(symbol.domain.size or 0 for symbol in self.symbols if (symbol.domain.size or 0) <= MAX_FRONTS)
        steps = min(len(self.symbols) + small + 1, MAX_FRONTS)
        return min(steps, MAX_WORK // max(1, len(self.symbols)))

    def _next(self, state: Any, fresh: Mapping[Term, Term]) -> Any:
        known = dict(zip(self.symbols, leaves(state), strict=True))
        return _normal(substitute(self.after, {**known, **fresh}), self.symbols)

    def find_settled(self) -> Iterator[Mapping[int, Value]]:
        """Yield settled states, see `find_settled_states`: control variables are tried out, the rest stays symbolic."""
        small = [(i, slot) for i, slot in enumerate(self.machine.slots) if (slot.domain.size or MAX_CASES + 1) <= 64]
        cases = _cases([self.state[i] for i, _ in small if isinstance(self.state[i], Term)])
        for case in cases or []:
            state = _normal(substitute(self.state, case), self.symbols)
            if self._stays(state, case):
                yield {i: case[self.state[i]].payload for i, _ in small if self.state[i] in case}

    def _stays(self, state: Any, case: dict[Term, Term]) -> bool:
        after = _normal(substitute(self.after, case), self.symbols)
        if same(after, state):
            return True
        inputs = [leaf for leaf in leaves(self.front) if isinstance(leaf, Term)]
        events = _cases(inputs)
        if events is None or not all(leaf.is_const for leaf in leaves(state)):
            return False
        run = compile_terms(list(leaves(after)), inputs)
        known = tuple(leaf.payload for leaf in leaves(state))
        return all(tuple(run(*(event[leaf].payload for leaf in inputs))) == known for event in events)


def _cases(symbols: Sequence[Term]) -> list[dict[Term, Term]] | None:
    """Return all assignments of these symbols; None if there are too many."""
    total = 1
    for symbol in symbols:
        total *= symbol.domain.size or MAX_CASES + 1
        if total > MAX_CASES:
            return None
    values = ([const(value, symbol.domain) for value in symbol.domain.values()] for symbol in symbols)
    return [dict(zip(symbols, combination, strict=True)) for combination in itertools.product(*values)]


def _type_slots(state: Sequence[Any], slots: Sequence[Slot]) -> Any:
    return tuple(as_state(new, slot) for new, slot in zip(state, slots, strict=True))


def _normal(state: Any, symbols: Sequence[Term]) -> Any:
    """Bring constants into the domains of their slots, so that equal constants are one object."""
    domains = iter(symbols)

    def one(leaf: Any) -> Any:
        domain = next(domains).domain
        if isinstance(leaf, Term) and leaf.is_const and leaf.payload in domain:
            return const(leaf.payload, domain)
        return leaf

    return map_leaves(one, state)
