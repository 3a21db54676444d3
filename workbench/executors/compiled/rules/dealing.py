"""Machine code that deals events out to threads by their keys: a pass over a block, which reads each event once."""

from __future__ import annotations

from typing import Any


def deal(types: Any, places: Any, firsts: Any, rows: Any, owners: Any, first: int, orders: Any, counts: Any) -> int:
    """Put the places of events where those of their threads are.

    Parameters
    ----------
    types, places: of the events.
    firsts: of each type where its first row is; 0: it has no key, and all of it is row 0.
    rows: of each row its bucket. owners: of each bucket the thread that has it.
    first: the place of the first event.
    orders: int64[thread, event]. counts: int64[thread], how many each has.
    """
    for i in range(len(types)):
        begin = firsts[types[i]]
        row = begin + places[i] if begin > 0 else 0
        owner = owners[rows[row]]
        orders[owner, counts[owner]] = first + i
        counts[owner] += 1
    return 0
