"""Arrays of machines: rings and queues against windows, and against lists of Python, on all backends and in models."""

import random

import pytest

import workbench as wb
from workbench.core.domain import BOOL, Range
from workbench.core.fields import IndexedTuple
from workbench.errors import Overflow, TypingError, WorkbenchError
from workbench.language import parse

RING = """
machine ring<k = 3, top = 2>(x: 0..top) -> 0..k * top {
    var last: array(0..k - 1, 0..top) = 0, at: 0..k - 1 = 0, total: 0..k * top = 0
    state on: total
    on -> on / total := total + x - last[at], last[at] := x, at := if at = k - 1 then 0 else at + 1
}
pipeline refold<k = 3, top = 2>(x: 0..top) -> 0..k * top {
    return window(insert(x, 0, k - 1), k, cumulate(+))
}
check stepwise-equivalent(ring<k, top>)
"""

QUEUE = """
# The maximum of the last four readings, by a queue of those that no later one exceeds; its oldest is the largest.
function at(v, head, j) = v[(head + j) mod 4]
function above(v, head, x, j) = at(v, head, j) > x
function behind(v, head, n, x) =
    if n > 3 and above(v, head, x, 3) then 4 else if n > 2 and above(v, head, x, 2) then 3 else
    if n > 1 and above(v, head, x, 1) then 2 else if n > 0 and above(v, head, x, 0) then 1 else 0

machine by_queue<top = 1>(x: 0..top) -> 0..top {
    var value: array(0..3, 0..top) = 0, born: array(0..3, 0..7) = 0, head: 0..3 = 0, n: 0..4 = 0, now: 0..7 = 0
    state on: value[head]
    on -> on when n > 0 and born[head] = (now + 4) mod 8 /
        head := (head + 1) mod 4,
        n := min(behind(value, (head + 1) mod 4, n - 1, x), n - 1) + 1,
        value[((head + 1) mod 4 + behind(value, (head + 1) mod 4, n - 1, x)) mod 4] := x,
        born[((head + 1) mod 4 + behind(value, (head + 1) mod 4, n - 1, x)) mod 4] := now,
        now := (now + 1) mod 8
    on -> on /
        n := behind(value, head, n, x) + 1,
        value[(head + behind(value, head, n, x)) mod 4] := x,
        born[(head + behind(value, head, n, x)) mod 4] := now,
        now := (now + 1) mod 8
}
"""

ITEMS = """
machine items(i: int, x: int) -> int {{
    var a: array({first}..{last}, int) = 7
    state on: a[i + 1]
    on -> on / a[i] := x, a[i - 1] := a[i]
}}
"""
BACKENDS = ("reference", "compiled")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("k", [1, 4, 40])
def test_a_ring_has_the_sum_of_a_window(backend: str, k: int) -> None:
    xs = random.Random(k).choices(range(101), k=150)
    found = wb.run(parse(RING).get("ring", k=k, top=100), {"x": xs}, backend=backend)
    assert found["out"] == [sum(xs[max(0, i + 1 - k) : i + 1]) for i in range(len(xs))]


def test_a_ring_is_equivalent_to_the_window() -> None:
    refold = parse(RING).get("refold")
    assert wb.check(refold, "stepwise-equivalent(ring<k = 3, top = 2>)").outcome == "holds"
    wrong = parse(RING.replace("last[at] := x", "last[at] := min(x, 1)")).get("refold")
    assert wb.check(wrong, "stepwise-equivalent(ring<k = 3, top = 2>)").outcome == "fails"
    assert wb.check(parse(RING).get("ring"), "stays-in-range").outcome == "holds"
    late = RING.replace("at := if at = k - 1", "at := if at = k")
    assert wb.check(parse(late).get("ring"), "stays-in-range").outcome == "fails"


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_monotone_queue_has_the_maximum_of_a_window(backend: str) -> None:
    pick = random.Random(1)
    xs = [pick.randrange(10) // pick.randrange(1, 3) for _ in range(400)]
    found = wb.run(parse(QUEUE).get(top=9), {"x": xs}, backend=backend)["out"]
    assert found == [max(xs[max(0, i - 3) : i + 1]) for i in range(len(xs))]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("first", "last"), [(0, 3), (-2, 1), (5, 5)])
def test_an_index_beyond_the_ends_reads_the_default_and_writes_nothing(backend: str, first: int, last: int) -> None:
    """Writes come in their order, after all reads."""
    pick, array, expected = random.Random(first), dict.fromkeys(range(first, last + 1), 7), []
    events = [(pick.randrange(-4, 8), pick.randrange(-9, 9)) for _ in range(200)]
    for i, x in events:
        before = dict(array)
        array |= {k: v for k, v in ((i, x),) if k in array}
        array |= {k: v for k, v in ((i - 1, before.get(i, 0)),) if k in array}
        expected.append(array.get(i + 1, 0))
    text = ITEMS.format(first=first, last=last)
    log = {"i": [i for i, _ in events], "x": [x for _, x in events]}
    assert wb.run(parse(text).get(), log, backend=backend)["out"] == expected


def test_items_of_other_types() -> None:
    text = """
    machine seen(e: {x: 0..2, y: 1..3}) -> (bool, {a, b, c}) {
        var flags: array(1..3, bool) = (true, false, false), names: array(1..3, {a, b, c}) = c
        state on: (flags[e.y - 1], names[e.y])
        on -> on / flags[e.y] := e.x = 0, names[e.y] := if e.x = 0 then a else if e.x = 1 then b else c
    }"""
    made = parse(text).get()
    (machine,) = made.pipeline.typed.values()
    assert machine.initial() == ("on", (True, False, False), ("c", "c", "c"))
    log = {"e.x": [1, 0, 0, 2], "e.y": [1, 3, 2, 3]}
    wanted = [(False, "b"), (False, "a"), (False, "a"), (True, "c")]
    assert wb.run(made, log)["out"] == wb.run(made, log, backend="compiled")["out"] == wanted
    assert wb.check(made, "always (out.value.1 = a -> e.value.x = 0)").outcome == "holds"
    assert wb.check(made, "never (out.value.0)").outcome == "fails"


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_item_that_leaves_its_range_ends_the_run(backend: str) -> None:
    text = """machine m(x: 0..9) -> 0..5 {
        var a: array(-1..1, 0..5) = 0
        state on: a[0]
        on -> on / a[x mod 3 - 1] := a[0] + x
    }"""
    with pytest.raises(Overflow, match=r"step 2: .*gets 14"):
        wb.run(parse(text).get(), {"x": [1, 4, 9]}, backend=backend)
    verdict = wb.check(parse(text).get(), "stays-in-range")
    assert verdict.outcome == "fails"


def test_the_type() -> None:
    domain = IndexedTuple.of(-1, 1, BOOL)
    assert str(domain) == "array(-1..1, bool)"
    assert domain.names() == ("minus1", "0", "1")
    assert (True, False, True) in domain
    assert domain.size == 8
    assert IndexedTuple.of(2, 3, Range(1, 4)).default == (1, 1)


WRONG = {
    "array(0..3, 0..9) = 12": "begins with (12, 12, 12, 12)",
    "array(0..3, 0..9) = (1, 2)": "begins with (1, 2)",
    "array(4, 0..9) = 0": "expected an operator or '..'",
    "array(bool, 0..9) = 0": "the indices of an array are a range, not bool",
    "array(0..3, 0..9)": "has no first value",
    "array(0..3, array(0..1, bool)) = 0": "only variables of machines are arrays",
    "0..9 = 0": "'a' of 0..9 is not an array",
    "array(0..3, bool) = false": "'if ... then ... else' combines values of",
}


@pytest.mark.parametrize(("kind", "phrase"), WRONG.items())
def test_mistakes(kind: str, phrase: str) -> None:
    text = f"machine m(x: 0..3) -> 0..3 {{\n var a: {kind}\n state on: x\n on -> on / a[x] := x\n}}"
    with pytest.raises(WorkbenchError) as found:
        parse(text, "a.pipe").get()
    assert phrase in str(found.value)
    with pytest.raises(WorkbenchError, match="only variables of machines are arrays"):
        parse("pipeline p(x: array(0..3, bool)) -> bool { return x[1] }").get()
    with pytest.raises(TypingError, match=r"whole numbers, not values of float"):
        parse("machine m(x: float) { var a: array(0..1, bool) = false\n state s\n s -> s when a[x] }").get()
