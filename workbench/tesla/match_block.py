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
from workbench.tesla.occurrence import Occurrence

RULE, TRIGGER = "rule", "trigger"
"""What columns are called, beside those of the names that rules have for events."""


@dataclass(frozen=True, eq=False)
class MatchBlock:
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

    def part(self, first: int, last: int) -> MatchBlock:
        """The matches from one place to before another."""
        columns = tuple(column[first:last] for column in self.columns)
        return MatchBlock(self.names, self.roles, self.rules[first:last], columns)

    def counts(self) -> dict[str, int]:
        """How many matches each rule has."""
        import numpy as np

        return dict(zip(self.names, np.bincount(self.rules, minlength=len(self.names)).tolist(), strict=True))

    def by_name(self) -> Mapping[str, Any]:
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
        """An Arrow table: the rule, then the columns of `by_name`, null where a match has no such event."""
        return later("workbench.runner.rules.matches", "match_table")(self)


def match_names(roles: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """The columns of matches of rules with such roles, without that of the rule."""
    return tuple(dict.fromkeys(name for some in roles for name in _columns(some)))


def _columns(roles: Sequence[str]) -> Sequence[str]:
    """The columns of one rule."""
    return (TRIGGER, *(f"{role}_" if role in (RULE, TRIGGER) else role for role in roles[1:]))


def join_matches(parts: Sequence[MatchBlock]) -> MatchBlock:
    """Matches of the same rules, those of each part after those of the one before."""
    import numpy as np

    first, *_ = parts
    columns = tuple(np.concatenate(some) for some in zip(*(each.columns for each in parts), strict=True))
    return MatchBlock(first.names, first.roles, np.concatenate([each.rules for each in parts]), columns)


def block_of_matches(
    names: Sequence[str], roles: Sequence[Sequence[str]], found: Sequence[tuple[int, Sequence[int]]]
) -> MatchBlock:
    """Matches that are given one by one, each as the place of its rule and the numbers of its events."""
    import numpy as np

    width = max(map(len, roles), default=0)
    numbers: Any = np.zeros((len(found), width), np.int64)
    for at, (_, row) in enumerate(found):
        numbers[at, : len(row)] = row
    rules: Any = np.array([rule for rule, _ in found], np.int32)
    return MatchBlock(tuple(names), tuple(map(tuple, roles)), rules, tuple(numbers.T))


class MatchLabels:
    """What the events of matches are called: rows of the log by their number from 1 on, composites by a negative `id`.

    There would be as many composites as there are matches, so the `id` of one is its match's number, from 1 on.

    Parameters
    ----------
    names, roles: of the rules, as a block has them.
    """

    def __init__(self, names: Sequence[str], roles: Sequence[Sequence[str]]) -> None:
        self.names, self.roles = tuple(names), tuple(map(tuple, roles))
        self._rule_indexes = {name: index for index, name in enumerate(names)}
        self._labels = array("q")
        self._rows = self._matches = 0
        self._some = False

    def of_composites(self, found: Sequence[Occurrence], until: int) -> MatchBlock:
        """The matches of composites that an engine has made; all events before a number have been published."""
        import numpy as np

        pairs = [(self._rule_indexes[each.rule], each.sources) for each in found]
        listed = block_of_matches(self.names, self.roles, pairs)
        numbers: Any = np.array([each.number for each in found], np.int64)
        columns = [each + 1 for each in listed.columns]
        return self.of_columns(listed.rules, columns, until, numbers, np.arange(len(found)))

    def of_columns(
        self, rules: Any, columns: Sequence[Any], until: int, numbers: Any = (), indexes: Any = ()
    ) -> MatchBlock:
        """Matches with labels for the numbers of their events.

        Parameters
        ----------
        rules: of each match the place of its rule.
        columns: numbers of events in the order, from 1 on; anything where a match has none.
        until: all events with smaller numbers, from 0 on, have been published.
        numbers, indexes: of the composites among them that are made: in the order, and among these matches.
        """
        import numpy as np

        self._add(numbers, indexes, until, len(rules))
        widths = np.array([len(each) for each in self.roles])
        named = []
        for i, column in enumerate(columns):
            if i < widths.min():
                named.append(self._of(column))
            else:
                there = widths[rules] > i
                named.append(np.where(there, self._of(np.where(there, column, 1)), 0))
        return MatchBlock(self.names, self.roles, rules, tuple(named))

    def _add(self, numbers: Any, indexes: Any, until: int, matches: int) -> None:
        """Label the events up to a number, and count so many matches more."""
        self._some = self._some or bool(len(numbers))
        if self._some:
            import numpy as np

            first = len(self._labels)
            names: Any = np.ones(until - first, np.int64)
            made: Any = np.asarray(numbers, np.int64) - first
            names[made] = 0
            names = self._rows + names.cumsum()
            self._rows = int(names[-1]) if len(names) else self._rows
            names[made] = -1 - self._matches - np.asarray(indexes, np.int64)
            self._labels.frombytes(names.tobytes())
        self._matches += matches

    def _of(self, numbers: Any) -> Any:
        """The labels of events whose numbers from 1 on these are."""
        if not self._some:
            return numbers
        import numpy as np

        return np.frombuffer(self._labels, np.int64)[numbers - 1]
