"""Tables of slices in compiled code: where rows are found, how tables grow, and what is refused."""

import numba
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.errors import Overflow, Refused
from workbench.executors.compiled.code import kernels
from workbench.executors.compiled.lower import tables
from workbench.executors.compiled.lower.tables import DIRECT, table_size

TEXT = """
function itself(x) = x
function large(x) = x >= 3
function ends(x) = x = 0
pipeline count(x: int) -> int { return cumulate(turn(x, 1), +) }
pipeline product(x: int) -> int { return cumulate(x, *) }
pipeline last(x: int) -> {key: int, value: int} { return slice_last(x, itself, count) }
pipeline products(x: int) -> {key: int, value: int} { return slice_last(x, itself, product) }
pipeline third(x: int) -> map(int, int) { return slice(x, itself, count, until = large, forget = true) }
pipeline counts(x: int) -> map(int, int) { return slice(x, itself, count) }
pipeline number(x: int) -> int { return size(slice(x, itself, count)) }
pipeline at_the_end(x: int) -> map(int, int) { return slice(x, itself, keep_last) }
function share(x) = x.1
function owner(x) = x.0
pipeline shares(x: (int, float)) -> float { return apply(x, share) }
pipeline total(x: (int, float)) -> float { return sum_values(slice(x, owner, shares)) }
pipeline everyone_last(x: int) -> {key: int, value: int} { return slice_last(x, itself, count, to_all = ends) }
pipeline growing(x: int) -> int {
    slices = slice(x, itself, grown, to_all = ends)
    return sum_values(slices)
}
pipeline grown(x: int) -> int { return cumulate(freeze(x), +) }
pipeline both(x: int) -> int { said = everyone_last(x) return said.key + said.value }
pipeline nested(x: int) -> {key: int, value: int} { said = everyone_last(x) return slice_last(said.key, itself, count) }
pipeline ones(x: bool) -> int { return cumulate(turn(x, 1), +) }
pipeline of_verdicts(x: bool) -> {key: bool, value: int} { return slice_last(globally(x), itself, ones) }
pipeline kept(x: int) -> map(int, int) { return trim(slice(x, itself, count), 1) }
pipeline everyone(x: int) -> map(int, int) { return slice(x, itself, count, to_all = ends) }
"""
LARGEST = 2**63 - 1
KEY = st.integers(-LARGEST - 1, LARGEST)
KEYS = st.lists(st.one_of(st.integers(-3, DIRECT + 3), st.integers(-LARGEST - 1, LARGEST)), unique=True, max_size=30)


def executor(name, **options):
    return wb.executors.Compiled(wb.parse(TEXT).get(name).pipeline, **options)


def empty(rows):
    return [np.zeros(table_size(rows), kind) for kind in (np.bool_, np.int64, np.int64)]


@given(KEYS)
def test_every_key_has_a_row_of_its_own_and_keeps_what_it_holds_when_the_table_grows(keys):
    used, names, values = empty(32)
    for number, key in enumerate(keys, 1):
        place = tables.find(used, names, key)
        assert place > 0
        assert not used[place]
        used[place], names[place], values[place] = True, key, number
    for arrays in ([used, names, values], tables.enlarge_table([used, names, values], (0,), 64)):
        for number, key in enumerate(keys, 1):
            place = tables.find(arrays[0], arrays[1], key)
            assert arrays[0][place]
            assert (arrays[1][place], arrays[2][place]) == (key, number)
            assert kernels.find(*arrays[:2], key) == place


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-LARGEST - 1, LARGEST)), unique=True, max_size=30))
def test_so_have_pairs(pairs):
    used, first, second, values = (np.zeros(table_size(32), kind) for kind in (np.bool_, np.int64, np.int64, np.int64))
    for number, (a, b) in enumerate(pairs, 1):
        place = tables.find_pair(used, first, second, a, b)
        assert place > 0
        assert not used[place]
        used[place], first[place], second[place], values[place] = True, a, b, number
    for arrays in ([used, first, second, values], tables.enlarge_table([used, first, second, values], (0,), 64, 2)):
        for number, (a, b) in enumerate(pairs, 1):
            place = tables.find_pair(arrays[0], arrays[1], arrays[2], a, b)
            assert (arrays[0][place], arrays[1][place], arrays[2][place], arrays[3][place]) == (True, a, b, number)
            assert kernels.find_pair(*arrays[:3], a, b) == place


@numba.njit
def rows_of(used, keys, key, found):
    """The rows of a key, as generated code finds them; how many they are."""
    links, count = kernels.link_rows(used, keys), 0
    row = kernels.first_linked(links, keys, key)
    while row:
        found[count], count = row, count + 1
        row = kernels.next_linked(links, keys, row)
    kernels.free(links)
    return count


@given(st.lists(st.tuples(st.integers(-2, 2) | st.integers(-LARGEST - 1, LARGEST), KEY), unique=True, max_size=30))
def test_rows_of_half_a_key(pairs):
    """All of them, once, in machine code and in Python; those of keys that are not there are none."""
    used, first, second = (np.zeros(table_size(64), kind) for kind in (np.bool_, np.int64, np.int64))
    wanted = {2**40: set(), -1: set()}
    for a, b in pairs:
        place = tables.find_pair(used, first, second, a, b)
        used[place], first[place], second[place] = True, a, b
        wanted.setdefault(a, set()).add(place)
    links = tables.link_rows(used, first)
    for key, places in wanted.items():
        found = np.zeros(len(used), np.int64)
        count = rows_of(used, first, key, found)
        assert (count, set(found[:count].tolist())) == (len(places), places)
        row, rows = tables.first_linked(links, first, key), []
        while row:
            rows.append(row)
            row = tables.next_linked(links, first, row)
        assert rows == found[:count].tolist()


def test_a_table_that_is_nearly_full_has_no_row_either():
    """So many rows are looked at, and no more: whoever asks gives the table more room."""
    used, names, _ = empty(1 << 12)
    used[:] = True
    used[-1] = False
    assert [tables.find(used, names, key) for key in range(100, 200)].count(0) > 90
    assert [kernels.find(used, names, key) for key in range(100, 200)].count(0) > 90
    running = executor("last", warm_up_steps=-1)
    assert running.feed(np.arange(100_000))["out"].fields[1].tolist() == [1] * 100_000


def test_a_full_table_has_no_row_for_another_key():
    used, names, _ = empty(1)
    used[:] = True
    assert tables.find(used, names, DIRECT) == tables.find(used, names, -7) == kernels.find(used, names, -7) == 0
    assert tables.find(used, names, 5) == kernels.find(used, names, 5) == 6


def test_rows_that_stand_for_nothing_are_left_out_when_a_table_grows():
    used, names, values = empty(4)
    for key, value in ((2, 0), (3, 1), (100, 0), (-100, 7)):
        place = tables.find(used, names, key)
        used[place], names[place], values[place] = True, key, value
    found = tables.enlarge_table([used, names, values], (0,), 0)
    assert sorted(found[1][found[0]].tolist()) == [-100, 3]
    assert sum(tables.enlarge_table([used, names, values], (), 0)[0]) == 4


def test_many_slices_in_machine_code():
    events = np.random.default_rng(1).integers(-(2**62), 2**62, 30_000)
    events[15_000:] = events[:15_000]
    made = executor("last", warm_up_steps=-1).feed(events)["out"]
    assert made.fields[0].tolist() == events.tolist()
    assert made.fields[1].tolist() == [1] * 15_000 + [2] * 15_000


def test_slices_that_have_left_take_no_room_for_long():
    running = executor("third", machine=False)
    for start in range(0, 30_000, 100):
        running.feed(np.repeat(np.arange(1000 + start, 1100 + start), 3))
    assert len(running.state[2]) < 2000


def test_the_map_goes_on_from_one_piece_to_the_next():
    running = executor("counts")
    pieces = [running.feed([5, 900])["out"], running.feed([900])["out"]]
    running.reset()
    pieces.append(running.feed([900])["out"])
    maps = [[dict(found) for found in piece.events()] for piece in pieces]
    assert maps == [[{5: 1}, {5: 1, 900: 1}], [{5: 1, 900: 2}], [{900: 1}]]


def test_an_event_that_goes_to_all_slices():
    """By hand: 5 and 900 have been seen when the first 0 comes, which makes no slice of its own."""
    running = executor("everyone")
    pieces = [running.feed([5, 900, 0])["out"], running.feed([0, 7], steps=True)["out"]]
    assert [dict(found) for found in pieces[0].events()] == [{5: 1}, {5: 1, 900: 1}, {5: 2, 900: 2}]
    assert [dict(found) for found in pieces[1].events()] == [{5: 3, 900: 3}, {5: 3, 900: 3, 7: 1}]
    assert pieces[1].steps.tolist() == [3, 4]
    assert list(map(len, pieces)) == [3, 2]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("warm_up_steps", [-1, 10**6])
def test_slices_emit_in_the_order_of_their_keys(warm_up_steps):
    """In machine code, and in Python; more events in a step than there was room for."""
    running = executor("everyone_last", warm_up_steps=warm_up_steps)
    keys = [3, -2, 70, 2**40, -(2**40), 64, *range(1000, 1200)]
    running.feed(keys, steps=True)
    made = running.feed([0, 3, 0], steps=True)["out"]
    first = [(key, 2) for key in sorted(keys)]
    last = [(key, 4 if key == 3 else 3) for key in sorted(keys)]
    assert made.events() == [*first, (3, 3), *last]
    assert made.steps.tolist() == [206] * 206 + [207] + [208] * 206


def test_many_traces_with_events_for_all_slices():
    batch = wb.executors.Batch(wb.parse(TEXT).get("everyone").pipeline, device="cpu")
    made = batch.run(np.array([[1, 2], [3, 2], [0, 0], [1, 5]]))["out"]
    assert [dict(found) for found in made.events(0)] == [{1: 1}, {1: 1, 3: 1}, {1: 2, 3: 2}, {1: 3, 3: 2}]
    assert [dict(found) for found in made.events(1)] == [{2: 1}, {2: 2}, {2: 3}, {2: 3, 5: 1}]


def test_a_sum_of_many_entries_that_leaves_64_bits():
    """After n events for all, the entries are n + 1 times 2**60: with three the sum is 2**63, and too large."""
    running = executor("growing")
    with pytest.raises(Overflow, match=r"step 4: processor 'slices'.*64 bits"):
        running.feed([2**60, 2**60 + 1, 0, 0, 0])
    assert running.feed([2**60, 2**60 + 1, 0])["out"].array.tolist() == [2**60, 2**61 + 1, 2**62 + 2]


def test_an_error_leaves_the_table_as_it_was():
    running = executor("products", machine=False)
    running.feed([2] * 62)
    with pytest.raises(Overflow, match=r"step 262: .* 64 bits"):
        running.feed([*range(-200, 0), 2])
    assert running.feed([-5, 3])["out"].events() == [(-5, -5), (3, 3)]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("kept", "not finite"),
        ("both", "any number of events can reach"),
        ("nested", "any number of events can reach"),
        ("of_verdicts", "any number of events can reach"),
        ("at_the_end", "slices that emit at the end"),
        ("total", "of floats depends on their order"),
    ],
)
def test_what_is_refused(name, reason):
    with pytest.raises(Refused, match=reason):
        executor(name)


def test_verdicts_of_positions_that_wait_from_one_piece_to_the_next():
    pipeline = wb.parse("pipeline p(x: bool) -> bool { return globally(x) }").get().pipeline
    running = wb.executors.Compiled(pipeline, warm_up_steps=-1)
    assert len(running.feed(np.ones(5000, np.bool_))["out"]) == 0
    made = running.feed(np.array([False, True, False]), steps=True)["out"]
    assert made.array.tolist() == [False] * 5003
    assert made.steps.tolist() == [5000] * 5001 + [5002] * 2


def test_what_reads_verdicts_without_bound_is_refused():
    pipeline = wb.parse("pipeline p(x: bool) -> bool { return once(globally(x)) }").get().pipeline
    with pytest.raises(Refused, match="only functions of one stream"):
        wb.executors.Compiled(pipeline)
