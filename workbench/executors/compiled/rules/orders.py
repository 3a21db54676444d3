"""Sorted columns: which events of a window have a value between two others, without a look at the rest of the window.

The rule of this module: blocks of neighbouring events are sorted by their values, and `FAN` blocks are one block of the
level above. A block in which nothing lies between the bounds is passed over, and of one in which little does only that
is looked at; so candidates come in the order of events, the newest or the oldest first. A block whose place in the ring
is taken by a later one is forgotten: nothing is deleted. An order is made when columns have been looked through for
what it costs, later where most of what is looked at fits. It changes no answer: candidates are asked all the same.

Runs as plain Python and as machine code. A sorted value is a key: a whole number, a float by its bits in the order of
floats. `NO_KEY` is the key of null and of what is no number.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# The kinds of values are found by `code.llvm_values`.

from __future__ import annotations

from typing import Any

from workbench.executors.compiled.rules.layout import (
    ACCEPT,
    ACCEPT_CONSTANTS,
    BASE,
    DEBT,
    GROW_JOURNAL,
    GROW_ORDER,
    JOURNAL,
    KEYED,
    LEVELS,
    LEVELS_MASK,
    MADE_FROM,
    MADE_TO,
    MASK,
    NULLS,
    OF_COLUMN,
    ORDER_STATE,
    REAL,
    RING,
    RING_MASK,
    SORTED_BY,
    TYPE,
    VALUES,
    WANTED,
    WIDTH,
    WORTH,
)  # fmt: skip
from workbench.executors.compiled.rules.tables import put

LEAF = 64
"""Events of the least block."""
SHIFT = 2
FAN = 4
"""Blocks that are one block of the next level: 2 to the power of `SHIFT`."""
NEAR = 64
"""Events that are looked at before an order is asked."""
FEW_HITS = 32
"""Hits of a block that are looked through for the next one."""
DENSE = 48
"""Of a block in which at least one in so many fits all are asked, one by one."""
LEAST_WORTH, MOST_WORTH = 64, 4096
"""For how many events that are asked one by one an event is put in order, at least and at most."""
NO_KEY = -(1 << 63)
LEAST_KEY, MOST_KEY = NO_KEY + 1, (1 << 63) - 1
PART, GROUPS = 48, (1 << 15) - 1
"""Of a number that says an event's group of keys, and its value: the bits of the value, and the last group."""
CROWDED = 3
"""Where at least one in so many of a group fits, its chain is better."""
accept: Any = None
"""Generated: the hash of a column's key."""


def order_words(mask: int) -> int:
    """How many words the blocks of an order take: their keys and places, level by level."""
    words, size = 0, LEAF
    while 2 * size <= mask + 1:
        words, size = words + 2 * (mask + 1), size << SHIFT
    return words


# --- keys -----------------------------------------------------------------------------------------------


def float_key(bits):
    """A number that is less if the float with these bits is; the same for both zeros."""
    return bits if bits >= 0 else NO_KEY - bits


def in_group(h, key, real):
    """A number that is not less for a greater key, and other than those of other groups: of keys with this hash."""
    half = 1 << (PART - 1)
    return ((h & GROUPS) << PART) + half + min(max(key >> 16 if real != 0 else key, -half), half - 1)


def key_of(o, order, T, K, W, F, H, C, CF, V, X, XF):
    """The key at a place of the column."""
    if K[order, KEYED] != 0:
        column = K[order, OF_COLUMN]
        y = K[column, TYPE]
        a = T[y, BASE] + (o & T[y, MASK]) * T[y, WIDTH]
        h = accept(K[column, ACCEPT], K[column, ACCEPT_CONSTANTS], a, C, CF, W, F, H, V, X, XF)
        key = value_of(o, order, T, K, W, F, H)
        return NO_KEY if h < 0 or key == NO_KEY else in_group(h, key, K[order, REAL])
    return value_of(o, order, T, K, W, F, H)


def value_of(o, order, T, K, W, F, H):
    """What is at a place of the column, as a number in the order of values."""
    column = K[order, OF_COLUMN]
    y = K[column, TYPE]
    ring = K[column, RING]
    i = o if ring < 0 else H[ring + (o & K[column, RING_MASK])]
    a = T[y, BASE] + (i & T[y, MASK]) * T[y, WIDTH]
    at = K[order, SORTED_BY]
    if (W[a + NULLS] >> at) & 1 != 0:
        return NO_KEY
    word = W[a + VALUES + at]
    if K[order, REAL] != 0:
        return NO_KEY if F[a + VALUES + at] != F[a + VALUES + at] else float_key(word)
    return max(word, LEAST_KEY)


def narrowed(low, high, kind, key):
    """Bounds for keys that compare with a key: 1 `>`, 2 `>=`, 3 `<`, 4 `<=`."""
    if kind == 1:
        return (1, 0) if key == MOST_KEY else (max(low, key + 1), high)
    if kind == 2:
        return max(low, key), high
    if kind == 3:
        return (1, 0) if key <= LEAST_KEY else (low, min(high, key - 1))
    return low, min(high, key)


def narrowed_by_float(low, high, kind, x):
    """Bounds for whole numbers that compare with a float."""
    if x != x:
        return 1, 0
    if x >= 9223372036854775808.0:
        return (low, high) if kind >= 3 else (1, 0)
    if x < -9223372036854775808.0:
        return (low, high) if kind == 1 or kind == 2 else (1, 0)
    whole = int(x)
    if float(whole) == x:
        return narrowed(low, high, kind, whole)
    floor = whole if x > 0.0 else whole - 1
    return narrowed(low, high, 1 if kind <= 2 else 4, floor)


# --- blocks ---------------------------------------------------------------------------------------------


def first_key(at, size, key, H):
    """How many of the sorted entries at a place have a key less than this one."""
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if H[at + 2 * middle] < key:
            low = middle + 1
        else:
            high = middle
    return low


def block_at(order, level, first, K):
    """Where the block lies that begins with a place of the column."""
    mask = K[order, LEVELS_MASK]
    return K[order, LEVELS] + 2 * ((mask + 1) * level + (first & mask))


def make_leaf(order, first, T, K, W, F, H, C, CF, V, X, XF):
    """Sort a block of the least level."""
    at = block_at(order, 0, first, K)
    for n in range(LEAF):
        key = key_of(first + n, order, T, K, W, F, H, C, CF, V, X, XF)
        m = at + 2 * n
        while m > at and H[m - 2] > key:
            H[m], H[m + 1] = H[m - 2], H[m - 1]
            m -= 2
        H[m], H[m + 1] = key, first + n


def make_block(order, level, first, K, H):
    """Merge the blocks of the level below."""
    to = block_at(order, level, first, K)
    part = LEAF << (SHIFT * (level - 1))
    a = block_at(order, level - 1, first, K)
    b, c, d = a + 2 * part, a + 4 * part, a + 6 * part
    ends_a, ends_b, ends_c, ends_d = b, c, d, d + 2 * part
    key_a, key_b, key_c, key_d = H[a], H[b], H[c], H[d]
    for n in range(to, to + 8 * part, 2):
        left, right = key_a, key_c
        from_b, from_d = a >= ends_a or (b < ends_b and key_b < key_a), c >= ends_c or (d < ends_d and key_d < key_c)
        if from_b:
            left = key_b
        if from_d:
            right = key_d
        on_right = (a >= ends_a and b >= ends_b) or (not (c >= ends_c and d >= ends_d) and right < left)
        if on_right:
            H[n] = right
            if from_d:
                H[n + 1] = H[d + 1]
                d += 2
                key_d = H[d] if d < ends_d else MOST_KEY
            else:
                H[n + 1] = H[c + 1]
                c += 2
                key_c = H[c] if c < ends_c else MOST_KEY
        else:
            H[n] = left
            if from_b:
                H[n + 1] = H[b + 1]
                b += 2
                key_b = H[b] if b < ends_b else MOST_KEY
            else:
                H[n + 1] = H[a + 1]
                a += 2
                key_a = H[a] if a < ends_a else MOST_KEY


def ordered(order, start, end, s, u, T, K, W, F, H, V, J, C, CF, X, XF):
    """Up to which place of a column there is an order, which is made longer where that pays.

    Less than 0 where there is no room: what it takes.

    Parameters
    ----------
    start, end: of the column.
    s, u: between these places candidates are asked one by one next, where there is no order.
    """
    column, at = K[order, OF_COLUMN], K[order, ORDER_STATE]
    mask = K[column, RING_MASK] if K[column, RING] >= 0 else T[K[column, TYPE], MASK]
    if mask < LEAF:
        return s
    there = K[order, LEVELS] >= 0 and K[order, LEVELS_MASK] == mask
    made_from, made_to = (H[at + MADE_FROM], H[at + MADE_TO]) if there else (0, 0)
    begins, ends = start & -LEAF, end & -LEAF
    if made_to < begins or made_to > ends:
        made_from, made_to = begins, begins
    if made_to <= s:
        H[at + DEBT] += u - s
    if H[at + WORTH] < LEAST_WORTH:
        H[at + WORTH] = LEAST_WORTH
    if ends == made_to or (ends - made_to) * H[at + WORTH] > H[at + DEBT]:
        return made_to
    if not there:
        V[WANTED] = order
        return -GROW_ORDER
    if V[JOURNAL] + 4 > len(J):
        return -GROW_JOURNAL
    H[at + DEBT] = 0
    H[at + WORTH] = min(MOST_WORTH, 2 * H[at + WORTH])  # less again where blocks are passed over
    for first in range(made_to, ends, LEAF):
        make_leaf(order, first, T, K, W, F, H, C, CF, V, X, XF)
        level, size = 1, FAN * LEAF
        behind = first + LEAF
        while 2 * size <= mask + 1 and behind & (size - 1) == 0 and behind - size >= made_from:
            make_block(order, level, behind - size, K, H)
            level, size = level + 1, size << SHIFT
    put(at + MADE_FROM, made_from, H, V, J)
    put(at + MADE_TO, ends, H, V, J)
    return ends


# --- what fits ------------------------------------------------------------------------------------------


def newest_hit(o, level, found, hits, s, low, high, order, K, H):
    """Where the next candidate before `o` is.

    The place behind it, down to which place all are asked one by one, and what the next call is given: a level, and the
    hits of a block that are looked through; less than 0 where so much of a group fits that its chain is better. The
    first is not greater than `s` where there is none.
    """
    state, mask, keyed, crowded = K[order, ORDER_STATE], K[order, LEVELS_MASK], K[order, KEYED] != 0, False
    made_from, made_to = H[state + MADE_FROM], H[state + MADE_TO]
    while o > s:
        size = LEAF << (SHIFT * level)
        first = (o - 1) & -size
        if hits > 0:
            first = H[found + 1] & -size
            place = s - 1
            for n in range(found + 1, found + 2 * hits, 2):
                if H[n] < o:
                    place = max(place, H[n])
            if place >= s:
                return place + 1, place, level, found, -1 if crowded else hits
            o, hits, level = first, 0, level + 1
            continue
        if 2 * size > mask + 1 or first < made_from or first + size > made_to:
            if level == 0:
                H[state + DEBT] += o - max(s, first)
                return o, max(s, first), 0, 0, 0
            level -= 1
            continue
        at = block_at(order, level, first, K)
        p = first_key(at, size, low, H)
        hits = first_key(at + 2 * p, size - p, high + 1, H) if high < MOST_KEY else size - p
        if hits == 0:
            H[state + WORTH] -= size >> 6
            o, level = first, level + 1
            continue
        if keyed and not crowded:
            least = (low >> PART) << PART
            begin = at + 2 * first_key(at, p, least, H)
            crowded = first_key(begin, size - (begin - at) // 2, least + (1 << PART), H) <= CROWDED * hits
        if hits <= FEW_HITS or (keyed and level == 0):
            H[state + WORTH] -= size >> 6
            found = at + 2 * p
        elif not keyed and (level == 0 or hits * DENSE >= size):
            return o, max(s, first), level, 0, 0
        else:
            hits, level = 0, level - 1
    return s, s, level, 0, 0


def oldest_hit(o, level, found, hits, u, low, high, order, K, H):
    """Where the next candidate from `o` on is, and up to which place all are asked; the rest as above.

    The first is not less than `u` where there is none.
    """
    state, mask = K[order, ORDER_STATE], K[order, LEVELS_MASK]
    made_from, made_to = H[state + MADE_FROM], H[state + MADE_TO]
    while o < u:
        size = LEAF << (SHIFT * level)
        first = o & -size
        if hits > 0:
            first = H[found + 1] & -size
            place = u
            for n in range(found + 1, found + 2 * hits, 2):
                if H[n] >= o:
                    place = min(place, H[n])
            if place < u:
                return place, place + 1, level, found, hits
            o, hits, level = first + size, 0, level + 1
            continue
        if 2 * size > mask + 1 or first < made_from or first + size > made_to:
            if level == 0:
                H[state + DEBT] += min(u, first + size) - o
                return o, min(u, first + size), 0, 0, 0
            level -= 1
            continue
        at = block_at(order, level, first, K)
        p = first_key(at, size, low, H)
        hits = first_key(at + 2 * p, size - p, high + 1, H) if high < MOST_KEY else size - p
        if hits == 0:
            H[state + WORTH] -= size >> 6
            o, level = first + size, level + 1
        elif hits <= FEW_HITS:
            H[state + WORTH] -= size >> 6
            found = at + 2 * p
        elif level == 0 or hits * DENSE >= size:
            return o, min(u, first + size), level, 0, 0
        else:
            hits, level = 0, level - 1
    return u, u, level, 0, 0


def count_hits(s, u, made_to, low, high, order, T, K, W, F, H):
    """How many places of a window have a key between two; up to `made_to` there is an order."""
    state, mask = K[order, ORDER_STATE], K[order, LEVELS_MASK]
    made_from = H[state + MADE_FROM]
    count, o, level = 0, u, 0
    while o > s:
        size = LEAF << (SHIFT * level)
        first = (o - 1) & -size
        if 2 * size > mask + 1 or first < made_from or first + size > made_to:
            if level > 0:
                level -= 1
                continue
            H[state + DEBT] += o - max(s, first)
            for each in range(max(s, first), o):
                key = value_of(each, order, T, K, W, F, H)
                count += 1 if low <= key and key <= high else 0
            o = first
            level = 1
            continue
        at = block_at(order, level, first, K)
        p = first_key(at, size, low, H)
        hits = first_key(at + 2 * p, size - p, high + 1, H) if high < MOST_KEY else size - p
        if hits > 0 and (first < s or first + size > o):
            if level > 0 and hits > FEW_HITS:
                level -= 1
                continue
            for n in range(at + 2 * p + 1, at + 2 * (p + hits), 2):
                count += 1 if s <= H[n] and H[n] < o else 0
        else:
            count += hits
        H[state + WORTH] -= size >> 6
        o = first
        level += 1
    return count
