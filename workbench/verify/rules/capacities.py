"""Capacities of rules: the smallest capacity of each column, proved on both sides, or a stream that makes it grow.

A capacity is proved to be enough by counting, from the rates of events, or by the model; a smaller one is refuted by
a stream on which the running rules retain that many events. A column whose events no rate bounds grows without end.

The same is computed for the composites that one event causes in one step: its direct composites, those that these
cause, and so on. Source: design of rules in the model, "how many events must be kept", "how many composites can one
event cause".
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from workbench.budget import remaining
from workbench.core.domain import Range
from workbench.core.ops import GT, both, restrict_to_range
from workbench.errors import Refused
from workbench.ir.system import System
from workbench.tesla import tree as t
from workbench.tesla.model.column_bounds import WITHOUT_END, RuleCounting
from workbench.tesla.model.machine import ModelledRules
from workbench.tesla.model.run_constants import waiting_of
from workbench.tesla.rule_processor import ALL
from workbench.verify.answer.trace import Growth, InputSteps
from workbench.verify.answer.verdict import Outcome, Verdict
from workbench.verify.ask.properties import Property, can, pipe_named
from workbench.verify.finding import RULES, Finding, findings_in_turn
from workbench.verify.maximum import Counted, KnownMaximum, SearchAbandoned, find_maximum
from workbench.verify.rules import measurement
from workbench.verify.rules.firing import firing
from workbench.verify.rules.measurement import ELAPSED, MeasuredRules, StepMeasure, growths
from workbench.verify.rules.problems import growing_problem
from workbench.verify.rules.rule_subject import RuleSubject
from workbench.verify.rules.stream import RuleStream, find_modelled
from workbench.verify.rules.variants import count_true

QUESTION_SECONDS = 20.0
"""Seconds for a question to the model, if there is no other limit."""
MAX_MODELLED = 24
"""Maximum total capacity of columns in models."""
MAX_RICHER = 4
"""Maximum number of events that are added to a stream to reach more."""
MAX_CAPACITY = 64
"""Default of the largest capacity to check."""
VALUED = ", with these values"
COUNTED = "counting: no more come in that time, by the rates of events and the effects of rules"
COUNTED_KINDS = "counting: the kinds of events that are retained, one event of each"


CAPACITY = {**RULES, **{name: name for name in ("capacity", "at_least", "growth")}}
"""The form of a maximum: `capacity` is the smallest that is enough, None if there is none or it is unknown; it is not
below `at_least`, which is None if nothing is enough; `growth`: if it grows without end, the least number that each
further event of the stream adds."""


@dataclass(kw_only=True)
class RuleMaximum(KnownMaximum):
    """The knowledge about a maximum that rules retain or cause, and the ways to measure and query it.

    Attributes
    ----------
    about, unit: the subject, and what is counted.
    surely: a bound that no stream exceeds, even with values that the model does not have.
    measure: the quantity after a step.
    more_than: makes the property that the quantity exceeds a number.
    causing: the rules that increase it; `looking`: other rules to include in the model.
    queue: its column, if it is in one.
    grows: whether to search for a stream that makes it grow.
    """

    about: str
    unit: str
    surely: float
    measure: StepMeasure
    more_than: Callable[[int], Property]
    causing: Sequence[t.Rule]
    looking: Sequence[t.Rule]
    queue: str = ""
    grows: bool = True
    argument: str = COUNTED
    reason: str = "larger ones were not tried"

    def finding(self, model: ModelledRules) -> Finding:
        """Report what is known."""
        if self.growth is not None and self.growth.endless:
            free = f"nothing bounds how often {self.growth.types} come{'s' if self.growth.length == 1 else ''}"
            text, stream = f"grows without end, with each further {self.growth.round}", self.growth.repeat()
            finding = Finding(self.about, "unbounded", text, grounds=(*model.assumes, free))
            data: dict[str, Any] = {"capacity": None, "at_least": None, "growth": self.growth.by}
        else:
            grounds = () if self.verdict else (*model.assumes, *([self.argument] if self.is_complete else []))
            counted = "" if self.at_most == WITHOUT_END else f", at most {int(self.at_most)}"
            least, stream = f"{self.at_least} {self.unit}{'s' * (self.at_least != 1)}", self.reaching
            text = f"not known, at least {least}{counted}: {self.reason}"
            finding = Finding(self.about, "unknown", text, decided=self.is_complete, grounds=grounds)
            if self.is_complete:
                text = f"{least} at most{VALUED if self.at_least < self.surely else ''}"
                finding = replace(finding, answer=f"capacity {self.at_least}", says=text)
            data = {"capacity": self.at_least if self.is_complete else None, "at_least": self.at_least, "growth": 0}
        runs = {"": RuleStream.of(model, stream)} if stream else {}
        data["status"] = "bounded" if data["capacity"] is not None else finding.answer
        return replace(finding, verdict=self.verdict, runs=runs, data=data, form=CAPACITY)


def capacities(subject: RuleSubject, *, max_capacity: int = MAX_CAPACITY) -> tuple[Finding, ...]:
    """Return the smallest capacity of each column and waiting list, with a stream that needs it, or makes it grow.

    The rates of the bounds limit how often events come.

    Parameters
    ----------
    max_capacity: the largest capacity to check, in events.

    Raises
    ------
    Refused: the rules have no finite model.
    """
    search, name = CapacitySearch(subject, max_capacity), subject.rules.name
    return findings_in_turn([(f"{name}.{queue}", partial(search.find_column, queue)) for queue in search.columns])


@dataclass
class CapacitySearch:
    """The search for the capacities of a rule set.

    Attributes
    ----------
    subject: the rules; without a time limit each question to the model has `QUESTION_SECONDS`.
    max_capacity: the largest capacity to try; 0: only those of the bounds.
    proved: proved capacities, by column.
    """

    subject: RuleSubject
    max_capacity: int
    proved: dict[str, int] = field(default_factory=dict)
    blocked: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.model, self.rules = find_modelled(self.subject.model()), self.subject.rules
        self.measured = MeasuredRules(self.model)
        self.counted, self.surely = (
            RuleCounting(self.model.frame, valued).count_capacities() for valued in (True, False)
        )
        self.firings: dict[str, InputSteps] = {}
        self.max_capacity = self.max_capacity if self.subject.deepen else 0
        # fixed, so that streams of parts are streams of the whole
        self.subject = replace(self.subject.settle(), deepen=bool(self.max_capacity))
        if remaining().seconds is None and self.subject.settings.seconds is None:
            self.subject = replace(self.subject, settings=replace(self.subject.settings, seconds=QUESTION_SECONDS))

    @property
    def columns(self) -> Sequence[str]:
        """The names with a capacity: columns of events from outside first, then composites, then waiting lists."""
        outside = set(self.rules.primitives)
        return sorted(self.model.capacities, key=lambda name: name not in outside)

    def find_column(self, queue: str) -> Iterator[Finding]:
        """Find the maximum of a column."""
        searched = RuleMaximum(
            about=(about := f"{self.rules.name}.{queue}"), unit="event", queue=queue,
            at_most=self.counted[queue], surely=self.surely[queue],
            measure=lambda step: step.lengths[queue], more_than=partial(_longer, about),
            causing=[rule for rule in self.rules.rules if queue in (rule.emits, waiting_of(rule))],
            looking=[rule for rule in self.rules.rules if queue in rule.types],
        )  # fmt: skip
        yield from self.find(searched)
        if searched.is_complete and searched.growth is None:
            self.proved[queue] = searched.at_least
        else:
            self.blocked.add(queue)

    def find(self, searched: RuleMaximum) -> Iterator[Finding]:
        """Find the maximum of a quantity: by trying streams, then by the model."""
        if searched.queue in self.rules.primitives:
            self._measure_outside(searched)
        else:
            self._fill(searched)
            if searched.at_most == WITHOUT_END and searched.grows:
                searched.growth = self._find_growth(searched)
        has_capacity = not searched.queue or (
            searched.at_least < self.max_capacity and not self._is_too_late(searched.queue)
        )
        if has_capacity and not searched.is_complete:
            self._search_streams(searched)
        yield searched.finding(self.model)

    def _measure_outside(self, searched: RuleMaximum) -> None:
        """Measure a column of events from outside, which depends on these events alone."""
        type = searched.queue
        values, whole = self.measured.distinct_events(type)
        column = self.model.frame.layout.columns[type]
        kinds = column.newest is not None and not column.distance  # windows that count lose some to other events
        if whole and (kinds or not values) and len(values) <= searched.at_most:
            searched.at_most, searched.argument = len(values), COUNTED_KINDS
        if searched.at_most == WITHOUT_END:
            searched.growth = Growth(({type: values[0]},), 0, 1)
            return
        count = int(min(searched.at_most, measurement.MAX_TRIED)) if values else 0
        inputs = self.measured.pace({type: values[number % len(values)]} for number in range(count))
        searched.learn(self.measured.measure_column(type, inputs), inputs)

    def _fill(self, searched: RuleMaximum) -> None:
        """Try streams on which rules fire as often as rates allow; that may be the maximum."""
        bounded = searched.at_most != WITHOUT_END
        limit = int(min(searched.at_most, self.max_capacity or MAX_CAPACITY)) if bounded else measurement.MAX_IN_TURN
        firings = [each for each in map(self._find_firing, searched.causing) if each]
        for inputs in firings:
            self._try(itertools.chain([inputs], self.measured.with_more_events(inputs, limit)), searched)
        if not bounded:
            return
        self._try(self.measured.streams_of_one_kind(), searched)
        for inputs in firings:
            if not searched.is_complete and (richer := self._enrich(inputs, searched.measure)) != inputs:
                self._try(self.measured.with_more_events(richer, limit), searched)
        self._try(self.measured.streams_of_two_kinds(), searched)

    def _try(self, streams: Iterable[InputSteps], searched: RuleMaximum) -> None:
        for each in streams:
            if searched.is_complete:
                return
            searched.learn(*self._run(each, searched.measure))

    def _run(self, inputs: InputSteps, measure: StepMeasure) -> tuple[int, InputSteps]:
        """Return the maximum that is reached on a stream, and the part of the stream up to there."""
        values = list(map(measure, self.measured.run(inputs)))
        maximum = max(values, default=0)
        return maximum, inputs[: values.index(maximum) + 1] if values else ()

    def _enrich(self, inputs: InputSteps, measure: StepMeasure) -> InputSteps:
        """Add events to a stream as long as each of them reaches more."""
        reached, stream = self._run(inputs, measure)
        for _ in range(MAX_RICHER):
            tried = (self._run(each, measure) for each in self.measured.neighbours(stream))
            more = next((each for each in tried if each[0] > reached), None)
            if more is None:
                break
            reached, stream = more
        return stream

    def _is_too_late(self, queue: str) -> bool:
        """Whether the model bounds a column only after steps in which it may need more."""
        column = self.model.frame.layout.columns.get(queue)
        return (
            column is not None and bool(column.apart and self.model.frame.absences) and queue in self.rules.composites
        )

    def _find_growth(self, searched: RuleMaximum) -> Growth | None:
        """Return a stream on which a rule fires and something grows, preferably one proved to go on for ever."""
        growth: Growth | None = None
        for rule in searched.causing:
            for each in growths(self.measured, self.rules, rule, self._find_firing(rule), searched.measure):
                if each.endless:
                    return each
                growth = growth or each
        return growth

    # --- the model ---

    def _find_firing(self, rule: t.Rule) -> InputSteps:
        """Return a stream on which a rule fires, found by trying streams, or by the model; empty if none is found."""
        if rule.name not in self.firings:
            self.firings[rule.name] = self.measured.firing(rule) or self._model_firing(rule)
        return self.firings[rule.name]

    def _model_firing(self, rule: t.Rule) -> InputSteps:
        with suppress(Refused):
            verdict = firing(self.subject, rule)
            if verdict.counterexample is not None:
                return tuple(step.inputs for step in verdict.counterexample.steps)
        return ()

    def _search_streams(self, searched: RuleMaximum) -> None:
        """Let the model find streams that reach more, until there are none; for a column, until it never overflows."""
        about = {rule.name for rule in (*searched.causing, *searched.looking)}
        subject = self.subject.about(about)
        names = {name for rule in subject.rules.rules for name in (*rule.types, waiting_of(rule))}
        capacity_of = {name: self._choose_initial_capacity(name) for name in self.model.capacities if name in names}
        if searched.queue:
            self._raise_capacity(capacity_of, searched.queue, searched.at_least)

        def exceeds(_: int, numbers: Sequence[int]) -> list[bool | None]:
            roomy = replace(subject.bounds, capacities={**subject.bounds.capacities, **capacity_of})
            try:
                prop = searched.more_than(searched.at_least)  # the first of the numbers
                larger = replace(subject, bounds=roomy, deepen=False)
                verdict = growing_problem(larger, prop, subject.rules.rule_names).decide()
            except Refused as error:  # a larger capacity may mean too many values
                raise SearchAbandoned(error.what) from error
            return [self._learn(searched, verdict, capacity_of), *[None] * (len(numbers) - 1)]

        find_maximum(Counted(searched, exceeds, searched.unit, WITHOUT_END, 0))

    def _learn(self, searched: RuleMaximum, verdict: Verdict, capacity_of: dict[str, int]) -> bool | None:
        """Whether the quantity exceeds the known value, on a run of the model, or on one up to a full column."""
        queue = searched.queue
        run = verdict.counterexample or (verdict.witness if queue and queue in _find_full(verdict) else None)
        more = run is not None and searched.learn(*self._run(tuple(s.inputs for s in run.steps), searched.measure))
        if verdict.counterexample is not None and not more:
            raise AssertionError(f"{searched.about}: a run of the model is not a run of the rules")
        if more and (verdict.counterexample is not None or self._raise_capacity(capacity_of, queue, searched.at_least)):
            return True
        if verdict.outcome is Outcome.FAILS and capacity_of.get(queue, 0) > searched.at_least:
            capacity_of[queue] = searched.at_least  # within a step it may need more than after it
        elif verdict.outcome is Outcome.FAILS:
            searched.verdict = verdict
            return False
        elif not self._double_capacities(verdict, capacity_of):
            searched.verdict = verdict
            raise SearchAbandoned(self._explain_unknown(verdict, searched))
        return None

    def _raise_capacity(self, capacity_of: dict[str, int], queue: str, capacity: int) -> bool:
        """Raise the capacity of a column, if the limit of models allows it; return whether it does."""
        fits = sum(capacity_of.values()) + max(0, capacity - capacity_of[queue]) <= min(self.max_capacity, MAX_MODELLED)
        if fits:
            capacity_of[queue] = max(capacity_of[queue], capacity)
        return fits

    def _choose_initial_capacity(self, name: str) -> int:
        """Return the initial capacity of a column in the model."""
        if self.proved.get(name, MAX_MODELLED) < MAX_MODELLED:
            return self.proved[name]
        return self.model.capacities[name] or 0

    def _double_capacities(self, verdict: Verdict, capacity_of: dict[str, int]) -> bool:
        """Whether full columns could get a larger capacity; a column that grows without end would be full again."""
        names = _find_full(verdict)
        more = capacity_of | {name: max(1, 2 * capacity_of[name]) for name in names}
        if not names or self.blocked.intersection(names) or sum(more.values()) > min(self.max_capacity, MAX_MODELLED):
            return False
        capacity_of |= more
        return True

    def _explain_unknown(self, verdict: Verdict, searched: RuleMaximum) -> str:
        if not verdict.within_bounds:
            return verdict.reason
        if searched.growth is not None:
            grown = f"each further {searched.growth.round} adds {searched.growth.by}"
            return f"{grown}, and whether that goes on is not proved"
        full = ", ".join(f"{self.rules.name}.{name}" for name in _find_full(verdict))
        return f"unknown beyond that, since {full} is full in the model" if full else "its bounds are met"


def _find_full(verdict: Verdict) -> list[str]:
    """Return the columns that are full at the end of a run of the model."""
    full = verdict.witness.steps[-1].overflows if verdict.witness else ()
    return [name.partition(".")[2] for name in full]


def _longer(queue: str, length: int) -> Property:
    return can(lambda system: GT(system.queues[queue].length, length), f"queue({queue}).length > {length}")


# --- the effects of one event -----------------------------------------------------------------------------------------

STATIC = "counting: a trigger causes at most as many composites as there are matches in the columns"


def effects(subject: RuleSubject, *, max_capacity: int = MAX_CAPACITY) -> tuple[Finding, ...]:
    """Return the maximum number of composites that one event causes, for each type from outside that triggers rules.

    For rules with `absent`, return the same for a moment at which an absence is decided. Parameters and errors are
    those of `capacities`.
    """
    search, rules = CapacitySearch(subject, max_capacity), subject.rules
    at_once = {rule.trigger.type for rule in rules.rules if rule.absence is None}
    names = [name for name in rules.primitives if name in at_once]
    names += [ELAPSED] if any(rule.absence is not None for rule in rules.rules) else []
    return findings_in_turn([(_name_cause(name), partial(_find_caused, search, name)) for name in names])


def _name_cause(name: str) -> str:
    return "a moment" if name == ELAPSED else f"one {name}"


def _find_caused(search: CapacitySearch, name: str) -> Iterator[Finding]:
    countings = (RuleCounting(search.model.frame, valued) for valued in (True, False))
    counted, surely = (each.count_due() if name == ELAPSED else each.count_caused(name) for each in countings)
    waiting = [rule for rule in search.subject.rules.rules if rule.absence is not None]
    at_once = [rule for rule in search.subject.rules.rules if rule not in waiting]
    causing = waiting if name == ELAPSED else [rule for rule in at_once if rule.trigger.type == name]
    types = search.subject.rules.graph.find_effects(rule.emits for rule in causing)
    searched = RuleMaximum(
        about=_name_cause(name), unit="composite", at_most=counted, surely=surely, argument=STATIC,
        grows=name != ELAPSED, measure=lambda step: step.caused if step.name == name else 0,
        more_than=partial(_more, name), causing=causing,
        looking=[rule for rule in at_once if rule.trigger.type in types],
    )  # fmt: skip
    return search.find(searched)


def _more(name: str, count: int) -> Property:
    def happens(system: System) -> Any:
        slots = pipe_named(system, ALL).slots
        total = restrict_to_range(count_true(slot.present for slot in slots), Range(0, len(slots)))
        return both(system.pipes[name].present, GT(total, count))

    return can(happens, f"{_name_cause(name)} causes more than {count}")
