"""How far back from its trigger a rule looks for events.

The rule of this module: the windows of a rule decide it, and nothing else that is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workbench.tesla import tree as t


@dataclass(frozen=True)
class Lookback:
    """How far before a trigger the events of a part lie at most; None: no such distance bounds it.

    Attributes
    ----------
    time: in the unit of times.
    count: in the order of events.
    bounded: whether some distance does, if only times and counts together.
    """

    time: int | None = 0
    count: int | None = 0
    bounded: bool = True

    @property
    def endless(self) -> bool:
        """Whether neither time nor count bounds it."""
        return self.time is None and self.count is None

    def further(self, window: t.EventWindow) -> Lookback:
        """That of what lies in a window before what has this one."""
        if (far := window.far) is None:
            return ENDLESS
        if window.counts_events:
            return Lookback(None, None if self.count is None else self.count + far, self.bounded)
        return Lookback(None if self.time is None else self.time + far, None, self.bounded)

    def __or__(self, other: Lookback) -> Lookback:
        """That of what has one of the two."""
        time = None if self.time is None or other.time is None else max(self.time, other.time)
        count = None if self.count is None or other.count is None else max(self.count, other.count)
        return Lookback(time, count, self.bounded and other.bounded)


ENDLESS = Lookback(None, None, bounded=False)


def lookbacks(rule: t.Rule, trex: bool = False) -> Mapping[int, Lookback]:
    """The parts of a rule that are about events, by their places, and how far each looks back.

    Parameters
    ----------
    trex: windows are as in T-Rex, where what lies between two events lies between their times.
    """
    found = {0: Lookback()}
    for place, (part, anchors) in enumerate(zip(rule.parts, rule.anchors, strict=True)):
        window = part.window
        if window is None:
            continue
        if window.between:
            one, other = anchors
            far = found[one] | found[other]
            found[place] = ENDLESS if trex and far.time is None else far
        elif window.after:
            found[place] = Lookback(rule.timeout, None)  # what must not come later is looked for then
        else:
            found[place] = found[anchors[0]].further(window)
    return found


def longest_lookback(rules: Iterable[t.Rule], trex: bool = False) -> int | None:
    """How long before a composite of these rules the events of its match lie at most; None: nothing bounds it."""
    found = 0
    for rule in rules:
        for each in lookbacks(rule, trex).values():
            if each.time is None:
                return None
            found = max(found, each.time + rule.timeout)
    return found
