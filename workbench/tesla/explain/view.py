"""What a rule saw when it was asked: the history in each window, what was consumed, and what it had told before.

The rule of this module: what an engine did is looked up in the total order of the run; what that means is asked of the
formulas, which share only tables with engines. Where the two part, that is an error, and never explained away.
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
    with_event,
)  # fmt: skip
from workbench.tesla.meaning import same_values
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.values import Attributes, Selected, fit_value, value


@dataclass(frozen=True)
class RunRecord:
    """A run that is over, or has been stopped.

    Attributes
    ----------
    rules: windows in the unit of times.
    facts: the rows of each type.
    compat: as for `meaning`.
    show: a time as the log writes it.
    told: the time up to which the clock has told what does not come; None: up to the last event, without its time.
    engine: what ran.
    micro: whether times are microseconds.
    written: the rules as the user wrote them; None: like those that ran.
    """

    rules: RuleSet
    order: EventOrder
    facts: Facts
    compat: str = ""
    show: Callable[[int], Value] = field(default=lambda time: time)
    told: int | None = None
    engine: str = ""
    micro: bool = False
    written: RuleSet | None = None

    def events(self, numbers: Iterable[int]) -> list[Fit]:
        """The events at some places of the order, with their attributes by name."""
        found = self.order.events(numbers)
        return [Fit(each.number, self.attributes(each.type, each.values), each) for each in found]

    def rows(self, type: str, most: int | None = None) -> list[Fit]:
        """The facts of a type, or the first of them, with their attributes by name."""
        rows = enumerate(self.facts.get(type, ())[:most])
        return [Fit(number, self.attributes(type, row)) for number, row in rows]

    def attributes(self, type: str, values: Sequence[Value | None]) -> Attributes:
        """The attributes of an event or fact by name."""
        return dict(zip(self.rules.declarations[type].positions, values, strict=True))

    def length(self, time: int) -> str:
        """A length of time as people read it."""
        if not self.micro:
            return f"{time:,}"
        unit, scale = next(((u, s) for u, s in reversed(MICROSECONDS.items()) if abs(time) >= s), ("us", 1))
        return f"{float(round(Decimal(time) / scale, 3)):g} {unit}"

    @property
    def deadline_time(self) -> int | None:
        """The time up to which deadlines have passed; None where there is no event."""
        last = [int(self.order.times[-1]) - 1] if len(self.order) else []
        return max([*last, *([] if self.told is None else [self.told])], default=None)


@dataclass(frozen=True)
class SeenWindow:
    """Where a part of a rule looked.

    Attributes
    ----------
    text: as it is written.
    first, last: the times at its ends, both included; `first` is None where it goes back for ever.
    numbers: the places in the order between which it lies, the last one not included.
    """

    text: str
    first: int | None
    last: int
    numbers: tuple[int, int]


@dataclass(frozen=True)
class Fit:
    """An event or a fact that satisfies a predicate or is in an aggregate: its number, or row, and its attributes."""

    number: int
    own: Attributes
    event: Occurrence | None = None


class RuleView:
    """A rule, asked about one trigger.

    Parameters
    ----------
    rule: its place in the file.
    trigger: the number of an event of the type that triggers it.

    Attributes
    ----------
    looked: how many events have been looked at so far.
    """

    def __init__(self, record: RunRecord, rule: int, trigger: int) -> None:
        self.record, self.number, self.order = record, rule, record.order
        self.rule, self.resolved = record.rules.rules[rule], record.rules.resolved[rule]
        self.trigger = record.order.event(trigger)
        self.past = Happened(record.rules, record.facts, record.compat)
        self.absent = self.rule.absence
        self.deadline = self.trigger.time + self.rule.timeout
        self.looked = 0
        self._grown: dict[Any, list[Selected]] = {}  # the events and facts that are selected tell all the rest
        self._consumers = self._find_consumers() if self.rule.consuming else {}
        self.past.consumed.update(self._consumers)

    # --- what had happened ------------------------------------------------------------------------------

    def _find_consumers(self) -> dict[tuple[int, int, int], int]:
        """What had been consumed when the trigger was processed, and by which composite."""
        found: dict[tuple[int, int, int], int] = {}
        for outcome in self.order.outcomes(self.number):
            if outcome.before >= self.trigger.number + (self.absent is not None):
                break
            for composite in outcome.composites:
                sources = dict(zip(self.resolved.events, self.order.sources(composite), strict=True))
                for place in self.resolved.consumed:
                    found.setdefault(self.past.consumption(self.number, place, sources[place]), composite)
        return found

    def consumer(self, place: int, event: int) -> int | None:
        """The composite that has consumed an event, for the predicate at a place; None if none has."""
        return self._consumers.get(self.past.consumption(self.number, place, event))

    def text(self, place: int) -> t.Predicate | t.Aggregate:
        """The part at a place as it was written."""
        return (self.record.written or self.record.rules).rules[self.number].parts[place]

    def window_text(self, place: int) -> str:
        """The window of the part at a place as it was written."""
        return self._window_texts[place]

    @cached_property
    def _window_texts(self) -> Sequence[str]:
        return [str(self.text(place).window) for place in range(len(self.rule.parts))]

    def is_fact(self, part: t.Predicate | t.Aggregate) -> bool:
        """Whether a part is about facts."""
        return self.record.rules.declarations[part.type].fact

    def predicate_in_window(self, place: int, selected: Selected, until: int | None = None) -> PlacedPredicate:
        """The part at a place, asked of the history in its window; `until` is the number before which that ends."""
        part = self.rule.parts[place]
        history: list[Occurrence] = []
        if (window := self.window(place, selected)) is not None:
            first, last = window.numbers
            last = min(last, self.trigger.number if until is None else until)
            history = self.order.events(self.order.of_type(part.type, first, last))
            self.looked += len(history)
        return PlacedPredicate(replace(self.past, history=history), part, self.number, place)

    def window(self, place: int, selected: Selected) -> SeenWindow | None:
        """Where the part at a place looks, given what is selected before it; None of facts and of the trigger."""
        window, text, at = self.rule.parts[place].window, self.window_text(place), self.order.at
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
        """A window before an event."""
        least, most = window.near, window.far
        if window.counts_events:
            first, last = 0 if most is None else max(0, anchor.number - most), anchor.number - least + 1
            inside = [int(self.order.times[each]) for each in (first, last - 1) if 0 <= each < anchor.number]
            times = inside or [anchor.time]
            return SeenWindow(text, None if most is None else min(times), max(times), (first, last))
        end = self.order.at(anchor.time - least, "right")
        end = end if self.record.compat == TREX else min(anchor.number, end)
        if most is None:
            return SeenWindow(text, None, anchor.time - least, (0, end))
        begin = anchor.time - most
        return SeenWindow(text, begin, anchor.time - least, (self.order.at(begin), end))

    # --- matches ----------------------------------------------------------------------------------------

    @cached_property
    def start(self) -> Selected | None:
        """What is selected at first; None where the trigger does not satisfy its constraints."""
        return with_event(self.predicate_in_window(0, Selected()), Selected(), self.trigger)

    def extend(self, place: int, selected: Selected) -> list[Selected]:
        """What is selected with the part at a place."""
        key = place, tuple(each.number for each in selected.events), selected.facts
        if key not in self._grown:
            self._grown[key] = grow(self.predicate_in_window(place, selected), selected)
        return self._grown[key]

    def walk(
        self, selected: Selected | None, place: int = 1, wanted: Callable[[Selected], bool] = lambda _: True
    ) -> Iterator[tuple[Selected, int]]:
        """Partial matches that begin with what is selected, depth first, each with the place of the next part.

        Parameters
        ----------
        selected: has all parts before the place; None: nothing begins.
        wanted: whether a partial match, and those that begin with it, are visited.
        """
        todo = [] if selected is None else [(selected, place)]
        while todo:
            found, after = todo.pop()
            if not wanted(found):
                continue
            yield found, after
            if after < len(self.rule.parts):
                todo += [(each, after + 1) for each in reversed(self.extend(after, found))]

    def matches(self, selected: Selected | None, place: int = 1) -> Iterator[Selected]:
        """All matches that begin with what is selected, in their order; where something is absent, before it is judged.

        One by one, in the order in which the formulas list them.
        """
        return (found for found, after in self.walk(selected, place) if after == len(self.rule.parts))

    def find_fits(self, place: int, selected: Selected, until: int | None = None) -> list[Fit]:
        """The events in range, or facts, that satisfy the constraints of the part at a place, whatever its policy."""
        asked = self.predicate_in_window(place, selected, until)
        if self.is_fact(asked.part):
            found = self.record.rows(asked.part.type)
        else:
            found = self.record.events(each.number for each in events_in_range(asked, selected))
        return [each for each in found if accept(asked, selected, each.own) is not None]

    # --- what came of them ------------------------------------------------------------------------------

    @property
    def moment(self) -> int | None:
        """The number of the first event that had not been processed when it was decided; None: it has not been."""
        if self.absent is None:
            return self.trigger.number
        if self.outcome is not None:
            return self.outcome.before
        passed = self.record.deadline_time
        if passed is None or self.deadline > passed:
            return None
        return self.order.find_judgement(self.number, self.trigger)

    def find_refuting(self, selected: Selected) -> list[Fit]:
        """What came up to the deadline that must be absent."""
        if self.absent is None:
            return []
        assert selected.absent is not None
        asked, before = selected.absent
        moment = self.moment
        return self.find_fits(asked.place, before, len(self.order) if moment is None else moment)

    def holds(self, selected: Selected) -> bool:
        """Whether a match satisfies `where`."""
        return all(value(each, selected) is True for each in self.rule.where_clause)

    def values(self, selected: Selected) -> tuple[Value | None, ...]:
        """The attributes of what is emitted for a match."""
        given = {each.name: value(each.value, selected) for each in self.rule.evaluations}
        domains = self.record.rules.declarations[self.rule.emits].domains
        return tuple(fit_value(given[name], domain) for name, domain in domains.items())

    def per(self, selected: Selected) -> tuple[Value | None, ...]:
        """The values for which a rule is silent on its own."""
        return tuple(value(each, selected) for each in self.rule.per)

    def silencing(self, selected: Selected, emitted: Sequence[Selected] = ()) -> int | None:
        """The composite because of which a match is told no more: emitted for the same values, not long enough ago.

        Parameters
        ----------
        emitted: matches of the same trigger that come before it and are told; their composites have no numbers yet,
            and count as that of the trigger: -1.
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
        """The matches of the trigger that became composites in the run, one for each, in their order.

        Raises
        ------
        EngineGap: the formulas have no such match.
        """
        made = self.composites
        wanted = self.order.events(made)
        found: list[Selected] = []
        for match in self._like(wanted):
            if len(found) < len(wanted) and _is(wanted[len(found)], match, self):
                found.append(match)
        if len(found) < len(wanted):
            raise gap(self, wanted[len(found)])
        return found

    @property
    def composites(self) -> tuple[int, ...]:
        """The composites that came of the trigger."""
        return () if self.outcome is None else self.outcome.composites

    @cached_property
    def outcome(self) -> TriggerOutcome | None:
        """What was decided about the trigger, where something came of it."""
        return self.order.decided(self.number, self.trigger.number)

    def _like(self, wanted: Sequence[Occurrence]) -> Iterator[Selected]:
        """Matches of the sources that some composites have, and no others, in their order."""
        prefixes = {each.sources[:i] for each in wanted for i in range(len(each.sources) + 1)}

        def among(selected: Selected) -> bool:
            return tuple(each.number for each in selected.events) in prefixes

        for found, place in self.walk(self.start, wanted=among):
            if place == len(self.rule.parts) and self.holds(found) and not self.find_refuting(found):
                yield found


def _is(composite: Occurrence, match: Selected, view: RuleView) -> bool:
    """Whether a composite is what comes of a match."""
    numbers = tuple(each.number for each in match.events)
    return composite.sources == numbers and same_values(composite.values, view.values(match))


def gap(view: RuleView, composite: Occurrence | None) -> EngineGap:
    """The error of an engine that has done something else than the formulas say."""
    record, label = view.record, view.order.label(view.trigger.number)
    shown = f"{view.rule.name} at {record.show(view.deadline)}, triggered by event {label}"
    engine = f"the engine {record.engine}" if record.engine else "the engine"
    what = f"{engine} has emitted a composite of {shown}, and the rules have none"
    if composite is None:
        what = f"{engine} has emitted no composite of {shown}, and the rules have one"
    return EngineGap(
        f"DEFECT OF WORKBENCH: {what}. Please report this.",
        hint="were facts the same, and none dropped? `workbench run --backend cdp` is another engine",
        rule=view.rule.name, trigger=view.trigger.number,
    )  # fmt: skip
