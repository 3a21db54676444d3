"""Fields of records by their names, in functions as in pipelines."""

import pytest

from workbench import parse
from workbench.core.fields import FrozenMap
from workbench.errors import LanguageError, WorkbenchError
from workbench.executors import Reference
from workbench.executors.compiled.execute.executor import Compiled
from workbench.ir.compose import compose

SALES = """
function item(e) = e.item
function is_end(e) = day_ends(e)
function day_ends(e) = e.what.kind = day
function dearer(a, e) = if a.price > e.price then a else e

pipeline count(e: {what: {kind: {bid, day}}, item: 0..2, price: 0..9}) -> int sat 4 {
    return cumulate(cast(turn(e, 1), int sat 4), +)
}
pipeline counts(e: {what: {kind: {bid, day}}, item: 0..2, price: 0..9}) -> map(0..2, int sat 4) {
    return slice(e, item, count, to_all = is_end)
}
pipeline dearest(e: {what: {kind: {bid, day}}, item: 0..2, price: 0..9}) -> 0..9 {
    return price_of(e, trim(e, 1))
}
function price_of(a, b) = best(a, b).price
function best(a, b) = dearer(a, b)
"""
EVENTS = [(("bid",), 1, 3), (("bid",), 2, 7), (("day",), 0, 5)]


def test_functions_name_the_fields_of_records():
    source = parse(SALES)
    counts = source.get("counts").pipeline
    for executor in (Reference(counts), Compiled(counts)):
        assert [dict(m) for m in executor.run(EVENTS)["out"]] == [{1: 1}, {1: 1, 2: 1}, {1: 2, 2: 2}]
    compose(counts)


def test_names_outlive_a_choice():
    pipeline = parse(SALES).get("dearest").pipeline
    assert Reference(pipeline).run(EVENTS) == {"out": [7, 7]}


@pytest.mark.parametrize(
    ("body", "says", "hint"),
    [
        ("e.prise", "'e' has no field 'prise'", "did you mean 'price'?"),
        ("e.zzz", "'e' has no field 'zzz'", "its fields are: what, item, price"),
        ("e.what.zzz", "'e.what' has no field 'zzz'", "its fields are: kind"),
        ("e.7", "'e' has no field '7' here", "inside a function the fields of a tuple are numbered: v.0, v.1, ..."),
    ],
)
def test_a_field_that_is_not_there(body, says, hint):
    with pytest.raises(LanguageError) as caught:
        parse(SALES.replace("= e.item", f"= {body}")).get("counts")
    assert says in caught.value.what
    assert caught.value.hint == hint


MADE = """
function extremes(v, w) = {low: min(v, w), high: max(v, w)}
pipeline spread(x: 0..9, y: 0..9) -> {low: 0..9, width: 0..9} {
    r = extremes(x, y)
    return {low: r.low, width: r.high}
}
machine last(x: 0..9) -> {value: 0..9, odd: bool} {
    state a: {value: x, odd: odd(x)}
}
pipeline nested(x: 0..9) -> {inner: {a: 0..9}, b: 3..3} {
    return {inner: {a: x}, b: 1 + 2}
}
pipeline fields(x: 0..9) -> 0..9 {
    k = {a: 3, b: 4}
    r = {x: x, k: trim(x, k.a)}
    return r.k
}
"""


@pytest.mark.parametrize(
    ("name", "streams", "out"),
    [
        ("last", [[4, 5]], [(4, False), (5, True)]),
        ("nested", [[7]], [((7,), 3)]),
        ("fields", [[1, 2, 3, 4, 5]], [4, 5]),
    ],
)
def test_records_are_made_of_their_fields(name, streams, out):
    made = parse(MADE).get(name).pipeline
    assert made.denote(streams) == (out,)
    for executor in (Reference(made), Compiled(made)):
        assert executor.run(*streams)["out"] == out
    compose(made)


def test_a_record_that_a_function_makes_has_its_names():
    made = (
        parse(MADE.replace("r.low, width: max(x, y) - min(x, y) mod 10", "r.low, width: r.high")).get("spread").pipeline
    )
    assert str(made.domains["r"]) == "{low: 0..9, high: 0..9}"
    assert made.denote([[1, 8], [4, 2]]) == ([(1, 4), (2, 8)],)


def test_a_record_has_each_field_once():
    with pytest.raises(LanguageError, match="two fields of this record are called 'a'"):
        parse("pipeline p(x: int) -> any { return {a: x, a: x} }")


SEVERAL = """
pipeline both(x: 0..9) -> sum: int mod 20, large: 0..9 {
    s = cumulate(cast(x, int mod 20), +)
    capacity queue(large.data) = 4
    large = filter(x, x > 4)
    return s, large
}
function parity(v) = v mod 2
pipeline windows(x: 0..9) -> int mod 20, 0..9 {
    return window(x, 2, both)
}
pipeline batches(x: 0..9, over: bool) -> int mod 20, 0..9 {
    a, b = reset_last(x, over, both)
    return a, b
}
pipeline slices(x: 0..9) -> map(0..1, int mod 20), map(0..1, 0..9) {
    a, b = slice(x, parity, both)
    return a, b
}
pipeline filters(x: 0..9, y: bool, keep: bool) -> 0..9, bool {
    return filter(x, y, keep)
}
"""


@pytest.mark.parametrize(
    ("name", "streams", "outs"),
    [
        ("windows", [[1, 5, 2, 1]], ([6, 7, 3], [5, 5])),
        ("batches", [[1, 5, 2, 3], [False, True, False, True]], ([6, 5], [5])),
        ("slices", [[1, 5]], ([FrozenMap({1: 1}), FrozenMap({1: 6})], [FrozenMap(), FrozenMap({1: 5})])),
        ("filters", [[1, 2, 3], [True, False, False], [True, False, True]], ([1, 3], [True, False])),
    ],
)
def test_a_processor_with_several_outputs(name, streams, outs):
    made = parse(SEVERAL).get(name).pipeline
    assert made.denote(streams) == outs
    for executor in (Reference(made), Compiled(made)):
        found = executor.run(dict(zip(dict(made.inputs), streams, strict=True)))
        assert (found["out1"], found["out2"]) == outs
    compose(made)


def test_a_slice_with_several_outputs_does_not_end():
    text = SEVERAL.replace("slice(x, parity, both)", "slice(x, parity, both, until = parity)")
    with pytest.raises(WorkbenchError, match="return one record of them"):
        parse(text).get("slices")
