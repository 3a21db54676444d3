"""The total order of a run: all its events at their places, those from outside and composites.

The rule of this module: of a long run there are columns, and an event is made when somebody asks for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import Any

from workbench.errors import InputError, did_you_mean
from workbench.tesla.event_block import EventBlock, outline
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet

RunPiece = EventBlock | Sequence[Occurrence]
"""Successive events of a run, all from outside or all composites."""


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

    def __init__(self, rules: RuleSet, given: Sequence[RunPiece], made: Sequence[RunPiece]) -> None:
        import numpy as np

        self.rules = rules
        outside, inside = _Kind(rules, given), _Kind(rules, made)
        numbers = inside.gathered("numbers")
        count = len(outside) + len(inside)
        self.composite: Any = np.zeros(count, bool)
        self.composite[numbers] = True
        self._kinds = (outside, inside)
        self._place: Any = np.empty(count, np.int64)
        self.times: Any = np.empty(count, np.int64)
        self._types: Any = np.empty(count, np.int64)
        for kind, where in zip(self._kinds, (~self.composite, self.composite), strict=True):
            self._place[where] = np.arange(len(kind))
            self.times[where] = kind.gathered("times")
            self._types[where] = kind.types
        self._numbers = tuple(np.flatnonzero(where) for where in (~self.composite, self.composite))
        self._made: dict[int, Occurrence] = {}
        self._of_type: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self.times)

    # --- events -----------------------------------------------------------------------------------------

    def event(self, number: int) -> Occurrence:
        """The event at a place."""
        return self.events([number])[0]

    def events(self, numbers: Iterable[int]) -> list[Occurrence]:
        """The events at some places."""
        wanted = [int(each) for each in numbers]
        missing = [each for each in wanted if each not in self._made]
        for inside, kind in enumerate(self._kinds):
            mine = [each for each in missing if bool(self.composite[each]) == bool(inside)]
            places = [int(self._place[each]) for each in mine]
            for number, event in zip(mine, kind.events(places), strict=True):
                self._made[number] = replace(event, number=number)
        return [self._made[each] for each in wanted]

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
        return self._named(row, 0, "event", "the log has")

    def of_id(self, id: int) -> int:
        """The number of a composite, of which its id is known; InputError where there is none."""
        return self._named(id, 1, "composite", "there are")

    def _named(self, place: int, inside: int, what: str, there: str) -> int:
        numbers = self._numbers[inside]
        if not 1 <= place <= len(numbers):
            raise InputError(f"there is no {what} {place}", hint=f"{there} {len(numbers):,}, counted from 1 on")
        return int(numbers[place - 1])

    # --- composites -------------------------------------------------------------------------------------

    @cached_property
    def _sources(self) -> tuple[Any, Any]:
        """The sources of all composites, one after the other, and where those of each begin."""
        return self._kinds[1].sources()

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
        found, starts = self._sources
        rules = self._kinds[1].rules
        triggers = found[starts[:-1]].tolist() if len(starts) > 1 else []
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


class _Kind:
    """The events from outside, or the composites."""

    def __init__(self, rules: RuleSet, pieces: Sequence[RunPiece]) -> None:
        self.declared = rules
        self.pieces = [piece for piece in pieces if len(piece)]
        self._outlines = [each if isinstance(each, EventBlock) else outline(rules, each) for each in self.pieces]
        self._begins = [0, *accumulate(map(len, self.pieces))]

    def __len__(self) -> int:
        return self._begins[-1]

    def gathered(self, column: str) -> Any:
        """A column of all pieces, of whole numbers."""
        return _concatenated([getattr(each, column) for each in self._outlines])

    @property
    def types(self) -> Any:
        """The types by their places in `RuleSet.events`."""
        return self._by_name("types", "names", self.declared.events)

    @property
    def rules(self) -> list[int]:
        """The rules of composites by their places."""
        found: list[int] = self._by_name("rules", "rule_names", self.declared.rule_names).tolist()
        return found

    def _by_name(self, column: str, names: str, known: Sequence[str]) -> Any:
        """A column of places in one tuple of names as places in another."""
        import numpy as np

        place_of = {name: i for i, name in enumerate(known)}
        tables = (np.array([place_of[name] for name in getattr(each, names)], np.int64) for each in self._outlines)
        columns = (getattr(each, column) for each in self._outlines)
        return _concatenated([table[places] for table, places in zip(tables, columns, strict=True)])

    def sources(self) -> tuple[Any, Any]:
        """The sources of all, and where those of each begin, one place more than there are events."""
        import numpy as np

        found, lengths = list[Any](), list[Any]([np.zeros(1, np.int64)])
        for each in self._outlines:
            assert each.starts is not None
            assert each.sources is not None
            found.append(each.sources[each.starts[0] : each.starts[-1]])
            lengths.append(np.diff(each.starts))
        return _concatenated(found), _concatenated(lengths).cumsum()

    def events(self, places: Sequence[int]) -> list[Occurrence]:
        """The events at some places of this kind; what they say of their number does not count."""
        wanted: dict[int, list[int]] = {}
        for place in places:
            wanted.setdefault(bisect_right(self._begins, place) - 1, []).append(place)
        found: dict[int, Occurrence] = {}
        for at, some in wanted.items():
            local = [place - self._begins[at] for place in some]
            found.update(zip(some, self._made(self.pieces[at], local), strict=True))
        return [found[place] for place in places]

    def _made(self, piece: RunPiece, places: Sequence[int]) -> list[Occurrence]:
        if not isinstance(piece, EventBlock):
            return [piece[place] for place in places]
        import numpy as np

        return piece.take(np.array(places, np.int64)).occurrences(self.declared)


def _concatenated(parts: Sequence[Any]) -> Any:
    """Arrays of whole numbers as one."""
    import numpy as np

    return np.concatenate([np.empty(0, np.int64), *parts])


def emitting(rules: RuleSet, type: str) -> list[int]:
    """The places of the rules that emit a type; InputError where there is none."""
    found = [i for i, rule in enumerate(rules.rules) if rule.emits == type]
    if not found:
        raise InputError(f"no rule emits '{type}'", hint=did_you_mean(type, rules.composites))
    return found
