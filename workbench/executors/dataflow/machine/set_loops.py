"""The scheduler's sets in machine code: `Scheduler` on arrays, for `machine.sets`. Imports numba.

The rule of this module: after every update x and the sets are those of the listings; `scheduler` explains how. Partial
and full pairs are not stored separately: a pair with a message is full exactly where last(v) <= x_p, last(v) being the
greatest predecessor of v. So there are the vertices with a message of each phase, the phases of each vertex, and two
trees over phases: the own bound of each, and its least partial vertex. Sets of numbers are hierarchical bit sets: each
level marks the nonzero words of the level below. Callers hold the lock.
"""

# mypy: allow-untyped-defs
# numba infers the types, and nothing here needs its runtime.

from __future__ import annotations

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from workbench.executors.dataflow import minima
from workbench.executors.dataflow.machine.layout import BEGUN, COMPLETE, HEAD, SHIFT, SIZE, TAIL

ONE, LOW = np.uint64(1), np.uint64(63)


@intrinsic
def lowest(context, word):
    """Return the number of the lowest set bit of a nonzero word."""
    del context, word

    def code(_, builder, __, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), code


@numba.njit(nogil=True)
def put(bits, row, number, levels):
    """Add a number to a set; return whether it was new."""
    for level in range(levels.shape[1]):
        index = levels[0, level] + (number >> 6)
        word, bit = bits[row, index], ONE << (np.uint64(number) & LOW)
        bits[row, index] = word | bit
        if word:
            return level > 0 or word & bit == 0
        number >>= 6
    return True


@numba.njit(nogil=True)
def take_out(bits, row, number, levels):
    """Remove a number from a set."""
    for level in range(levels.shape[1]):
        index = levels[0, level] + (number >> 6)
        word = bits[row, index] & ~(ONE << (np.uint64(number) & LOW))
        bits[row, index] = word
        if word:
            return
        number >>= 6


@numba.njit(nogil=True)
def next_in(bits, row, number, levels):
    """Return the least number of a set from this one on; -1 where there is none."""
    for level in range(levels.shape[1]):
        if number >= levels[1, level]:
            return -1
        word = bits[row, levels[0, level] + (number >> 6)] >> (np.uint64(number) & LOW)
        if word:
            number += lowest(word)
            for below in range(level - 1, -1, -1):
                number = (number << 6) + lowest(bits[row, levels[0, below] + number])
            return number
        number = (number >> 6) + 1
    return -1


@numba.njit(nogil=True)
def none_in(bits, row, levels):
    """Whether a set is empty."""
    return bits[row, levels[0, levels.shape[1] - 1]] == 0


set_least, least_before, next_below = (
    numba.njit(nogil=True)(each) for each in (minima.set_least, minima.least_before, minima.next_below)
)


@numba.njit(nogil=True)
def mark_full(sets, vertex):
    """Queue the vertex of a pair that has become full, unless an earlier phase of it is ready or running."""
    h = sets.head
    if not sets.busy[vertex]:
        sets.busy[vertex] = 1
        sets.queue[h[TAIL] & (len(sets.queue) - 1)] = vertex
        h[TAIL] += 1


@numba.njit(nogil=True)
def send(sets, vertex, phase):
    """Send a message to a vertex in a phase."""
    row = phase & (len(sets.waiting) - 1)
    if put(sets.waiting, row, vertex, sets.vertex_levels):
        put(sets.news, vertex, row, sets.phase_levels)


@numba.njit(nogil=True)
def begin(sets):
    """Begin a phase; its messages must be sent before `open_phase`."""
    h, own, least = sets.head, sets.own, sets.least
    size = h[SIZE]
    if h[BEGUN] + 1 - h[SHIFT] >= len(own) >> 1:  # the incomplete phases move to the beginning
        shift, first = h[COMPLETE] + 1, h[SHIFT]
        half, count = len(own) >> 1, h[BEGUN] - h[COMPLETE]
        for at in range(half):
            own[half + at] = own[half + shift - first + at] if at < count else size
            least[half + at] = least[half + shift - first + at] if at < count else size + 1
        for i in range(half - 1, 0, -1):
            own[i], least[i] = min(own[2 * i], own[2 * i + 1]), min(least[2 * i], least[2 * i + 1])
        h[SHIFT] = shift
    h[BEGUN] += 1


@numba.njit(nogil=True)
def open_phase(sets):
    """Update the sets after the messages of the last phase have been sent."""
    h = sets.head
    phase, size = h[BEGUN], h[SIZE]
    row, at = phase & (len(sets.waiting) - 1), phase - h[SHIFT]
    vertex = next_in(sets.waiting, row, 0, sets.vertex_levels)
    bound = vertex - 1 if vertex >= 0 else size
    set_least(sets.own, at, bound)
    if phase == h[COMPLETE] + 1 and vertex < 0:
        h[COMPLETE] = phase
    elif phase > h[COMPLETE] + 1:
        bound = min(bound, least_before(sets.own, at, size))
    while 0 <= vertex <= sets.m[bound]:
        mark_full(sets, vertex)
        vertex = next_in(sets.waiting, row, vertex + 1, sets.vertex_levels)
    set_least(sets.least, at, vertex if vertex >= 0 else size + 1)


@numba.njit(nogil=True)
def first_full(sets, vertex):
    """Return the first full phase of a vertex; 0 where it has none."""
    h, own, last = sets.head, sets.own, sets.last[vertex]
    phase = next_phase(sets, vertex, h[COMPLETE] + 1)
    if phase and (phase == h[COMPLETE] + 1 or least_before(own, phase - h[SHIFT], h[SIZE]) >= last):
        return phase if own[(len(own) >> 1) + phase - h[SHIFT]] >= last else 0
    return 0


@numba.njit(nogil=True)
def next_phase(sets, vertex, phase):
    """Return the first incomplete phase from this one on in which a vertex has a message; 0 where there is none."""
    h = sets.head
    if phase > h[BEGUN]:
        return 0
    mask = len(sets.waiting) - 1
    row = next_in(sets.news, vertex, phase & mask, sets.phase_levels)
    if row < 0:
        row = next_in(sets.news, vertex, 0, sets.phase_levels)
    candidate = phase + ((row - phase) & mask)  # beyond the last begun phase, if the row belongs to an earlier phase
    return candidate if row >= 0 and candidate <= h[BEGUN] else 0


@numba.njit(nogil=True)
def full_phases(sets, vertex, phases, limit):
    """Write the first `limit` full phases of a vertex; return their number."""
    h = sets.head
    stop = h[SHIFT] + next_below(sets.own, h[COMPLETE] + 1 - h[SHIFT], sets.last[vertex])
    count, phase = 0, next_phase(sets, vertex, h[COMPLETE] + 1)
    while phase and phase < stop and count < limit:
        phases[count] = phase
        count += 1
        phase = next_phase(sets, vertex, phase + 1)
    return count


@numba.njit(nogil=True)
def finish_phases(sets, vertex, phases, count):
    """Finish the first full phases of a vertex, whose messages have been sent."""
    h = sets.head
    half, mask, size, shift = len(sets.own) >> 1, len(sets.waiting) - 1, h[SIZE], h[SHIFT]
    first = phases[0]
    old = new = (
        least_before(sets.own, first - shift, size) if first > h[COMPLETE] + 1 else size
    )  # x of the previous phase
    at = first - shift
    for i in range(count):
        phase = phases[i]
        row, here = phase & mask, phase - shift
        take_out(sets.waiting, row, vertex, sets.vertex_levels)
        take_out(sets.news, vertex, row, sets.phase_levels)
        if at < here:
            if old != new:
                old, new = advance_row(sets, at, here, old, new)
            if old == new:
                old = new = least_before(sets.own, here, size)
        bound = sets.own[half + here]
        old = min(old, bound)
        next_one = next_in(sets.waiting, row, 0, sets.vertex_levels)
        after = next_one - 1 if next_one >= 0 else size
        if after != bound:
            set_least(sets.own, here, after)
        new = min(new, after)
        partial = next_in(sets.waiting, row, sets.m[old] + 1, sets.vertex_levels)
        while 0 <= partial <= sets.m[new]:
            mark_full(sets, partial)
            partial = next_in(sets.waiting, row, partial + 1, sets.vertex_levels)
        partial = partial if partial >= 0 else size + 1
        if sets.least[half + here] != partial:
            set_least(sets.least, here, partial)
        at = here + 1
    if old != new:
        advance_row(sets, at, h[BEGUN] - shift + 1, old, new)
    while h[COMPLETE] < h[BEGUN] and none_in(sets.waiting, (h[COMPLETE] + 1) & mask, sets.vertex_levels):
        h[COMPLETE] += 1
    sets.busy[vertex] = 0
    if first_full(sets, vertex):
        mark_full(sets, vertex)


@numba.njit(nogil=True)
def advance_row(sets, at, stop, old, new):
    """Update a row of phases that have not run, after x of the previous phase has changed: `Scheduler._advance_row`."""
    h = sets.head
    half, mask = len(sets.own) >> 1, len(sets.waiting) - 1
    while at < stop and old != new:
        end = min(next_below(sets.own, at, new), stop)
        position = next_below(sets.least, at, sets.m[new] + 1)
        while position < end:
            row, vertex = (position + h[SHIFT]) & mask, sets.least[half + position]
            while 0 <= vertex <= sets.m[new]:
                mark_full(sets, vertex)
                vertex = next_in(sets.waiting, row, vertex + 1, sets.vertex_levels)
            set_least(sets.least, position, vertex if vertex >= 0 else h[SIZE] + 1)
            position = next_below(sets.least, position, sets.m[new] + 1)
        if end == stop:
            break
        new = sets.own[half + end]
        old = min(old, new)
        at = end
    return old, new


@numba.njit(nogil=True)
def take_vertex(sets):
    """Take the next vertex from the run queue; 0 where it is empty."""
    h = sets.head
    if h[HEAD] == h[TAIL]:
        return 0
    vertex = sets.queue[h[HEAD] & (len(sets.queue) - 1)]
    h[HEAD] += 1
    return vertex
