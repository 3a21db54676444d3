"""What kernels of rules call on a device, and those that are the same for all rules. Imports numba's CUDA target.

The rule of this module: sums of blocks are made in shared memory, and what blocks make together is added by atomic
operations on whole numbers, which give the same in whatever order they come.

Source: Cugola and Margara, 5.4 and figure 7 (reduction in shared memory).
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# numba finds the types.

from __future__ import annotations

from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np
from numba import config, cuda, int64

from workbench.executors.compiled.code.printer import executable
from workbench.executors.compiled.gpu.cuda import SCOPE
from workbench.executors.compiled.rules import sums
from workbench.executors.compiled.rules.program import put_functions
from workbench.executors.compiled.rules.sums import average, total_of
from workbench.executors.compiled.rules_gpu.kernel_source import MOST_THREADS

config.CUDA_LOW_OCCUPANCY_WARNINGS = 0  # a single event makes few threads
ITEMS = 8
"""Numbers that a thread adds up in a scan."""
NAN_WORD = 0x7FF8000000000000
FLIPPED = 0x7FFFFFFFFFFFFFFF


def as_float(word):
    """The float with these bits."""
    return cuda.libdevice.longlong_as_double(word)


def float_bits(x):
    """The bits of a float."""
    return cuda.libdevice.double_as_longlong(x)


def key_bits(x):
    """The bits of a float that stands for all that are equal to it, and for all that are none."""
    return NAN_WORD if x != x else cuda.libdevice.double_as_longlong(x + 0.0)


def owner(B, n, tile):
    """The sequence whose blocks begin at or before this one: the last of those that do."""
    low, high = 0, n
    while low < high:
        middle = (low + high) >> 1
        if B[middle + 1] <= tile:
            low = middle + 1
        else:
            high = middle
    return low


def first_place(W, z, word, value, low, high):
    """The first place from `low` to before `high` whose word is not less than a value; they do not decrease."""
    while low < high:
        middle = (low + high) >> 1
        if W[(middle & (z - 1)) + word * z] < value:
            low = middle + 1
        else:
            high = middle
    return low


# --- blocks ---------------------------------------------------------------------------------------------


def block_sum(shared, t, value):
    """The sum over the threads of a block: half of them add the other half, and so on (figure 7)."""
    shared[t] = value
    cuda.syncthreads()
    half = cuda.blockDim.x >> 1
    while half > 0:
        if t < half:
            shared[t] += shared[t + half]
        cuda.syncthreads()
        half >>= 1
    found = shared[0]
    cuda.syncthreads()
    return found


def block_before(shared, t, value):
    """The sum over the threads of a block before this one."""
    shared[t] = value
    cuda.syncthreads()
    step = 1
    while step < cuda.blockDim.x:
        other = shared[t - step] if t >= step else 0
        cuda.syncthreads()
        shared[t] += other
        cuda.syncthreads()
        step <<= 1
    found = shared[t] - value
    cuda.syncthreads()
    return found


def added(A, at, value, shared, t):
    """Add what the threads of a block have."""
    total = block_sum(shared, t, value)
    if t == 0 and total != 0:
        cuda.atomic.add(A, at, total)


def whole_overflows(low, high):
    """Whether a sum of lower halves and one of upper halves are together more than 64 bits."""
    upper = high + (low >> 32)
    return upper < -0x80000000 or upper >= 0x80000000


# --- greatest and least ---------------------------------------------------------------------------------


def key_of(A, at, word, hit, place):
    """A whole number for a float, in the order of floats. Zeros are equal: the oldest is noted; so is what is none."""
    if hit == 0:
        return word
    if (word & FLIPPED) > 0x7FF0000000000000:
        cuda.atomic.add(A, at + 3, 1)
    elif (word & FLIPPED) == 0:
        cuda.atomic.min(A, at + 2, place)
        return 0
    return word if word >= 0 else word ^ FLIPPED


def kept_extreme(A, at, x, hit_x, y, hit_y, most, shared, t):
    """Keep the greatest or the least of what the threads of a block have."""
    value = -FLIPPED - 1 if most else FLIPPED
    if hit_x == 1:
        value = x
    if hit_y == 1:
        value = max(value, y) if most else min(value, y)
    shared[t] = value
    cuda.syncthreads()
    half = cuda.blockDim.x >> 1
    while half > 0:
        if t < half:
            one, other = shared[t], shared[t + half]
            shared[t] = max(one, other) if most else min(one, other)
        cuda.syncthreads()
        half >>= 1
    if t == 0:
        if most:
            cuda.atomic.max(A, at, shared[0])
        else:
            cuda.atomic.min(A, at, shared[0])
    cuda.syncthreads()


def extreme_of(A, at, W, word, z):
    """The bits of the greatest or least float."""
    if A[at + 3] > 0:
        return NAN_WORD
    key = A[at + 1]
    if key == 0:
        return W[(A[at + 2] & (z - 1)) + word]
    return key if key > 0 else key ^ FLIPPED


# --- exact sums of floats -------------------------------------------------------------------------------


def exactly_added(A, at, x, hit_x, y, hit_y, shared, t):
    """Add floats, as whole numbers of 2**-1074 (`sums`): in shared memory, and then what is there to all others."""
    i = t
    while i < 72:
        shared[i] = 0
        i += cuda.blockDim.x
    cuda.syncthreads()
    if hit_x == 1:
        add_together(shared, x)
    if hit_y == 1:
        add_together(shared, y)
    cuda.syncthreads()
    i = t
    while i < 72:
        if shared[i] != 0:
            cuda.atomic.add(A, at + i, shared[i])
        i += cuda.blockDim.x
    cuda.syncthreads()


def add_together(shared, word):
    """Add the float with these bits, while other threads do the same: `sums.add_float`."""
    power = (word >> 52) & 0x7FF
    part = word & 0xFFFFFFFFFFFFF
    if power == 0x7FF:
        cuda.atomic.add(shared, 70 if part != 0 else 69 if word < 0 else 68, 1)
        return
    if power > 0:
        part |= 0x10000000000000
        power -= 1
    at, shift = power >> 5, power & 31
    low, high = (part & 0xFFFFFFFF) << shift, (part >> 32) << shift
    middle = (low >> 32) + (high & 0xFFFFFFFF)
    sign = -1 if word < 0 else 1
    cuda.atomic.add(shared, at, sign * (low & 0xFFFFFFFF))
    cuda.atomic.add(shared, at + 1, sign * middle)
    cuda.atomic.add(shared, at + 2, sign * (high >> 32))


# --- kernels --------------------------------------------------------------------------------------------


def _scan(mode, N, n, T):
    """Sums of all numbers before each: those of each block's own (its sum goes to `T`), or those of `T` added."""
    shared = cuda.shared.array(MOST_THREADS, int64)
    t, block = cuda.threadIdx.x, cuda.blockIdx.x
    first = (block * cuda.blockDim.x + t) * ITEMS
    last = min(first + ITEMS, n)
    if mode == 1:
        for i in range(first, last):
            N[i] += T[block]
        if block == 0 and t == 0:
            N[n] = T[cuda.gridDim.x]
        return
    total = 0
    for i in range(first, last):
        total += N[i]
    before = block_before(shared, t, total)
    if t == cuda.blockDim.x - 1:
        T[block] = before + total
        if cuda.gridDim.x == 1:
            N[n] = before + total
    for i in range(first, last):
        here = N[i]
        N[i] = before
        before += here


def _total(what, words, n, A, AF, E):
    """Round what has been added for each sequence once.

    It is a sum of floats (0), or one that is divided by how many there are (1); or of whole numbers, and divided (2).
    """
    s = cuda.grid(1)
    if s >= n or A[s * words] == 0:
        return
    at, count = s * words + 1, A[s * words]
    if what < 2:
        x = total_of(A, AF, at, count if what == 1 else 1)
    elif whole_overflows(A[at], A[at + 1]):
        E[0] = 1
        return
    else:
        x = average((A[at + 1] << 32) + A[at], count)
    A[at] = float_bits(x)


ADOPT = f"""
@helper
def accept(own, c, C, CF, W0, z0):
    a0 = own
{{}}    return 1
@kernel
def adopt(mode, n, width, col, c, C, CF, W0, z0, V, y, N, D, E):
    shared = cuda.shared.array({MOST_THREADS}, int64)
    t, block = cuda.threadIdx.x, cuda.blockIdx.x
    i, end = cuda.grid(1), D[col]
    if mode == 2:
        if i == 0: D[col] = end + N[n]
        return
    if mode == 3:
        i += max(0, end - z0)
        if i < end:
            for w in range(width): V[(i & (y - 1)) + w * y] = W0[(i & (z0 - 1)) + w * z0]
        return
    hit = 0
    if i < n:
        hit = accept(i, c, C, CF, W0, z0)
        if hit == 2: E[0], hit = 1, 0
    if mode == 0:
        count = block_sum(shared, t, hit)
        if t == 0: N[block] = count
    else:
        at = end + N[block] + block_before(shared, t, hit)
        if hit == 1:
            for w in range(width): V[(at & (y - 1)) + w * y] = W0[i + w * z0]
"""
"""Put the staged events that a column accepts on top of it: they are counted (mode 0) and written (1), the number of
its events grows (2); or its rows move to where there is more room (3). Source: Cugola and Margara, 5.3."""


def _mark(numbers, n, G):
    """Events are consumed: see `sequences.RuleSequences`."""
    i = cuda.grid(1)
    if i < n:
        G[numbers[i] & (len(G) - 1)] = numbers[i]


CALLED: tuple[Any, ...] = (
    as_float, float_bits, key_bits, owner, first_place, block_sum, block_before, added, whole_overflows, key_of,
    kept_extreme, extreme_of, add_together, exactly_added,
)  # fmt: skip
COMMON: tuple[Any, ...] = (_scan, _total, _mark)


@lru_cache(maxsize=1)
def device_scope() -> dict[str, Any]:
    """What generated kernels call, and the kernels that are the same for all."""
    made = cuda.jit(device=True)
    scope = {**SCOPE, "cuda": cuda, "int64": int64, "np": np, "helper": made, "kernel": cuda.jit}
    numbers = {"MOST_THREADS": MOST_THREADS, "ITEMS": ITEMS, "NAN_WORD": NAN_WORD, "FLIPPED": FLIPPED}
    scope |= numbers
    for each in CALLED:
        scope[each.__name__] = made(FunctionType(each.__code__, scope, each.__name__))
    put_functions(scope, (sums,), made)
    for each in COMMON:
        scope[each.__name__] = cuda.jit(FunctionType(each.__code__, scope, each.__name__))
    return scope


@lru_cache(maxsize=256)
def rule_kernels(text: str) -> tuple[Any, Any]:
    """The kernels `look` and `go_on` of a source."""
    names = dict(device_scope())
    exec(compile(text, "<rules on a device>", "exec"), names)
    return names["look"], names["go_on"]


@lru_cache(maxsize=256)
def adopt_kernel(text: str) -> Any:
    """The kernel `adopt` of a column with these lines of `accept`."""
    return executable(ADOPT.format(text), device_scope(), "adopt")


def common(name: str) -> Any:
    """The kernel `scan`, `total` or `mark`."""
    return device_scope()[f"_{name}"]
