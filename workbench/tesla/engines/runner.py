"""One running rule: the effects of its matches, whichever matcher finds them.

The rule of this module: a match passes `where`, then `limit`, then `at most once`; emitted matches consume. This is all
the state here; the history belongs to the matcher.

Sources: design of the language (docs/reference/rules.md); thesis, 4.4 (rule processors).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol

from workbench.tesla.engines.absences import Absences, DueAbsence
from workbench.tesla.engines.columns import StepColumn
from workbench.tesla.engines.engine import RuleCost
from workbench.tesla.engines.rule_plan import PartialMatch, RulePlan
from workbench.tesla.engines.saved_state import EventStore
from workbench.tesla.occurrence import Facts, Occurrence

Consumed = dict[int, int]
"""The numbers of events that a rule cannot select again, with their times."""


@dataclass(frozen=True)
class MatcherStart:
    """The arguments for the matcher of a rule.

    Attributes
    ----------
    consumed: the consumed events by slot; shared by all slots, unless T-Rex is followed. None: no consumption.
    counted: called with each partial match, if they are counted.
    """

    plan: RulePlan
    facts: Facts
    trex: bool = False
    consumed: dict[int, Consumed] | None = None
    counted: Callable[[PartialMatch], object] | None = None


class RuleMatcher(Protocol):
    """The part of an engine that finds the matches of a rule."""

    def matches(self, start: PartialMatch) -> Iterable[PartialMatch]:
        """Yield all matches of a trigger, in order; no event is added before they are exhausted."""

    def add(self, event: Occurrence) -> None:
        """Add an event to the history."""

    @property
    def columns(self) -> Mapping[int, StepColumn]:
        """The columns that hold the history, by the number of the step."""

    @property
    def oldest(self) -> float:
        """The least number of an event that can still be selected."""

    def state(self, store: EventStore) -> Any:
        """Return the state, with events as numbers."""

    def set_state(self, state: Any, store: EventStore) -> None:
        """Restore a saved state."""


MakesMatcher = Callable[[MatcherStart], RuleMatcher]
SWEEP = 64
"""Number of additional entries after which obsolete ones are removed."""


@dataclass
class RuleRunner:
    """A rule and its state.

    Attributes
    ----------
    order: its position among the rules.
    absences: the pending absences; None for a rule without `absent`.
    consumed: the consumed events by slot.
    emitted: the time of the last emission for each tuple of values of `per`.
    """

    plan: RulePlan
    matcher: RuleMatcher
    order: int
    absences: Absences | None = None
    consumed: dict[int, Consumed] | None = None
    emitted: dict[tuple[Any, ...], int] = field(default_factory=dict)
    cost: RuleCost | None = None
    _sweep_at: int = SWEEP
    _swept: dict[int, int] = field(default_factory=dict)

    def fire(self, start: PartialMatch) -> tuple[list[Occurrence], DueAbsence | None]:
        """Return the composites that a trigger emits now, and the matches that wait for a deadline."""
        plan, time = self.plan, start[0].time
        lazy_matches = self.matcher.matches(start)
        if self.cost is not None:
            self.cost.partial += 1
            lazy_matches = _count_matches(lazy_matches, self.cost)
        if plan.rule.where_clause:
            lazy_matches = filter(plan.where, lazy_matches)
        if self.absences is None:
            return self._emit(lazy_matches, time), None
        matches = list(lazy_matches)
        if not matches:
            return [], None
        due = DueAbsence(time + plan.timeout, start[0], matches)
        self.absences.wait(due)
        return [], due

    def add(self, event: Occurrence) -> None:
        """Add an event to the history."""
        self.matcher.add(event)
        if self.absences is not None:
            self.absences.add(event)

    def judge(self, due: DueAbsence) -> list[Occurrence]:
        """Return the composites of an absence whose deadline has passed."""
        assert self.absences is not None
        return self._emit(self.absences.take_unfilled(due), due.deadline)

    def _emit(self, matches: Iterable[PartialMatch], time: int) -> list[Occurrence]:
        plan, composites = self.plan, []
        emitted = []
        for match in matches if plan.rule.limit is None else islice(matches, plan.rule.limit):
            if plan.pause is None or not self._is_silent(match, time, plan.pause):
                sources = tuple(match[slot].number for slot in plan.event_slots)
                composites.append(Occurrence(plan.rule.emits, time, plan.values(match), -1, sources, plan.rule.name))
                emitted.append(match)
        if self.consumed is not None:
            for match in emitted:
                for slot in plan.consumed_slots:
                    self.consumed[slot][match[slot].number] = match[slot].time
            self._sweep(emitted)
        if self.cost is not None:
            self.cost.composites += len(composites)
        return composites

    def _is_silent(self, match: PartialMatch, time: int, pause: int) -> bool:
        key = self.plan.per(match)
        before = self.emitted.get(key)
        if before is not None and time - before < pause:
            return True
        self.emitted[key] = time
        if len(self.emitted) > self._sweep_at:
            self.emitted = {key: last for key, last in self.emitted.items() if time - last < pause}
            self._sweep_at = 2 * len(self.emitted) + SWEEP
        return False

    def _sweep(self, emitted: Sequence[PartialMatch]) -> None:
        """Forget consumed events that are outside all windows."""
        assert self.consumed is not None
        for slot, consumed in self.consumed.items():
            if len(consumed) > self._swept.get(slot, SWEEP):
                # The trigger has not joined the history yet, and may be selected later.
                oldest = min([self.matcher.oldest, *(match[0].number for match in emitted)])
                for number in [number for number in consumed if number < oldest]:
                    del consumed[number]
                self._swept[slot] = 2 * len(consumed) + SWEEP

    def state(self, store: EventStore) -> list[Any]:
        """Return the state, for `set_state`."""
        consumed = [] if self.consumed is None else [[slot, list(each.items())] for slot, each in self.consumed.items()]
        absences = None if self.absences is None else self.absences.state(store)
        return [consumed, list(self.emitted.items()), self.matcher.state(store), absences]

    def set_state(self, state: Sequence[Any], store: EventStore) -> None:
        """Restore a saved state."""
        consumed, emitted, matcher, absences = state
        for slot, each in consumed:
            assert self.consumed is not None
            self.consumed[slot].update((number, time) for number, time in each)
        self.emitted = {tuple(key): time for key, time in emitted}
        self.matcher.set_state(matcher, store)
        if self.absences is not None:
            self.absences.set_state(absences, store)


def _count_matches(matches: Iterable[PartialMatch], cost: RuleCost) -> Iterator[PartialMatch]:
    for match in matches:
        cost.matches += 1
        yield match


def consumption(plan: RulePlan, trex: bool) -> dict[int, Consumed] | None:
    """Make the record of consumed events by slot; None for a rule without consumption."""
    if not plan.consumed_slots:
        return None
    everywhere: Consumed = {}
    return {slot: {} if trex else everywhere for slot in plan.event_slots}
