"""What is left open on a pipe, and how it is compared."""

import pytest

from workbench.builder import Builder, pipeline
from workbench.core import function as f
from workbench.core.determinism import Determinism, derive_determinism, same
from workbench.core.domain import FLOAT, INT
from workbench.core.fields import FrozenMap
from workbench.processors.cumulate import Cumulate
from workbench.processors.held.group import Group, flatten
from workbench.processors.held.window import Window
from workbench.processors.multiplex import Multiplex
from workbench.processors.trim import Trim

EXACT, TOLERANCE = Determinism.EXACT, Determinism.TOLERANCE


def test_sums_and_products_of_floats_are_left_open():
    @pipeline(x=FLOAT, n=INT)
    def many(x, n):
        total = Cumulate(f.ADD)(x).named("total")
        Trim(1)(total).named("later")
        (total > 1.5).named("large")
        Window(2, Cumulate(f.MUL))(x).named("window")
        Cumulate(f.MAX)(x).named("most")
        (x + x).named("twice")
        Cumulate(f.ADD)(n).named("count")
        return Multiplex()(total, x).named("merged")

    found = derive_determinism(many)
    open_ = {pipe for pipe, contract in found.items() if contract}
    assert open_ == {"total", "later", "large", "window", "merged"}
    assert {found[pipe] for pipe in open_} == {TOLERANCE}


def test_groups_say_what_their_parts_say():
    builder = Builder("inner")
    inner = builder.build(Cumulate(f.ADD)(builder.input("x", FLOAT)))
    outer = Builder("outer")
    window = Window(2, inner)(outer.input("x", FLOAT)).named("w")
    assert derive_determinism(flatten(outer.build(window)))["w"] is TOLERANCE
    assert Group(inner).determinism is TOLERANCE


@pytest.mark.parametrize(
    ("a", "b", "contract", "expected"),
    [
        (1, 1, EXACT, True),
        (1, True, EXACT, False),
        (1, 1.0, EXACT, False),
        (0.1 + 0.2, 0.3, EXACT, False),
        (0.1 + 0.2, 0.3, TOLERANCE, True),
        (0.3, 0.3001, TOLERANCE, False),
        (1e-12, 0.0, TOLERANCE, True),
        (1e20, 1e20 + 1e6, TOLERANCE, True),
        (10**20, 10**20 + 1, TOLERANCE, False),
        (float("inf"), float("inf"), EXACT, True),
        (float("inf"), 1e308, TOLERANCE, False),
        (float("nan"), float("nan"), EXACT, True),
        (float("nan"), 1.0, TOLERANCE, False),
        ((0.1 + 0.2, True), (0.3, True), TOLERANCE, True),
        ((0.1 + 0.2, True), (0.3, False), TOLERANCE, False),
        ([1, 2], [2, 1], EXACT, False),
        ([0.1 + 0.2, 1.0], [0.3, 1.0], TOLERANCE, True),
        (FrozenMap({1: 0.1 + 0.2}), FrozenMap({1: 0.3}), TOLERANCE, True),
        (FrozenMap({1: 2}), FrozenMap({1: 2}), EXACT, True),
        (FrozenMap({1: 2}), FrozenMap({1: 2, 3: 4}), EXACT, False),
        (FrozenMap({1: 2}), FrozenMap({True: 2}), EXACT, False),
        (None, 1, EXACT, False),
    ],
)  # fmt: skip
def test_comparisons(a, b, contract, expected):
    assert same(a, b, contract) is expected
    assert same(b, a, contract) is expected


def test_contracts_have_names():
    assert [str(each) for each in (EXACT, TOLERANCE)] == ["exact", "tolerance"]


def test_floats_stay_floats():
    """A literal beside floats, and a quotient by zero, are floats in every executor."""
    from workbench.executors.reference.executor import Reference
    from workbench.language import parse

    text = "pipeline p(x: float) -> float, float { return if x < 1 then 0 else x, x div 0.0 }"
    pipeline = parse(text).get().pipeline
    for value in Reference(pipeline).run([0.5])["out1"] + Reference(pipeline).run([0.5])["out2"]:
        assert type(value) is float


def test_what_is_no_number_is_still_a_prefix():
    from workbench.core.unfolding import Unfolding

    @pipeline(x=FLOAT)
    def product(x):
        return x * 0.0

    unfolding = Unfolding(product)
    assert [len(unfolding.step({"x": float("inf")})["mul"]) for _ in range(2)] == [1, 1]
