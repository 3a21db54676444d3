"""Which of a predicate's constraints candidates are asked first, as the events have shown.

The rule of this module: it changes nothing but time. What has been seen stands among the constants of a rule: which
constraint comes first, -1 until that is known; how many candidates have been asked; how many of them each constraint
has refused; and what it takes to ask each.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# The kinds of values are found by `code.llvm_values`.

from __future__ import annotations

from typing import Any

CHOSEN, SEEN, REFUSED = 0, 1, 2
ENOUGH = 4096
"""Candidates of which all constraints are asked, each by itself."""
SURPRISE = 6
"""What it takes the processor to go the way that it has not expected, where a comparison takes 1."""
LESS = 0.9
"""What another order has to take of what the written one does."""


def asked_first(at, count, C):
    """The constraint that comes first, of so many whose words begin at a place; -1 while they are looked at."""
    if C[at + CHOSEN] < 0 and C[at + SEEN] >= ENOUGH:
        C[at + CHOSEN] = cheapest(at, count, C)
    return C[at + CHOSEN]


def cheapest(at: int, count: int, C: Any) -> int:
    """With which constraint first, and the others as they are written, a candidate takes least."""
    best, least = 0, 0.0
    for first in range(count):
        takes, left = 0.0, 1.0
        for place in range(count):
            each = first if place == 0 else place - 1 if place <= first else place
            refused = C[at + REFUSED + each] / C[at + SEEN]
            takes += left * (C[at + REFUSED + count + each] + SURPRISE * min(refused, 1.0 - refused))
            left *= 1.0 - refused
        if first == 0 or takes < least * (LESS if best == 0 else 1.0):
            best, least = first, takes
    return best
