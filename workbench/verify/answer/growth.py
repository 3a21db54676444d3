"""Growing bounds: a question is asked again of larger models, as long as the verdict says little and there is time."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from workbench.budget import Budget
from workbench.errors import LimitMet, Refused
from workbench.verify.answer.verdict import Depth, Outcome, Verdict


def grow(
    verdict: Verdict,
    larger: Iterable[Callable[[], Verdict]],
    seconds: float,
    enough: Callable[[Verdict], bool] = lambda found: not found.within_bounds,
) -> Verdict:
    """The verdict of the first model that says enough, else of the largest one that is decided in time.

    Parameters
    ----------
    larger: the same question of larger and larger models.
    seconds: for all of them together.
    enough: whether no larger model is needed.
    """
    end = time.monotonic() + seconds
    for decide in larger:
        left = end - time.monotonic()
        if enough(verdict) or left <= 0:
            break
        try:
            with Budget(left, soft=True):
                found = decide()
        except (LimitMet, Refused):  # with larger bounds there may be too many values
            break
        if found.outcome is Outcome.UNKNOWN and not found.within_bounds and found.vacuity is None:  # a limit was met
            return replace(verdict, depth=deeper(verdict.depth, found.depth))
        verdict = found
    return verdict


def deeper(*found: Depth | None) -> Depth | None:
    """What says something of the longest runs."""
    return max(filter(None, found), key=lambda each: each.steps, default=None)
