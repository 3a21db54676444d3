"""Maps that come in, in compiled code: what the reference executor does, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from tests.executors.compiled.test_texts import same
from workbench.core.fields import FrozenMap
from workbench.core.pipeline import Pipeline
from workbench.errors import DomainError, InputError, Refused
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.reference.executor import Reference

HELPERS = """
function keys_of(a, b) = a
function of_other(k, a, b) = if get(b, k, 0) > 1 then b else a
function below(k, a, b) = get(a, k, 0) < get(b, k, 2) + 0.5
function same_key(j, k, a, b) = has(b, j) and get(a, j, 0) = get(b, k, 1)
pipeline under(k: int, a: map(int, 0..3), b: map(int, 0..3)) -> bool { return apply(k, a, b, below) }
pipeline other(j: int, k: int, a: map(int, 0..3), b: map(int, 0..3)) -> bool { return apply(j, k, a, b, same_key) }
pipeline meets(k: int, a: map(int, 0..3), b: map(int, 0..3)) -> bool { return exists(k, a, b, of_other, other) }
machine kept(a: map(int, 0..3), x: bool) -> map(int, 0..3) {
    var last: map(int, 0..3), none: map(int, 0..3)
    state on: last
    state off: none
    on -> off when x and size(last) > 1 / last := a
    on -> on when has(a, 2) / last := a
    off -> on / last := if x then last else a
}
"""


@st.composite
def _inner(draw: st.DrawFn) -> str:
    """A map that comes in, in two of three cases: among all of `_MADE`, expressions would seldom end."""
    return draw(_MADE if draw(st.integers(0, 2)) == 2 else st.sampled_from(["m", "n", "e.of"]))


MAPS = _inner()
TRUTH: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        st.sampled_from(["e.sign", "cumulate(e.sign, or)"]),
        st.builds("(size({}) {} {})".format, MAPS, st.sampled_from(["<", "="]), st.integers(0, 3)),
        st.builds("has({}, {})".format, MAPS, st.integers(-1, 3)),
        st.builds("(get({}, {}, 1) = 1)".format, MAPS, st.integers(-1, 3)),
        st.builds("{}({}, {}, keys_of, {})".format, st.sampled_from(["forall", "exists"]), MAPS, MAPS,
                  st.sampled_from(["under", "meets"])),
    )
)  # fmt: skip
_MADE: st.SearchStrategy[str] = st.one_of(
    st.builds("trim({}, {})".format, MAPS, st.integers(1, 6)),
    st.builds("filter({}, {})".format, MAPS, TRUTH),
    st.builds("(if {} then {} else {})".format, TRUTH, MAPS, MAPS),
    st.builds("decimate({}, 2)".format, MAPS),
    st.builds("stutter({}, 2)".format, MAPS),
    st.builds("keep_last({})".format, MAPS),
    st.builds("multiplex({}, {})".format, MAPS, MAPS),
    st.builds("kept({}, {})".format, MAPS, TRUTH),
)
MAP = st.dictionaries(st.sampled_from([-1, 0, 1, 2, 3, 2**62, -(2**63)]), st.integers(0, 3), max_size=4).map(FrozenMap)
EVENTS: dict[str, Any] = {"m": MAP, "n": MAP, "e": st.tuples(st.booleans(), MAP)}


def parsed(text: str) -> Pipeline:
    return wb.parse(HELPERS + text).get("p").pipeline


def steps(data: st.DataObject, events: dict[str, Any]) -> list[Any]:
    lockstep = st.lists(st.fixed_dictionaries(events), max_size=9)
    found: list[Any] = data.draw(st.one_of(lockstep, st.lists(st.fixed_dictionaries({}, optional=events), max_size=9)))
    return found


@given(data=st.data())
@examples(30)
def test_random_pipelines(data: st.DataObject) -> None:
    """Step by step, and in pieces between which the state is saved and another executor goes on."""
    made = data.draw(TRUTH, label="expression")
    kind = "map(int, 0..3)"
    program = parsed(f"pipeline p(m: {kind}, n: {kind}, e: {{sign: bool, of: {kind}}}) -> bool {{ return {made} }}")
    same(program, steps(data, EVENTS))


@pytest.mark.parametrize("outer", ["forall", "exists"])
@given(data=st.data())
@examples(20)
def test_whether_there_is_a_map_depends_on_what_is_looked_for(outer: str, data: st.DataObject) -> None:
    kind = "map(int, 0..3)"
    inner = data.draw(st.sampled_from(["forall", "exists"]))
    made = f"{outer}(m, filter(m, {inner}(m, n, keys_of, under)), keys_of, under)"
    same(parsed(f"pipeline p(m: {kind}, n: {kind}) -> bool {{ return {made} }}"), steps(data, {"m": MAP, "n": MAP}))


KINDS = """
function of(m) = m
function says(k, m) = get(m, k, "none") = k or get(m, "b", "none") != k
function likes(k, m) = get(m, k, (a, 0.5)).1 < 0.75 and get(m, 1, (b, 1.0)).0 = a
pipeline each(k: str, m: map(str, str)) -> bool { return apply(k, m, says) }
pipeline pair(k: int, m: map(int, ({a, b}, float))) -> bool { return apply(k, m, likes) }
pipeline texts(m: map(str, str)) -> bool { return forall(trim(m, 1), of, each) }
pipeline labels(m: map(int, ({a, b}, float))) -> bool { return exists(m, of, pair) }
pipeline truths(m: map(int, bool)) -> (bool, bool, bool) { return (all_values(m), any_value(m), get(m, 2, true)) }
pipeline words(m: map(int, int)) -> int { return get(m, 3, 0) }
pipeline adds(m: map(int, int)) -> int { return sum_values(m) }
pipeline finite(m: map({a, b}, bool)) -> 0..2 { return size(m) }
pipeline pairs(m: map((int, int), int)) -> int { return size(m) }
pipeline real(m: map(float, int)) -> int { return size(m) }
pipeline nested(m: map(int, map(int, int))) -> int { return size(m) }
pipeline shown(m: map(int, int)) -> map(int, int) { return trim(m, 1) }
machine changes(m: map(int, int)) -> int {
    var kept: map(int, int)
    state on: get(put(m, 1, 2), 1, 0)
    on -> on / kept := put(m, 1, 2)
}
pipeline changed(m: map(int, int)) -> int { return changes(m) }
machine reads(m: map(int, int), n: int) -> (int, int) {
    var own: map(int, int)
    state on: (get(put(remove(m, 2), 1, n), 1, 0), get(own, n, 0))
    on -> on / own := put(own, n, get(m, n, 7))
}
pipeline beside(m: map(int, int), n: int) -> (int, int) { return reads(m, n) }
"""
OTHERS = wb.parse(KINDS)


@pytest.mark.parametrize("name", ["texts", "labels", "truths", "beside"])
@given(data=st.data())
@examples(5)
def test_keys_and_values_of_all_types(name: str, data: st.DataObject) -> None:
    text, number = st.sampled_from(["", "a", "b", "none"]), st.integers(0, 3)
    kinds = {"texts": (text, text), "truths": (number, st.booleans()), "beside": (number, number),
             "labels": (number, st.tuples(st.sampled_from(["a", "b"]), st.sampled_from([0.5, 1.0])))}  # fmt: skip
    events = {"m": st.dictionaries(*kinds[name], max_size=4).map(FrozenMap), "n": number}
    program = OTHERS.get(name).pipeline
    same(program, steps(data, {each: events[each] for each, _ in program.inputs}))


@pytest.mark.slow
def test_machine_code_on_many_maps() -> None:
    """Few keys and many in a map; maps wait from block to block."""
    kind = "map(int, 0..3)"
    program = parsed(f"pipeline p(m: {kind}, n: {kind}) -> bool {{ return forall(trim(m, 300), n, keys_of, meets) }}")
    maps = [FrozenMap({k * 7919 % 1000 - i: (k + i) % 4 for k in range(i % 9)}) for i in range(900)]
    maps[700] = FrozenMap({k: k % 4 for k in range(100)})
    streams = {"m": maps, "n": maps[::-1]}
    reference = Reference(program).run(streams)
    running = Compiled(program, warm_up_steps=-1)
    found = [
        value
        for at in range(0, 900, 250)
        for value in running.feed({name: each[at : at + 250] for name, each in streams.items()})["out"].events()
    ]
    assert found == reference["out"]
    assert len(running.snapshot()) < 100_000, "of the maps that came only those are kept that wait"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("adds", "the values of an input map are added up"),
        ("finite", "has finitely many keys"),
        ("pairs", "has values that do not fit in 64 bits"),
        ("real", "has values that do not fit in 64 bits"),
        ("nested", "has values that do not fit in 64 bits"),
        ("shown", "carries a map out that no slices emit"),
        ("changed", "an input map is stored with changes"),
    ],
)
def test_what_is_refused_before_the_first_event(name: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        Compiled(OTHERS.get(name).pipeline)
    Reference(OTHERS.get(name).pipeline)


def test_what_is_no_such_map() -> None:
    running = Compiled(OTHERS.get("words").pipeline)
    good: Any = [FrozenMap({3: 5}), FrozenMap()]
    for bad, error, words in (
        (FrozenMap({1: 2**63}), DomainError, "step 2: 9223372036854775808 on input 'm' is not an integer of 64 bits"),
        (FrozenMap({1: "x"}), DomainError, "is not a value of map"),
        ({1: 1}, DomainError, "is not a value of map"),
    ):
        with pytest.raises(error, match=words):
            running.feed([*good, bad])
        assert running.feed(good)["out"].events() == [5, 0], "and the state is what it was"
        running.reset()
    import numpy as np

    with pytest.raises(InputError, match=r"carries map\(int, int\), not an array"):
        running.feed(np.arange(3))
