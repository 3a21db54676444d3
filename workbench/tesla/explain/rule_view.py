"""The view of a rule at a trigger: the history in each window, consumed events, and earlier emissions.

The rule of this module: an engine's actions are read from the total order of the run; their meaning comes from the
formulas, which share only tables with engines. A disagreement is an error, and is never explained away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

from workbench.core.domain import Value
from workbench.core.units import MICROSECONDS
from workbench.errors import EngineGap
from workbench.tesla import tree as t
from workbench.tesla.explain.order import EventOrder, TriggerOutcome
from workbench.tesla.formulas import (
    TREX,
    Happened,
    PlacedPredicate,
    accept,
    events_in_range,
    grow,
    satisfying,
    with_event,
)  # fmt: skip
from workbench.tesla.meaning import same_values
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.values import Attributes, Selected, fit_value, value


@dataclass(frozen=True)
class RunRecord:
    """A run that has ended, or was stopped.

    Attributes
    ----------
    rules: the rules, with windows in the unit of times.
    facts: the rows of each type of facts.
    compat: as for `meaning`.
    show: converts a time to the log's form.
    reported: the time up to which deadlines have passed; None: up to the last event, without its time.
    engine: the name of the engine.
    micro: whether times are microseconds.
    written: the original rules of the user; None: the same as `rules`.
    """

    rules: RuleSet
    order: EventOrder
    facts: Facts
    compat: str = ""
    show: Callable[[int], Value] = field(default=lambda time: time)
    reported: int | None = None
    engine: str = ""
    micro: bool = False
    written: RuleSet | None = None

    def events(self, numbers: Iterable[int]) -> list[Fit]:
        """Return the events with these numbers, with their attributes by name."""
        occurrences = self.order.events(numbers)
        return [Fit(each.number, self.attributes(each.type, each.values), each) for each in occurrences]

    def rows(self, type: str, limit: int | None = None) -> list[Fit]:
        """Return the facts of a type, or the first of them, with their attributes by name."""
        rows = enumerate(self.facts.get(type, ())[:limit])
        return [Fit(number, self.attributes(type, row)) for number, row in rows]

    def attributes(self, type: str, values: Sequence[Value | None]) -> Attributes:
        """Return the attributes of an event or fact by name."""
        return dict(zip(self.rules.declarations[type].positions, values, strict=True))

    def length(self, time: int) -> str:
        """Format a length of time for the user."""
        if not self.micro:
            return f"{time:,}"
        unit, scale = next(((u, s) for u, s in reversed(MICROSECONDS.items()) if abs(time) >= s), ("us", 1))
        return f"{float(round(Decimal(time) / scale, 3)):g} {unit}"

    @property
    def deadline_time(self) -> int | None:
        """The time up to which deadlines have passed; None if there are no events."""
        last = [int(self.order.times[-1]) - 1] if len(self.order) else []
        return max([*last, *([] if self.reported is None else [self.reported])], default=None)


@dataclass(frozen=True)
class SeenWindow:
    """The window of a part of a rule in a run.

    Attributes
    ----------
    text: its text in the rule.
    first, last: the times at its ends, inclusive; `first` is None if it is unbounded.
    numbers: the numbers in the order from which and to before which it extends.
    """

    text: str
    first: int | None
    last: int
    numbers: tuple[int, int]


@dataclass(frozen=True)
class Fit:
    """An event or fact that a predicate or an aggregate accepts: its number or row, and its attributes."""

    number: int
    own: Attributes
    event: Occurrence | None = None


class RuleView:
    """A rule evaluated at one trigger.

    Parameters
    ----------
    rule: its position in the file.
    trigger: the number of an event of its trigger's type.

    Attributes
    ----------
    looked: the number of events examined so far.
    """

    def __init__(self, record: RunRecord, rule: int, trigger: int) -> None:
        self.record, self.number, self.order = record, rule, record.order
        self.rule, self.resolved = record.rules.rules[rule], record.rules.resolved[rule]
        self.trigger = record.order.event(trigger)
        self.past = Happened(record.rules, record.facts, record.compat)
        self.absent = self.rule.absence
        self.deadline = self.trigger.time + self.rule.timeout
        self.looked = 0
        self._grown: dict[Any, list[Selected]] = {}  # the selected events and facts determine the rest
        self._consumers = self._find_consumers() if self.rule.consuming else {}
        self.past.consumed.update(self._consumers)

    # --- the past ---------------------------------------------------------------------------------------

    def _find_consumers(self) -> dict[tuple[int, int, int], int]:
        """Return the events consumed before the trigger was processed, each with the consuming composite."""
        consumers: dict[tuple[int, int, int], int] = {}
        for outcome in self.order.outcomes(self.number):
            if outcome.before >= self.trigger.number + (self.absent is not None):
                break
            for composite in outcome.composites:
                sources = dict(zip(self.resolved.events, self.order.sources(composite), strict=True))
                for index in self.resolved.consumed:
                    consumers.setdefault(self.past.consumption(self.number, index, sources[index]), composite)
        return consumers

    def consumer(self, index: int, event: int) -> int | None:
        """Return the composite that has consumed an event for the predicate at a place; None if none has."""
        return self._consumers.get(self.past.consumption(self.number, index, event))

    def text(self, index: int) -> t.Predicate | t.Aggregate:
        """Return the part at a place as it was written."""
        return (self.record.written or self.record.rules).rules[self.number].parts[index]

    def window_text(self, index: int) -> str:
        """Return the window of the part at a place as it was written."""
        return self._window_texts[index]

    @cached_property
    def _window_texts(self) -> Sequence[str]:
        return [str(self.text(index).window) for index in range(len(self.rule.parts))]

    def is_fact(self, part: t.Predicate | t.Aggregate) -> bool:
        """Whether a part selects facts."""
        return self.record.rules.declarations[part.type].fact

    def predicate_in_window(self, index: int, selected: Selected, until: int | None = None) -> PlacedPredicate:
        """Return the part at a place with the history in its window, before the number `until`."""
        part = self.rule.parts[index]
        history: list[Occurrence] = []
        if (window := self.window(index, selected)) is not None:
            first, last = window.numbers
            last = min(last, self.trigger.number if until is None else until)
            history = self.order.events(self.order.of_type(part.type, first, last))
            self.looked += len(history)
        return PlacedPredicate(replace(self.past, history=history), part, self.number, index)

    def window(self, index: int, selected: Selected) -> SeenWindow | None:
        """Return the window of the part at a place, given the selection before it; None for facts and the trigger."""
        window, text, at = self.rule.parts[index].window, self.window_text(index), self.order.at
        if window is None:
            return None
        ends = sorted((selected.named[name] for name in window.names), key=lambda each: each.number)
        one, two = ends[0], ends[-1]
        if window.between:
            trex = self.record.compat == TREX
            numbers = (at(one.time), at(two.time, "right")) if trex else (one.number + 1, two.number)
            return SeenWindow(text, one.time, two.time, numbers)
        if window.after:
            last = one.time + self.rule.timeout
            return SeenWindow(text, one.time, last, (one.number + 1, at(last, "right")))
        return self._within(window, text, one)

    def _within(self, window: t.EventWindow, text: str, anchor: Occurrence) -> SeenWindow:
        """Return a window before an event."""
        least, upper = window.near, window.far
        if window.counts_events:
            first, last = 0 if upper is None else max(0, anchor.number - upper), anchor.number - least + 1
            inside = [int(self.order.times[each]) for each in (first, last - 1) if 0 <= each < anchor.number]
            times = inside or [anchor.time]
            return SeenWindow(text, None if upper is None else min(times), max(times), (first, last))
        end = self.order.at(anchor.time - least, "right")
        end = end if self.record.compat == TREX else min(anchor.number, end)
        if upper is None:
            return SeenWindow(text, None, anchor.time - least, (0, end))
        begin = anchor.time - upper
        return SeenWindow(text, begin, anchor.time - least, (self.order.at(begin), end))

    # --- matches ----------------------------------------------------------------------------------------

    @cached_property
    def start(self) -> Selected | None:
        """The selection of the trigger; None if the trigger does not satisfy its constraints."""
        return with_event(self.predicate_in_window(0, Selected()), Selected(), self.trigger)

    def extend(self, index: int, selected: Selected) -> list[Selected]:
        """Return the selections extended by the part at a place."""
        key = index, tuple(each.number for each in selected.events), selected.facts
        if key not in self._grown:
            self._grown[key] = grow(self.predicate_in_window(index, selected), selected)
        return self._grown[key]

    def walk(
        self, selected: Selected | None, index: int = 1, is_relevant: Callable[[Selected], bool] = lambda _: True
    ) -> Iterator[tuple[Selected, int]]:
        """Yield partial matches that begin with a selection, depth first, each with the place of the next part.

        Parameters
        ----------
        selected: the selection of all parts before the place; None: there are no matches.
        is_relevant: whether to visit a partial match and its extensions.
        """
        todo = [] if selected is None else [(selected, index)]
        while todo:
            match, after = todo.pop()
            if not is_relevant(match):
                continue
            yield match, after
            if after < len(self.rule.parts):
                todo += [(each, after + 1) for each in reversed(self.extend(after, match))]

    def matches(self, selected: Selected | None, index: int = 1) -> Iterator[Selected]:
        """Yield all matches that begin with a selection, in order; matches of `absent` before they are judged.

        They are found one by one, in the order of the formulas.
        """
        return (match for match, after in self.walk(selected, index) if after == len(self.rule.parts))

    def find_fits(self, index: int, selected: Selected, until: int | None = None) -> list[Fit]:
        """Return the events in range, or facts, that satisfy the constraints of the part at a place, of any policy."""
        predicate = self.predicate_in_window(index, selected, until)
        if self.is_fact(predicate.part):
            fits = self.record.rows(predicate.part.type)
        else:
            fits = self.record.events(each.number for each in events_in_range(predicate, selected))
        return [each for each in fits if accept(predicate, selected, each.own) is not None]

    def counts(self, index: int, selected: Selected, event: Occurrence) -> bool:
        """Whether the aggregate at a place counts an event before the trigger, given the selection before it."""
        part = self.rule.parts[index]
        predicate = PlacedPredicate(replace(self.past, history=[event]), part, self.number, index)
        own = satisfying(predicate, selected)
        return bool(own) and (not part.attribute or own[0][part.attribute] is not None)

    # --- outcomes of matches ----------------------------------------------------------------------------

    @property
    def moment(self) -> int | None:
        """The number of the first event not yet processed when the trigger was decided; None if it was not decided."""
        if self.absent is None:
            return self.trigger.number
        if self.outcome is not None:
            return self.outcome.before
        passed = self.record.deadline_time
        if passed is None or self.deadline > passed:
            return None
        return self.order.find_judgement(self.number, self.trigger)

    def find_refuting(self, selected: Selected) -> list[Fit]:
        """Return the events up to the deadline that satisfy `absent`."""
        if self.absent is None:
            return []
        assert selected.absent is not None
        predicate, before = selected.absent
        moment = self.moment
        return self.find_fits(predicate.index, before, len(self.order) if moment is None else moment)

    def holds(self, selected: Selected) -> bool:
        """Whether a match satisfies `where`."""
        return all(value(each, selected) is True for each in self.rule.where_clause)

    def values(self, selected: Selected) -> tuple[Value | None, ...]:
        """Return the attributes of a match's composite."""
        by_name = {each.name: value(each.value, selected) for each in self.rule.evaluations}
        domains = self.record.rules.declarations[self.rule.emits].domains
        return tuple(fit_value(by_name[name], domain) for name, domain in domains.items())

    def per(self, selected: Selected) -> tuple[Value | None, ...]:
        """Return the values of `per`."""
        return tuple(value(each, selected) for each in self.rule.per)

    def silencing(self, selected: Selected, emitted: Sequence[Selected] = ()) -> int | None:
        """Return the composite that silences a match: with the same values of `per`, and within the pause; or None.

        Parameters
        ----------
        emitted: earlier matches of the same trigger that emit; their composites have no numbers yet, and are
                represented by -1.
        """
        if self.rule.pause is None:
            return None
        key, pause = self.per(selected), int(self.rule.pause.amount)
        if pause > 0 and any(same_values(self.per(each), key) for each in emitted):
            return -1
        moment = self.moment
        for outcome in reversed(self.order.outcomes(self.number)):
            if outcome.trigger == self.trigger.number or (moment is not None and outcome.before >= moment):
                continue
            time = int(self.order.times[outcome.composites[0]])
            if self.deadline - time >= pause:
                break
            other = RuleView(self.record, self.number, outcome.trigger)
            for number, match in zip(outcome.composites, other.emitting_matches(), strict=True):
                if same_values(self.per(match), key):
                    return number
        return None

    def emitting_matches(self) -> list[Selected]:
        """Return the matches of the trigger that became composites in the run, one for each, in their order.

        Raises
        ------
        EngineGap: the formulas give no such match.
        """
        numbers = self.composites
        composites = self.order.events(numbers)
        matches: list[Selected] = []
        for match in self._like(composites):
            if len(matches) < len(composites) and _is(composites[len(matches)], match, self):
                matches.append(match)
        if len(matches) < len(composites):
            raise gap(self, composites[len(matches)])
        return matches

    @property
    def composites(self) -> tuple[int, ...]:
        """The composites of the trigger."""
        return () if self.outcome is None else self.outcome.composites

    @cached_property
    def outcome(self) -> TriggerOutcome | None:
        """The decision about the trigger; None if there was no composite."""
        return self.order.decided(self.number, self.trigger.number)

    def _like(self, composites: Sequence[Occurrence]) -> Iterator[Selected]:
        """Yield the matches with the sources of some composites, in their order."""
        prefixes = {each.sources[:i] for each in composites for i in range(len(each.sources) + 1)}

        def among(selected: Selected) -> bool:
            return tuple(each.number for each in selected.events) in prefixes

        for match, index in self.walk(self.start, is_relevant=among):
            if index == len(self.rule.parts) and self.holds(match) and not self.find_refuting(match):
                yield match


def _is(composite: Occurrence, match: Selected, view: RuleView) -> bool:
    """Whether a composite results from a match."""
    numbers = tuple(each.number for each in match.events)
    return composite.sources == numbers and same_values(composite.values, view.values(match))


def gap(view: RuleView, composite: Occurrence | None) -> EngineGap:
    """Build the error for an engine that deviates from the formulas."""
    record, label = view.record, view.order.label(view.trigger.number)
    origin = f"{view.rule.name} at {record.show(view.deadline)}, triggered by event {label}"
    engine = f"the engine {record.engine}" if record.engine else "the engine"
    what = f"{engine} has emitted a composite of {origin}, but the rules emit none"
    if composite is None:
        what = f"{engine} has emitted no composite of {origin}, but the rules emit one"
    return EngineGap(
        f"DEFECT OF WORKBENCH: {what}. Please report this.",
        hint="were facts the same, and none dropped? `workbench run --backend cdp` is another engine",
        rule=view.rule.name, trigger=view.trigger.number,
    )  # fmt: skip
