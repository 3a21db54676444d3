"""The search for a failing example, and its shrinking: hypothesis as a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st

from workbench.interrupts import checkpoint
from workbench.language.depth import raise_recursion_limit

Example = TypeVar("Example")
Failure = TypeVar("Failure")


class _Failed(Exception):
    """The exception for a failing example."""


def smallest(
    examples: st.SearchStrategy[Example], failure: Callable[[Example], Failure | None], count: int, number: int
) -> Failure | None:
    """Return the failure of the simplest failing example among `count` tried ones; None if none fails.

    Parameters
    ----------
    failure: returns the failure of an example, or None; called again and again during shrinking.
    number: the seed, which determines the examples.
    """
    raise_recursion_limit()  # hypothesis warns if the recursion limit changes during an example
    failures: list[Failure] = []

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
            failures.append(result)
            raise _Failed

    try:
        attempt()
    except Exception:
        if not failures:
            raise
    return failures[-1] if failures else None
