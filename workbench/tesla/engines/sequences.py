"""Partial sequences that grow one part after the other, each in full before the next: in order, in little memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from workbench.tesla.engines.candidates import ExtendsMatch
from workbench.tesla.engines.rule_plan import PartialMatch


def grow_sequences(extends: Sequence[ExtendsMatch], start: PartialMatch) -> Iterator[PartialMatch]:
    """All that a partial match grows to, through all steps."""
    if not extends:
        yield start
        return
    stack, last = [iter(extends[0](start))], len(extends)
    while stack:
        if len(stack) == last:
            yield from stack.pop()
        elif (partial := next(stack[-1], None)) is None:
            stack.pop()
        else:
            stack.append(iter(extends[len(stack)](partial)))


def count_extensions(extend: ExtendsMatch, counted: Callable[[PartialMatch], object]) -> ExtendsMatch:
    """The same, which tells of each partial match."""

    def extended(match: PartialMatch) -> Iterator[PartialMatch]:
        for each in extend(match):
            counted(each)
            yield each

    return extended
