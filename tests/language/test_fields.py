"""Fields of records by their names, in functions as in pipelines."""

import pytest

from workbench import Reference, parse
from workbench.errors import LanguageError
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
