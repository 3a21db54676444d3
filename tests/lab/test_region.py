"""Regions are sets of points, in order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import SuiteError
from workbench.lab import Region

axes = st.dictionaries(
    st.sampled_from("abc"), st.lists(st.integers(0, 4), min_size=1, max_size=4, unique=True), min_size=1
)


def test_a_region_is_a_product_in_order():
    assert list(Region(q=[2, 1], n="x")) == [{"q": 2, "n": "x"}, {"q": 1, "n": "x"}]


def test_excluded_points_and_sub_regions():
    region = Region(q=range(1, 4), n=range(1, 4)).excluding(lambda q, n: q > n)
    assert [(p["q"], p["n"]) for p in region] == [(1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)]
    assert [(p["q"], p["n"]) for p in region.where(n=[2, 3], q=2)] == [(2, 2), (2, 3)]


def test_regions_are_put_together_without_repeating_points():
    both = Region(q=[1, 2], n=5) + Region(n=[5, 6], q=2)
    assert list(both) == [{"q": 1, "n": 5}, {"q": 2, "n": 5}, {"q": 2, "n": 6}]
    assert both.axes == {"q": (1, 2), "n": (5, 6)}


def test_true_is_not_one():
    assert len(Region(x=[True, 1, 1.5, "1"])) == 4
    assert len(Region(x=[True]) + Region(x=[1])) == 2


@given(axes, axes)
def test_a_sub_region_is_what_a_filter_leaves(ranges, wanted):
    region = Region(**ranges)
    wanted = {name: values for name, values in wanted.items() if name in ranges}
    assert list(region.where(**wanted)) == [p for p in region if all(p[n] in v for n, v in wanted.items())]


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: Region(q=[]), "'q' is empty"),
        # of the wrong type on purpose: people's suites need not be type-checked
        (lambda: Region(q=[None]), "cannot be None"),  # type: ignore[list-item]
        (lambda: Region(q=[float("nan")]), "cannot be nan"),
        (lambda: Region(q=[2**63]), "more than 64 bits"),
        (lambda: list(Region(q=[1, 0]).excluding(lambda q: 1 / q > 3)), "at {'q': 0}: ZeroDivisionError"),
        (lambda: Region(q=3.5j), "not a list"),  # type: ignore[arg-type]
        (lambda: Region(q=1).where(k=2), "no axis 'k'"),
        (lambda: Region(q=1).excluding(lambda k: True), "reads 'k'"),
        (lambda: Region(q=1) + Region(n=1), "cannot be combined"),
    ],
)
def test_mistakes_are_named(make, word):
    with pytest.raises(SuiteError, match=word):
        make()
