"""The automaton of a rule: its states, and the transitions that events cause.

The rule of this module: a state is the set of predicates whose events have come, as bits. Where windows form a chain,
as in the paper, its predicates come one after the other; predicates that are connected only through the trigger belong
to automata of their own. A window's event comes before its anchor, so a predicate joins a state only while its anchor
is missing from it. `between` joins while exactly one of its two anchors is there.

`first` and `last` do not backtrack: their choice does not depend on whether the rest can be completed. So there are
also states for the predicates up to each `first` or `last`, in the order in which they are written.

Source: Cugola and Margara, 4.1 (figure 2) and 5.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from typing import Any

from workbench.errors import Refused
from workbench.tesla import tree as t
from workbench.tesla.engines.expressions import EVENT, MatchLayout, PythonLines
from workbench.tesla.engines.rule_plan import RulePlan
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.resolved import exact_text, expand_parameters, move_to_part, slots

TRIGGER = -1
"""Represents the trigger where predicates are represented by bits."""
MAX_STATES = 10_000
Holdings = tuple[Occurrence | None, ...]
"""The events of an instance by bit; None for an event that has not come."""


class Automaton:
    """The automaton that all instances of a rule share.

    Attributes
    ----------
    steps: the predicates that select events, in the order of the rule; the index of one is its bit.
    anchors: for each predicate the anchors of its window.
    components: for each predicate the set of predicates that are connected with it.
    """

    def __init__(self, plan: RulePlan, *, trex: bool) -> None:
        self.plan, self.trex = plan, trex
        self.steps = [step for step in plan.steps if step.selects]
        self.bits = {0: TRIGGER} | {step.slot: bit for bit, step in enumerate(self.steps)}
        self.windows = [step.window for step in self.steps if step.window is not None]
        self.anchors = [tuple(self.bits[slot] for slot in step.anchors) for step in self.steps]
        self.components = _components(self.anchors)
        self.places = {step.place: self.bits[step.slot] for step in (plan.trigger, *self.steps)}
        self._find_key()
        self.accepts = cache(self._accepts)
        self.leads_on = cache(self._leads_on)
        self.checks = cache(self._checks)
        self.alive = cache(self._alive)
        self.is_decided = cache(self._is_decided)
        self.open_ends = cache(self._open_ends)
        self._refuse()

    # --- states -----------------------------------------------------------------------------------------

    def target(self, bit: int) -> int:
        """Return the state whose instances give the candidates of a predicate, given those of earlier ones."""
        return next(each for each in self._targets(self.components[bit]) if each >> bit & 1)

    def is_rooted(self, state: int) -> bool:
        """Whether the last event to reach a state is that of the first predicate in the rule's order."""
        bits = list(_bits(state))
        hanging = [bit for bit in bits if TRIGGER in self.anchors[bit]]
        return hanging == bits[:1] and not any(self.windows[bit].between for bit in bits)

    def _targets(self, component: int) -> Iterator[int]:
        """Yield the states that are read when the trigger comes, smaller ones first."""
        for bit, step in enumerate(self.steps):
            if component >> bit & 1 and not step.policy.many:
                yield component & ((2 << bit) - 1)
        yield component

    def _leads_on(self, state: int, bit: int) -> int | None:
        """Return the state that an event for a predicate leads to; None if there is no transition."""
        if state >> bit & 1 or state & ~self.components[bit]:
            return None
        there = [anchor != TRIGGER and bool(state >> anchor & 1) for anchor in self.anchors[bit]]
        joins = there[0] != there[1] if self.windows[bit].between else not there[0]
        after = state | 1 << bit
        return after if joins and self.alive(after) else None

    def _alive(self, state: int) -> bool:
        """Whether some target is still reachable."""
        component = self.components[state.bit_length() - 1]
        late = sum(1 << bit for bit in _bits(component & ~state) if self._hangs_in(bit, state))
        return any(not state & ~target and not target & late for target in self._targets(component))

    def _hangs_in(self, bit: int, state: int) -> bool:
        """Whether all anchors of a predicate have come."""
        return all(anchor != TRIGGER and state >> anchor & 1 for anchor in self.anchors[bit])

    def _open_ends(self, state: int) -> list[tuple[int, t.EventWindow]]:
        """Return the predicates in a state whose anchors have not come, with their windows."""
        return [
            (bit, self.windows[bit])
            for bit in _bits(state)
            if not self.windows[bit].between
            and (self.anchors[bit][0] == TRIGGER or not state >> self.anchors[bit][0] & 1)
        ]

    def _refuse(self) -> None:
        """Raise Refused if there are too many states."""
        if sum(self._states(component) for component in dict.fromkeys(self.components)) > MAX_STATES:
            raise Refused(
                f"the automaton of '{self.plan.rule.name}' has more than {MAX_STATES} states, one for each set"
                " of predicates whose events can have come",
                where=self.plan.rule.where,
                hint="use the engine cdp, which has a column for each predicate",
            )

    def _states(self, component: int) -> int:
        """Count the states, up to just above the limit; in a chain there are as many as targets have predicates."""
        if not any(len(self.hang_on[bit]) > 1 or self.windows[bit].between for bit in _bits(component)):
            return sum(target.bit_count() for target in set(self._targets(component)))
        if (upper := 1 << component.bit_count()) <= MAX_STATES:
            return upper
        states: set[int] = set()
        todo = [0]
        while todo and len(states) <= MAX_STATES:
            state = todo.pop()
            for bit in _bits(component & ~state):
                after = self.leads_on(state, bit)
                if after is not None and after not in states:
                    states.add(after)
                    todo.append(after)
        return len(states)

    # --- windows ----------------------------------------------------------------------------------------

    def reaches(self, holdings: Holdings, bit: int, event: Occurrence) -> bool:
        """Whether windows allow an event for a predicate, or the trigger, to extend the events of an instance."""
        for other in self.hang_on[bit]:
            earlier = holdings[other]
            if earlier is not None and not self._in(self.windows[other], earlier, event):
                return False
        return not self.trex or self._apart(holdings, bit, event)

    @cached_property
    def hang_on(self) -> dict[int, list[int]]:
        """For each predicate and the trigger, the predicates whose windows depend on it."""
        dependents: dict[int, list[int]] = {bit: [] for bit in self.bits.values()}
        for bit, anchors in enumerate(self.anchors):
            if not self.windows[bit].between:
                dependents[anchors[0]].append(bit)
        return dependents

    def _in(self, window: t.EventWindow, earlier: Occurrence, event: Occurrence) -> bool:
        gap = event.number - earlier.number if window.counts_events else event.time - earlier.time
        if self.trex and not window.counts_events:
            return window.near < gap and (window.far is None or gap < window.far)
        return window.near <= gap and (window.far is None or gap <= window.far)

    def _apart(self, holdings: Holdings, bit: int, event: Occurrence) -> bool:
        """Whether events of `between` windows differ in time from their anchors; only in compatibility with T-Rex."""
        for other, anchors in enumerate(self.anchors):
            middle = holdings[other]
            if self.windows[other].between and bit in anchors and middle is not None and middle.time >= event.time:
                return False
        ends = [holdings[anchor] for anchor in self.anchors[bit] if anchor != TRIGGER] if bit != TRIGGER else []
        return not (ends and self.windows[bit].between) or all(end is None or end.time < event.time for end in ends)

    # --- constraints ------------------------------------------------------------------------------------

    def _find_key(self) -> None:
        """Choose the trigger's value that most predicates are equal to, as the key of instances."""
        candidates = []
        for bit, step in enumerate(self.steps):
            for index, (_, bound) in enumerate(step.equations):
                expression = self._resolve(bound, bit)
                if expression is not None and self._find_bits(expression) <= {TRIGGER}:
                    candidates.append((exact_text(expression), bit, index, expression))
        top = Counter(text for text, *_ in candidates).most_common(1)
        equations = {
            bit: (index, expression)
            for text, bit, index, expression in reversed(candidates)
            if top and text == top[0][0]
        }
        self.keyed = sum(1 << bit for bit in equations)
        self.enforced = [[equations[bit][0]] if bit in equations else [] for bit in range(len(self.steps))]
        first = [expression for _, expression in equations.values()][:1]
        self.key: Callable[[Any], Any] = PythonLines(self._layout, "m").key_function(first)

    def _accepts(self, bit: int) -> Callable[[Any], Any]:
        """Return a function that accepts events for a predicate; its key comes from the equations with the trigger."""
        step = self.steps[bit]
        return step.compile_acceptance(step.equations[i] for i in self.enforced[bit])

    def _checks(self, state: int, bit: int) -> list[Callable[[Holdings], Any]]:
        """Return the tests that are decidable in a state as soon as the event of its last predicate has come."""
        return [test for about, test in self._early if about >> bit & 1 and not about & ~state]

    @cached_property
    def _early(self) -> list[tuple[int, Callable[[Holdings], Any]]]:
        """Constraints that do not need the trigger: the predicates they depend on, and their tests."""
        tests = []
        for bit, step in enumerate(self.steps):
            for constraint in step.linking_constraints:
                resolved = self._resolve(constraint, bit)
                if resolved is not None and TRIGGER not in self._find_bits(resolved):
                    code = PythonLines(self._layout, "m")
                    code.require([resolved])
                    about = sum(1 << each for each in self._find_bits(resolved) | {bit})
                    tests.append((about, code.function("True")))
        return tests

    def _is_decided(self, bit: int, anchor: int) -> bool:
        """Whether `first` or `last` can be decided when the anchor comes (algorithm 1, line 12).

        This holds if no constraint waits for the trigger, no candidate can be consumed in the meantime, and no
        earlier predicate can select a candidate.
        """
        step = self.steps[bit]
        if not step.policy.ends or self.anchors[bit] != (anchor,):
            return False
        consumed = {self.plan.binding[slot].type for slot in self.plan.consumed_slots}
        rivals = {other.type for other in self.steps[:bit] if other is not self.steps[anchor]}
        if step.type in consumed | rivals:
            return False
        if self.keyed >> bit & 1 and not self.keyed >> anchor & 1:
            return False
        rest = [each for index, each in enumerate(step.linking_constraints) if index not in self.enforced[bit]]
        constraints = [self._resolve(each, bit) for each in rest]
        return all(each is not None and self._find_bits(each) <= {bit, anchor} for each in constraints)

    @property
    def _layout(self) -> MatchLayout:
        return {(index, EVENT): max(bit, 0) for index, bit in self.places.items()}

    def _resolve(self, expression: t.Expression, bit: int) -> t.Expression | None:
        """Resolve an expression to attributes and times of selected events; None if it depends on anything else.

        Parameters
        ----------
        bit: the predicate to which it belongs.
        """
        expansion = expand_parameters(move_to_part(expression, self.steps[bit].place))
        return expansion if all(slot.part in self.places for slot in slots(expansion)) else None

    def _find_bits(self, expression: t.Expression) -> set[int]:
        """Return the bits of the events on which a resolved expression depends."""
        return {self.places[slot.part] for slot in slots(expression)}


def _bits(state: int) -> Iterator[int]:
    while state:
        low = state & -state
        yield low.bit_length() - 1
        state ^= low


def _components(anchors: Sequence[tuple[int, ...]]) -> list[int]:
    """Return for each predicate the set of those connected with it other than through the trigger."""
    components = [1 << bit for bit in range(len(anchors))]
    for bit, each in enumerate(anchors):
        together = components[bit]
        for anchor in each:
            together |= components[anchor] if anchor != TRIGGER else 0
        for other in _bits(together):
            components[other] = together
    return components
