"""Machines that remember a map, against Python dictionaries and against rules told case by case."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench import parse
from workbench.conformance.compare.differential import check
from workbench.conformance.compare.executables import CompiledRun, Denoting, Running
from workbench.conformance.compare.models import Evaluated, Simulated
from workbench.errors import LanguageError, Refused, TypingError
from workbench.executors import Reference
from workbench.executors.compiled.execute.executor import Compiled
from workbench.verify.answer.problem import check as verify
from workbench.verify.answer.settings import Settings
from workbench.verify.ask.labels import property_from

# query 6 of the competition on runtime verification of 2016: what comes from outside is dirty until it is sanitised,
# what is derived from something dirty is dirty, and what is dirty is not used
TAINT = """
machine taint(e: {kind: {input, derive, sanitise, use}, from: TEXT, to: TEXT}) -> bool {
    var clean: map(TEXT, bool)
    state fine: true
    state wrong: false
    fine -> wrong when e.kind = use and not get(clean, e.from, true)
    fine -> fine when e.kind = input / clean := put(clean, e.from, false)
    fine -> fine when e.kind = derive / clean := put(clean, e.to, get(clean, e.from, false))
    fine -> fine when e.kind = sanitise / clean := put(clean, e.from, true)
    check always (state = wrong -> not out)
    check ctl(not e.present -> EF state = wrong)
    check always (state = fine)
}
"""
CASES = [
    ("input A, sanitise A, use A", True),
    ("input A, derive A B, derive A C, sanitise C, use C", True),
    ("input C, use C", False),
    ("input A, derive A B, derive B C, sanitise B, use C", False),
    ("input A, sanitise A, derive A B, use B", True),
    ("input C, sanitise C, input C, use C", False),
]
FINITE = TAINT.replace("TEXT", "{A, B, C}")


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("trace", "accepted"), CASES)
@pytest.mark.parametrize("text", [TAINT.replace("TEXT", "str"), FINITE], ids=["str", "finite"])
def test_taint(text, trace, accepted):
    events = [(kind, source, (more or ["A"])[0]) for kind, source, *more in map(str.split, trace.split(", "))]
    pipeline = parse(text).get().pipeline
    assert Reference(pipeline).run(events)["out"] == [True] * (len(events) - 1) + [accepted]
    steps = [{"e": event} for event in events]
    check(pipeline, steps, Running(pipeline), Denoting(pipeline))
    if text == FINITE:
        for other in (Evaluated, Simulated, CompiledRun):
            check(pipeline, steps, Running(pipeline), other(pipeline))


def test_taint_is_checked():
    loaded = parse(FINITE).get()
    found = [verify(loaded.pipeline, property_from(c), Settings()) for c in loaded.checks]
    assert [verdict.outcome for verdict in found] == ["holds", "holds", "fails"]
    assert len(found[2].counterexample.steps) == 2  # something comes in, and is used


def test_compiled_code_changes_no_table_of_slices():
    text = """
    function key(x) = x
    function more(m) = size(put(m, 1, 2))
    pipeline p(x: int) -> int { return more(slice(x, key, passthrough)) }
    """
    pipeline = parse(text).get().pipeline
    assert Reference(pipeline).run([5, 1]) == {"out": [2, 2]}
    with pytest.raises(Refused, match=r"'put' has no translation"):
        Compiled(pipeline)


KEEP = """
machine keep(e: (bool, KEY, 0..3)) -> map(KEY, 0..3) {
    var m: map(KEY, 0..3)
    state s: m
    s -> s when e.0 / m := put(m, e.1, e.2)
    s -> s / m := remove(m, e.1)
}
"""
FEW, ANY = (parse(KEEP.replace("KEY", key)).get().pipeline for key in ("0..2", "int"))
EXECUTABLES = [made(FEW) for made in (Running, Evaluated, CompiledRun)]


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2), st.integers(0, 3)), max_size=8))
def test_put_and_remove(events):
    expected, found = [], {}
    for kept, key, value in events:
        found = {**found, key: value} if kept else {k: v for k, v in found.items() if k != key}
        expected.append(found)
    for pipeline in (FEW, ANY):
        assert [dict(m) for m in Reference(pipeline).run(events)["out"]] == expected
    running, *others = EXECUTABLES
    for other in others:
        check(FEW, [{"e": event} for event in events], running, other)


@pytest.mark.parametrize(
    ("variable", "update", "error", "says"),
    [
        ("m: map(0..2, bool) = 0", "put(m, e, true)", LanguageError, "the map 'm' begins empty"),
        ("m: 0..2", "e", LanguageError, "the variable 'm' has no first value"),
        ("m: map(0..2, bool)", "put(m, e, e)", TypingError, "'put'"),
        ("m: map(0..2, 0..2)", "put(m, e, e + 1)", TypingError, "'put' stores values of 1..3 in a map of 0..2"),
        ("m: map(bool, bool)", "remove(m, e)", TypingError, "'remove'"),
        ("m: map(int, 0..2)", "put(m, e, e + 1)", TypingError, "'put' stores values of 1..3 in a map of 0..2"),
        ("m: 0..2 = 0", "put(m, e, true)", TypingError, "'put' needs a map"),
    ],
)
def test_mistakes(variable, update, error, says):
    text = f"machine p(e: 0..2) -> bool {{ var {variable} state s: true s -> s / m := {update} }}"
    with pytest.raises(error) as caught:
        parse(text).get()
    assert says in caught.value.what
