"""Matches that are ones if something does not come, as terms: a line of them, the oldest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.core.domain import Range
from workbench.core.ops import ADD, EQ, NE, both, either, held_in, ite, negate
from workbench.core.term import FALSE, Term, const
from workbench.tesla import tree as t
from workbench.tesla.model.frame import deadline


@dataclass(frozen=True)
class WaitingMatch:
    """A match that is one if something does not come: the ticks that are left, plus one (0: there is none)."""

    left: Any
    places: tuple[Any, ...]


def left_of(rule: t.Rule) -> Range:
    """What `left` is."""
    return Range(0, deadline(rule) + 1)


def where(when: Any, one: WaitingMatch | None, other: WaitingMatch) -> WaitingMatch:
    """One that waits where a condition holds (None: nothing does), else the other."""
    one = one or WaitingMatch(0, (0,) * len(other.places))
    places = tuple(ite(when, a, b) for a, b in zip(one.places, other.places, strict=True))
    return WaitingMatch(ite(when, one.left, other.left), places)


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
        done = [*after, where(both(there, negate(free)), each, WaitingMatch(0, (0,) * len(each.places)))]
    return done


def with_waiting(
    line: Sequence[WaitingMatch], when: Term, places: Sequence[Any], rule: t.Rule
) -> tuple[list[WaitingMatch], Term]:
    """The line with one more behind the others, where `when`; and whether there is no room for it."""
    new, done, taken = WaitingMatch(const(deadline(rule) + 1, left_of(rule)), tuple(places)), [], negate(when)
    for each in line:
        here = both(negate(taken), EQ(each.left, 0))
        done.append(where(here, new, each))
        taken = either(taken, here)
    return done, negate(taken)


def ticked(line: Sequence[WaitingMatch], when: Term, rule: t.Rule) -> list[WaitingMatch]:
    """The line when a tick has passed, where `when`."""
    passed = [replace(each, left=held_in(ADD(each.left, -1), left_of(rule))) for each in line]
    return closed([where(both(when, NE(each.left, 0)), after, each) for each, after in zip(line, passed, strict=True)])
