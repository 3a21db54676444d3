"""Whole numbers and truth values as text: the loop, which is compiled. Imports numba."""

# mypy: allow-untyped-defs
# numba finds the types.

from __future__ import annotations

import numba
import numpy as np

PAIRS = np.frombuffer("".join(f"{i:02}" for i in range(100)).encode(), np.uint8).copy()
"""The digits of 0 .. 99."""
TRUE, FALSE = np.frombuffer(b"true", np.uint8).copy(), np.frombuffer(b"false", np.uint8).copy()
LINE, MINUS, NOUGHT = ord("\n"), ord("-"), ord("0")
TEN, HUNDRED = np.uint64(10), np.uint64(100)


@numba.njit(nogil=True)
def write_lines(numbers, truths, between, made):
    """Write a line for each column of a matrix, with something between its numbers; how many bytes that took.

    `truths` says which rows are truth values.
    """
    place = 0
    for i in range(numbers.shape[1]):
        for k in range(numbers.shape[0]):
            number = numbers[k, i]
            if truths[k]:
                for letter in TRUE if number else FALSE:
                    made[place] = letter
                    place += 1
                made[place] = between
                place += 1
                continue
            rest = np.uint64(number)
            if number < 0:
                made[place] = MINUS
                place += 1
                rest = np.uint64(0) - rest
            place += digits(rest)
            end = place
            while rest >= HUNDRED:
                pair, rest = (rest % HUNDRED) << np.uint64(1), rest // HUNDRED
                end -= 2
                made[end], made[end + 1] = PAIRS[pair], PAIRS[pair + np.uint64(1)]
            if rest >= TEN:
                pair = rest << np.uint64(1)
                made[end - 2], made[end - 1] = PAIRS[pair], PAIRS[pair + np.uint64(1)]
            else:
                made[end - 1] = NOUGHT + rest
            made[place] = between
            place += 1
        made[place - 1] = LINE
    return place


@numba.njit(nogil=True)
def digits(number):
    """How many digits a number has."""
    count, power = 1, TEN
    while number >= power and count < 20:
        count += 1
        power *= TEN
    return count
