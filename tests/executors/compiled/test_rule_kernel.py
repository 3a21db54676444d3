"""The parts of the rules kernel as plain Python on small arrays: chains, undo log, search, tables as text."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip("numpy")

import numpy as np

from workbench.executors.compiled.execute.text_codes import TextCodes
from workbench.executors.compiled.rules import records
from workbench.executors.compiled.rules.compiling import PLAIN, compile_functions
from workbench.executors.compiled.rules.kernel import (
    candidates,
    collected_values,
    exact_sums,
    hash_tables,
    index,
    reals,
    search,
    texts,
    triggers,
    values,
)
from workbench.executors.compiled.rules.memory import KernelMemory
from workbench.executors.compiled.rules.plan import build_tables
from workbench.executors.compiled.rules.records import (
    GREATEST_WORD,
    LEAST_WORD,
    KernelStatus,
    Opcode,
)  # fmt: skip
from workbench.executors.compiled.rules.show import format_tables
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.set_plan import SetPlan
from workbench.tesla.exact_sums import nearest

TYPES = "declare A(x: int, y: int)\ndeclare B(x: int)\ndeclare P(x: int, f: float)\ndeclare Q(x: int)\n"
KEYED = "rule pairs: from B[$k = x] and each A[$y = y](x == $k) within 9 from B emit P(x = $y, f = TIME(A))"


def memory(text: str, capacity: int = 4) -> KernelMemory:
    """The arrays of rules, with nothing in them."""
    return KernelMemory(build_tables(SetPlan(parse_rules(TYPES + text)), hash), capacity, PLAIN)


def events(*rows: tuple[int | None, ...]) -> records.EventWords:
    """Events: the number of the type, a time, and two attributes; `None` is null."""
    count = len(rows)
    cells, nulls = np.zeros((count, 2), np.int64), np.zeros(count, np.int64)
    for i, (_, _, *row) in enumerate(rows):
        for k, value in enumerate(row):
            cells[i, k] = value or 0
            nulls[i] |= (value is None) << k
    types, times = np.array([each[:2] for each in rows], np.int64).T.copy()
    columns = np.tile(np.arange(3) * count, (5, 1))  # of all types the same, each with values for all events
    words = np.concatenate([*cells.T, nulls])
    return records.EventWords(types, times, np.full(count, records.NONE), np.arange(count), columns, words)


def fed(running: KernelMemory, *rows: tuple[int | None, ...]) -> KernelStatus:
    """What the kernel says of events; nothing grows."""
    running.state.reached = 0
    return running.run(events(*rows))


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


def test_the_ends_of_a_window():
    running = memory("from B and each A within 9 from B emit Q(x = 1)", 64)
    times = [0, 0, 1, 4, 4, 4, 5, 9, 9, 12]
    assert fed(running, *((0, time, 0, 0) for time in times)) == KernelStatus.DONE
    column = running.history.columns[0]
    for column.first, window in itertools.product((0, 3), itertools.product(range(-1, 14, 2), repeat=4)):
        wanted = search.ScanWindow(*window)
        rows = [
            row for row in range(column.first, len(times))
            if wanted.time_low <= times[row] <= wanted.time_high and wanted.order_low <= row <= wanted.order_high
        ]  # fmt: skip
        oldest, newest = index.rows_in_window(running.history, column, wanted)
        assert list(range(oldest, newest + 1)) == rows


def test_a_rule_is_not_triggered_where_there_is_no_row_of_a_key_that_it_needs():
    running = memory(KEYED + "\nrule absent: from B and not A(x == B.x) within 9 from B emit Q(x = 1)")
    assert fed(running, (0, 0, 7, 1), (0, 0, None, 1)) == KernelStatus.DONE
    tables = running.plan, running.history, running.scratch, running.states[0]
    for x, expected in ((7, [0, 1]), (8, [1])):
        running.history.cells[running.state.event, 0] = x
        assert running.scratch.triggered[: triggers.find_rules(*tables, 1)].tolist() == expected


@pytest.mark.parametrize(
    "columns",
    [[range(1000)], [range(-1000, 0)], [map(float, range(1000))], [[x / 10 for x in range(1000)]],
     [range(10), range(100)], [range(10), range(10), range(10)], [map(float, range(10)), range(100)]],
)  # fmt: skip
def test_keys_are_spread_over_chains(columns):
    """A thousand keys are in 1,024 chains: drawn by lot, they would be in 638 of them."""
    words = [[int(np.array(each).view(np.int64)) for each in column] for column in columns]
    keys = list(itertools.product(*words))
    found = set()
    for key in keys:
        word = np.int64(0)
        for each in key:
            word = values.mix(word, np.int64(each))
        found.add(int(index.scatter(word) & 1023))
    assert len(keys) == 1000
    assert len(found) >= 450


def test_output_that_is_held_is_not_written_to():
    """What was taken and is held no more is written to again."""
    running = memory("from A emit Q(x = A.x)", 2)

    def taken(*values: int) -> records.CompositeWords:
        assert fed(running, *((0, 0, x, 0) for x in values)) == KernelStatus.DONE
        return running.take_output()

    held = [taken(at, at + 1).cells[0, :1] for at in range(3)]
    place = held[1].base.ctypes.data
    assert taken(7, 8).cells[0].tolist() == [7, 8]
    assert [each.tolist() for each in held] == [[0], [1], [2]]
    del held[1]
    more = [taken(x, x) for x in range(3)]
    assert place in {each.cells.base.ctypes.data for each in more}
    assert [each.tolist() for each in held] == [[0], [2]]


# --- undo -----------------------------------------------------------------------------------------------


def changeable(running: KernelMemory) -> list[Any]:
    """What an event changes."""
    state = running.state
    found = [running.history.columns.appended, running.history.buckets, running.history.consumed]
    return [*(each.tolist() for each in found), state.order, state.now, state.outputs, state.consumed]


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
    published = running.output.part(int(running.state.outputs))
    assert published.orders.tolist() == [3, 4, 5]
    assert published.cells[0].tolist() == [1, 2, 2]  # the second Q causes P before anything else


def test_a_hash_set():
    table = records.hash_table(8, 1)
    hash_tables.add_rows(table, np.array([[3], [11], [19], [2]]), 1)  # the first three begin at one place
    found = {word: table[hash_tables.find_row(table, [word], 1), 0] == word for word in (2, 3, 4, 11, 19, 27)}
    assert [word for word, there in found.items() if there] == [2, 3, 11, 19]


@given(st.dictionaries(st.tuples(st.integers(0, 3), st.integers(-3, 3)), st.integers(0, 9)))
def test_a_hash_table_is_a_dictionary_and_grows(expected):
    running = memory("from B emit Q(x = 1)")
    for key, value in expected.items():
        running.add_rows("joins", np.array([[*key, value]]))
    table = running.history.joins
    assert running.state.joins == len(expected) <= len(table) // 2
    for key in itertools.product(range(4), range(-3, 4)):
        first, _, value = table[hash_tables.find_row(table, key, 2)].tolist()
        assert (None if first == records.NONE else value) == expected.get(key)


def test_entries_are_compiled_as_they_stand():
    """With what they call; arguments may be others in each call."""
    pytest.importorskip("numba")
    compiled = compile_functions().add_rows
    for more in (np.array([[3], [11], [19], [2]]), np.array([[5], [13]])):
        table, expected = records.hash_table(8, 1), records.hash_table(8, 1)
        compiled(table, more, 1)
        hash_tables.add_rows(expected, more, 1)
        assert table.tolist() == expected.tolist()


def test_tables_are_passed_by_reference():
    """Chains are rebuilt in the arrays that the tables have at the time of the call."""
    pytest.importorskip("numba")
    running = memory(KEYED)
    running.functions = compile_functions()
    fed_by_python = [(0, 0, 7, 1), (0, 1, 8, 2), (0, 1, 7, 3)]
    PLAIN.run(running.plan, running.history, running.scratch, running.states, events(*fed_by_python),
              running.output, running.pending)  # fmt: skip
    for size in (8, 16):
        running.lay_out([size])
        assert [chain(running, key) for key in (7, 8, 9)] == [[2, 0], [1], []]
    wrong = running.history._replace(buckets=running.history.buckets.astype(np.int32))
    with pytest.raises(TypeError, match="buckets is not an array"):
        running.functions.rebuild_chains(wrong, 0)


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
    running.history = running.history._replace(rows=records.allocate(2, records.ROW))
    running.history.rows.time[:], running.history.rows.order[:] = (20, 14), (7, 3)
    by_time, between = (search.window_of(running.history, running.scratch, running.plan.steps[k]) for k in (1, 2))
    assert by_time == (11, 20, 0, 6)
    assert between == (LEAST_WORD, GREATEST_WORD, 4, 6)


# --- triggers -------------------------------------------------------------------------------------------

CONSTANTS = "\n".join(f"rule r{k}: from A[$y = y](x == {k % 4}) emit Q(x = $y)" for k in range(8))


@pytest.mark.parametrize(("x", "expected"), [(1, [1, 5, 8]), (3, [3, 7, 8]), (9, [8]), (None, [8])])
def test_rules_are_found_by_a_constant_in_their_order(x, expected):
    running = memory(CONSTANTS + "\nrule r8: from A(y > x) emit Q(x = 1)")
    fed(running, (0, 0, x, 0))
    count = triggers.find_rules(running.plan, running.history, running.scratch, running.state, 0)
    assert running.scratch.triggered[:count].tolist() == expected


def test_a_rule_that_is_found_by_a_constant_does_not_ask_for_it_again():
    tables = memory(CONSTANTS + "\nrule r8: from A(x == 3, y > 0) emit Q(x = 1)").rule_tables
    assert tables.tables.constants.constant.tolist().count(3) == 3
    printed = format_tables(tables)
    assert "rule r7\n  trigger A, found by own.0 == 3 -> r1, r2 = own.1\n" in printed
    assert "rule r8\n  trigger A, found by own.0 == 3, if own.1 0 > require -> r1\n" in printed


def test_rules_that_a_constant_finds_need_a_row_that_has_it():
    """There are so many constants that they are the key of one column, in which all rules look up their trigger's."""
    running = memory(
        "\n".join(f"from A(x == {k}) and last B(x == {k}) within 9 from A emit Q(x = {k})" for k in range(20))
    )
    assert len({int(each.lookup) for each in running.plan.rules}) == 1
    for time, (x, expected) in enumerate([(4, []), (3, [3]), (None, [])]):
        fed(running, (1, time, 3), (0, time, x, 0))
        count = triggers.find_rules(running.plan, running.history, running.scratch, running.state, 0)
        assert running.scratch.triggered[:count].tolist() == expected


def test_rules_that_are_alike_share_their_code():
    assert len(memory(CONSTANTS).plan.code) == 2  # an attribute, and a parameter


def test_what_is_pushed_is_a_part_of_the_operation_behind_it():
    plan = memory("from A((x + 1) % 7 == y, y > 0) emit Q(x = 1)").plan
    line = plan.steps[0]
    assert [Opcode(each.op) for each in plan.code[line.residual : line.residual_end]] == [
        Opcode.CELL, Opcode.ADD, Opcode.MOD, Opcode.EQ, Opcode.CELL, Opcode.GT,
    ]  # fmt: skip
    assert plan.code.required[line.residual : line.residual_end].tolist() == [0, 0, 0, 1, 0, 1]


def test_chains_are_known_before_an_event_is_processed():
    """Those in which it is looked up, and that which it joins; not those whose key is known later."""
    running = memory(
        KEYED
        + "\nrule more: from B and last A within 9 from B and last A(x == A.y) as A2 within 9 from B emit Q(x = 1)"
    )
    plan = running.plan
    lookups = [
        [(int(each.column), plan.slots[each.cells : each.cells_end].tolist(), bool(each.joins))
         for each in plan.lookups[plan.lookups_of_type[type_] : plan.lookups_of_type[type_ + 1]]]
        for type_ in (0, 1)
    ]  # fmt: skip
    assert lookups == [[(0, [0], True)], [(0, [0], False)]]


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


EDGES = (0.0, -0.0, 5e-324, -5e-324, 1e-310, 2.0**-1022, 0.1, 1.0, -1.0, 1e16, 2.0**53 + 2, 1e308, -1e308, math.inf)
FLOATS = st.one_of(st.sampled_from(EDGES), st.floats())


def real(word: int) -> float:
    """The float of a word."""
    return float(np.int64(word).view(np.float64))


def limbs_of(given: list[float]) -> Any:
    """The sum of floats in limbs."""
    limbs = np.zeros(exact_sums.SUM_WORDS, np.int64)
    for word in np.array(given, np.float64).view(np.int64):
        exact_sums.add_real(limbs, word)
    return limbs


@given(st.lists(FLOATS, max_size=20))
@example([0.0, -5e-324])
@example([1e308] * 4)
@example([-1.7976931348623157e308, -9.979201547673599e291])
def test_sums_and_means_of_floats_are_exact_and_rounded_once(given):
    finite = [each for each in given if math.isfinite(each)]
    total = sum(map(Fraction, finite), Fraction(0))
    count = max(len(given), 1)
    for parts in (1, count):
        found = real(exact_sums.sum_over(limbs_of(given), parts))
        if len(finite) == len(given):
            expected = nearest(total.numerator, total.denominator * parts)
            assert str(found) == str(expected)  # -0.0 only where a mean below 0 is rounded to it
        else:
            assert str(found) == str(sum(each for each in given if not math.isfinite(each)))


@given(st.integers(LEAST_WORD, GREATEST_WORD), st.integers(LEAST_WORD, GREATEST_WORD), st.integers(1, 1 << 40))
@example(LEAST_WORD, LEAST_WORD, 2)
@example(GREATEST_WORD, 0, 1 << 31)
@example(1 << 52, 1 << 52, 1 << 40)
def test_means_of_whole_numbers_are_rounded_once_or_given_up(one, other, count):
    running = memory("from B emit Q(x = 1)")
    found = collected_values.mean(running.scratch, running.state, np.int64(one), np.int64(other), count)
    if running.state.status == KernelStatus.DONE:
        assert real(found) == nearest(one + other, count)
    else:
        assert running.state.status == KernelStatus.BEYOND
        assert max(abs(one), abs(other)) > 1 << 52
        assert count > 1 << 31


@given(st.integers(LEAST_WORD, GREATEST_WORD), FLOATS)
def test_whole_numbers_are_compared_with_floats_exactly(x, y):
    found = reals.compare_mixed(np.int64(x), y)
    assert ((found < 0), (found == 0), (found > 0)) == ((x < y), (x == y), (x > y))


@given(st.lists(st.integers(-3, 3), max_size=12), st.integers(0, 3))
def test_words_are_sorted_in_place(numbers, begin):
    words = np.array([9, 9, 9, *numbers, -9], np.int64)
    candidates.sort_words(words, begin, len(words) - 1)
    expected = [9, 9, 9, *numbers]
    assert words.tolist() == [*expected[:begin], *sorted(expected[begin:]), -9]


# --- texts ----------------------------------------------------------------------------------------------


@given(st.lists(st.text("ab\0\u00e9\U0001f600\ud800", max_size=40), min_size=2, max_size=6))
def test_texts_have_their_order_once_their_letters_are_there(given):
    running, codes = memory("from B emit Q(x = 1)"), TextCodes([])
    state, numbers = running.state, codes.put(given)
    for one, first in zip(given, numbers, strict=True):
        for other, second in zip(given, numbers, strict=True):
            state.status = KernelStatus.DONE
            found = texts.compare_texts(running.history, running.scratch, state, first, second)
            while state.status != KernelStatus.DONE:
                assert state.status == KernelStatus.MISSING_TEXT
                running.supply(KernelStatus.MISSING_TEXT, codes)
                state.status = KernelStatus.DONE
                found = texts.compare_texts(running.history, running.scratch, state, first, second)
            assert found == (one > other) - (one < other)


def test_what_texts_are_joined_to_is_asked_for_once():
    running, codes = memory("from B emit Q(x = 1)"), TextCodes([])
    state, numbers = running.state, codes.put(["a", "b", "ab", "", "a" * 30])
    for _ in range(2):
        for one in numbers:
            for other in numbers:
                found = texts.join_texts(running.history, running.scratch, state, one, other)
                if state.status != KernelStatus.DONE:
                    running.supply(KernelStatus.MISSING_JOINED, codes)
                    state.status = KernelStatus.DONE
                    found = texts.join_texts(running.history, running.scratch, state, one, other)
                assert codes.by_code[int(found)] == codes.by_code[one] + codes.by_code[other]
    assert state.joins == len(numbers) ** 2


# --- silence --------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3), st.integers(-2, 2)), max_size=30, unique=True))
def test_a_table_of_silences_is_a_dictionary(keys):
    table = records.hash_table(64, 4)
    hash_tables.add_rows(table, np.array([(*key, time) for time, key in enumerate(keys)], np.int64).reshape(-1, 4), 3)
    for key in itertools.product(range(2), range(4), range(-2, 3)):
        rule, _, _, time = table[hash_tables.find_row(table, key, 3)].tolist()
        expected = dict(zip(keys, range(len(keys)), strict=True)).get(key)
        assert (None if rule == records.NONE else time) == expected


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
  0: A if own.0 own.1 + 9 < require by own.0, retained for 5
  1: A if own.1 0 > require, retained for 5
  2: Q, retained for 0 or 3 events
rule pairs
  trigger B, if own.0 0 > require -> r1, r2 = own.0
  each A in column 0 by r2 0 to 5 before r1, own.1 > r2, stored
  count Q in column 2 0 to 3 events before r1 -> r5, where r5 2 < require
  take what step 1 has stored -> r3, r4 = own.1
  not A in column 1 between r3 and r1
  emit P(0 = r4 2 *, 1 = time(r3) real) consuming r3 limit 3
"""
    )


def test_tables_of_rules_that_wait_or_are_silent_are_printed():
    text = """
declare fact F(x: int)
declare aggregate PRODUCT(a: float, b: float) = a * b from 1.0
rule waits:
from A[$k = x] and first F(x == $k) ordered by x and absent B(x == $k) within 4 after A
emit Q(x = F.x) at most once in 7 per $k / 2
rule folds:
from B and $p = PRODUCT(A().y within 5 from B)
emit P(x = 0, f = $p * B.x)
"""
    assert (
        format_tables(memory(text).rule_tables)
        == """\
columns
  0: A, retained for 5
  1: B by own.0, retained for 4
  2: F by own.0, retained for 0
rule waits
  trigger A -> r1, r2 = own.0
  first F in column 2 by r2 of all -> r3
  wait for 4
rule folds
  trigger B -> r1
  combine A.1 in column 0 0 to 5 before r1, from 4607182418800017408 on by own.0 own.1 *. -> r2
  emit P(0 = 0, 1 = r2 r1.0 real *.)
rule waits when its deadline has passed
  each match that waits
  not B in column 1 by r2 up to 4 after r1
  emit Q(0 = r3.0) at most once in 7 per r2 real 2 real /. same
"""
    )
