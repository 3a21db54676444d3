"""The pipelines of `bench_run.py`, and the same computations as loops written by hand."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

TRACE = 98_304
"""Events of a trace of Figure 2a, whose queue grows with it."""

SOURCE = f"""
pipeline passing(x: int) -> int {{ return passthrough(x) }}
pipeline doubling(x: int) -> int {{ return x * 2 }}
pipeline sum(x: int) -> int {{ return cumulate(x, +) }}
pipeline decimation(x: int) -> int {{ return decimate(x, 10) }}
pipeline tenth_sum(x: int) -> int {{ return decimate(cumulate(x, +), 10) }}
pipeline window_3(x: int) -> int {{ return window(x, 3, cumulate(+)) }}
pipeline window_100(x: int) -> int {{ return window(x, 100, cumulate(+)) }}
pipeline window_max_100(x: int) -> int {{ return window(x, 100, cumulate(max)) }}
pipeline even_ones(x: int) -> int {{ return filter(x, even(x)) }}

# Each trace has {TRACE} events, so that the queue is bounded.
pipeline figure_2a(x: int) -> int {{
    capacity queue(add.left) = 0
    capacity queue(add.right) = {TRACE * 2 // 3}
    third = decimate(x, 3)
    return third + x
}}

pipeline figure_5a(x: int) -> int {{
    capacity queue(kept.data) = 1
    capacity queue(kept.condition) = 0
    count = cumulate(turn(x, 1), +)
    kept  = filter(count, even(trim(count, 1)))
    return cumulate(kept, +)
}}

function last_digit(x) = x mod 10
pipeline count(x: int) -> int {{ return cumulate(turn(x, 1), +) }}

# The whole map, the count that has changed, and the count of one slice.
pipeline slice_counts(x: int) -> map(int, int) {{ return slice(x, last_digit, count) }}
pipeline slice_changes(x: int) -> {{key: int, value: int}} {{ return slice_last(x, last_digit, count) }}
pipeline slice_of_event(x: int) -> int {{
    counts = slice(x, last_digit, count)
    of_it = get(counts, x mod 10, 0)
    return of_it
}}

# A hundred slices, each of which counts; one event in a hundred goes to all of them. How many have been counted.
function of_hundred(x) = x mod 100
function for_all(x) = x >= 990
pipeline slice_to_all(x: int) -> int {{
    counts = slice(x, of_hundred, count, to_all = for_all)
    return sum_values(counts)
}}

# A condition on each of the four neighbours of a number.
function neighbours(x) = (x - 1, x + 1, x - 30, x + 30)
pipeline passable(v: int, x: int) -> bool {{ return v mod 7 != 3 }}
pipeline four_neighbours(x: int) -> bool {{ return forall(x, neighbours, passable) }}

pipeline always_true(x: bool) -> bool {{ return globally(x) }}
pipeline until_true(x: bool, y: bool) -> bool {{
    capacity queue(u.left) = 0
    capacity queue(u.right) = 0
    u = until(x, y)
    return u
}}

# A state machine with a threshold for each direction, which counts how often it was switched on.
machine moore(x: int) -> int {{
    var n: int = 0
    state off: 0
    state on: n
    off -> on when x > 500 / n := n + 1
    on -> off when x < 300
}}

# Enough work for two threads: sums of squares and products of three windows.
pipeline work(x: int) -> int {{
    a = window(x * x mod 1000003, 5, cumulate(+))
    b = window(x mod 1009 * x mod 1000003, 5, cumulate(+))
    both = a * b
    capacity queue(both.left) = 0
    capacity queue(both.right) = 0
    return cumulate(both mod 1000003, +)
}}
"""


def text_of(*names: str) -> str:
    """The text of some of the pipelines, for another benchmark of them."""
    found = (re.search(rf"^pipeline {name}\(.*?\}}$", SOURCE, re.MULTILINE | re.DOTALL) for name in names)
    return "\n".join(each[0] for each in found if each)


# --- the same computations by hand: state, columns of inputs and outputs -> how many events come out -------------


def hand_passing(_: Any, x: Any, y: Any) -> int:
    for i in range(x.size):
        y[i] = x[i]
    return len(x)


def hand_doubling(_: Any, x: Any, y: Any) -> int:
    for i in range(x.size):
        y[i] = 2 * x[i]
    return len(x)


def hand_sum(state: Any, x: Any, y: Any) -> int:
    total = state[0]
    for i in range(x.size):
        total += x[i]
        y[i] = total
    state[0] = total
    return len(x)


def hand_decimation(state: Any, x: Any, y: Any) -> int:
    n = 0
    for i in range((10 - state[0]) % 10, x.size, 10):
        y[n] = x[i]
        n += 1
    state[0] = (state[0] + x.size) % 10
    return n


def hand_window_3(state: Any, x: Any, y: Any) -> int:
    n, a, b, seen = 0, state[0], state[1], state[2]
    for i in range(x.size):
        if seen >= 2:
            y[n] = a + b + x[i]
            n += 1
        else:
            seen += 1
        a, b = b, x[i]
    state[0], state[1], state[2] = a, b, seen
    return n


def hand_window_100(state: Any, x: Any, y: Any) -> int:
    n, total, seen, oldest = 0, state[100], state[101], state[102]
    for i in range(x.size):
        total += x[i] - state[oldest]
        state[oldest] = x[i]
        oldest = oldest + 1 if oldest < 99 else 0
        if seen >= 99:
            y[n] = total
            n += 1
        else:
            seen += 1
    state[100], state[101], state[102] = total, seen, oldest
    return n


def hand_window_max_100(state: Any, x: Any, y: Any) -> int:
    """A deque of falling values (the textbook's way, for max only); state: 128 values, 128 places, then counters."""
    n, now, head, tail = 0, state[256], state[257], state[258]
    for i in range(x.size):
        while tail > head and state[(tail - 1) & 127] <= x[i]:
            tail -= 1
        state[tail & 127] = x[i]
        state[128 + (tail & 127)] = now
        tail += 1
        if state[128 + (head & 127)] <= now - 100:
            head += 1
        if now >= 99:
            y[n] = state[head & 127]
            n += 1
        now += 1
    state[256], state[257], state[258] = now, head, tail
    return n


def hand_even_ones(_: Any, x: Any, y: Any) -> int:
    n = 0
    for i in range(x.size):
        y[n] = x[i]
        n += x[i] & 1 == 0
    return n


def hand_figure_2a(_: Any, x: Any, y: Any) -> int:
    n = 0
    for i in range(0, x.size, 3):
        y[n] = x[i] + x[n]
        n += 1
    return n


def hand_figure_5a(state: Any, x: Any, y: Any) -> int:
    n, count, total = 0, state[0], state[1]
    for _ in range(x.size):
        count += 1
        if count > 1 and count & 1 == 0:
            total += count - 1
            y[n] = total
            n += 1
    state[0], state[1] = count, total
    return n


def hand_counts(state: Any, x: Any, y: Any, of: Any) -> int:
    """What changes: a digit, and its count. The same for all three."""
    for i in range(x.size):
        digit = x[i] % 10
        state[digit] += 1
        y[i], of[i] = digit, state[digit]
    return len(x)


def hand_count_of_event(state: Any, x: Any, y: Any) -> int:
    for i in range(x.size):
        digit = x[i] % 10
        state[digit] += 1
        y[i] = state[digit]
    return len(x)


def hand_slice_to_all(state: Any, x: Any, y: Any) -> int:
    total = state[100]
    for i in range(x.size):
        if x[i] >= 990:
            for k in range(100):
                if state[k] > 0:
                    state[k] += 1
                    total += 1
        else:
            state[x[i] % 100] += 1
            total += 1
        y[i] = total
    state[100] = total
    return len(x)


def hand_four_neighbours(_: Any, x: Any, y: Any) -> int:
    for i in range(x.size):
        y[i] = (x[i] - 1) % 7 != 3 and (x[i] + 1) % 7 != 3 and (x[i] - 30) % 7 != 3 and (x[i] + 30) % 7 != 3
    return len(x)


def hand_always_true(state: Any, x: Any, y: Any) -> int:
    n, waiting = 0, state[0]
    for i in range(x.size):
        waiting += 1
        if not x[i]:
            for _ in range(waiting):
                y[n] = False
                n += 1
            waiting = 0
    state[0] = waiting
    return n


def hand_until_true(state: Any, left: Any, right: Any, y: Any) -> int:
    n, waiting = 0, state[0]
    for i in range(left.size):
        waiting += 1
        if right[i] or not left[i]:
            for _ in range(waiting):
                y[n] = right[i]
                n += 1
            waiting = 0
    state[0] = waiting
    return n


def hand_moore(state: Any, x: Any, y: Any) -> int:
    on, switched = state[0] != 0, state[1]
    for i in range(x.size):
        if on:
            on = x[i] >= 300
        elif x[i] > 500:
            on = True
            switched += 1
        y[i] = switched if on else 0
    state[0], state[1] = on, switched
    return len(x)


@dataclass(frozen=True)
class Case:
    """A pipeline, the loop by hand, and what BeepBeep did."""

    name: str
    hand: Callable[..., int]
    beepbeep: float | None
    factor: int
    """How many times BeepBeep's figure is the goal."""
    trace: int | None = None
    """Events after which it starts afresh."""
    columns: int = 1
    """Of the fields of its output the last so many are made by hand, too."""


CASES = (
    Case("passing", hand_passing, 67, 10),
    Case("doubling", hand_doubling, 44, 10),
    Case("sum", hand_sum, 40, 10),
    Case("decimation", hand_decimation, 50, 10),
    Case("window_3", hand_window_3, 6.9, 30),
    Case("window_100", hand_window_100, 0.19, 500),
    Case("window_max_100", hand_window_max_100, None, 1),
    Case("figure_2a", hand_figure_2a, 15, 30, TRACE),
    Case("figure_5a", hand_figure_5a, 5.9, 30),
    Case("even_ones", hand_even_ones, 13, 30),
    Case("slice_counts", hand_counts, 5.9, 30, columns=2),
    Case("slice_changes", hand_counts, 5.9, 30, columns=2),
    Case("slice_of_event", hand_count_of_event, 5.9, 30),
    Case("slice_to_all", hand_slice_to_all, None, 1),
    Case("four_neighbours", hand_four_neighbours, None, 1),
    Case("always_true", hand_always_true, 20, 10),
    Case("until_true", hand_until_true, 10, 10),
    Case("moore", hand_moore, 14, 30),
)
