"""What `make test` runs of a test with many parameters."""

import itertools
from types import SimpleNamespace
from typing import cast

import pytest

from tests.sampled import choose, sample


def test_each_value_comes_before_any_comes_again() -> None:
    matrix = [frozenset({("backend", i), ("format", k)}) for i, k in itertools.product(range(5), range(4))]
    chosen = [matrix[place] for place in choose(matrix, 5, "seed")]
    assert len(set(chosen)) == 5
    assert set().union(*chosen) == set().union(*matrix)


@pytest.mark.parametrize("count", [0, 1, 3, 7, 8])
def test_it_has_that_many_or_all(count: int) -> None:
    cases = [frozenset({("n", i)}) for i in range(7)]
    assert len(choose(cases, count, "seed")) == min(count, 7)


def test_the_choice_is_always_the_same() -> None:
    cases = [frozenset({("n", i)}) for i in range(50)]
    assert choose(cases, 5, "one") == choose(cases, 5, "one") != choose(cases, 5, "other")


class Case:
    """What pytest collects of a test with a parameter."""

    def __init__(self, number: int, *marks: pytest.MarkDecorator) -> None:
        self.nodeid = f"tests/test_it.py::test_it[{number}]"
        self.callspec = SimpleNamespace(indices={"number": number})
        self.marks = {each.name: each.mark for each in marks}

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return self.marks.get(name)

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.marks[mark.name] = mark.mark


def test_what_is_left_out_is_slow() -> None:
    sampled = [Case(n, pytest.mark.sampled(2)) for n in range(1, 9)]
    one_is_slow = [Case(0, pytest.mark.sampled(2), pytest.mark.slow), *sampled]
    others = [Case(n) for n in range(5)]
    for items, left in ((one_is_slow, 2), (others, 5)):
        sample(cast(list[pytest.Item], items))
        assert sum("slow" not in each.marks for each in items) == left
