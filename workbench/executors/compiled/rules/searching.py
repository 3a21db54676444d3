"""In which order a rule looks for the events of its predicates, as the events have shown.

The rule of this module: it changes nothing but time. Now and then all predicates of a group are looked for, also where
one of them has found nothing: then it is known of each how often it finds nothing, and how many candidates it looks
at. The order is that in which the least candidates are looked at, if one has nothing to do with another. What is
looked at only to learn is a tenth of all at most, and some more in the beginning; what was learned long ago counts
less.

What has been seen stands among the constants of a rule: the order, its first place in the lowest bits; how often the
group has been looked for; candidates; those that were looked at in vain, to learn; how often something was learned.
Then of each predicate how often it was looked for, found nothing, and what that took; then the orders that there are.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# The kinds of values are found by `code.llvm_values`.

from __future__ import annotations

from typing import Any

ORDER_NOW, ENTERED, LOOKED, IN_VAIN, LEARNED, OF_SEARCHES = range(6)
SEARCHED, MISSED, TAKEN, SEARCH_WORDS = range(4)
PLACE_BITS = 4
FIRST_LEARNED, LEARNED_EACH = 16, 16
"""So many times in the beginning, and then each so many times something is learned."""
VAIN_SHARE, VAIN_FREE = 10, 4096
"""Candidates that are looked at in vain: one in so many, and so many more."""
SET_OUT = 4
"""What it takes to begin to look, in candidates."""
OTHERWISE = 0.9
"""What another order has to take of what this one does."""
HALVED = 256
"""After so many times what is known counts half."""


def search_order(at, C):
    """The order to look in; less than 0 where something is to be learned: then it is -1 minus the order."""
    C[at + ENTERED] += 1
    if C[at + ENTERED] > FIRST_LEARNED and C[at + ENTERED] % LEARNED_EACH != 0:
        return C[at + ORDER_NOW]
    if VAIN_SHARE * C[at + IN_VAIN] > C[at + LOOKED] + VAIN_FREE:
        return C[at + ORDER_NOW]
    return -1 - C[at + ORDER_NOW]


def seen_search(at, place, ran, lost, looked, C):
    """What was seen of a predicate, if it was looked for."""
    if (ran >> place) & 1 != 0:
        word = at + OF_SEARCHES + SEARCH_WORDS * place
        C[word + SEARCHED] += 1
        C[word + MISSED] += (lost >> place) & 1
        C[word + TAKEN] += looked + SET_OUT


def learn_order(at, size, count, lost, looked, C):
    """Choose again, once there is twice as much to choose by, and each so many times."""
    C[at + LEARNED] += 1
    C[at + IN_VAIN] += looked if lost != 0 else 0
    learned = C[at + LEARNED]
    if learned & (learned - 1) == 0 or learned % LEARNED_EACH == 0:
        C[at + ORDER_NOW] = least_order(at, size, count, C)
    if learned >= HALVED:
        C[at + LEARNED] = HALVED // 2
        for word in range(at + OF_SEARCHES, at + OF_SEARCHES + SEARCH_WORDS * size):
            C[word] //= 2


def least_order(at: int, size: int, count: int, C: Any) -> int:
    """The order that takes least, of so many; the one that there is unless another one takes clearly less."""
    now: int = C[at + ORDER_NOW]
    best, least = now, order_takes(at, size, now, C) * OTHERWISE
    begin = at + OF_SEARCHES + SEARCH_WORDS * size
    for word in range(begin, begin + count):
        takes = order_takes(at, size, C[word], C)
        if takes < least:
            best, least = C[word], takes
    return best


def order_takes(at: int, size: int, order: int, C: Any) -> float:
    """How many candidates are looked at in an order: each predicate's, as often as those before it find something."""
    takes, left = 0.0, 1.0
    for turn in range(size):
        word = at + OF_SEARCHES + SEARCH_WORDS * ((order >> (PLACE_BITS * turn)) & ((1 << PLACE_BITS) - 1))
        searched = C[word + SEARCHED]
        takes += left * (C[word + TAKEN] + SET_OUT) / (searched + 1)
        left *= (searched - C[word + MISSED] + 0.5) / (searched + 1)
    return takes


def packed_order(places: Any) -> int:
    """An order of places as one number."""
    return sum(place << (PLACE_BITS * turn) for turn, place in enumerate(places))


def placed_order(packed: int, size: int) -> list[int]:
    """The places of an order."""
    return [(packed >> (PLACE_BITS * turn)) & ((1 << PLACE_BITS) - 1) for turn in range(size)]


def search_words(size: int, orders: Any) -> list[int]:
    """What is known of a group in the beginning: nothing, but the orders that there are."""
    return [orders[0], *([0] * (OF_SEARCHES - 1)), *([0] * (SEARCH_WORDS * size)), *orders]
