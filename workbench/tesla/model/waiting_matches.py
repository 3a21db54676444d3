"""Matches that wait for the deadline of `absent`, as terms: a line of them, the oldest first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from workbench.core.domain import Range
from workbench.core.ops import ADD, EQ, NE, both, disjunction, either, negate, restrict_to_range
from workbench.core.term import FALSE, Term
from workbench.tesla import tree as t
from workbench.tesla.model.state import choose, compact


class WaitingMatch(NamedTuple):
    """A match that waits for the deadline of `absent`.

    Attributes
    ----------
    left: the remaining ticks plus one (0: no match).
    starts: whether it has another trigger than the match before it.
    tag: a number unique among the waiting matches of its rule, which marks the events that it will consume.
    indices: the values that it remembers, as indices in their tables.
    """

    left: Any
    starts: Any
    tag: Any
    indices: tuple[Any, ...]

    @property
    def present(self) -> Any:
        """Whether it exists."""
        return NE(self.left, 0)

    @property
    def vacant(self) -> Any:
        """Whether it does not exist."""
        return EQ(self.left, 0)

    @property
    def empty(self) -> WaitingMatch:
        """The empty record."""
        return WaitingMatch(0, FALSE, 0, (0,) * len(self.indices))


def find_remaining(rule: t.Rule) -> Range:
    """Return the range of `left`."""
    return Range(0, rule.timeout + 1)


def remove(line: Sequence[WaitingMatch], gone: Sequence[Term]) -> list[WaitingMatch]:
    """Remove matches from a line; the next match with the same trigger may then be its first."""
    rest, started = [], FALSE
    for each, leaves in zip(line, gone, strict=True):
        starts = either(each.starts, both(each.present, started))
        rest.append(choose(leaves, each.empty, each._replace(starts=starts)))
        started = both(leaves, starts)
    return compact(rest)


def first_due(line: Sequence[WaitingMatch], when: Term, *, several: bool) -> list[Term]:
    """Return which matches are due when a tick passes, and have the first one's trigger; it may have `several`."""
    inside, due = both(when, EQ(line[0].left, 1)), []
    for index, each in enumerate(line):
        if index:
            inside = both(inside, both(EQ(each.left, 1), negate(each.starts))) if several else FALSE
        due.append(inside)
    return due


def is_tag_used(line: Sequence[WaitingMatch], tag: int) -> Any:
    """Whether one of the matches has a tag."""
    return disjunction(both(each.present, EQ(each.tag, tag)) for each in line)


def append(line: Sequence[WaitingMatch], when: Term, new: WaitingMatch) -> tuple[list[WaitingMatch], Term]:
    """Append a match if `when`; return the line, and whether its capacity is exceeded."""
    done, settled = [], negate(when)
    for each in line:
        here = both(negate(settled), each.vacant)
        done.append(choose(here, new, each))
        settled = either(settled, here)
    return done, negate(settled)


def tick(line: Sequence[WaitingMatch], when: Term, rule: t.Rule) -> list[WaitingMatch]:
    """Return the line after a tick, if `when`."""
    passed = [each._replace(left=restrict_to_range(ADD(each.left, -1), find_remaining(rule))) for each in line]
    return compact([choose(both(when, each.present), after, each) for each, after in zip(line, passed, strict=True)])
