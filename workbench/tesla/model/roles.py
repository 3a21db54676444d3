"""Where rules look for events: each predicate and aggregate, and how far back it looks.

The rule of this module: it looks at the text of rules only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard

from workbench.tesla import tree as t
from workbench.tesla.lookback import Lookback, lookbacks
from workbench.tesla.resolved import OWN, ResolvedRule, RuleSlot, slots


@dataclass(frozen=True)
class Role:
    """A predicate or aggregate of a rule that looks for events: where it stands, and how far back it looks.

    Attributes
    ----------
    trex: its window is open, as in T-Rex.
    """

    rule: ResolvedRule
    place: int
    part: t.Predicate | t.Aggregate
    lookback: Lookback
    trex: bool = False

    @cached_property
    def plain(self) -> tuple[t.Expression, ...]:
        """The constraints that look at the event alone."""
        return tuple(filter(is_plain, self.part.constraints))

    @cached_property
    def linked(self) -> tuple[t.Expression, ...]:
        """The others."""
        return tuple(each for each in self.part.constraints if not is_plain(each))


def roles_of(rule: ResolvedRule, trex: bool) -> Iterator[Role]:
    """The roles of a rule, in the order of its predicates; `trex`: its windows are as in T-Rex."""
    for place, lookback in lookbacks(rule, trex).items():
        part = rule.parts[place]
        if place and not part.policy.later:  # what must not come later is asked when it comes
            yield Role(rule, place, part, lookback, trex)


def is_plain(constraint: t.Expression) -> bool:
    """Whether a constraint reads attributes of its own event only."""
    return all(slot.place == OWN and slot.is_attribute for slot in slots(constraint))


def reads(expression: t.Expression, place: int) -> TypeGuard[RuleSlot]:
    """Whether an expression is an attribute of the event of a part."""
    return isinstance(expression, RuleSlot) and expression.place == place and expression.is_attribute
