"""The parts of the rules kernel as plain Python on small arrays: chains, undo log, search, tables as text."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("numpy")

import numpy as np

from workbench.executors.compiled.rule_tables import records
from workbench.executors.compiled.rule_tables.compiling import PLAIN, compiled_functions
from workbench.executors.compiled.rule_tables.kernel import consumption, folds, index, search, values
from workbench.executors.compiled.rule_tables.memory import KernelMemory
from workbench.executors.compiled.rule_tables.plan import build_tables
from workbench.executors.compiled.rule_tables.records import (
    GREATEST_WORD,
    LEAST_WORD,
    KernelStatus,
    Opcode,
)  # fmt: skip
from workbench.executors.compiled.rule_tables.show import format_tables
from workbench.tesla.check import rules
from workbench.tesla.engines.set_plan import SetPlan

TYPES = "declare A(x: int, y: int)\ndeclare B(x: int)\ndeclare P(x: int, f: float)\ndeclare Q(x: int)\n"
KEYED = "rule pairs: from B[$k = x] and each A[$y = y](x == $k) within 9 from B emit P(x = $y, f = TIME(A))"


def memory(text: str, capacity: int = 4) -> KernelMemory:
    """The arrays of rules, with nothing in them."""
    return KernelMemory(build_tables(SetPlan(rules(TYPES + text)), hash), capacity, PLAIN)


def events(*given: tuple[int | None, ...]) -> records.EventWords:
    """Events: the number of the type, a time, and two attributes; `None` is null."""
    count = len(given)
    cells, nulls = np.zeros((count, 2), np.int64), np.zeros(count, np.int64)
    for i, (_, _, *row) in enumerate(given):
        for k, value in enumerate(row):
            cells[i, k] = value or 0
            nulls[i] |= (value is None) << k
    types, times = np.array([each[:2] for each in given], np.int64).T.copy()
    return records.EventWords(types, times, np.full(count, records.NONE), cells, nulls)


def fed(running: KernelMemory, *given: tuple[int | None, ...]) -> KernelStatus:
    """What the kernel says of events; nothing grows."""
    running.state.reached = 0
    return running.run(events(*given))


def chain(running: KernelMemory, key: int) -> list[int]:
    """The orders of the events of a key in the only column, along their chain."""
    column, found = running.history.columns[0], []
    at = int(running.history.buckets[index.bucket_of(column, np.int64(key))])
    while at >= column.first:
        row = running.history.rows[column.start + (at & column.mask)]
        found += [int(row.order)] if row.key == key else []
        at = int(row.older)
    return found


# --- columns --------------------------------------------------------------------------------------------


def test_a_chain_leads_from_the_newest_row_of_a_key_to_the_oldest():
    running = memory(KEYED)
    assert fed(running, (0, 0, 7, 1), (0, 1, 8, 2), (0, 1, 7, 3), (0, 2, None, 4)) == KernelStatus.DONE
    assert [chain(running, key) for key in (7, 8, 9)] == [[2, 0], [1], []]
    assert running.history.columns[0].appended == 3  # null equals nothing


def test_a_full_column_forgets_what_no_window_reaches():
    running = memory(KEYED)
    assert fed(running, *((0, at, 7, at) for at in (0, 1, 5, 8))) == KernelStatus.DONE
    assert fed(running, (0, 12, 7, 0)) == KernelStatus.DONE  # a window of 9 reaches 3
    assert chain(running, 7) == [4, 3, 2]


def test_a_larger_column_has_the_same_chains():
    running = memory(KEYED)
    assert fed(running, *((0, 0, at % 2, 0) for at in range(5))) == KernelStatus.FULL_COLUMN
    before = [chain(running, key) for key in (0, 1)]
    running.grow(KernelStatus.FULL_COLUMN)
    assert [chain(running, key) for key in (0, 1)] == before == [[2, 0], [3, 1]]
    assert running.history.columns[0].mask == 7
    assert running.run(events(*((0, 0, at % 2, 0) for at in range(5)))) == KernelStatus.DONE
    assert chain(running, 0) == [4, 2, 0]


def test_the_newest_row_up_to_a_place_in_the_order():
    running = memory("from B and each A within 9 from B emit Q(x = 1)")
    fed(running, (0, 0, 1, 1), (1, 0, 1), (0, 1, 2, 2))  # As at 0 and, behind B and its composite, at 3
    column = running.history.columns[0]
    found = [index.newest_up_to(running.history, column, order) for order in range(-1, 5)]
    assert found == [-1, 0, 0, 0, 1, 1]


# --- undo -----------------------------------------------------------------------------------------------


def changeable(running: KernelMemory) -> list[Any]:
    """What an event changes."""
    state = running.state
    found = [running.history.columns.appended, running.history.buckets, running.history.consumed]
    return [each.tolist() for each in found] + [int(state[name]) for name in ("order", "now", "outputs", "consumed")]


def test_an_event_that_finds_no_room_leaves_no_trace():
    """Its composite is written, causes another one and joins a column before the table of what is consumed is full."""
    running = memory(
        "from B and each A within 9 from B emit Q(x = A.x) consuming A\n"
        "from Q and last Q as Q0 within 9 from Q emit P(x = Q.x, f = Q0.x)"
    )
    assert fed(running, (0, 0, 1, 1), (0, 0, 2, 2)) == KernelStatus.DONE
    before, statuses = changeable(running), list[KernelStatus]()
    while (status := fed(running, (1, 1, 5))) != KernelStatus.DONE:
        assert changeable(running) == before
        running.grow(status)
        before = changeable(running)
        statuses.append(status)
    assert KernelStatus.FULL_CONSUMED in statuses
    published = running.output.heads[: int(running.state.outputs)]
    assert published.order.tolist() == [3, 4, 5]
    assert running.output.cells[:3, 0].tolist() == [1, 2, 2]  # the second Q causes P before anything else


def test_a_hash_set_of_what_is_consumed():
    words = np.full(8, records.NONE)
    consumption.add_words(words, np.array([3, 11, 19, 2]))  # the first three begin at one place
    found = {word: words[consumption.find_word(words, word)] == word for word in (2, 3, 4, 11, 19, 27)}
    assert [word for word, there in found.items() if there] == [2, 3, 11, 19]


def test_entries_are_compiled_as_they_stand():
    """With what they call, and named after the source of the whole kernel: numba sees changes of one file only."""
    pytest.importorskip("numba")
    compiled = compiled_functions().add_words
    words, expected, more = np.full(8, records.NONE), np.full(8, records.NONE), np.array([3, 11, 19, 2])
    compiled(words, more)
    consumption.add_words(expected, more)
    assert words.tolist() == expected.tolist()
    assert compiled.py_func.__qualname__.startswith("add_words_")
    assert compiled.py_func.__globals__["find_word"] is not consumption.find_word


# --- search ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("relation", "word", "least", "greatest"), [
    (Opcode.GT, 5, 6, GREATEST_WORD), (Opcode.GE, 5, 5, GREATEST_WORD), (Opcode.LT, 5, LEAST_WORD, 4),
    (Opcode.LE, 5, LEAST_WORD, 5), (Opcode.EQ, 5, 5, 5),
    (Opcode.GT, GREATEST_WORD, None, None), (Opcode.LT, LEAST_WORD, None, None),
])  # fmt: skip
def test_a_bound_narrows_a_range(relation, word, least, greatest):
    scratch = memory(KEYED).scratch
    scratch.low[0], scratch.high[0] = LEAST_WORD, GREATEST_WORD
    assert search.narrow(scratch, 0, relation, word) == (least is not None)
    if least is not None:
        assert (scratch.low[0], scratch.high[0]) == (least, greatest)


def test_the_window_of_a_step():
    running = memory("from B and each A within 9 from B and last A as A2 between A and B emit Q(x = 1)")
    running.scratch.registers[1:3] = 0, 1
    running.history = running.history._replace(rows=records.room(2, records.ROW))
    running.history.rows.time[:], running.history.rows.order[:] = (20, 14), (7, 3)
    by_time, between = (search.window_of(running.history, running.scratch, running.plan.steps[k]) for k in (1, 2))
    assert by_time == (11, 20, 0, 6)
    assert between == (LEAST_WORD, GREATEST_WORD, 4, 6)


# --- numbers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("op", "x", "y", "fits"), [
    (Opcode.ADD, GREATEST_WORD, 0, True), (Opcode.ADD, GREATEST_WORD, 1, False),
    (Opcode.ADD, LEAST_WORD, -1, False), (Opcode.SUB, LEAST_WORD, 1, False),
    (Opcode.SUB, -1, LEAST_WORD, True), (Opcode.SUB, 0, LEAST_WORD, False),
    (Opcode.MUL, 1 << 31, 1 << 30, True), (Opcode.MUL, 1 << 32, 1 << 31, False),
    (Opcode.MUL, LEAST_WORD, -1, False),
])  # fmt: skip
def test_results_that_are_no_words_are_known_before(op, x, y, fits):
    assert values.result_fits(op, np.int64(x), np.int64(y)) == fits


def test_a_mean_that_would_be_rounded_twice_is_not_for_the_kernel():
    running = memory("from B and $m = AVG(A().x within 9 from B) emit P(x = 1, f = $m)")
    step, fold = running.plan.steps[1], running.scratch.fold[0]
    fold.count, fold.total = 4, 6
    assert folds.set_aggregate(running.scratch, running.state, step)
    assert running.scratch.registers.view(np.float64)[step.slot] == 1.5
    fold.total = folds.EXACT_REAL + 1
    assert not folds.set_aggregate(running.scratch, running.state, step)
    assert running.state.status == KernelStatus.BEYOND


# --- tables ---------------------------------------------------------------------------------------------


def test_tables_are_printed():
    text = """
rule pairs:
from B[$k = x](x > 0) and each A[$y = y](x == $k, y > $k, x + y < 9) within 5 from B
  and not A(y > 0) between A and B and $n = COUNT(Q within 3 events from B)
where $n < 2
limit 3
emit P(x = $y * 2, f = TIME(A)) consuming A
"""
    assert (
        format_tables(memory(text).rule_tables)
        == """\
columns
  0: A if own.0 own.1 + 9 < require by own.0, kept for 5
  1: A if own.1 0 > require, kept for 5
  2: Q, kept for 0 or 3 events
rule pairs
  trigger B, if own.0 0 > require -> r1, r2 = own.0
  each A in column 0 by r2 0 to 5 before r1, own.1 > r2 -> r3, r4 = own.1
  not A in column 1 between r3 and r1
  count Q in column 2 0 to 3 events before r1 -> r5, where r5 2 < require
  emit P(0 = r4 2 *, 1 = time(r3) real) consuming r3 limit 3
"""
    )
