"""The total order of a run: all its events at their places, those from outside and composites.

The rule of this module: of a long run there are columns, and an event is made when somebody asks for it.
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
    """When a rule has decided what comes of a trigger, and the composites that came of it, by their numbers.

    Attributes
    ----------
    before: all events with smaller numbers had been processed, or were the trigger.
    """

    trigger: int
    before: int
    composites: tuple[int, ...]


class EventOrder:
    """All events of a run; an event's place is its number, from 0 on.

    Parameters
    ----------
    rules: those that ran.
    given: the events from outside, in their order.
    made: the composites, with their numbers and sources, in the order of publication.
    """

    def __init__(self, rules: RuleSet, given: EventBlock, made: EventBlock) -> None:
        import numpy as np

        self.rules = rules
        self._blocks = (given, made)
        count = len(given) + len(made)
        self.composite: Any = np.zeros(count, bool)
        self.composite[[] if made.numbers is None else made.numbers] = True
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
        """The event at a place."""
        return self.events([number])[0]

    def events(self, numbers: Iterable[int]) -> list[Occurrence]:
        """The events at some places."""
        import numpy as np

        wanted = [int(each) for each in numbers]
        missing = [each for each in wanted if each not in self._occurrences]
        for inside, block in enumerate(self._blocks):
            mine = [each for each in missing if bool(self.composite[each]) == bool(inside)]
            found = block.take(self._place[np.array(mine, np.int64)]).occurrences(self.rules) if mine else []
            for number, event in zip(mine, found, strict=True):
                self._occurrences[number] = replace(event, number=number)
        return [self._occurrences[each] for each in wanted]

    def of_type(self, type: str, first: int, last: int) -> Any:
        """The numbers of the events of a type from one place to before another, an array."""
        import numpy as np

        found = self._of_type.get(type)
        if found is None:
            found = self._of_type[type] = np.flatnonzero(self._types == self.rules.events.index(type))
        begin, end = (int(np.searchsorted(found, each)) for each in (first, max(first, last)))
        return found[begin:end]

    def at(self, time: int, side: str = "left") -> int:
        """The place of the first event that is not before a time, or, on the right side, that is behind it."""
        import numpy as np

        return int(np.searchsorted(self.times, time, side=side))  # type: ignore[call-overload]

    # --- names ------------------------------------------------------------------------------------------

    def label(self, number: int) -> str:
        """What an event is called: a row of the log by its number, from 1 on; a composite `#3` by its id."""
        return f"{'#' if self.composite[number] else ''}{self._place[number] + 1}"

    def row(self, number: int) -> int:
        """The place of a row of the log among them, from 0 on."""
        return int(self._place[number])

    def of_row(self, row: int) -> int:
        """The number of a row of the log, which is counted from 1 on; InputError where there is none."""
        return self._find_number(row, 0, "event", "the log has")

    def of_id(self, id: int) -> int:
        """The number of a composite, of which its id is known; InputError where there is none."""
        return self._find_number(id, 1, "composite", "there are")

    def _find_number(self, place: int, inside: int, what: str, there: str) -> int:
        numbers = self._numbers[inside]
        if not 1 <= place <= len(numbers):
            raise InputError(f"there is no {what} {place}", hint=f"{there} {len(numbers):,}, counted from 1 on")
        return int(numbers[place - 1])

    # --- composites -------------------------------------------------------------------------------------

    @cached_property
    def _sources(self) -> tuple[Any, Any]:
        """The sources of all composites, one after the other, and where those of each begin."""
        import numpy as np

        made = self._blocks[1]
        return (np.empty(0, np.int64), np.zeros(1, np.int64)) if made.starts is None else (made.sources, made.starts)

    @property
    def composites(self) -> list[int]:
        """The numbers of all composites."""
        found: list[int] = self._numbers[1].tolist()
        return found

    def sources(self, number: int) -> list[int]:
        """The numbers of the events in the match of a composite, in the order of the predicates."""
        found, starts = self._sources
        place = self._place[number]
        numbers: list[int] = found[starts[place] : starts[place + 1]].tolist()
        return numbers

    def users(self, number: int) -> list[int]:
        """The composites in whose matches an event is bound."""
        import numpy as np

        found, starts = self._sources
        hits = np.searchsorted(starts, np.flatnonzero(found == number), side="right") - 1
        return [int(each) for each in self._numbers[1][np.unique(hits)]]

    def outcomes(self, rule: int) -> Sequence[TriggerOutcome]:
        """What a rule has decided, where something came of it, in the order of that."""
        return self._outcomes[rule]

    def decided(self, rule: int, trigger: int) -> TriggerOutcome | None:
        """What a rule has decided about a trigger; None where nothing came of it."""
        return self._by_trigger.get((rule, trigger))

    @cached_property
    def _by_trigger(self) -> Mapping[tuple[int, int], TriggerOutcome]:
        return {(rule, each.trigger): each for rule, some in self._outcomes.items() for each in some}

    @cached_property
    def _outcomes(self) -> Mapping[int, Sequence[TriggerOutcome]]:
        (found, starts), composites = self._sources, self._blocks[1]
        names = [self.rules.rule_names.index(name) for name in composites.rule_names]
        rules = [] if composites.rules is None else [names[each] for each in composites.rules.tolist()]
        triggers = found[starts[:-1]].tolist()
        groups: dict[tuple[int, int], list[int]] = {}
        for rule, trigger, number in zip(rules, triggers, self._numbers[1].tolist(), strict=True):
            groups.setdefault((rule, trigger), []).append(number)
        made: dict[int, list[TriggerOutcome]] = {rule: [] for rule in range(len(self.rules.rules))}
        for (rule, trigger), numbers in groups.items():
            before = trigger if self.rules.rules[rule].absence is None else numbers[0]
            made[rule].append(TriggerOutcome(trigger, before, tuple(numbers)))
        for some in made.values():
            some.sort(key=lambda each: each.before)
        return made

    # --- deadlines --------------------------------------------------------------------------------------

    def find_judgement(self, rule: int, trigger: Occurrence) -> int:
        """The number of the first event that had not been processed when the deadline of a trigger was judged.

        What told something says when it was judged by the places of its composites; what told nothing was judged
        between those. Deadlines of one time are judged by rule and trigger; what the first has caused may bring
        deadlines of the same time, which take their places among those that are left.
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
        """The rules and triggers whose deadline is a time; the triggers from one place to before another."""
        found = list[tuple[int, int]]()
        for number, rule in enumerate(self.rules.rules):
            if rule.absence is not None:
                time = deadline - rule.timeout
                begin, end = max(first, self.at(time)), min(last, self.at(time, "right"))
                found += ((number, each) for each in self.of_type(rule.trigger.type, begin, end).tolist())
        return found


def emitting(rules: RuleSet, type: str) -> list[int]:
    """The places of the rules that emit a type; InputError where there is none."""
    found = [i for i, rule in enumerate(rules.rules) if rule.emits == type]
    if not found:
        raise InputError(f"no rule emits '{type}'", hint=did_you_mean(type, rules.composites))
    return found
