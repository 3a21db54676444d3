"""Texts whose letters matter: their order, and what two of them are behind one another.

The rule of this module: a text is known by its number. Its letters, and the number of what two texts are joined to,
stand in hash tables that the host fills: where something is missing, the event ends with a status that says what, and
is processed again when it is there. Letters are bytes of UTF-8, whose order is that of texts.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.records import NONE, KernelStatus


def mix_numbers(one, other):
    """Where the search for two numbers begins in a table."""
    return one ^ (one >> 7) ^ (one >> 19) ^ (one >> 41) ^ (other << 5) ^ (other >> 11)


def find_text(texts, code):
    """The place of a text in the table of letters, or the empty one where it belongs."""
    mask = len(texts) - 1
    place = mix_numbers(code, 0) & mask
    while texts[place].code != code and texts[place].code != NONE:
        place = (place + 1) & mask
    return place


def find_joined(joins, one, other):
    """The place of two texts in the table of joined ones, or the empty one where they belong."""
    mask = len(joins) - 1
    place = mix_numbers(one, other) & mask
    while (joins[place].one != one or joins[place].other != other) and joins[place].one != NONE:
        place = (place + 1) & mask
    return place


def compare_texts(texts, letters, state, one, other):
    """How a text stands to another: less than 0 where it comes first; the status says where letters are missing."""
    if one == other:
        return 0
    first, second = texts[find_text(texts, one)], texts[find_text(texts, other)]
    if first.code == NONE or second.code == NONE:
        state.status, state.text = KernelStatus.MISSING_TEXT, one if first.code == NONE else other
        return 0
    size, more = first.end - first.start, second.end - second.start
    for k in range(min(size, more)):
        x, y = letters[first.start + k], letters[second.start + k]
        if x != y:
            return -1 if x < y else 1
    return -1 if size < more else int(size > more)


def join_texts(joins, state, one, other):
    """The number of two texts behind one another; the status says where it is missing."""
    found = joins[find_joined(joins, one, other)]
    if found.one == NONE:
        state.status, state.text, state.other_text = KernelStatus.MISSING_JOINED, one, other
        return 0
    return found.joined
