"""Contracts in the text: what they read, and what can be wrong with them."""

import pytest

import workbench as wb
from workbench.core.contract import ContractKind
from workbench.errors import LanguageError, PipelineError
from workbench.language import parse
from workbench.processors.held.contracts import watch
from workbench.processors.held.group import flatten


def stated(body: str) -> list[str]:
    pipeline = (
        parse(f"pipeline p<k = 3>(x: int, c: {{red, green}}) -> int {{ h = x + 1  {body}  return h }}").get().pipeline
    )
    return [f"{each.name}({', '.join(each.reads)}): {each}" for each in pipeline.contracts]


def test_they_read_inputs_and_a_guarantee_reads_outputs() -> None:
    assert stated("assume x <= k  assume(c = red)  guarantee out > x guarantee out > 0") == [
        "assume1(x): assume x <= k",
        "assume2(c): assume (c = red)",
        "guarantee1(x, out): guarantee out > x",
        "guarantee2(out): guarantee out > 0",
    ]
    assert stated("assume x > 0  assume x > 0") == ["assume1(x): assume x > 0", "assume2(x): assume x > 0"]
    assert stated("assume1 = x + 1  assume x > 0") == ["assume1_(x): assume x > 0"]


def test_the_words_stay_names() -> None:
    assert stated("assume = x + 1  guarantee = assume - 1") == []
    machine = parse("""
    machine m<k = 2>(x: int) -> bool {
        state assume: true  state guarantee: false
        assume -> guarantee when x > k
        assume x > -k guarantee out or x > k
        guarantee -> assume
    }""").get()
    assert [str(each) for each in machine.pipeline.contracts] == ["assume x > -k", "guarantee out or x > k"]


@pytest.mark.parametrize(
    ("body", "what", "hint"),
    [
        ("assume out > 3", "an assumption reads only inputs, and 'out' is not an input of p", "write guarantee"),
        ("assume h > 3", "an assumption reads only inputs, and 'h' is not an input of p", "its inputs are: x, c"),
        ("guarantee h > 3", "a guarantee reads only inputs and outputs, and 'h' is neither in p", "are: x, c, out"),
        ("assume z > 3", "there is no stream or parameter 'z'", "the names here are: k, x, c"),
        ("assume x", "'x' is not a condition: it carries int", "compare it"),
        ("assume k > 2", "'k > 2' is a constant where a stream is needed", "turn(x, k > 2)"),
    ],
)
def test_mistakes(body: str, what: str, hint: str) -> None:
    with pytest.raises(LanguageError) as caught:
        stated(body)
    assert what in str(caught.value)
    assert hint in caught.value.hint


def test_a_group_brings_its_contracts_with_it() -> None:
    source = parse("""
    pipeline inner(x: int) -> int { assume x > 0  guarantee out > 1  return x + 1 }
    pipeline middle(x: int) -> int { a = inner(x * 2)  assume x > 1  return a }
    pipeline outer(y: int) -> int { m = middle(y) return m }""")
    flat = flatten(source.get("outer").pipeline)
    assert [(each.name, each.reads, each.of, each.call) for each in flat.contracts] == [
        ("m.assume1", ("y",), "middle", "m"),
        ("m.a.assume1", ("m.mul",), "inner", "m.a"),
        ("m.a.guarantee1", ("m",), "inner", "m.a"),
    ]
    assert flatten(flat) == flat
    watched = watch(flat, lambda each: each.kind is ContractKind.ASSUME)
    assert watched.domains.keys() >= {"m.assume1", "m.a.assume1"}
    assert "m.a.guarantee1" not in watched.domains
    assert watch(watched, lambda each: each.kind is ContractKind.ASSUME) == watched


def test_no_copies_of_what_has_assumptions() -> None:
    text = """
    pipeline inner(x: int) -> int {{ {} x > 0  return cumulate(x, +) }}
    pipeline outer(x: int) -> int {{ return window(x, 3, inner) }}"""
    with pytest.raises(PipelineError, match="pipeline inner has assumptions, and is used in a window"):
        parse(text.format("assume")).get()
    assert wb.run(parse(text.format("guarantee")).get(), {"x": [1, 2, 3]}) == {"out": [6]}
