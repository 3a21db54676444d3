"""Matches that are ones if something does not come, as terms: a line of them, the oldest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from workbench.core.domain import Range
from workbench.core.ops import ADD, EQ, NE, both, disjunction, either, negate, restrict_to_range
from workbench.core.term import FALSE, Term
from workbench.tesla import tree as t
from workbench.tesla.model.state import choose, compact


class WaitingMatch(NamedTuple):
    """A match that is one if something does not come.

    Attributes
    ----------
    left: the ticks that are left, plus one (0: there is none).
    starts: whether the match before it has another trigger.
    tag: a number that no other one of its rule has, by which events know that it will consume them.
    places: what it remembers.
    """

    left: Any
    starts: Any
    tag: Any
    places: tuple[Any, ...]

    @property
    def present(self) -> Term:
        """Whether there is one."""
        found: Term = NE(self.left, 0)
        return found

    @property
    def vacant(self) -> Term:
        """Whether there is none."""
        found: Term = EQ(self.left, 0)
        return found

    @property
    def empty(self) -> WaitingMatch:
        """An empty place."""
        return WaitingMatch(0, FALSE, 0, (0,) * len(self.places))


def find_remaining(rule: t.Rule) -> Range:
    """What `left` is."""
    return Range(0, rule.timeout + 1)


def remove(line: Sequence[WaitingMatch], gone: Sequence[Term]) -> list[WaitingMatch]:
    """The line without some: who was behind one with the same trigger may be the first of these now."""
    found, started = [], FALSE
    for each, leaves in zip(line, gone, strict=True):
        starts = either(each.starts, both(each.present, started))
        found.append(choose(leaves, each.empty, each._replace(starts=starts)))
        started = both(leaves, starts)
    return compact(found)


def first_due(line: Sequence[WaitingMatch], when: Term, *, several: bool) -> list[Term]:
    """Which of them are due when a tick passes, and have the trigger of the first one; `several` may have one."""
    inside, found = both(when, EQ(line[0].left, 1)), []
    for place, each in enumerate(line):
        if place:
            inside = both(inside, both(EQ(each.left, 1), negate(each.starts))) if several else FALSE
        found.append(inside)
    return found


def is_tag_used(line: Sequence[WaitingMatch], tag: int) -> Term:
    """Whether one of them has a tag."""
    found: Term = disjunction(both(each.present, EQ(each.tag, tag)) for each in line)
    return found


def append(line: Sequence[WaitingMatch], when: Term, new: WaitingMatch) -> tuple[list[WaitingMatch], Term]:
    """The line with one more behind the others, where `when`; and whether there is no room for it."""
    done, settled = [], negate(when)
    for each in line:
        here = both(negate(settled), each.vacant)
        done.append(choose(here, new, each))
        settled = either(settled, here)
    return done, negate(settled)


def tick(line: Sequence[WaitingMatch], when: Term, rule: t.Rule) -> list[WaitingMatch]:
    """The line when a tick has passed, where `when`."""
    passed = [each._replace(left=restrict_to_range(ADD(each.left, -1), find_remaining(rule))) for each in line]
    return compact([choose(both(when, each.present), after, each) for each, after in zip(line, passed, strict=True)])
