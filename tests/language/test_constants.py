"""The constants of enumerations, where no value beside them says which enumeration they belong to."""

import pytest

from workbench import parse
from workbench.core.domain import Enum
from workbench.errors import LanguageError, TypingError
from workbench.executors import Reference
from workbench.executors.compiled.execute.executor import Compiled
from workbench.ir.compose import compose
from workbench.verify.answer.problem import check
from workbench.verify.answer.settings import Settings
from workbench.verify.ask.labels import property_from

ALONE = {
    "a choice": "pipeline p(x: 0..3) -> {lo, hi} { return if x > 1 then hi else lo }",
    "a function": (
        "function level(x) = if x > 1 then hi else lo\npipeline p(x: 0..3) -> {lo, hi} { return apply(x, level) }"
    ),
    "a machine": (
        "machine p(x: 0..3) -> {lo, hi} { state low: lo state high: hi low -> high when x > 1 high -> low when x <= 1 }"
    ),
    "a variable": (
        "machine p(x: 0..3) -> {lo, hi} { var now: {lo, hi} = lo state s: now\n"
        " s -> s when x > 1 / now := hi s -> s / now := lo }"
    ),
    "two types": (
        "pipeline p(x: 0..3) -> {lo, hi} { return if x > 1 then hi else lo }\n"
        "pipeline q(y: {off, hi, lo}) -> bool { return y = hi }"
    ),
    "two types in a machine": (
        "machine p(x: 0..3) -> {lo, hi} { var kept: {off, hi, lo} = off state s: if x > 1 then hi else lo\n"
        " s -> s when kept = off / kept := hi }"
    ),
}


@pytest.mark.parametrize("text", ALONE.values(), ids=ALONE)
def test_a_constant_belongs_to_the_enumeration_that_has_it(text):
    pipeline = parse(text).get("p").pipeline
    assert pipeline.domains[pipeline.outputs[0][1]] == Enum(("lo", "hi"))
    expected = {"out": ["lo", "hi", "hi", "lo"]}
    assert Reference(pipeline).run([0, 3, 2, 1]) == Compiled(pipeline).run([0, 3, 2, 1]) == expected
    compose(pipeline)


def test_it_is_checked():
    text = (
        "pipeline p(x: 0..3) -> {lo, hi} { return if x > 1 then hi else lo }\n"
        "check always (out = hi -> x >= 2)\ncheck always (out = lo)"
    )
    loaded = parse(text).get()
    outcomes = [check(loaded.pipeline, property_from(c), Settings()).outcome for c in loaded.checks]
    assert outcomes == ["holds", "fails"]


def test_constant_streams_and_keys():
    text = (
        "function level(x) = if x > 1 then hi else lo\n"
        "pipeline p(x: 0..3) -> {lo, hi}, map({lo, hi}, 0..3), ({lo, hi}, 0..3) {\n"
        "  return insert(turn(x, hi), lo), slice(x, level, passthrough), (level(x), x) }"
    )
    found = Reference(parse(text).get().pipeline).run([2, 0])
    assert found["out1"] == ["lo", "hi", "hi"]
    assert [dict(m) for m in found["out2"]] == [{"hi": 2}, {"hi": 2, "lo": 0}]
    assert found["out3"] == [("hi", 2), ("lo", 0)]


def test_beside_a_value_it_takes_the_enumeration_of_the_value():
    text = (
        "pipeline p(x: {lo, hi}, y: {hi, lo}, z: str, w: any) -> bool, bool, bool, bool {\n"
        "  return x = hi, y = hi, z = hi, w = hi }"
    )
    found = Reference(parse(text).get().pipeline).run({"x": ["hi"], "y": ["lo"], "z": ["hi"], "w": ["hi"]})
    assert found == {"out1": [True], "out2": [False], "out3": [True], "out4": [True]}


def test_tuples_of_a_machine_take_their_declared_types():
    text = "machine p(x: 0..3) -> ({lo, hi}, 0..9) { state s: (if x > 1 then hi else lo, 1) }"
    pipeline = parse(text).get().pipeline
    assert Reference(pipeline).run([0, 3]) == Compiled(pipeline).run([0, 3]) == {"out": [("lo", 1), ("hi", 1)]}


def test_one_that_is_in_several_enumerations():
    text = (
        "function level(x) = if x > 1 then hi else lo\n"
        "pipeline p(x: {hi, lo}) -> bool { return x = hi }\n"
        "pipeline q(x: 0..3) -> {lo, hi} { return apply(x, level) }"
    )
    with pytest.raises(LanguageError, match=r"declared to return \{lo, hi\}, but it returns str") as caught:
        parse(text).get("q")
    assert caught.value.hint == "several types have such constants: write the 'if' in the pipeline, or declare -> str"
    with pytest.raises(TypingError, match=r"combines values of \{lo, hi\} and of \{off, on\}"):
        parse("pipeline q(x: {lo, hi}) -> {off, on} { return if x = off then off else on }").get()


def test_the_hint_about_a_name_does_not_depend_on_hashes():
    text = "machine m(x: {u, v, w}) -> {lo, hi} { state a: lo state b: hi a -> b when x = zzzz }"
    with pytest.raises(LanguageError) as caught:
        parse(text).get()
    assert (
        caught.value.hint == "inputs: x; labels: u, v, w, lo, hi; states: a, b; or declare it: var zzzz: TYPE = START"
    )


def test_constants_called_like_the_parts_of_a_model():
    text = """
    machine p(x: {input, left, data, waiting, shown}) -> bool {
        var left_over: {input, left, data, waiting, shown} = left
        state data_seen: left_over = input
        data_seen -> data_seen / left_over := x
    }
    check always (x = input -> out)
    pipeline q(x: {input, left, data, waiting, shown}) -> bool {
        return globally(filter(x, x != data) != left, pending = 2)
    }
    check never-false
    """
    source = parse(text)
    for name, outcome in (("p", "holds"), ("q", "fails")):
        loaded = source.get(name)
        assert check(loaded.pipeline, property_from(loaded.checks[0]), Settings()).outcome == outcome


def test_a_parameter_of_a_processor_gets_the_constant_of_its_name():
    text = """
    pipeline p<pending = 3, start = 1>(x: bool, count: int) -> bool, int {
        return eventually(x, pending = pending), cumulate(filter(count, count = 2), +, start = start)
    }
    """
    pipeline = parse(text).get().pipeline
    assert pipeline.denote([[False, True], [2, 3, 2]]) == ([True, True], [3, 5])
