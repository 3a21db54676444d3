"""Blocks of matches as columns of numbers: the events of each match.

The rule of this module: a match is identified by its events, and only these numbers are stored. Engines return matches
in the order of publication.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.extensions import later
from workbench.tesla.occurrence import Occurrence

RULE, TRIGGER = "rule", "trigger"
"""Names of columns, besides the names that rules give to events."""


@dataclass(frozen=True, eq=False)
class MatchBlock:
    """Successive matches, as columns.

    Attributes
    ----------
    names: the names of the rules.
    roles: for each rule the names of the events of a match, in the order of its predicates, the trigger first.
    rules: int32[n], the index of each match's rule in `names`.
    columns: one for each position in the longest roles: int64[n], the event of a match in that role, 0 if its rule has
            none. Rows of the log have their number, from 1 on; composites have the negative of their `id`.
    """

    names: tuple[str, ...]
    roles: tuple[tuple[str, ...], ...]
    rules: Any
    columns: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield the name of each match's rule and the numbers of its events."""
        sizes = [len(each) for each in self.roles]
        numbers = zip(*(column.tolist() for column in self.columns), strict=True)
        for rule, row in zip(self.rules.tolist(), numbers, strict=True):
            yield self.names[rule], row[: sizes[rule]]

    def part(self, first: int, last: int) -> MatchBlock:
        """Return the matches from one index to before another."""
        columns = tuple(column[first:last] for column in self.columns)
        return MatchBlock(self.names, self.roles, self.rules[first:last], columns)

    def counts(self) -> dict[str, int]:
        """Count the matches of each rule."""
        import numpy as np

        return dict(zip(self.names, np.bincount(self.rules, minlength=len(self.names)).tolist(), strict=True))

    def by_name(self) -> Mapping[str, Any]:
        """Return the columns by name: `trigger`, then the names that rules give to their other events.

        Each column is an array of int64, 0 where a match has no such event.
        """
        import numpy as np

        columns: dict[str, Any] = {name: np.zeros(len(self), np.int64) for name in match_names(self.roles)}
        alone = len(self.roles) == 1
        for rule, roles in enumerate(self.roles):
            rows = slice(None) if alone else np.flatnonzero(self.rules == rule)
            for role, column in zip(_columns(roles), self.columns, strict=False):
                columns[role][rows] = column[rows]
        return columns

    def to_arrow(self) -> Any:
        """Return an Arrow table: the rule, then the columns of `by_name`, null where a match has no such event."""
        return later("workbench.runner.rules.matches", "match_table")(self)


def match_names(roles: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the names of the columns for matches of rules with these roles, except that of the rule."""
    return tuple(dict.fromkeys(name for some in roles for name in _columns(some)))


def _columns(roles: Sequence[str]) -> Sequence[str]:
    """Return the names of the columns for one rule."""
    return (TRIGGER, *(f"{role}_" if role in (RULE, TRIGGER) else role for role in roles[1:]))


def join_matches(parts: Sequence[MatchBlock]) -> MatchBlock:
    """Join matches of the same rules, in the order of the parts."""
    import numpy as np

    first, *_ = parts
    columns = tuple(np.concatenate(some) for some in zip(*(each.columns for each in parts), strict=True))
    return MatchBlock(first.names, first.roles, np.concatenate([each.rules for each in parts]), columns)


def block_of_matches(
    names: Sequence[str], roles: Sequence[Sequence[str]], matches: Sequence[tuple[int, Sequence[int]]]
) -> MatchBlock:
    """Make a block of matches that are given one by one: the index of the rule and the numbers of the events."""
    import numpy as np

    width = max(map(len, roles), default=0)
    numbers: Any = np.zeros((len(matches), width), np.int64)
    for at, (_, row) in enumerate(matches):
        numbers[at, : len(row)] = row
    rules: Any = np.array([rule for rule, _ in matches], np.int32)
    return MatchBlock(tuple(names), tuple(map(tuple, roles)), rules, tuple(numbers.T))


class MatchLabels:
    """Labels for the events of matches: rows of the log by their number from 1 on, composites by a negative `id`.

    There is one composite for each match, so its `id` is the number of its match, from 1 on.

    Parameters
    ----------
    names, roles: those of the rules, as in a `MatchBlock`.
    """

    def __init__(self, names: Sequence[str], roles: Sequence[Sequence[str]]) -> None:
        self.names, self.roles = tuple(names), tuple(map(tuple, roles))
        self._rule_indexes = {name: index for index, name in enumerate(names)}
        self._labels, self._rows, self._matches = array("q"), 0, 0
        """The labels of all events up to the last composite, and the number of rows among these; that of matches."""

    def of_composites(self, composites: Sequence[Occurrence]) -> MatchBlock:
        """Return the matches of an engine's composites."""
        import numpy as np

        pairs = [(self._rule_indexes[each.rule], each.sources) for each in composites]
        listed = block_of_matches(self.names, self.roles, pairs)
        numbers: Any = np.array([each.number for each in composites], np.int64)
        return self.of_columns(listed.rules, listed.columns, numbers, np.arange(len(composites)))

    def of_columns(self, rules: Any, columns: Sequence[Any], numbers: Any = (), indexes: Any = ()) -> MatchBlock:
        """Return matches with labels in place of the numbers of their events.

        Parameters
        ----------
        rules: for each match the index of its rule.
        columns: numbers of events in the total order; any value where a match has none.
        numbers, indexes: of the composites created for these matches: numbers in the total order, indices of matches.
        """
        import numpy as np

        if len(numbers):
            self._add(np.asarray(numbers, np.int64), np.asarray(indexes, np.int64))
        self._matches += len(rules)
        widths: Any = np.array([len(each) for each in self.roles])
        labels = [
            self._of(column) if i < widths.min() else np.where(widths[rules] > i, self._of(column), 0)
            for i, column in enumerate(columns)
        ]
        return MatchBlock(self.names, self.roles, rules, tuple(labels))

    def _add(self, numbers: Any, indexes: Any) -> None:
        """Label the events up to the last of some new composites."""
        import numpy as np

        labels: Any = np.ones(int(numbers[-1]) + 1 - len(self._labels), np.int64)
        offsets = numbers - len(self._labels)
        labels[offsets] = 0
        labels = self._rows + labels.cumsum()
        self._rows = int(labels[-1])
        labels[offsets] = -1 - self._matches - indexes
        self._labels.frombytes(labels.tobytes())

    def _of(self, numbers: Any) -> Any:
        """Return the labels of events, given their numbers."""
        import numpy as np

        if not self._labels:
            return numbers + 1
        labels = np.frombuffer(self._labels, np.int64)
        rows_behind = numbers + 1 - (len(labels) - self._rows)
        return np.where(numbers < len(labels), labels[np.clip(numbers, 0, len(labels) - 1)], rows_behind)
