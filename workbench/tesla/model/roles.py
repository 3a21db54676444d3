"""Where rules look for events: each predicate and aggregate, and how far back it reaches.

The rule of this module: it looks at the text of rules only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from workbench.tesla import tree as t
from workbench.tesla.rule_set import RuleSet


@dataclass(frozen=True)
class WindowReach:
    """How far back something lies at most: so many ticks, so many places in the order of events; None: any number."""

    ticks: int | None
    places: int | None

    def further(self, window: t.WithinWindow) -> WindowReach:
        """How far back what lies in a window is that hangs there."""
        if window.most is None:
            return WindowReach(None, None)
        far = int(window.most.amount)
        if window.counted:
            return WindowReach(None, None if self.places is None else self.places + far)
        return WindowReach(None if self.ticks is None else self.ticks + far, None)

    def __or__(self, other: WindowReach) -> WindowReach:
        """How far back one of the two lies."""
        ticks = None if None in (self.ticks, other.ticks) else max(self.ticks or 0, other.ticks or 0)
        places = None if None in (self.places, other.places) else max(self.places or 0, other.places or 0)
        return WindowReach(ticks, places)

    @property
    def endless(self) -> bool:
        """Whether nothing bounds it."""
        return self.ticks is None and self.places is None


@dataclass(frozen=True)
class Role:
    """A predicate or aggregate of a rule that looks for events: where it stands, and how far back it reaches.

    Attributes
    ----------
    trex: its window is open, as in T-Rex.
    """

    rule: t.Rule
    place: int
    part: t.Predicate | t.Aggregate
    reach: WindowReach
    trex: bool = False

    @cached_property
    def plain(self) -> tuple[t.Expression, ...]:
        """The constraints that look at the event alone."""
        return tuple(each for each in self.part.constraints if not _looks_elsewhere(each))

    @cached_property
    def linked(self) -> tuple[t.Expression, ...]:
        """The others."""
        return tuple(each for each in self.part.constraints if _looks_elsewhere(each))


def roles_of(rules: RuleSet, rule: t.Rule, trex: bool) -> Iterator[Role]:
    """The roles of a rule, in the order of its predicates; `trex`: its windows are as in T-Rex."""
    reach = {rule.trigger.name: WindowReach(0, 0)}
    for place, part in enumerate(rule.predicates, 1):
        if rules.declarations[part.type].fact:
            continue
        window = part.window
        if isinstance(window, t.AfterWindow):
            continue  # what must not come later is asked when it comes
        if isinstance(window, t.BetweenWindow):
            far = reach[window.one] | reach[window.two]
            if trex and far.ticks is None:
                far = WindowReach(None, None)  # it lies between times, and only so many places are known
        else:
            assert isinstance(window, t.WithinWindow)
            far = reach[window.of].further(window)
        if t.binds(part):
            reach[part.name] = far
        yield Role(rule, place, part, far, trex)


def _looks_elsewhere(expression: t.Expression) -> bool:
    return any(isinstance(e, t.OtherAttribute | t.BoundParameter | t.TimeOf) for e in t.within(expression))
