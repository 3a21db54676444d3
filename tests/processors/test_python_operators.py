"""Python's operators on streams and terms: each builds what it says, and what cannot build anything is refused."""

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.core import ops
from workbench.core.domain import INT, Integer
from workbench.core.term import FALSE, const, same, var
from workbench.errors import PipelineError, Refused, TypingError

NUMBERS = st.sampled_from("xy") | st.integers(-3, 3)
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "MAX": max, "MIN": min}
COMPARISONS = {name: getattr(operator, name) for name in "eq ne lt le gt ge".split()}
CONNECTIVES = {"&": lambda a, b: a and b, "|": lambda a, b: a or b}
"""What the operators of Python mean on the values of events, in Python's own words."""

numbers: st.SearchStrategy = st.deferred(
    lambda: (
        NUMBERS
        | st.tuples(st.sampled_from(sorted(ARITHMETIC)), numbers, numbers)
        | st.tuples(st.sampled_from(["neg", "abs"]), numbers)
        | st.tuples(st.just("ite"), truths, numbers, numbers)
    )
)
truths: st.SearchStrategy = st.deferred(
    lambda: (
        st.tuples(st.sampled_from(sorted(COMPARISONS)), numbers, numbers)
        | st.tuples(st.sampled_from("&|"), truths, truths)
        | st.tuples(st.just("~"), truths)
    )
)

BUILT = {
    **COMPARISONS, "+": operator.add, "-": operator.sub, "*": operator.mul, "MAX": wb.MAX, "MIN": wb.MIN,
    "&": operator.and_, "|": operator.or_, "~": operator.invert, "neg": operator.neg, "abs": abs, "ite": wb.ite,
}  # fmt: skip
MEANT = {
    **ARITHMETIC, **COMPARISONS, **CONNECTIVES, "~": operator.not_, "neg": operator.neg, "abs": abs,
    "ite": lambda c, a, b: a if c else b,
}  # fmt: skip


def evaluate(expression, table, names):
    if not isinstance(expression, tuple):
        return names.get(expression, expression)
    name, *arguments = expression
    return table[name](*(evaluate(each, table, names) for each in arguments))


def mentions(expression):
    return isinstance(expression, str) or (isinstance(expression, tuple) and any(map(mentions, expression[1:])))


@given(numbers | truths, st.lists(st.tuples(st.integers(-4, 4), st.integers(-4, 4)), max_size=4))
def test_a_stream_of_operators_computes_what_python_does(expression, rows):
    def literal(part):  # what has no stream in it is computed by Python itself, `~True` too
        if not mentions(part):
            return evaluate(part, MEANT, {})
        return (part[0], *map(literal, part[1:])) if isinstance(part, tuple) else part

    if not mentions(expression):
        return

    @wb.pipeline(x=INT, y=INT)
    def built(x, y):
        return evaluate(literal(expression), BUILT, {"x": x, "y": y}), x, y

    expected = [evaluate(expression, MEANT, {"x": x, "y": y}) for x, y in rows]
    out, *_ = built.denote([[x for x, _ in rows], [y for _, y in rows]])
    assert out == expected
    assert wb.run(built, {"x": [x for x, _ in rows], "y": [y for _, y in rows]})["out1"] == expected


USES = {
    "and": lambda x, y: x > 1 and x < y, "or": lambda x, y: x > 1 or y, "not": lambda x, y: not x,
    "chain": lambda x, y: 1 < x < y, "if": lambda x, y: x if x == y else y, "max": lambda x, y: max(x, y),
    "min of literals": lambda x, y: min(x, 3), "sorted": lambda x, y: sorted([x, y])[0],
    "in": lambda x, y: x in [y], "contains": lambda x, y: 3 in x, "any": lambda x, y: any([x, y]),
    "list": lambda x, y: list(x), "index": lambda x, y: x[0], "len": lambda x, y: len(x),
    "unpack": lambda x, y: [*x], "int": lambda x, y: int(x), "float": lambda x, y: float(x),
    "range": lambda x, y: range(x), "round": lambda x, y: round(x), "divide": lambda x, y: x / y,
    "divide a literal": lambda x, y: 1 / y, "two streams and": lambda x, y: wb.Fork(2)(x) and y,
    "two streams not": lambda x, y: not wb.Fork(2)(x), "two streams times": lambda x, y: wb.Fork(2)(x) * 2,
}  # fmt: skip


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_needs_events_while_a_pipeline_is_built_is_refused(use):
    with pytest.raises(TypingError, match="hint: "):
        wb.pipeline(x=INT, y=INT)(lambda x, y: use(x, y))


def test_refusals_name_the_stream_and_what_to_write():
    with pytest.raises(TypingError, match=r"<stream x of .*> is neither true nor false(.|\n)*wb\.ite.*wb\.MAX"):
        wb.pipeline(x=INT)(lambda x: not x)


RESULTS = [lambda x: None, lambda x: True, lambda x: 3, lambda x: (), lambda x: (x, 3), lambda x: wb.Trim(1)]


@pytest.mark.parametrize("define", RESULTS, ids="none truth number empty mixed processor".split())
def test_what_returns_no_stream_is_refused(define):
    with pytest.raises(PipelineError, match="not a stream"):
        wb.pipeline(x=INT)(define)


def test_what_is_no_argument_of_an_operator_is_refused():
    for use in (lambda x: x == None, lambda x: x != (x, x), lambda x: wb.Fork(2)(x) == x):  # noqa: E711
        with pytest.raises((PipelineError, TypingError)):
            wb.pipeline(x=INT)(use)


def test_streams_are_one_or_another_by_is_and_in_sets():
    @wb.pipeline(x=INT, y=INT)
    def both(x, y):
        assert x is not y
        assert len({x, y, x}) == 2
        assert [x, y].index(x) == 0
        return x, y


def test_equality_of_terms_is_an_operator():
    x, y = var("x", Integer(4)), var("y", Integer(4))
    assert (x == y) is ops.EQ(x, y)
    assert (x != 3) is ops.NE(x, 3)
    assert (x == x) is ops.EQ(x, x)
    with pytest.raises(Refused, match="whose truth is not known"):
        _ = x == y or x
    assert same((x, (1, y)), (x, (1, y)))
    assert not same((x, 1), (y, 1))
    assert not same((x,), (x, x))
    assert not same(FALSE, const(0, Integer(4)))
