"""The search for a failing example, and its shrinking: hypothesis, as a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st

from workbench.interrupts import checkpoint
from workbench.language.depth import make_room

Example = TypeVar("Example")
Failure = TypeVar("Failure")


class _Failed(Exception):
    """An example fails."""


def smallest(
    examples: st.SearchStrategy[Example], failure: Callable[[Example], Failure | None], count: int, number: int
) -> Failure | None:
    """The failure of a simplest example that fails, of so many that are tried; None if all are well.

    Parameters
    ----------
    failure: of an example, or None; asked again and again when a failing one is made smaller.
    number: the seed, which decides which examples are tried.
    """
    make_room()  # hypothesis warns of whoever does it while an example is tried
    found: list[Failure] = []

    @seed(number)
    @settings(
        max_examples=max(count, 1),
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        verbosity=Verbosity.quiet,
        print_blob=False,
    )
    @given(examples)
    def attempt(example: Example) -> None:
        checkpoint()
        result = failure(example)
        if result is not None:
            found.append(result)
            raise _Failed

    try:
        attempt()
    except Exception:
        if not found:
            raise
    return found[-1] if found else None
