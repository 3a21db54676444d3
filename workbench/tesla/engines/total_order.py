"""The numbers of events in the total order, where it is known only when composites were published.

The rule of this module: the number of an event is how many events were published before it, from outside or composite.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

from workbench.tesla.lookback import lookbacks
from workbench.tesla.rule_set import RuleSet

FORGET_AT = 1 << 16
"""Composites that are remembered before the old ones among them are forgotten."""


class RecentNumbers:
    """A list of whole numbers that do not fall, of which the first may be forgotten; the others keep their indices."""

    def __init__(self) -> None:
        self.forgotten, self.values = 0, array("q")

    def __len__(self) -> int:
        return self.forgotten + len(self.values)

    def __getitem__(self, index: int) -> int:
        return self.values[index - self.forgotten]

    def forget(self, count: int) -> None:
        """Forget so many of those that are left."""
        del self.values[:count]
        self.forgotten += count


class TotalOrder:
    """The order in which events from outside and composites are published.

    Parameters
    ----------
    reach: how long before a composite the events of its match lie at most (`longest_reach`); what is older is asked
        for no more.

    Attributes
    ----------
    before: of each composite, how many events from outside came before it.
    """

    def __init__(self, reach: int | None) -> None:
        self._reach = reach
        self.before, self._times = RecentNumbers(), RecentNumbers()
        self._forget_at = FORGET_AT

    def publish(self, events: int, time: int) -> int:
        """The number of the next composite, which comes behind so many events from outside."""
        self.before.values.append(events)
        self._times.values.append(time)
        return self.composite_number(len(self.before) - 1)

    def composite_number(self, index: int) -> int:
        """The number of a composite."""
        return self.before[index] + index

    def event_number(self, index: int) -> int:
        """The number of an event from outside."""
        return index + self.before.forgotten + bisect_right(self.before.values, index)

    def find(self, number: int) -> int:
        """What has a number: i for event i from outside, -1 - i for composite i."""
        index = bisect_left(range(self.before.forgotten, len(self.before)), number, key=self.composite_number)
        index += self.before.forgotten
        own = index < len(self.before) and self.composite_number(index) == number
        return -1 - index if own else number - index

    def forget(self, now: int) -> int:
        """Forget composites that are too old for any match; the number below which nothing is asked for any more."""
        if self._reach is None or len(self._times.values) < self._forget_at:
            return 0
        count = bisect_left(self._times.values, now - self._reach)
        if count:
            self.before.forget(count)
            self._times.forget(count)
        self._forget_at = 2 * len(self._times.values) + FORGET_AT
        return self.composite_number(self.before.forgotten) if self.before.values else 0


def longest_reach(rules: RuleSet, trex: bool) -> int | None:
    """How long before a composite the events of its match lie at most; None: nothing bounds it."""
    found = 0
    for rule in rules.rules:
        for each in lookbacks(rule, trex).values():
            if each.time is None:
                return None
            found = max(found, each.time + (rule.timeout if rule.absence else 0))
    return found
