"""The total order of a run: all its events by number, both external ones and composites.

The rule of this module: a long run is stored as columns, and an event is created on demand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Any

from workbench.errors import InputError, did_you_mean
from workbench.tesla.event_block import EventBlock
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet


@dataclass(frozen=True)
class TriggerOutcome:
    """The decision of a rule about a trigger: its time in the order, and the numbers of the composites.

    Attributes
    ----------
    before: the number below which all events had been processed, or were the trigger.
    """

    trigger: int
    before: int
    composites: tuple[int, ...]


class EventOrder:
    """All events of a run, each with its number in the total order, from 0 on.

    Parameters
    ----------
    rules: the rules of the run.
    external: the external events, in their order.
    composites: the composites, with their numbers and sources, in the order of publication.
    """

    def __init__(self, rules: RuleSet, external: EventBlock, composites: EventBlock) -> None:
        import numpy as np

        self.rules = rules
        self._blocks = (external, composites)
        count = len(external) + len(composites)
        self.composite: Any = np.zeros(count, bool)
        self.composite[[] if composites.numbers is None else composites.numbers] = True
        self._place: Any = np.empty(count, np.int64)
        self.times: Any = np.empty(count, np.int64)
        self._types: Any = np.empty(count, np.int64)
        self._numbers = tuple(np.flatnonzero(where) for where in (~self.composite, self.composite))
        for block, numbers in zip(self._blocks, self._numbers, strict=True):
            self._place[numbers] = np.arange(len(block))
            self.times[numbers] = block.times
            self._types[numbers] = block.types
        self._occurrences: dict[int, Occurrence] = {}
        self._of_type: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self.times)

    # --- events -----------------------------------------------------------------------------------------

    def event(self, number: int) -> Occurrence:
        """Return the event with a number."""
        return self.events([number])[0]

    def events(self, numbers: Iterable[int]) -> list[Occurrence]:
        """Return the events with these numbers."""
        import numpy as np

        event_numbers = [int(each) for each in numbers]
        missing = [each for each in event_numbers if each not in self._occurrences]
        for inside, block in enumerate(self._blocks):
            block_numbers = [each for each in missing if bool(self.composite[each]) == bool(inside)]
            events = (
                block.take(self._place[np.array(block_numbers, np.int64)]).occurrences(self.rules)
                if block_numbers
                else []
            )
            for number, event in zip(block_numbers, events, strict=True):
                self._occurrences[number] = replace(event, number=number)
        return [self._occurrences[each] for each in event_numbers]

    def of_type(self, type: str, first: int, last: int) -> Any:
        """Return the numbers of the events of a type from one number to before another, as an array."""
        import numpy as np

        numbers = self._of_type.get(type)
        if numbers is None:
            numbers = self._of_type[type] = np.flatnonzero(self._types == self.rules.events.index(type))
        begin, end = (int(np.searchsorted(numbers, each)) for each in (first, max(first, last)))
        return numbers[begin:end]

    def at(self, time: int, side: str = "left") -> int:
        """Return the number of the first event at or after a time, or strictly after it for the side `right`."""
        import numpy as np

        return int(np.searchsorted(self.times, time, side=side))  # type: ignore[call-overload]

    # --- names ------------------------------------------------------------------------------------------

    def label(self, number: int) -> str:
        """Return the label of an event: the number of a row of the log, from 1 on; `#3` for a composite by its id."""
        return f"{'#' if self.composite[number] else ''}{self._place[number] + 1}"

    def row(self, number: int) -> int:
        """Return the index of a row of the log, from 0 on, for an event's number."""
        return int(self._place[number])

    def of_row(self, row: int) -> int:
        """Return the number of a row of the log, counted from 1; InputError if it does not exist."""
        return self._find_number(row, 0, "event", "the log has")

    def of_id(self, id: int) -> int:
        """Return the number of the composite with an id; InputError if it does not exist."""
        return self._find_number(id, 1, "composite", "there are")

    def _find_number(self, position: int, inside: int, what: str, there: str) -> int:
        numbers = self._numbers[inside]
        if not 1 <= position <= len(numbers):
            raise InputError(f"there is no {what} {position}", hint=f"{there} {len(numbers):,}, counted from 1 on")
        return int(numbers[position - 1])

    # --- composites -------------------------------------------------------------------------------------

    @cached_property
    def _sources(self) -> tuple[Any, Any]:
        """The concatenated sources of all composites, and the start of those of each."""
        import numpy as np

        block = self._blocks[1]
        return (np.empty(0, np.int64), np.zeros(1, np.int64)) if block.starts is None else (block.sources, block.starts)

    @property
    def composites(self) -> list[int]:
        """The numbers of all composites."""
        numbers: list[int] = self._numbers[1].tolist()
        return numbers

    def sources(self, number: int) -> list[int]:
        """Return the numbers of the events in the match of a composite, in the order of the predicates."""
        sources, starts = self._sources
        index = self._place[number]
        numbers: list[int] = sources[starts[index] : starts[index + 1]].tolist()
        return numbers

    def users(self, number: int) -> list[int]:
        """Return the composites in whose matches an event is bound."""
        import numpy as np

        sources, starts = self._sources
        hits = np.searchsorted(starts, np.flatnonzero(sources == number), side="right") - 1
        return [int(each) for each in self._numbers[1][np.unique(hits)]]

    def outcomes(self, rule: int) -> Sequence[TriggerOutcome]:
        """Return the decisions of a rule with composites, in their order."""
        return self._outcomes[rule]

    def decided(self, rule: int, trigger: int) -> TriggerOutcome | None:
        """Return the decision of a rule about a trigger; None if there was no composite."""
        return self._by_trigger.get((rule, trigger))

    @cached_property
    def _by_trigger(self) -> Mapping[tuple[int, int], TriggerOutcome]:
        return {(rule, each.trigger): each for rule, some in self._outcomes.items() for each in some}

    @cached_property
    def _outcomes(self) -> Mapping[int, Sequence[TriggerOutcome]]:
        (sources, starts), composites = self._sources, self._blocks[1]
        names = [self.rules.rule_names.index(name) for name in composites.rule_names]
        rules = [] if composites.rules is None else [names[each] for each in composites.rules.tolist()]
        triggers = sources[starts[:-1]].tolist()
        groups: dict[tuple[int, int], list[int]] = {}
        for rule, trigger, number in zip(rules, triggers, self._numbers[1].tolist(), strict=True):
            groups.setdefault((rule, trigger), []).append(number)
        outcomes: dict[int, list[TriggerOutcome]] = {rule: [] for rule in range(len(self.rules.rules))}
        for (rule, trigger), numbers in groups.items():
            before = trigger if self.rules.rules[rule].absence is None else numbers[0]
            outcomes[rule].append(TriggerOutcome(trigger, before, tuple(numbers)))
        for some in outcomes.values():
            some.sort(key=lambda each: each.before)
        return outcomes

    # --- deadlines --------------------------------------------------------------------------------------

    def find_judgement(self, rule: int, trigger: Occurrence) -> int:
        """Return the number of the first event that had not been processed when the deadline of a trigger was judged.

        If composites were emitted, their numbers show when the deadline was judged; otherwise it was judged
        between such deadlines. Deadlines of one time are judged by rule and trigger; the effects of the first may add
        deadlines of the same time, which are sorted among the remaining ones.
        """
        deadline = trigger.time + self.rules.rules[rule].timeout
        end = self.at(deadline, "right")
        groups = {
            (number, outcome.trigger): outcome.before
            for number, each in enumerate(self.rules.rules)
            if each.absence is not None
            for outcome in self.outcomes(number)
            if self.times[outcome.composites[0]] == deadline
        }
        cursor = min(end, *groups.values()) if groups else end
        due = [key for key in self._due(deadline, 0, end) if key[1] < cursor]
        heapify(due)
        begins = sorted(groups.values())
        while due and (key := heappop(due)) != (rule, trigger.number):
            if (began := groups.get(key)) is not None:
                cursor = next((each for each in begins if each > began), end)
                for later in self._due(deadline, began, cursor):
                    heappush(due, later)
        return cursor

    def _due(self, deadline: int, first: int, last: int) -> list[tuple[int, int]]:
        """Return rules and triggers with a deadline at a time, with triggers from one number to before another."""
        pairs = list[tuple[int, int]]()
        for number, rule in enumerate(self.rules.rules):
            if rule.absence is not None:
                time = deadline - rule.timeout
                begin, end = max(first, self.at(time)), min(last, self.at(time, "right"))
                pairs += ((number, each) for each in self.of_type(rule.trigger.type, begin, end).tolist())
        return pairs


def emitting(rules: RuleSet, type: str) -> list[int]:
    """Return the positions of the rules that emit a type; InputError if there are none."""
    positions = [i for i, rule in enumerate(rules.rules) if rule.emits == type]
    if not positions:
        raise InputError(f"no rule emits '{type}'", hint=did_you_mean(type, rules.composites))
    return positions
