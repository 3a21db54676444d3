"""Measurements of running rules: the capacity that columns need on a stream, and streams that fill them quickly.

A stream on which a column, or the effect of one event, grows without end repeats one event, or all of them. If no
rate bounds how often an event comes, the clock may stand still meanwhile. Growth by each repetition is measured, up
to `ROUNDS` times; that it goes on is concluded only if the rule reads nothing else that changes, or finds only the
latest events. Source: design of rules in the model: without an assumption on rates columns are unbounded.

The rule of this module: everything is measured on the engine that runs rules, by the processor of their model with
unlimited capacities; nothing else is concluded.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import NamedTuple

from workbench.core.domain import Value
from workbench.errors import Overflow
from workbench.tesla import tree as t
from workbench.tesla.model.encoding import ticks_of
from workbench.tesla.model.machine import ModelledRules
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_graph import LONGEST_CHAIN
from workbench.tesla.rule_set import RuleSet
from workbench.verify.answer.trace import ROUNDS, Growth, InputSteps

MAX_TRIED = 512
"""Maximum number of events of a type that are tried."""
MAX_SHORT, LONGEST_SHORT = 2048, 4
"""Maximum number of streams of a length that are tried, and the maximum length."""
MAX_ALIKE = 16
"""Number of equal events that tried streams begin with."""
ELAPSED = "elapsed"
"""The input that carries the passing of time."""
MAX_IN_TURN = 8
"""Number of repetitions up to which each number is tried; beyond it, numbers are doubled."""
MAX_PAIRED = 64
"""Maximum number of kinds of events of which all pairs are tried."""


class MeasuredStep(NamedTuple):
    """The measurements of a step on one input: the capacity that each column has needed, and the composites caused.

    Within a step a column may need more than it holds in the end: the last composites no longer need everything.
    """

    name: str
    lengths: Mapping[str, int]
    composites: Sequence[Occurrence]

    @property
    def caused(self) -> int:
        """The number of composites."""
        return len(self.composites)

    @property
    def rules(self) -> set[str]:
        """The rules that have emitted the composites."""
        return {each.rule for each in self.composites}


class MeasuredRules:
    """Running rules with measurements.

    Parameters
    ----------
    model: the processor of the rules' model.
    """

    def __init__(self, model: ModelledRules) -> None:
        layout = model.frame.layout
        columns = {name: replace(each, apart=()) for name, each in layout.columns.items()}
        frame = replace(model.frame, layout=replace(layout, columns=columns), depth=LONGEST_CHAIN)
        self.model = replace(model, frame=frame.with_capacities(dict.fromkeys(model.capacities, sys.maxsize)))

    def run(self, inputs: Sequence[Mapping[str, Value]]) -> list[MeasuredStep]:
        """Return the measurements of each step, up to one with an endless chain of composites."""
        model, steps, needed = self.model, list[MeasuredStep](), dict.fromkeys(self.model.capacities, 0)
        state = model.initial()
        for step in inputs:
            ((name, event),) = step.items()
            try:
                state, composites, held = model.process(state, (model.ports.index(name), event))
            except Overflow:
                break
            needed = {queue: max(maximum, held.get(queue, 0)) for queue, maximum in needed.items()}
            steps.append(MeasuredStep(name, needed, composites))
        return steps

    def measure_column(self, queue: str, inputs: Sequence[Mapping[str, Value]]) -> int:
        """Return the capacity that a column needs on a stream."""
        return max((each.lengths[queue] for each in self.run(inputs)), default=0)

    def distinct_events(self, type: str) -> tuple[list[Value], bool]:
        """Return events of a type that are retained beside each other, one of each kind; and whether these are all.

        If only the newest with the same values is retained, there are as many kinds as such values; otherwise one.
        """
        column, domain = self.model.frame.layout.columns[type], self.model.shapes[self.model.ports.index(type)]
        tried, events = list(islice(domain.values(), MAX_TRIED + 1)), list[Value]()
        for value in tried[:MAX_TRIED]:
            if self.measure_column(type, [{type: each} for each in (*events, value)]) > len(events):
                events.append(value)
                if column.newest is None:
                    return events, True
        return events, len(tried) <= MAX_TRIED

    def pace(self, inputs: Iterable[Mapping[str, Value]]) -> InputSteps:
        """Return the stream with pauses where rates do not allow an event yet."""
        now, times, stream = 0, dict[str, list[int]](), list[Mapping[str, Value]]()
        for step in inputs:
            ((name, event),) = step.items()
            before, rate = times.setdefault(name, []), self.model.frame.rates.get(name)
            if name == ELAPSED:
                now += ticks_of(event)
            elif rate is not None and len(before) >= rate.max_events and before[-rate.max_events] + rate.ticks > now:
                pauses = self._choose_pauses(before[-rate.max_events] + rate.ticks - now)
                now += sum(map(ticks_of, pauses))
                stream += [{ELAPSED: each} for each in pauses]
            before.append(now)
            stream.append(step)
        return tuple(stream)

    def with_more_events(self, inputs: InputSteps, count: int) -> Iterator[InputSteps]:
        """Yield variants of a stream, with an effect at the last step, in which parts are repeated."""
        *before, last = inputs
        numbers = {*range(2, min(count, MAX_IN_TURN) + 1), *(2**each for each in range(count.bit_length())), count}
        for number in sorted(numbers - {0, 1}):
            yield self.pace([*before * number, last])
            yield self.pace(inputs * number)
            for index in range(len(before)):
                yield self.pace([*before[:index], *[before[index]] * number, *before[index + 1 :], last])

    def neighbours(self, inputs: InputSteps) -> Iterator[InputSteps]:
        """Yield variants of a stream with one more event, or with another event in place of the last ones."""
        for event in self.events():
            for index in range(len(inputs)):
                yield self.pace([*inputs[:index], event, *inputs[index:]])
                yield self.pace([*inputs[:index], *[event] * (len(inputs) - index)])

    def firing(self, rule: t.Rule) -> InputSteps:
        """Return a stream on which a rule fires at the last step: of few events and pauses, or of equal events."""
        for inputs in itertools.chain(self._list_short(), self.streams_of_one_kind()):
            length = next((i for i, step in enumerate(self.run(inputs), 1) if rule.name in step.rules), None)
            if length is not None:
                return inputs[:length]
        return ()

    def _list_short(self) -> Iterator[InputSteps]:
        """Yield all streams of few events and pauses, by length, unless a length has too many."""
        pauses = [{ELAPSED: each} for each in sorted(self.model.shapes[0].values(), key=ticks_of) if ticks_of(each)]
        steps = [*self.events(), *pauses[:1], *pauses[1:][-1:]]
        for length in range(1, LONGEST_SHORT + 1):
            if len(steps) ** length <= MAX_SHORT:
                yield from map(self.pace, itertools.product(steps, repeat=length))

    def streams_of_one_kind(self) -> Iterator[InputSteps]:
        """Return streams of events of one kind."""
        return (self.pace([one] * MAX_ALIKE) for one in self.events())

    def streams_of_two_kinds(self) -> Iterator[InputSteps]:
        """Yield streams of events of one kind, followed by one of another."""
        events = list(self.events())
        if len(events) <= MAX_PAIRED:
            for one, other in itertools.permutations(events, 2):
                yield self.pace([*[one] * MAX_ALIKE, other])

    def events(self) -> Iterator[Mapping[str, Value]]:
        """Yield an event of each kind that may come from outside."""
        for name, domain in zip(self.model.ports[1:], self.model.shapes[1:], strict=True):
            if name not in self.model.frame.fact_inputs:
                yield from ({name: value} for value in islice(domain.values(), MAX_PAIRED))

    def _choose_pauses(self, ticks: int) -> list[Value]:
        """Return pauses that the model has, which add up to a number of ticks."""
        pauses = list[Value]()
        for each in sorted(self.model.shapes[0].values(), key=ticks_of, reverse=True):
            while ticks_of(each) <= ticks:
                pauses.append(each)
                ticks -= ticks_of(each)
        return pauses


# --- streams that make something grow ---------------------------------------------------------------------------------

StepMeasure = Callable[[MeasuredStep], int]
"""The quantity to maximise, from the measurements of a step."""


def growths(
    measured: MeasuredRules, rules: RuleSet, rule: t.Rule, inputs: InputSteps, measure: StepMeasure
) -> Iterator[Growth]:
    """Yield parts of a stream, on which a rule fires last, whose repetition adds more: single events, or all of it."""
    free = set(rules.primitives) - set(measured.model.frame.rates)
    whole = [Growth(inputs, 0, 0, length=len(inputs))] if len(inputs) > 1 else []
    for growth in (*(Growth(inputs, start, 0) for start in range(len(inputs))), *whole):
        if not free.issuperset(name for step in growth.again for name in step):
            continue
        values = list[int]()
        for rounds in range(ROUNDS + 1):
            run = measured.run(repeated := growth.repeat(rounds))
            if len(run) < len(repeated):
                break  # a cascade has no end
            values.append(measure(run[-1]))
        by = min((other - one for one, other in pairwise(values)), default=0)
        if by > 0:
            if growth.length > 1:
                endless = by_rounds(measured, rules, rule, growth)
            elif growth.start == len(inputs) - 1:
                endless = by_triggers(rules, rule, growth.types)
            else:
                endless = by_copies(rules, rule, growth.types)
            yield growth._replace(by=by, endless=endless)


def by_triggers(rules: RuleSet, rule: t.Rule, type: str) -> bool:
    """Whether a rule has the same effect for each further trigger of this type at the same time.

    It has if the rule reads nothing that a trigger is or causes, so that it finds what it has found before.
    """
    others = {part.type for part in rule.predicates}
    consumes = set(rule.consuming) - {rule.trigger.name}
    return (
        _plain(rule)
        and type == rule.trigger.type
        and not consumes
        and others.isdisjoint(rules.graph.find_effects([type]))
    )


def by_copies(rules: RuleSet, rule: t.Rule, type: str) -> bool:
    """Whether each further event of this type, beside one that a rule has found, gives it a further match.

    It does if the rule selects each of them, and nothing else in it reads what they are or cause.
    """
    parts = [part for part in rule.predicates if part.type in rules.graph.find_effects([type])]
    each = [part for part in parts if part.policy.many]
    alone = len(parts) == 1 and len(each) == 1 and each[0].type == type
    return _plain(rule) and rule.limit is None and alone and rule.trigger.type in set(rules.primitives) - {type}


def by_rounds(measured: MeasuredRules, rules: RuleSet, rule: t.Rule, growth: Growth) -> bool:
    """Whether a rule, and the rules it depends on, emit the same composites in each further round of a whole stream.

    They do if they ask only for the last event of a kind, or whether there is one, no time passes, and as many rounds
    as a rule has predicates, plus two, have had the same effect: what a predicate finds, or not, in a history with that
    many equal rounds, it finds, or not, in one with a round more.
    """
    names = rules.graph.sources([rule.name])
    source_rules = [each for each in rules.rules if each.name in names]
    column = measured.model.frame.layout.columns.get(rule.emits)
    if (
        measured.model.trex
        or column is None
        or column.limit < 0
        or not all(_last_only(rules, each) for each in source_rules)
    ):
        return False
    enough = max(len(each.predicates) for each in source_rules) + 2
    run = measured.run(growth.repeat(enough))
    composites = [[(c.rule, c.type, repr(c.values)) for c in step.composites if c.rule in names] for step in run]
    rounds = [composites[start : start + growth.length] for start in range(0, len(composites), growth.length)]
    return all(each == rounds[-1] for each in rounds[-enough:])


def _last_only(rules: RuleSet, rule: t.Rule) -> bool:
    """Whether a rule asks only for last events, or whether there are any, whenever they came."""
    parts = [part for part in rule.predicates if isinstance(part, t.Predicate)]
    kinds = all(part.policy.newest_first for part in parts) and len(parts) == len(rule.predicates)
    events = not any(rules.declarations[part.type].fact for part in parts)
    times = any(isinstance(leaf, t.TimeOf) for each in rule.expressions for leaf in t.within(each))
    return _plain(rule) and kinds and events and not times and not rule.consuming


def _plain(rule: t.Rule) -> bool:
    """Whether a rule has no memory of its own composites, and no window that counts events."""
    return rule.pause is None and rule.absence is None and not rule.counts_events
