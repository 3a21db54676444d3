"""Models with larger bounds: a question is asked again of them as long as a verdict says little and there is time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from workbench.budget import Budget, phase
from workbench.errors import LimitMet, Refused
from workbench.verify.answer.verdict import Depth, Outcome, Verdict

EARLY = 8
"""Where no queue overflows in so many steps, bounds are not met in the first ones."""
BOUNDS_EARLY = "queues overflow in the first steps: too little is known; choose a larger Q"


def grow(verdict: Verdict, larger: Iterable[Callable[[], Verdict]], seconds: float) -> Verdict:
    """The verdict of the first model that says enough, else of the largest one that is decided in time.

    Parameters
    ----------
    larger: the same question of larger and larger models.
    seconds: for all of them together.
    """
    end = time.monotonic() + seconds
    for number, decide in enumerate(larger, 1):
        left = end - time.monotonic()
        if says_enough(verdict) or left <= 0:
            break
        try:
            with Budget(left, soft=True), phase(f"larger model {number}", part=True):
                found = decide()
        except (LimitMet, Refused):  # with larger bounds there may be too many values
            break
        if found.outcome is Outcome.UNKNOWN and not found.within_bounds and found.vacuity is None:  # a limit was met
            return replace(verdict, depth=deeper(verdict.depth, found.depth))
        verdict = found
    return verdict


def says_enough(verdict: Verdict) -> bool:
    """Whether nothing is to be expected of longer queues."""
    known = verdict.known_steps
    return not verdict.meets_bounds or (verdict.vacuity is None and known is not None and known >= EARLY)


def discount_early(verdict: Verdict) -> Verdict:
    """The verdict; unknown where it holds for want of what bounds prevent, or within bounds met in the first steps."""
    if verdict.vacuity and verdict.vacuity.bound and verdict.outcome.proved:
        return verdict.mark_vacuous(verdict.vacuity, unknown=True)
    early = verdict.outcome is Outcome.WITHIN_BOUNDS and not says_enough(verdict)
    return replace(verdict, outcome=Outcome.UNKNOWN, reason=BOUNDS_EARLY) if early else verdict


def deeper(*found: Depth | None) -> Depth | None:
    """What says something of the longest runs."""
    return max(filter(None, found), key=lambda each: each.steps, default=None)
