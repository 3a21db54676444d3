"""Pipelines written in Python."""

import pytest

from workbench.builder import Builder, pipeline
from workbench.core import function as f
from workbench.core.domain import BOOL, INT, Integer
from workbench.core.fields import Tuple
from workbench.errors import PipelineError
from workbench.processors.cumulate import Cumulate
from workbench.processors.filter import Filter
from workbench.processors.fork import Fork
from workbench.processors.passthrough import Passthrough
from workbench.processors.trim import Trim
from workbench.processors.turn_into import TurnInto


@pipeline(x=INT)
def sum_of_odds(x):
    """Figure 5a of TIME 2021: the squares."""
    count = Cumulate(f.ADD)(TurnInto(1)(x))
    odd = Filter()(count, f.EVEN(Trim(1)(count)))
    return Cumulate(f.ADD)(odd)


def test_the_squares():
    assert sum_of_odds.denote([[0] * 8]) == ([1, 4, 9, 16],)
    assert sum_of_odds.doc == "Figure 5a of TIME 2021: the squares."
    assert sum_of_odds.name == "sum_of_odds"
    assert sum_of_odds.queues == ("filter.data", "filter.condition")


def test_figure_2a():
    @pipeline(x=INT)
    def decimated(x):
        from workbench.processors.count_decimate import CountDecimate

        return CountDecimate(3)(x) + x

    assert decimated.denote([list(range(10))]) == ([0 + 0, 3 + 1, 6 + 2, 9 + 3],)


def test_operators_lift_and_literals_belong_to_the_function():
    @pipeline(x=INT, c=BOOL)
    def many(x, c):
        return {
            "a": (x * 2).named("doubled"), "b": 10 - x, "c": x // 2, "d": x % 3, "e": f.IF(c, x, 0),
            "f": f.NOT(c), "g": (x > 1), "h": f.EQ(x, x), "i": 1 + x, "j": x <= 2,
            "k": 7 // x, "l": 7 % x,
        }  # fmt: skip

    results = many.denote([[3, -4], [True, False]])
    assert results == ([6, -8], [7, 14], [1, -2], [0, 2], [3, 0], [False, True], [True, False], [True, True],
                       [4, -3], [False, True], [2, -2], [1, -1])  # fmt: skip
    assert many.node("doubled").processor.in_arity == 1
    assert many.queues == ("if.left", "if.right", "eq.left", "eq.right")


def test_outputs_are_named():
    @pipeline(x=INT)
    def two(x):
        return Fork(2)(x)

    @pipeline(x=INT)
    def one(x):
        return [x]

    assert [name for name, _ in two.outputs] == ["out1", "out2"]
    assert [name for name, _ in one.outputs] == ["out"]


def test_names_are_fresh():
    builder = Builder("p")
    x = builder.input("trim")
    a, b = Trim(1)(x), Trim(2)(x)
    assert (a.pipe, b.pipe) == ("trim2", "trim3")
    y = builder.input("fork1")
    pipeline_ = builder.build([*Fork(2)(y), a, b])
    assert len(pipeline_.nodes) == 3
    assert pipeline_.denote([[1, 2, 3], [5]]) == ([5], [5], [2, 3], [3])


def test_naming():
    builder = Builder("p")
    x = builder.input("x")
    y = Passthrough()(x).named("y")
    assert builder.build(Trim(1)(y)).nodes[0].name == "y"
    with pytest.raises(PipelineError, match="two pipes are called 'x'"):
        y.named("x")
    with pytest.raises(PipelineError, match="the input 'x' cannot be renamed"):
        x.named("z")


def test_streams_of_another_pipeline():
    a, b = Builder("a"), Builder("b")
    with pytest.raises(PipelineError, match="not a stream of pipeline a"):
        f.ADD(a.input("x"), b.input("x"))
    with pytest.raises(PipelineError, match="has no input 'y'"):
        pipeline(y=INT)(lambda x: x)


def test_functions_of_tuples():
    @pipeline(x=Integer(4))
    def paired(x):
        pair = f.Function("pair", 2, lambda a, b: (a, b))
        return pair(x, x + 1)

    assert paired.output_domains == (Tuple((Integer(4), Integer(4))),)
    assert paired.denote([[3]]) == ([(3, 0)],)
