"""Rows of a log, or steps, some at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TypeVar

T = TypeVar("T")


def batches(events: Iterator[T], size: int) -> Iterator[list[T]]:
    """The events some at a time; those before one that cannot be read come out, too."""
    problem: Exception | None = None
    while problem is None:
        batch: list[T] = []
        try:
            batch.extend(itertools.islice(events, size))
        except Exception as error:
            problem = error
        if batch:
            yield batch
        elif problem is None:
            return
    raise problem
