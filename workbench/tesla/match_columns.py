"""Matches of rules as columns of numbers: which events each of them consists of.

The rule of this module: a match is named by its events, and nothing is made for it but these numbers. What engines give
is in the order of publication.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.extensions import later

RULE, TRIGGER = "rule", "trigger"
"""What columns are called, beside those of the names that rules have for events."""


@dataclass(frozen=True, eq=False)
class MatchColumns:
    """Matches, one after the other.

    Attributes
    ----------
    names: of the rules.
    roles: of each rule what it calls the events of a match, in the order of its predicates, the trigger first.
    rules: int32[n], the place of each match's rule in `names`.
    columns: as many as the longest roles; of each int64[n], the event of a match in that role, 0 where its rule has
        none. Rows of the log have their number, from 1 on; composites have the negative of their `id`.
    """

    names: tuple[str, ...]
    roles: tuple[tuple[str, ...], ...]
    rules: Any
    columns: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """The rule of each match and the numbers of its events."""
        sizes = [len(each) for each in self.roles]
        numbers = zip(*(column.tolist() for column in self.columns), strict=True)
        for rule, row in zip(self.rules.tolist(), numbers, strict=True):
            yield self.names[rule], row[: sizes[rule]]

    def part(self, first: int, last: int) -> MatchColumns:
        """The matches from one place to before another."""
        columns = tuple(column[first:last] for column in self.columns)
        return MatchColumns(self.names, self.roles, self.rules[first:last], columns)

    def counts(self) -> dict[str, int]:
        """How many matches each rule has."""
        import numpy as np

        return dict(zip(self.names, np.bincount(self.rules, minlength=len(self.names)).tolist(), strict=True))

    def shown(self) -> Mapping[str, Any]:
        """The columns by the names that a reader knows them by: `trigger`, then what rules call their other events.

        Each is an array of int64, 0 where a match has no such event.
        """
        import numpy as np

        found: dict[str, Any] = {name: np.zeros(len(self), np.int64) for name in match_names(self.roles)}
        alone = len(self.roles) == 1
        for rule, roles in enumerate(self.roles):
            mine = slice(None) if alone else np.flatnonzero(self.rules == rule)
            for role, column in zip(_columns(roles), self.columns, strict=False):
                found[role][mine] = column[mine]
        return found

    def to_arrow(self) -> Any:
        """An Arrow table: the rule, then the columns of `shown`, null where a match has no such event."""
        return later("workbench.logs.rule_matches", "match_table")(self)


def match_names(roles: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The columns of matches of rules with such roles, without that of the rule."""
    return tuple(dict.fromkeys(name for some in roles for name in _columns(some)))


def _columns(roles: Sequence[str]) -> Sequence[str]:
    """The columns of one rule."""
    return (TRIGGER, *(f"{role}_" if role in (RULE, TRIGGER) else role for role in roles[1:]))


def joined_matches(parts: Sequence[MatchColumns]) -> MatchColumns:
    """Matches of the same rules, those of each part after those of the one before."""
    import numpy as np

    first, *_ = parts
    columns = tuple(np.concatenate(some) for some in zip(*(each.columns for each in parts), strict=True))
    return MatchColumns(first.names, first.roles, np.concatenate([each.rules for each in parts]), columns)


def listed_matches(
    names: Sequence[str], roles: Sequence[Sequence[str]], found: Sequence[tuple[int, Sequence[int]]]
) -> MatchColumns:
    """Matches that are given one by one, each as the place of its rule and the numbers of its events."""
    import numpy as np

    width = max(map(len, roles), default=0)
    numbers: Any = np.zeros((len(found), width), np.int64)
    for at, (_, row) in enumerate(found):
        numbers[at, : len(row)] = row
    rules: Any = np.array([rule for rule, _ in found], np.int32)
    return MatchColumns(tuple(names), tuple(map(tuple, roles)), rules, tuple(numbers.T))


class EventLabels:
    """What events are called: rows of the log by their number, from 1 on, composites by their `id`, which is negative.

    As many composites there would be as there are matches, so the `id` of one is its match's number, from 1 on.
    """

    def __init__(self) -> None:
        self._labels = array("q")
        self._rows = self._matches = 0
        self._some = False

    def add(self, numbers: Any, places: Any, until: int, matches: int) -> None:
        """There are so many matches more; those at some places are composites that have numbers less than `until`."""
        self._some = self._some or bool(len(numbers))
        if self._some:
            import numpy as np

            first = len(self._labels)
            names: Any = np.ones(until - first, np.int64)
            names[numbers - first] = 0
            names = self._rows + names.cumsum()
            self._rows = int(names[-1]) if len(names) else self._rows
            names[numbers - first] = -1 - self._matches - places
            self._labels.frombytes(names.tobytes())
        self._matches += matches

    def of(self, numbers: Any) -> Any:
        """What events are called, whose numbers from 1 on these are."""
        if not self._some:
            return numbers
        import numpy as np

        return np.frombuffer(self._labels, np.int64)[numbers - 1]


def labelled_matches(
    names: Sequence[str], roles: Sequence[Sequence[str]], rules: Any, columns: Sequence[Any], labels: EventLabels
) -> MatchColumns:
    """Matches whose events are called what they are in the log.

    Parameters
    ----------
    rules: of each match the place of its rule.
    columns: numbers of events in the order, from 1 on; anything where a match has none.
    """
    import numpy as np

    widths = np.array([len(each) for each in roles])
    named = []
    for i, column in enumerate(columns):
        if i < widths.min():
            named.append(labels.of(column))
        else:
            there = widths[rules] > i
            named.append(np.where(there, labels.of(np.where(there, column, 1)), 0))
    return MatchColumns(tuple(names), tuple(map(tuple, roles)), rules, tuple(named))
