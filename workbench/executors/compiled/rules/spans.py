"""Aggregates of any stretch of the events of a key, in a form that runs as plain Python and as machine code.

The rule of this module: an event is said to have a span, which is itself and some that came right before it with the
same key; what comes of them is written down when it is first asked for. Spans are as long as those of the numbers in
skew binary, so that a stretch of n events is told by some log n of them. What is written down is no state: it may go at
any time, and what does not fit there is computed in another way.

Source: Myers, An applicative random-access stack (Information Processing Letters 17, 1983): the lengths of spans.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# The kinds of values are found by `code.llvm_values`.

from __future__ import annotations

from typing import Any

from workbench.executors.compiled.rules.layout import NULLS, NUMBER, TIME, UNDONE, VALUES
from workbench.executors.compiled.rules.sums import add_float

SPAN_MARK, SPAN_BACK, SPAN_HELD, SPAN_VALUE = range(4)
"""The words of a span: which event's it is, how far back others lie (`span_end`, `span_before`), how many events it has
and how many of them have a value (`span_length`, `span_count`), and what comes of these."""
HALF, LOW, FAR_BACK = 32, (1 << 32) - 1, (1 << 31) - 1
"""A word has two numbers of so many bits; an event that lies so far back, or farther, is not there any more."""
sum_overflows: Any = None
"""Is there where this runs."""
NUMBERS, SUMS, MINIMA, MAXIMA, REAL_MINIMA, REAL_MAXIMA, REAL_SUMS = range(7)
"""What comes of values: only their number, or that and a value."""
LIMB, SOME_LIMBS = 29, 6
"""Of an exact sum of floats the first limb, and how many: of values from 2**-62 to 2**66 in size."""
SPAN_SUM = 48
"""Where in the scratch what comes of a stretch is put together: its number, then its value."""


def span_words(kind):
    """How many words a span of a kind has."""
    return SPAN_VALUE + (0 if kind == NUMBERS else SOME_LIMBS if kind == REAL_SUMS else 1)


def span_mark(i, V):
    """What tells that a span is that of the event at this place, and no other's that was there and has been undone."""
    return i + 1 + (V[UNDONE] << 40)


def span_before(i, e, W):
    """The event before this one, whose span it is, with the same key."""
    return i - (W[e + SPAN_BACK] & LOW)


def span_end(i, e, W):
    """The first event with the same key that is older than the span of this one."""
    return i - (W[e + SPAN_BACK] >> HALF)


def span_length(e, W):
    """How many events a span has."""
    return W[e + SPAN_HELD] >> HALF


def span_count(e, W):
    """How many of its events have a value; -1 where it cannot be told."""
    return (W[e + SPAN_HELD] & LOW) - 1


def no_stretch(X):
    """Begin to put together."""
    for i in range(SPAN_SUM, SPAN_SUM + 1 + SOME_LIMBS):
        X[i] = 0


def better(kind, x, some, X, XF, word, real):
    """Whether an older value is to be told; of equal ones it is."""
    if kind == MINIMA:
        return not some or word <= X[x]
    if kind == MAXIMA:
        return not some or word >= X[x]
    if some and XF[x] != XF[x]:
        return False
    return not some or real != real or (real <= XF[x] if kind == REAL_MINIMA else real >= XF[x])


def take_event(kind, attribute, a, W, F, X, XF):
    """Put an older event with the others; whether there is room for what comes of it."""
    if attribute >= 0 and (W[a + NULLS] >> attribute) & 1 != 0:
        return True
    word, x = W[a + VALUES + attribute], SPAN_SUM + 1
    if kind == SUMS:
        if sum_overflows(X[x], word):
            return False
        X[x] += word
    elif kind == REAL_SUMS:
        power = (word >> 52) & 0x7FF
        if word & 0x7FFFFFFFFFFFFFFF != 0:
            if power == 0x7FF or power == 0 or not LIMB <= (power - 1) >> 5 < LIMB + SOME_LIMBS - 2:
                return False
            add_float(X, x - LIMB, word)
    elif kind != NUMBERS and better(kind, x, X[SPAN_SUM] > 0, X, XF, word, F[a + VALUES + attribute]):
        X[x] = word
    X[SPAN_SUM] += 1
    return True


def take_span(kind, e, W, F, X, XF):
    """Put a span of older events with the others; whether there is room for what comes of them."""
    more, x = span_count(e, W), SPAN_SUM + 1
    if more < 0:
        return False
    word = W[e + SPAN_VALUE] if kind != NUMBERS else 0
    if kind == SUMS:
        if sum_overflows(X[x], word):
            return False
        X[x] += word
    elif kind == REAL_SUMS:
        for i in range(SOME_LIMBS):
            X[x + i] += W[e + SPAN_VALUE + i]
    elif kind != NUMBERS and more > 0 and better(kind, x, X[SPAN_SUM] > 0, X, XF, word, F[e + SPAN_VALUE]):
        X[x] = word
    X[SPAN_SUM] += more
    return True


def write_span(kind, attribute, i, before, begin, b, q, w, W, F, V, X, XF):
    """Write the span of an event down, given the one before it with the same key, whose span is there; -1: none."""
    size = span_words(kind)
    e, a = begin + (i & q) * size, b + (i & q) * w
    end, length, f, g = before, 1, 0, 0
    if before >= 0:
        f = begin + (before & q) * size
        behind = span_end(before, f, W)
        if behind >= 0 and before - behind < FAR_BACK:
            g, more = begin + (behind & q) * size, 1 + 2 * span_length(f, W)
            if W[g + SPAN_MARK] == span_mark(behind, V) and span_length(g, W) == span_length(f, W) and more <= FAR_BACK:
                end, length = span_end(behind, g, W), more
    no_stretch(X)
    there = take_event(kind, attribute, a, W, F, X, XF)
    if length > 1 and not (there and take_span(kind, f, W, F, X, XF) and take_span(kind, g, W, F, X, XF)):
        no_stretch(X)
        there = take_event(kind, attribute, a, W, F, X, XF)
        end, length = before, 1
    W[e + SPAN_MARK] = span_mark(i, V)
    W[e + SPAN_BACK] = (min(i - end, FAR_BACK) << HALF) + min(i - before, FAR_BACK)
    W[e + SPAN_HELD] = (length << HALF) + (X[SPAN_SUM] + 1 if there else 0)
    for n in range(size - SPAN_VALUE):
        W[e + SPAN_VALUE + n] = X[SPAN_SUM + 1 + n]


def of_stretch(kind, attribute, i, start, least, most, above, below, begin, b, q, w, W, F, X, XF):
    """Put together what lies in a window, of an event, whose span is there, and those before it with the same key.

    Parameters
    ----------
    start: the first place at which there is an event.
    least, most: of times. above, below: what numbers lie between.

    Returns whether there is room for what comes of it.
    """
    size = span_words(kind)
    no_stretch(X)
    while i >= start:
        a, e = b + (i & q) * w, begin + (i & q) * size
        if W[a + TIME] < least or W[a + NUMBER] <= above:
            return True
        end = span_end(i, e, W)
        o = b + (end & q) * w
        if W[a + TIME] > most or W[a + NUMBER] >= below:
            far = end >= start and (W[o + TIME] > most or W[o + NUMBER] >= below)
            i = end if far else span_before(i, e, W)
        elif end >= start and W[o + TIME] >= least and W[o + NUMBER] > above:
            if not take_span(kind, e, W, F, X, XF):
                return False
            i = end
        else:
            if not take_event(kind, attribute, a, W, F, X, XF):
                return False
            i = span_before(i, e, W)
    return True
