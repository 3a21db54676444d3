"""Automaton-based incremental processing: every event advances the instances of automata.

An event that leads an instance to another state duplicates it: the duplicate advances, the instance waits for further
events. Instances whose windows have passed are deleted. When the trigger comes, the instances in the target states
give the candidates (`automaton`); they are selected in the order of the predicates in the rule.

Not everything can be decided as events come, for a rule refers backwards from the trigger. Decided only then:

* constraints on the trigger, on facts and aggregates; constraints between events of the automaton are tested as soon
    as these have come, and equality with a value of the trigger is the key of instances;
* `first` and `last`, unless nothing that is decided later affects them (`Automaton._is_decided`, the single selection
    of algorithm 1): all candidates are kept as instances until then;
* consumption; negations, aggregates and facts, which have columns, as in section 4.3.

Source: Cugola and Margara, 4.1 (algorithm 1, figures 2 and 3), 4.3 and 5.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from workbench.tesla import tree as t
from workbench.tesla.engines.aip.automaton import TRIGGER, Automaton, Holdings
from workbench.tesla.engines.aip.instances import AutomatonInstance, HeldEvents, StateInstances
from workbench.tesla.engines.candidates import (
    ExtendsMatch,
    FindsCandidates,
    count_extensions,
    extension,
    fact_extension,
    grow_sequences,
)
from workbench.tesla.engines.columns import Placewise, StepColumns, make_slice_finder
from workbench.tesla.engines.rule_plan import PartialMatch, RuleStep
from workbench.tesla.engines.runner import MatcherStart
from workbench.tesla.engines.saved_state import EventStore
from workbench.tesla.occurrence import Occurrence

NOWHERE: tuple[None, dict[int, Any]] = None, {}
SWEEP_INTERVAL = 64
"""Minimum number of additions between two sweeps."""
Tries = dict[tuple[int, int | None], dict[int, Any]]
"""For a state, and its latest event if known, a trie of the events of instances: the number of the first event
leads to this event and a trie of the second ones, and so on."""


class AIPMatcher:
    """Matcher (`RuleMatcher`) that advances the instances of one rule's automaton.

    Attributes
    ----------
    instances: the instances by state.
    columns: the columns of negations and aggregates, by the number of the step.
    oldest: the least number of an event that can still be selected.
    """

    def __init__(self, start: MatcherStart) -> None:
        self.plan = start.plan
        self.automaton = Automaton(start.plan, trex=start.trex)
        self.instances: dict[int, StateInstances] = {}
        self.columns = StepColumns()
        self._counted = start.counted
        self._tries: Tries = {}
        self._bits: dict[str, list[int]] = {}
        self.extends: list[ExtendsMatch] = []
        for step in self.plan.steps[1:]:
            extend = self._extension(step, start)
            self.extends.append(extend if start.counted is None else count_extensions(extend, start.counted))
        self._until_look = SWEEP_INTERVAL
        self.oldest: float = 0

    def _extension(self, step: RuleStep, start: MatcherStart) -> ExtendsMatch:
        if step.fact:
            return fact_extension(step, start.facts)
        if not step.selects:
            column = self.columns.begin(step, start.trex)
            return extension(step, column.find, step.fits, aggregate_of=column.aggregate_of)
        bit = self.automaton.steps.index(step)
        self._bits.setdefault(step.type, []).append(bit)
        rivals = [other.slot for other in self.automaton.steps[:bit] if other.type == step.type]
        consumed = None if start.consumed is None else start.consumed[step.slot]
        return extension(
            step, self._candidates(bit), step.compile_test([*step.local, *step.linking_constraints]), consumed, rivals
        )

    # --- events come ------------------------------------------------------------------------------------

    def add(self, event: Occurrence) -> None:
        for column in self.columns.by_type.get(event.type, ()):
            column.add(event)
        for state in self.instances.values():
            state.delete_passed(event)
        successors = [each for bit in self._bits.get(event.type, ()) for each in self._advance(bit, event)]
        for state_after, instance in successors:
            self._instances(state_after).add_under(instance.key, instance)
            if self._counted is not None:
                self._counted(instance.holdings)
        self._until_look -= 1 + len(successors)
        if self._until_look < 0:
            self._sweep(event)

    def _instances(self, state: int) -> StateInstances:
        if state not in self.instances:
            self.instances[state] = StateInstances(self.plan.indexed)
        return self.instances[state]

    def _advance(self, bit: int, event: Occurrence) -> Iterator[tuple[int, AutomatonInstance]]:
        """Yield the instances that an event for a predicate creates, from the newest instances first."""
        automaton = self.automaton
        key = automaton.accepts(bit)(event)
        if key is None:
            return
        keyed = automaton.keyed >> bit & 1
        if (after := automaton.leads_on(0, bit)) is not None:
            nothing: Holdings = (None,) * len(automaton.steps)
            yield after, self._make_instance(nothing, after, bit, event, key)
        for state, instances in self.instances.items():
            after = automaton.leads_on(state, bit)
            if after is None:
                continue
            only = None if not keyed else key if state & automaton.keyed else True
            alone = self._alone(state, bit)
            first = alone is not None and alone.oldest
            for instance in instances.in_turn(only, oldest_first=first):
                if self._goes_on(instance, bit, event):
                    successor = self._make_instance(
                        instance.holdings, after, bit, event, key if keyed else instance.key
                    )
                    if all(check(successor.holdings) for check in automaton.checks(after, bit)):
                        yield after, successor
                        if alone is not None:
                            break

    def _alone(self, state: int, bit: int) -> t.Policy | None:
        """Return the policy of a state's only predicate, if one instance of the state suffices; otherwise None."""
        only = state.bit_length() - 1
        alone = state == 1 << only and self.automaton.is_decided(only, bit)
        return self.automaton.steps[only].policy if alone else None

    def _goes_on(self, instance: AutomatonInstance, bit: int, event: Occurrence) -> bool:
        return not instance.has_passed(event) and self.automaton.reaches(instance.holdings, bit, event)

    def _make_instance(self, before: Holdings, state: int, bit: int, event: Occurrence, key: Any) -> AutomatonInstance:
        holdings = (*before[:bit], event, *before[bit + 1 :])
        deadline: int | None = None
        last: int | None = None
        for end, window in self.automaton.open_ends(state):
            came = holdings[end]
            if (far := window.far) is None or came is None:
                continue
            if window.counts_events:
                last = came.number + far if last is None else min(last, came.number + far)
            elif deadline is None or came.time + far < deadline:
                deadline = came.time + far
        return AutomatonInstance(event.time, event.number, holdings, deadline, key, last)

    def _sweep(self, now: Occurrence) -> None:
        """Delete all expired instances, and events of columns before their windows."""
        oldest = dict.fromkeys(self.automaton.bits.values(), now)
        for state, instances in self.instances.items():
            instances.sweep(now)
            # In a state with a single predicate, instances are in the order of its events.
            looked_at = instances if state & (state - 1) else islice(instances, 1)
            for holdings in (instance.holdings for instance in looked_at):
                for bit, held in enumerate(holdings):
                    if held is not None and held.number < oldest[bit].number:
                        oldest[bit] = held
        self.oldest = min(each.number for each in oldest.values())
        of_slots = {slot: (oldest[bit].time, oldest[bit].number) for slot, bit in self.automaton.bits.items()}
        for column in self.columns.values():
            column.forget_behind([of_slots[slot] for slot in column.step.anchors])
        self._until_look = SWEEP_INTERVAL + sum(map(len, self.instances.values())) + self.columns.size

    # --- the trigger comes ------------------------------------------------------------------------------

    def matches(self, start: PartialMatch) -> Iterable[PartialMatch]:
        for state in self.instances.values():
            state.delete_passed(start[0])
        self._tries = {}
        return grow_sequences(self.extends, start)

    def _candidates(self, bit: int) -> FindsCandidates:
        """Return a function that finds the events for a predicate that fit the events chosen before it."""
        automaton = self.automaton
        target = automaton.target(bit)
        if target == 1 << bit:
            return self._alone_in(target, bit)
        before = [automaton.steps[other].slot for other in range(bit) if target >> other & 1]
        root = before[0] if before and automaton.is_rooted(target) else None

        def find(match: PartialMatch) -> tuple[Placewise, int, int]:
            number = None if root is None else match[root].number
            trie = self._tries.get((target, number))
            if trie is None:
                trie = self._tries[target, number] = self._trie(target, match, number)
            for slot in before:
                _, trie = trie.get(match[slot].number, NOWHERE)
            events = [event for event, _ in trie.values()]
            return events, 0, len(events)

        return find

    def _alone_in(self, state: int, bit: int) -> FindsCandidates:
        """Return the same function for a predicate connected only with the trigger: its instances are its events."""
        in_window = make_slice_finder(self.automaton.steps[bit], self.automaton.trex)
        keyed = state & self.automaton.keyed

        def find(match: PartialMatch) -> tuple[Placewise, int, int]:
            key = self.automaton.key(match) if keyed else None
            instances = self.instances.get(state)
            if instances is None or (keyed and key is None):
                return (), 0, 0
            column = instances.of(key)
            return HeldEvents(column, bit), *in_window(column, match)

        return find

    def _trie(self, state: int, match: PartialMatch, number: int | None) -> dict[int, Any]:
        """Return the events of the instances in a state that the trigger can complete, as a trie in order.

        Parameters
        ----------
        number: the number of the latest event, if it is known.
        """
        automaton, trigger = self.automaton, match[0]
        key = automaton.key(match) if state & automaton.keyed else None
        instances = self.instances.get(state)
        if instances is None or (key is None and state & automaton.keyed):
            return {}
        able = [
            [event for event in instance.holdings if event is not None]
            for instance in instances.in_turn(key, oldest_first=True, number=number)
            if self._goes_on(instance, TRIGGER, trigger)
        ]
        able.sort(key=lambda events: [event.number for event in events])
        root: dict[int, Any] = {}
        for events in able:
            node = root
            for event in events:
                node = node.setdefault(event.number, (event, {}))[1]
        return root

    # --- state ------------------------------------------------------------------------------------------

    def state(self, store: EventStore) -> Any:
        instances = [
            [state, [[*each[:2], store.pack(each.holdings), *each[3:]] for each in column]]
            for state, column in self.instances.items()
        ]
        return [instances, self.columns.state(store)]

    def set_state(self, state: Any, store: EventStore) -> None:
        instances, columns = state
        for number, records in instances:
            column = self._instances(number)
            for time, count, holdings, deadline, key, last in records:
                key = tuple(key) if isinstance(key, list) else key
                column.add_under(key, AutomatonInstance(time, count, store.unpack(holdings), deadline, key, last))
        self.columns.set_state(columns, store)
