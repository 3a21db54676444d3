"""Examples made smaller by leaving one thing out after the other.

The rule of this module: it knows nothing of what is left out. What hypothesis draws, hypothesis makes smaller
(`shrinking`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

_Example = TypeVar("_Example")
_Failure = TypeVar("_Failure")


def minimize(
    failure: _Failure, smaller: Callable[[_Failure], Iterable[_Example]], check: Callable[[_Example], _Failure | None]
) -> _Failure:
    """The failure of an example from which nothing can be left out without that it no longer fails.

    Parameters
    ----------
    smaller: of a failure the examples with one thing less, in the order in which they are tried.
    check: the failure of an example; None where it does not fail.
    """
    while (found := next(filter(None, map(check, smaller(failure))), None)) is not None:
        failure = found
    return failure
