"""Lookbacks of rules: how far before its trigger a rule selects events.

The rule of this module: a lookback follows from the windows of a rule alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workbench.tesla import tree as t


@dataclass(frozen=True)
class Lookback:
    """The maximum distance between a trigger and the events of a part; None: this measure does not bound it.

    Attributes
    ----------
    time: in the unit of times.
    count: in events.
    bounded: whether it is bounded, perhaps only by times and counts together.
    """

    time: int | None = 0
    count: int | None = 0
    bounded: bool = True

    @property
    def endless(self) -> bool:
        """Whether neither time nor count bounds it."""
        return self.time is None and self.count is None

    def further(self, window: t.EventWindow) -> Lookback:
        """Return the lookback of a window whose anchor has this lookback."""
        if (far := window.far) is None:
            return ENDLESS
        if window.counts_events:
            return Lookback(None, None if self.count is None else self.count + far, self.bounded)
        return Lookback(None if self.time is None else self.time + far, None, self.bounded)

    def __or__(self, other: Lookback) -> Lookback:
        """Return the lookback of events each of which has one of the two."""
        time = None if self.time is None or other.time is None else max(self.time, other.time)
        count = None if self.count is None or other.count is None else max(self.count, other.count)
        return Lookback(time, count, self.bounded and other.bounded)


ENDLESS = Lookback(None, None, bounded=False)


def lookbacks(rule: t.Rule, trex: bool = False) -> Mapping[int, Lookback]:
    """Return the lookback of each part that selects events, by place.

    Parameters
    ----------
    trex: windows are as in T-Rex, where `between` compares times only.
    """
    by_place = {0: Lookback()}
    for index, (part, anchors) in enumerate(zip(rule.parts, rule.anchors, strict=True)):
        window = part.window
        if window is None:
            continue
        if window.between:
            one, other = anchors
            far = by_place[one] | by_place[other]
            by_place[index] = ENDLESS if trex and far.time is None else far
        elif window.after:
            by_place[index] = Lookback(rule.timeout, None)  # searched at the deadline
        else:
            by_place[index] = by_place[anchors[0]].further(window)
    return by_place


def longest_lookback(rules: Iterable[t.Rule], trex: bool = False) -> int | None:
    """Return the maximum time between a composite of these rules and the events of its match; None: unbounded."""
    longest = 0
    for rule in rules:
        for each in lookbacks(rule, trex).values():
            if each.time is None:
                return None
            longest = max(longest, each.time + rule.timeout)
    return longest
