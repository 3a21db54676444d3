"""Matches that are ones if something does not come, as terms: a line of them, the oldest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.core.domain import Range
from workbench.core.ops import ADD, EQ, NE, both, disjunction, either, held_in, ite, negate
from workbench.core.term import FALSE, Term
from workbench.tesla import tree as t


@dataclass(frozen=True)
class WaitingMatch:
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


def left_of(rule: t.Rule) -> Range:
    """What `left` is."""
    return Range(0, rule.timeout + 1)


def where(when: Any, one: WaitingMatch | None, other: WaitingMatch) -> WaitingMatch:
    """One that waits where a condition holds (None: nothing does), else the other."""
    one = one or nobody(len(other.places))
    places = tuple(ite(when, a, b) for a, b in zip(one.places, other.places, strict=True))
    return WaitingMatch(
        ite(when, one.left, other.left), ite(when, one.starts, other.starts), ite(when, one.tag, other.tag), places
    )


def nobody(width: int) -> WaitingMatch:
    """An empty place."""
    return WaitingMatch(0, FALSE, 0, (0,) * width)


def without(line: Sequence[WaitingMatch], gone: Sequence[Term]) -> list[WaitingMatch]:
    """The line without some: who was behind one with the same trigger may be the first of these now."""
    found, started = [], FALSE
    for each, leaves in zip(line, gone, strict=True):
        starts = either(each.starts, both(NE(each.left, 0), started))
        found.append(where(leaves, None, replace(each, starts=starts)))
        started = both(leaves, starts)
    return closed(found)


def first_due(line: Sequence[WaitingMatch], when: Term, *, several: bool) -> list[Term]:
    """Which of them are due when a tick passes, and have the trigger of the first one; `several` may have one."""
    inside, found = both(when, EQ(line[0].left, 1)), []
    for place, each in enumerate(line):
        if place:
            inside = both(inside, both(EQ(each.left, 1), negate(each.starts))) if several else FALSE
        found.append(inside)
    return found


def taken(line: Sequence[WaitingMatch], tag: int) -> Term:
    """Whether one of them has a tag."""
    found: Term = disjunction(both(NE(each.left, 0), EQ(each.tag, tag)) for each in line)
    return found


def closed(line: Sequence[WaitingMatch]) -> list[WaitingMatch]:
    """The same in the same order, with no empty place before a full one."""
    done: list[WaitingMatch] = []
    for each in line:
        there, free = NE(each.left, 0), FALSE
        after = []
        for other in done:
            empty = EQ(other.left, 0)
            after.append(where(both(there, both(empty, negate(free))), each, other))
            free = either(free, empty)
        done = [*after, where(both(there, negate(free)), each, nobody(len(each.places)))]
    return done


def with_waiting(line: Sequence[WaitingMatch], when: Term, new: WaitingMatch) -> tuple[list[WaitingMatch], Term]:
    """The line with one more behind the others, where `when`; and whether there is no room for it."""
    done, settled = [], negate(when)
    for each in line:
        here = both(negate(settled), EQ(each.left, 0))
        done.append(where(here, new, each))
        settled = either(settled, here)
    return done, negate(settled)


def ticked(line: Sequence[WaitingMatch], when: Term, rule: t.Rule) -> list[WaitingMatch]:
    """The line when a tick has passed, where `when`."""
    passed = [replace(each, left=held_in(ADD(each.left, -1), left_of(rule))) for each in line]
    return closed([where(both(when, NE(each.left, 0)), after, each) for each, after in zip(line, passed, strict=True)])
