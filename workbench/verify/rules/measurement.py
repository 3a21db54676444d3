"""What running rules hold and make: how much columns need on a stream, and streams that fill them as fast as rates let.

The rule of this module: all is measured on the engine that runs rules, by the processor of their model, which has as
much room as it asks for; nothing is concluded.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from workbench.core.domain import Value
from workbench.errors import Overflow
from workbench.tesla import tree as t
from workbench.tesla.model.encoding import ticks_of
from workbench.tesla.model.machine import ModelledRules
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_graph import LONGEST_CHAIN
from workbench.verify.answer.growth import InputSteps

MOST_TRIED = 512
"""The most events of a type that are tried."""
MOST_SHORT, LONGEST_SHORT = 2048, 4
"""The most streams of a length that are tried, and the greatest such length."""
MOST_ALIKE = 16
"""How many equal events streams begin with that are tried."""
ELAPSED = "elapsed"
"""The input on which time passes."""
MOST_IN_TURN = 8
"""Up to which number each is tried when parts of a stream come several times; more are tried by doubling."""
MOST_PAIRED = 64
"""The most kinds of events of which each two are tried."""


class MeasuredStep(NamedTuple):
    """After a step, on one input: how much room each column has needed, and the composites that the step has caused.

    Within a step a column may need more than it holds in the end: what composites ask for is gone behind them.
    """

    name: str
    lengths: Mapping[str, int]
    made: Sequence[Occurrence]

    @property
    def caused(self) -> int:
        """How many these are."""
        return len(self.made)

    @property
    def rules(self) -> set[str]:
        """The rules that have made them."""
        return {each.rule for each in self.made}


class MeasuredRules:
    """Running rules of which is measured what they hold.

    Parameters
    ----------
    model: the processor of their model.
    """

    def __init__(self, model: ModelledRules) -> None:
        layout = model.frame.layout
        columns = {name: replace(each, apart=()) for name, each in layout.columns.items()}
        frame = replace(model.frame, layout=replace(layout, columns=columns), depth=LONGEST_CHAIN)
        self.model = replace(model, frame=frame.with_rooms(dict.fromkeys(model.rooms, sys.maxsize)))

    def run(self, inputs: Sequence[Mapping[str, Value]]) -> list[MeasuredStep]:
        """What is measured at each step, up to one whose composites have no end."""
        model, found, needed = self.model, list[MeasuredStep](), dict.fromkeys(self.model.rooms, 0)
        state = model.initial()
        for step in inputs:
            ((name, given),) = step.items()
            try:
                state, made, held = model.process(state, (model.ports.index(name), given))
            except Overflow:
                break
            needed = {queue: max(most, held.get(queue, 0)) for queue, most in needed.items()}
            found.append(MeasuredStep(name, needed, made))
        return found

    def measure_column(self, queue: str, inputs: Sequence[Mapping[str, Value]]) -> int:
        """How much room a column needs."""
        return max((each.lengths[queue] for each in self.run(inputs)), default=0)

    def distinct_events(self, type: str) -> tuple[list[Value], bool]:
        """Events of a type that are kept beside each other, one of each kind; and whether these are all that there are.

        Where only the newest with the same values is kept, there are as many kinds as such values; else one.
        """
        column, domain = self.model.frame.layout.columns[type], self.model.shapes[self.model.ports.index(type)]
        tried, found = list(islice(domain.values(), MOST_TRIED + 1)), list[Value]()
        for value in tried[:MOST_TRIED]:
            if self.measure_column(type, [{type: each} for each in (*found, value)]) > len(found):
                found.append(value)
                if column.newest is None:
                    return found, True
        return found, len(tried) <= MOST_TRIED

    def pace(self, inputs: Iterable[Mapping[str, Value]]) -> InputSteps:
        """The same, waiting where rates do not let an event come yet."""
        now, times, found = 0, dict[str, list[int]](), list[Mapping[str, Value]]()
        for step in inputs:
            ((name, given),) = step.items()
            before, rate = times.setdefault(name, []), self.model.frame.rates.get(name)
            if name == ELAPSED:
                now += ticks_of(given)
            elif rate is not None and len(before) >= rate.most and before[-rate.most] + rate.ticks > now:
                pauses = self._choose_pauses(before[-rate.most] + rate.ticks - now)
                now += sum(map(ticks_of, pauses))
                found += [{ELAPSED: each} for each in pauses]
            before.append(now)
            found.append(step)
        return tuple(found)

    def with_more_events(self, inputs: InputSteps, count: int) -> Iterator[InputSteps]:
        """Streams like one on which something happens at the last step, on which more may: parts come several times."""
        *before, last = inputs
        numbers = {*range(2, min(count, MOST_IN_TURN) + 1), *(2**each for each in range(count.bit_length())), count}
        for number in sorted(numbers - {0, 1}):
            yield self.pace([*before * number, last])
            yield self.pace(inputs * number)
            for place in range(len(before)):
                yield self.pace([*before[:place], *[before[place]] * number, *before[place + 1 :], last])

    def neighbours(self, inputs: InputSteps) -> Iterator[InputSteps]:
        """Streams like one, with one event more, or with another one in place of the last events."""
        for event in self.events():
            for place in range(len(inputs)):
                yield self.pace([*inputs[:place], event, *inputs[place:]])
                yield self.pace([*inputs[:place], *[event] * (len(inputs) - place)])

    def firing(self, rule: t.Rule) -> InputSteps:
        """A stream on which a rule fires at the last step: of few events and pauses, or of equal events."""
        for inputs in itertools.chain(self._list_short(), self.streams_of_one_kind()):
            place = next((i for i, step in enumerate(self.run(inputs), 1) if rule.name in step.rules), None)
            if place is not None:
                return inputs[:place]
        return ()

    def _list_short(self) -> Iterator[InputSteps]:
        """All streams of the same few events and pauses, as far as they are not too many."""
        pauses = [{ELAPSED: each} for each in sorted(self.model.shapes[0].values(), key=ticks_of) if ticks_of(each)]
        steps = [*self.events(), *pauses[:1], *pauses[1:][-1:]]
        for length in range(1, LONGEST_SHORT + 1):
            if len(steps) ** length <= MOST_SHORT:
                yield from map(self.pace, itertools.product(steps, repeat=length))

    def streams_of_one_kind(self) -> Iterator[InputSteps]:
        """Streams of events of one kind."""
        return (self.pace([one] * MOST_ALIKE) for one in self.events())

    def streams_of_two_kinds(self) -> Iterator[InputSteps]:
        """Streams of events of one kind, and then one of another."""
        events = list(self.events())
        if len(events) <= MOST_PAIRED:
            for one, other in itertools.permutations(events, 2):
                yield self.pace([*[one] * MOST_ALIKE, other])

    def events(self) -> Iterator[Mapping[str, Value]]:
        """An event of each kind that may come from outside."""
        for name, domain in zip(self.model.ports[1:], self.model.shapes[1:], strict=True):
            if name not in self.model.frame.fact_inputs:
                yield from ({name: value} for value in islice(domain.values(), MOST_PAIRED))

    def _choose_pauses(self, ticks: int) -> list[Value]:
        """Pauses that the model has, of so many ticks together."""
        found = list[Value]()
        for each in sorted(self.model.shapes[0].values(), key=ticks_of, reverse=True):
            while ticks_of(each) <= ticks:
                found.append(each)
                ticks -= ticks_of(each)
        return found
