"""Maps that machines keep, in compiled code: what the reference executor does, step by step, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from tests.executors.compiled.test_texts import same
from workbench.core.pipeline import Pipeline
from workbench.errors import Overflow, Refused
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.reference.executor import Reference

TEXT = """
machine counts(k: int, v: int) -> (int, int, bool) {
    var seen: map(int, int)
    state on: (get(seen, v, -1), size(seen), has(seen, v + 1))
    on -> on when v > 1 / seen := put(seen, k, get(seen, k, 0) + v)
    on -> on when v = 1 / seen := remove(seen, k)
}
machine totals(k: int, v: int) -> (int, bool, bool) {
    var all: map(int, int)
    var odd: map(int, bool)
    state on: (sum_values(all), any_value(odd), all_values(odd))
    state off: (sum_values(all), any_value(odd), size(odd) = 0)
    on -> off when v = 0 / odd := put(remove(odd, k), k, true)
    on -> on / all := put(all, k, v), odd := if v > 1 then put(odd, v, false) else remove(odd, k)
    off -> on / all := remove(all, v), odd := remove(odd, k)
}
machine pairs(k: int, v: int) -> int {
    var at: map((int, bool), (int, {low, high}))
    state on: get(at, (v, true), (-1, low)).0 + size(at)
    on -> on when get(at, (k, v > 1), (0, low)).1 = low / at := put(at, (k, v > 1), (v, high))
    on -> on when v != 1 / at := put(at, (k, v > 1), (k, low))
}
machine texts(k: str, v: str) -> (str, bool) {
    var last: map(str, str)
    state on: (get(last, v, "none"), has(last, k))
    on -> on when k != v / last := put(last, k, v)
    on -> on / last := remove(last, v)
}
machine friends(e: {k: int, v: int}) -> {of: map(int, map(int, int)), marked: map(int, bool), nobody: map(int, int)} {
    var of: map(int, map(int, int))
    var marked: map(int, bool)
    var nobody: map(int, int)
    state on: (of, marked, nobody)
    on -> on when e.v > 1 / of := put(of, e.k, put(get(of, e.k, nobody), e.v, e.k))
    on -> on when e.v = 1 / of := put(of, e.k, get(of, e.k, nobody))
    on -> on when e.v = 0 / marked := put(marked, e.k, true), of := put(of, e.k, remove(get(of, e.k, nobody), 2))
    on -> on / marked := remove(marked, e.k)
}
function people(said) = said.of
function near(one, said) = get(said.of, one, said.nobody)
function is_marked(other, one, said) = has(said.marked, other) and get(get(said.of, one, said.nobody), other, 0) = one
pipeline marked(other: int, one: int,
    said: {of: map(int, map(int, int)), marked: map(int, bool), nobody: map(int, int)}) -> bool {
    return apply(other, one, said, is_marked)
}
pipeline has_marked(one: int,
    said: {of: map(int, map(int, int)), marked: map(int, bool), nobody: map(int, int)}) -> bool {
    return exists(one, said, near, marked)
}
pipeline all_marked(one: int,
    said: {of: map(int, map(int, int)), marked: map(int, bool), nobody: map(int, int)}) -> bool {
    return forall(one, said, near, marked)
}
pipeline counting(k: int, v: int) -> (int, int, bool) { return counts(k, v) }
pipeline totalling(k: int, v: int) -> (int, bool, bool) { return totals(k, v) }
pipeline pairing(k: int, v: int) -> int { return pairs(k, v) }
pipeline texting(k: str, v: str) -> (str, bool) { return texts(k, v) }
pipeline every(e: {k: int, v: int}) -> bool { return forall(keep_last(friends(e)), people, has_marked) }
pipeline some(e: {k: int, v: int}) -> bool { return exists(keep_last(friends(e)), people, all_marked) }

pipeline each_step(e: {k: int, v: int}) -> bool { return forall(friends(e), people, has_marked) }
machine two(k: int, v: int) -> int {
    var m: map(int, int)
    state on: get(m, k, 0)
    on -> on / m := put(put(m, k, v), v, k)
}
machine swap(k: int, v: int) -> int {
    var m: map(int, int), n: map(int, int)
    state on: get(m, k, 0)
    on -> on when v = 0 / m := n, n := m
    on -> on / m := put(m, k, v)
}
machine shown(k: int, v: int) -> map(int, int) {
    var m: map(int, int)
    state on: m
    on -> on / m := put(m, k, v)
}
machine clears(k: int, v: int) -> int {
    var m: map(int, map(int, int)), nothing: map(int, int)
    state on: size(m)
    on -> on when v = 0 / m := put(m, k, nothing)
    on -> on / m := put(m, k, put(get(m, k, nothing), v, v))
}
machine sums(k: int, v: int) -> float {
    var m: map(int, float)
    state on: sum_values(m)
    on -> on / m := put(m, k, 0.5)
}
machine growing(k: int, v: int) -> int {
    var m: map(int, int)
    state on: get(m, k, 0)
    on -> on / m := put(m, k, get(m, k, 1) * v)
}
pipeline putting_two(k: int, v: int) -> int { return two(k, v) }
pipeline swapping(k: int, v: int) -> int { return swap(k, v) }
pipeline showing(k: int, v: int) -> map(int, int) { return shown(k, v) }
pipeline clearing(k: int, v: int) -> int { return clears(k, v) }
pipeline summing(k: int, v: int) -> float { return sums(k, v) }
pipeline multiplying(k: int, v: int) -> int { return growing(k, v) }
pipeline held(k: int, v: int) -> int { return size(slice(k, who, shown_each)) }
pipeline shown_each(k: int) -> map(int, int) { return shown(k, k) }
function who(k) = k
"""
PARSED = wb.parse(TEXT)


def pipeline(name: str) -> Pipeline:
    return PARSED.get(name).pipeline


@pytest.mark.parametrize("name", ["counting", "totalling", "pairing", "texting", "every", "some"])
@given(data=st.data())
@examples(6)
def test_the_same_step_by_step_and_with_saved_states(name: str, data: st.DataObject) -> None:
    program = pipeline(name)
    value = st.sampled_from(["a", "b", "", "c"]) if name == "texting" else st.integers(-1, 3)
    events = {"e": st.tuples(value, value)} if name in ("every", "some") else {"k": value, "v": value}
    lockstep = st.lists(st.fixed_dictionaries(events), max_size=9)
    same(program, data.draw(st.one_of(lockstep, st.lists(st.fixed_dictionaries({}, optional=events), max_size=9))))


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["pairing", "every"])
def test_many_keys_in_machine_code(name: str) -> None:
    """More than the first table has room for; those that come late are found where it has grown."""
    program = pipeline(name)
    k, v = [i * 7919 % 700 for i in range(2000)], [2 + i % 5 for i in range(2000)]
    streams = {"e": list(zip(k, v, strict=True))} if name == "every" else {"k": k, "v": v}
    assert Compiled(program, warm_up_steps=-1).run(streams) == Reference(program).run(streams)


@pytest.mark.parametrize(("model", "form"), [("sql", "verdict"), ("sql", "untainted"), ("candidates", "chosen")])
@given(data=st.data())
@examples(15)
def test_queries_of_the_competition(model: str, form: str, data: st.DataObject) -> None:
    program = wb.read_file(f"models/crv2016/{model}.pipe").get(form).pipeline
    kinds = ["input", "derive", "sanitise", "use"] if model == "sql" else ["member", "candidate", "rank"]
    event = st.tuples(st.sampled_from(kinds), st.sampled_from(["a", "b", "c"]), st.sampled_from(["a", "b"]))
    trace = [{"e": each} for each in data.draw(st.lists(event, max_size=12))]
    running, reference = Compiled(program, machine=False), Reference(program)
    assert running.outputs(trace) == [dict(reference.step(step).outputs) for step in trace]
    assert running.end() == reference.end()


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("each_step", r"'value' of processor 'forall': a quantifier ranges over a map in the same step"),
        ("putting_two", r"'m' of processor '.*': two entries of it change in one step"),
        ("swapping", r"'m' of processor '.*': another map replaces one"),
        ("showing", r"carries a map out that no slices emit"),
        ("clearing", r"the empty map replaces one, which would have to be copied"),
        ("summing", r"'sum_values' of floats depends on their order"),
        ("held", r"map\(int, int\)"),
    ],
)
def test_what_is_refused_before_the_first_event(name: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason) as found:
        Compiled(pipeline(name))
    assert found.value.where
    Reference(pipeline(name))


def test_a_value_that_leaves_64_bits() -> None:
    running: Any = Compiled(pipeline("multiplying"))
    assert running.outputs([{"k": 1, "v": 2**40}])[0] == {"out": [2**40]}
    with pytest.raises(Overflow, match=r"step 1: processor '.*': a result leaves the 64 bits"):
        running.outputs([{"k": 1, "v": 2**40}])
    assert running.outputs([{"k": 1, "v": 4}])[0] == {"out": [2**42]}
