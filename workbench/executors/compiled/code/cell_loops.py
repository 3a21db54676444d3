"""Cells of rows as numbers: the loop, which is compiled. Imports numba.

The rule of this module: a cell is taken where it is beyond doubt what it says, as `events.values.from_text` reads it;
where one is not, or a row has another number of cells, nothing is taken. Eight letters are looked at together.
"""

# mypy: allow-untyped-defs
# numba finds the types.

from __future__ import annotations

import numba
import numpy as np

from workbench.executors.compiled.code.cells import LABEL, NO_ROOM, ODD, PASSED, POWERS, TEXT, WHOLE
from workbench.executors.compiled.code.kernels import eight, first_bit

LINE, RETURN, MINUS, POINT, NOUGHT, NINE = ord("\n"), ord("\r"), ord("-"), ord("."), ord("0"), ord("9")
ONES, TOPS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
NOUGHTS, UPPER, SIXES = np.uint64(0x3030303030303030), np.uint64(0xF0F0F0F0F0F0F0F0), np.uint64(0x0606060606060606)
THREES, PAIRED = np.uint64(0x3333333333333333), np.uint64(0x000000FF000000FF)
HUNDREDS, TENS = np.uint64(0x000F424000000064), np.uint64(0x0000271000000001)
ALL, BYTE, WORD = np.uint64((1 << 64) - 1), np.uint64(8), 8
POWERS_OF_TEN = np.array(POWERS)
MOST_DIGITS, EXACT_DIGITS = 18, 15
"""Digits of numbers that are surely words, and of those that floats have exactly."""


@numba.njit(nogil=True)
def read_cells(data, between, kinds, rows, labels, values, there, missing):
    """Read rows; how many they are, or `ODD` or `NO_ROOM`.

    Parameters
    ----------
    data: bytes; the last one ends a line.
    kinds, rows: of each column what it has, and which row of `values` is for it.
    labels: those of all columns, a row each: the row of `values` that they are for, how many letters, the first and
        the next eight, and what stands for it.
    values: takes a word for each cell: a whole number, the bits of a float, what stands for a label, or where a text
        begins; the next row of it then takes where it ends.
    there: takes whether a cell is not empty, in the same rows.
    missing: takes how many are empty; of texts, in the next row, whether some may be nothing but space.
    """
    size, columns, room = len(data), len(kinds), values.shape[1]
    last = columns - 1
    betweens, lines = np.uint64(between) * ONES, np.uint64(LINE) * ONES
    missing[:] = 0
    place, count = np.int64(0), np.int64(0)
    while place < size:
        if count == room:
            return NO_ROOM
        for column in range(columns):
            begin = place
            word = first = word_at(data, place)
            found = marked(word ^ betweens) | marked(word ^ lines)
            while not found:
                place += WORD
                word = word_at(data, place)
                found = marked(word ^ betweens) | marked(word ^ lines)
            place += np.int64(first_bit(found) >> np.uint64(3))
            end = place
            place += 1
            if (data[end] == LINE) != (column == last):
                return ODD
            kind = kinds[column]
            if kind == PASSED:
                continue
            if column == last and end > begin and data[end - 1] == RETURN:
                end -= 1
            row, length = rows[column], end - begin
            there[row, count] = length > 0
            if kind == TEXT:
                values[row, count], values[row + 1, count] = begin, end
                missing[row] += length == 0
                letter = first & np.uint64(255)
                missing[row + 1] |= (length > 0) & ((letter <= np.uint64(32)) | (letter >= np.uint64(127)))
                continue
            if length == 0:
                values[row, count] = 0
                missing[row] += 1
                continue
            if length <= WORD:
                first &= ALL >> (np.uint64(WORD - length) * BYTE)
            if kind == LABEL:
                second = np.uint64(0)
                if length > WORD:
                    if length > 2 * WORD:
                        return ODD
                    second = word_at(data, begin + WORD) & (ALL >> (np.uint64(2 * WORD - length) * BYTE))
                hit = -1
                for k in range(len(labels)):
                    same = (labels[k, 0] == np.uint64(row)) & (labels[k, 1] == np.uint64(length))
                    same &= (labels[k, 2] == first) & (labels[k, 3] == second)
                    hit = k if same else hit
                if hit < 0:
                    return ODD
                values[row, count] = np.int64(labels[hit, 4])
            elif kind == WHOLE:
                number, sure = np.int64(0), False
                if length <= WORD:
                    shift = np.uint64(WORD - length) * BYTE
                    digits = (first << shift) | (NOUGHTS & ~(ALL << shift))
                    sure = ((digits & UPPER) | (((digits + SIXES) & UPPER) >> np.uint64(4))) == THREES
                    number = eight_digits(digits)
                if not sure:
                    number, sure = whole(data, begin, end)
                    if not sure:
                        return ODD
                values[row, count] = number
            else:
                real, sure = fraction(data, begin, end)
                if not sure:
                    return ODD
                values[row, count] = np.float64(real).view(np.int64)
        count += 1
    return count


@numba.njit(nogil=True)
def word_at(data, place):
    """Eight bytes from a place on; behind the end are ends of lines."""
    if place + WORD <= len(data):
        return eight(data, place)
    found = np.uint64(0)
    for k in range(WORD):
        letter = data[place + k] if place + k < len(data) else np.uint8(LINE)
        found |= np.uint64(letter) << (np.uint64(k) * BYTE)
    return found


@numba.njit(nogil=True)
def marked(word):
    """The highest bit of the first byte that is 0, perhaps with some above; 0 where none is."""
    return (word - ONES) & ~word & TOPS


@numba.njit(nogil=True)
def eight_digits(digits):
    """The number of eight digits, the first of which is the lowest byte: pairs, then fours, then all are added up."""
    digits -= NOUGHTS
    digits = digits * np.uint64(10) + (digits >> BYTE)
    upper = (digits >> np.uint64(16)) & PAIRED
    return np.int64(((digits & PAIRED) * HUNDREDS + upper * TENS) >> np.uint64(32))


@numba.njit(nogil=True)
def whole(data, begin, end):
    """A whole number with or without a sign, and whether it is one beyond doubt."""
    start = begin + (data[begin] == MINUS)
    sure, number = start < end and end - start <= MOST_DIGITS, np.int64(0)
    for k in range(start, end):
        sure &= (data[k] >= NOUGHT) & (data[k] <= NINE)
        number = number * 10 + np.int64(data[k]) - NOUGHT
    return (-number if start > begin else number), sure


@numba.njit(nogil=True)
def fraction(data, begin, end):
    """A number with or without a sign and a point, and whether it is one beyond doubt, and rounded once.

    Digits and the power of ten that they are divided by are floats exactly.
    """
    start = begin + (data[begin] == MINUS)
    number, digits, point, sure = np.int64(0), 0, end, start < end
    for k in range(start, end):
        letter = data[k]
        if letter == POINT:
            sure &= (point == end) & (k > start)
            point = k
        else:
            sure &= (letter >= NOUGHT) & (letter <= NINE)
            number = number * 10 + np.int64(letter) - NOUGHT
            digits += 1
    if not sure or digits > EXACT_DIGITS:
        return 0.0, False
    real = np.float64(number) / POWERS_OF_TEN[max(end - point - 1, 0)]
    return (-real if start > begin else real), True
