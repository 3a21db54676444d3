"""Matches as columns of numbers."""

from workbench.tesla.match_columns import joined_matches, listed_matches


def test_columns_say_what_the_matches_say():
    names, roles = ("pair", "alone"), (("C", "A", "rule"), ("A",))
    found = listed_matches(names, roles, [(0, (3, 1, -2)), (1, (4,)), (0, (5, 1, 2))])
    both = joined_matches([found.part(0, 1), found.part(1, 3)])
    assert list(both) == list(found) == [("pair", (3, 1, -2)), ("alone", (4,)), ("pair", (5, 1, 2))]
    assert both.counts() == {"pair": 2, "alone": 1}
    assert both.to_arrow().to_pylist() == [
        {"rule": "pair", "trigger": 3, "A": 1, "rule_": -2},
        {"rule": "alone", "trigger": 4, "A": None, "rule_": None},
        {"rule": "pair", "trigger": 5, "A": 1, "rule_": 2},
    ]
