"""The loops of the compiled search. Imports numba.

The rule of this module: nothing here depends on a pipeline, so it is compiled once, and kept
(`compiled.code.objects`). What depends on one is called by its address: the function `expand` of `native`. A slot of
the set of states is the upper bits of a hash.
"""

# mypy: allow-untyped-defs
# numba finds the types: words are int64, numbers of states int32, all arrays contiguous.

from __future__ import annotations

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from workbench.executors.compiled.code.kernels import soon
from workbench.verify.decide.explicit.native import LANES
from workbench.verify.decide.explicit.records import BITMAP, INDEX, WORDS, BlockSteps

MIX = np.uint64(0x9E3779B97F4A7C15)
"""2**64 / the golden ratio: multiplying by it spreads neighbouring words (Knuth, TAOCP 3, section 6.4)."""
LOW = np.int64(2**32 - 1)

AHEAD = 32
"""Number of steps by which the slot of a state is prefetched, which hides the latency of memory."""


@intrinsic
def _call(_, address, arguments):
    """Call `expand` by its address with numbers; arrays are passed by their addresses."""

    def generate(context, builder, _, args):
        arguments = cgutils.unpack_tuple(builder, args[1])
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(64)] * len(arguments))
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), arguments)
        return context.get_dummy_value()

    return types.void(address, arguments), generate


@numba.njit(nogil=True)
def expand(address, states, first, count, inputs, after, flags):
    """Write the steps of `count` states into the buffers; return the distance between two moves of a state there.

    States are processed `LANES` at a time. Entries after the last state have no meaning, nor have their steps.
    """
    apart = (count + LANES - 1) // LANES * LANES
    arguments = (
        np.int64(states.ctypes.data + 8 * first), np.int64(states.shape[1]), np.int64(apart),
        np.int64(inputs.ctypes.data), np.int64(inputs.shape[1]), np.int64(after.ctypes.data), np.int64(after.shape[1]),
        np.int64(flags.ctypes.data),
    )  # fmt: skip
    _call(address, arguments)
    return apart


@numba.njit(nogil=True)
def _hash(array, column):
    """Return the hash of a state of any number of words."""
    mixed = np.uint64(array[0, column]) * MIX
    for i in range(1, array.shape[0]):
        mixed = ((mixed >> np.uint64(29)) ^ mixed ^ np.uint64(array[i, column])) * MIX
    if array.shape[0] > 1:
        mixed = ((mixed >> np.uint64(32)) ^ mixed) * MIX
    return mixed


@numba.njit(nogil=True)
def _word_slot(key, shift):
    return np.int64((np.uint64(key) * MIX) >> np.uint64(shift))


@numba.njit(nogil=True)
def _slot(state_set, states, number):
    if state_set.kind == INDEX:
        return np.int64(_hash(states, number) >> np.uint64(state_set.shift))
    return _word_slot(states[0, number] ^ states[0, 0], state_set.shift)


@numba.njit(nogil=True)
def _find(index, shift, states, after, k):
    """Return the slot of state k of `after` in a table of the kind `INDEX`, or the empty one where it belongs."""
    mask = np.int64(index.size - 1)
    mixed = _hash(after, k)
    upper = np.int64(mixed) & ~LOW
    slot = np.int64(mixed >> np.uint64(shift))
    while index[slot] != 0:
        if index[slot] & ~LOW == upper:
            number = (index[slot] & LOW) - 1
            same = True
            for i in range(states.shape[0]):
                same = same and states[i, number] == after[i, k]
            if same:
                break
        slot = (slot + 1) & mask
    return slot


@numba.njit(nogil=True)
def explore(code, state_set, listed, progress, open_labels, hits):
    """Take the steps of states while their successors fit, and add these to the states found; return their number.

    `progress` counts the states found, and those whose steps have been taken. `hits` gets, per label of the mask
    `open_labels`, the first step at which it is true: the number of the state and of the move.
    """
    size, done, moves = progress.counts[0], progress.counts[1], code.inputs.shape[1]
    while done < min(progress.last, size) and size + code.block * moves <= progress.capacity:
        count = min(code.block, size - done)
        apart = expand(code.address, listed.states, done, count, code.inputs, code.after, code.flags)
        steps = BlockSteps(code.after, code.flags, done, count, apart, moves)
        if open_labels:
            open_labels = _note(steps, open_labels, hits)
        if state_set.kind == BITMAP:
            size = _into_bitmap(steps, state_set, listed, size)
        elif state_set.kind == WORDS:
            size = _into_words(steps, state_set, listed, size)
        else:
            size = _into_index(steps, state_set, listed, size)
        done += count
    progress.counts[0], progress.counts[1] = size, done
    return size


# The loops read the fields of records before they begin: inside, each reading would count references.


@numba.njit(nogil=True)
def _note(steps, open_labels, hits):
    """Record the first steps at which open labels are true; return those still open."""
    flags, count, apart, moves = steps.flags, steps.states, steps.apart, steps.moves
    union = np.int64(0)
    for m in range(moves):
        for k in range(m * apart, m * apart + count):
            union |= flags[k]
    if not union & open_labels:
        return open_labels
    for j in range(count):
        for m in range(moves):
            flag = flags[m * apart + j] & open_labels
            for bit in range(hits.shape[0]):
                if flag >> bit & 1:
                    hits[bit, 0] = steps.first + j
                    hits[bit, 1] = m
            open_labels &= ~flag
    return open_labels


@numba.njit(nogil=True)
def _into_bitmap(steps, state_set, listed, size):
    after, _, first, count, apart, moves = steps
    table, states, parents = state_set.slots, listed.states, listed.parents
    for j in range(count):
        for m in range(moves):
            word = after[0, m * apart + j]
            index = np.uint64(word) >> np.uint64(6)
            bit = np.int64(1) << (word & 63)
            old = table[index]
            if old & bit == 0:
                table[index] = old | bit
                states[0, size] = word
                parents[size] = first + j
                size += 1
    return size


@numba.njit(nogil=True)
def _into_words(steps, state_set, listed, size):
    after, _, first, count, apart, moves = steps
    table, shift, states, parents = state_set.slots, state_set.shift, listed.states, listed.parents
    initial = states[0, 0]
    mask = np.int64(table.size - 1)
    ahead = max(1, AHEAD // moves)
    for j in range(-ahead, count):
        near = j + ahead
        if near < count:
            for m in range(moves):
                soon(table, _word_slot(after[0, m * apart + near] ^ initial, shift))
        if j < 0:
            continue
        for m in range(moves):
            word = after[0, m * apart + j]
            key = word ^ initial
            if key == 0:
                continue
            slot = _word_slot(key, shift)
            while table[slot] != key:
                if table[slot] == 0:
                    table[slot] = key
                    states[0, size] = word
                    parents[size] = first + j
                    size += 1
                    break
                slot = (slot + 1) & mask
    return size


@numba.njit(nogil=True)
def _into_index(steps, state_set, listed, size):
    after, _, first, count, apart, moves = steps
    table, shift, states, parents = state_set.slots, state_set.shift, listed.states, listed.parents
    ahead = max(1, AHEAD // moves)
    for j in range(-ahead, count):
        near = j + ahead
        if near < count:
            for m in range(moves):
                soon(table, np.int64(_hash(after, m * apart + near) >> np.uint64(shift)))
        if j < 0:
            continue
        for m in range(moves):
            k = m * apart + j
            slot = _find(table, shift, states, after, k)
            if table[slot] == 0:
                for i in range(states.shape[0]):
                    states[i, size] = after[i, k]
                parents[size] = first + j
                size += 1
                table[slot] = np.int64(_hash(after, k)) & ~LOW | size
    return size


@numba.njit(nogil=True)
def fill(state_set, states, size):
    """Insert all states into an empty hash table."""
    kind, table = state_set.kind, state_set.slots
    mask = np.int64(table.size - 1)
    for number in range(-AHEAD, size):
        near = number + AHEAD
        if near < size:
            soon(table, _slot(state_set, states, near))
        if number < (0 if kind == INDEX else 1):  # a table of words has no entry for the initial state
            continue
        slot = _slot(state_set, states, number)
        entry = states[0, number] ^ states[0, 0]
        if kind == INDEX:
            entry = np.int64(_hash(states, number)) & ~LOW | (number + 1)
        while table[slot] != 0:
            slot = (slot + 1) & mask
        table[slot] = entry
    return 0


@numba.njit(nogil=True)
def join(steps, index, states, edges):
    """Add the edges of a block of states to a graph; return the new number of edges.

    A step with the same end and labels as the one before is the same edge.
    """
    after, flags, first, count, apart, moves = steps
    table, shift = index.slots, index.shift
    starts, ends, labels = edges
    edge = starts[first]
    for j in range(count):
        begin = edge
        for m in range(moves):
            k = m * apart + j
            end = (table[_find(table, shift, states, after, k)] & LOW) - 1
            if edge == begin or ends[edge - 1] != end or labels[edge - 1] != flags[k]:
                ends[edge] = end
                labels[edge] = flags[k]
                edge += 1
        starts[first + j + 1] = edge
    return edge


@numba.njit(nogil=True)
def count_moves(steps, void, counts):
    """Count, per move, the states in which it is not void."""
    _, flags, _, count, apart, moves = steps
    for m in range(moves):
        for j in range(count):
            counts[m] += 1 - (flags[m * apart + j] >> void & 1)
    return 0
