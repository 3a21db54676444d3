"""States of rules in a model: templates and the states that they stand for, lines of records without gaps."""

import itertools
from typing import Any

import pytest

from workbench.core.domain import Range
from workbench.core.term import Term
from workbench.tesla.check import parse_rules
from workbench.tesla.model.attribute_values import comparison_classes, value_tables
from workbench.tesla.model.build import RuleBounds, build_models
from workbench.tesla.model.sample_values import ComparedAttributes
from workbench.tesla.model.state import VariablePart, compact, fill_in, values_of, variables
from workbench.tesla.model.waiting_matches import WaitingMatch, append, remove, tick
from workbench.verify.rules.stream import find_modelled

YES: Any = True
NO: Any = False
DECLARED = "declare A(x: int, y: int)\ndeclare B(x: int)\ndeclare F(x: int)\ndeclare C(x: int)\n"


def waiting(*left):
    """A line of matches that wait so long, each with its number; 0: there is none."""
    return [WaitingMatch(each, True, 0, (number if each else 0,)) for number, each in enumerate(left, 1)]


def plain(part):
    """What a constant term is; others are that already."""
    return part.payload if isinstance(part, Term) else part


def there(line):
    """What is left of each match of a line, and its number."""
    found = [(plain(each.left), *map(plain, each.indices)) for each in line]
    return [each for each in found if each[0]]


def test_a_template_is_filled_in_order_and_read_back():
    """Nested tuples, named ones too; what is no variable stays as it is."""
    template = (WaitingMatch(VariablePart("left", Range(0, 3), 1), True, 0, (VariablePart("at", Range(0, 1), 0),)), ())
    assert [tuple(each) for each in variables(template)] == [("left", Range(0, 3), 1), ("at", Range(0, 1), 0)]
    found = fill_in(template, iter((2, 1)))
    assert found == (WaitingMatch(2, True, 0, (1,)), ())
    assert isinstance(found[0], WaitingMatch)
    assert values_of(template, found) == (2, 1)


@pytest.mark.parametrize(
    "text",
    [
        "from B and each A(x == B.x) within 3 from B emit C(x = A.y) consuming A",
        "from A[$x = x]() as S and absent B(x == $x) within 3 after S emit C(x = $x) at most once in 2 per $x",
        "from B and last A(x == 1) within 2 events from B emit C(x = 1)",
    ],
)
def test_every_variable_of_rules_has_a_value_of_its_own(text):
    """As many names as variables, and a state has their initial values where it is filled with these."""
    frame = find_modelled(*build_models([parse_rules(DECLARED + text, "found")], RuleBounds(capacity=2))).frame
    found = variables(frame.template)
    assert len({each.name for each in found}) == len(found) > 0
    assert all(each.initial in each.domain for each in found)
    initial = tuple(each.initial for each in found)
    assert values_of(frame.template, fill_in(frame.template, iter(initial))) == initial


@pytest.mark.parametrize("left", list(itertools.product(range(3), repeat=3)))
def test_a_line_has_no_empty_slot_before_a_full_one(left):
    """The same matches in the same order, in the first slots, and zeros behind them."""
    line = waiting(*left)
    found = compact(line)
    assert there(found) == there(line)
    assert [bool(plain(each.left)) for each in found] == sorted(map(bool, left), reverse=True)
    assert all(plain(each.indices[0]) == 0 for each in found if not plain(each.left))


def test_matches_wait_behind_the_others_until_they_are_due():
    """A third one finds no room; a tick makes the first due; one that is gone leaves no gap."""
    rule = parse_rules(DECLARED + "from A as S and absent B within 2 after S emit C(x = 1)").rules[0]
    line, full = append(waiting(2, 0), YES, WaitingMatch(3, True, 0, (7,)))
    assert there(line) == [(2, 1), (3, 7)]
    assert plain(full) is False
    again, full = append(line, YES, WaitingMatch(3, True, 0, (8,)))
    assert there(again) == there(line)
    assert plain(full) is True
    assert there(tick(line, YES, rule)) == [(1, 1), (2, 7)]
    assert there(remove(line, [YES, NO])) == [(3, 7)]


def test_attributes_are_alike_by_way_of_others():
    """a is compared with b, b with c and 5: all three are compared with 5, and d with none of them."""
    a, b, c, d = (("A", name) for name in "abcd")
    found = comparison_classes(
        [ComparedAttributes([a, b]), ComparedAttributes([c, b], [5], ordered=True), ComparedAttributes([d], [7])]
    )
    assert found[a] is found[b] is found[c]
    assert (set(found[a].attributes), list(found[a].constants), found[a].ordered) == ({a, b, c}, [5], True)
    assert (found[d].attributes, list(found[d].constants), found[d].ordered) == ((d,), [7], False)


def test_values_lie_around_what_attributes_are_compared_with():
    """x of B is compared with x of A, and that with 5: both have 5, and a value below and above; y has one value."""
    found = parse_rules(DECLARED + "from B and last A(x > 5, x == B.x) within 2 from B emit C(x = 1)")
    tables = value_tables([found], None, {})
    assert tables["A", "x"].values == tables["B", "x"].values == (4, 5, 6)
    assert len(tables["A", "y"]) == 1
