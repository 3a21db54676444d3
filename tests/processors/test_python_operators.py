"""Python's operators on streams and terms: each builds what it says, and what cannot build anything is refused."""

import itertools
import operator
import re

import numpy as np
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
    **COMPARISONS, "+": operator.add, "-": operator.sub, "*": operator.mul,
    "MAX": wb.functions.MAX, "MIN": wb.functions.MIN, "ite": wb.functions.ite,
    "&": operator.and_, "|": operator.or_, "~": operator.invert, "neg": operator.neg, "abs": abs,
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
    "range": lambda x, y: range(x), "round": lambda x, y: round(x),
    "two streams and": lambda x, y: wb.processors.Fork(2)(x) and y,
    "in a set": lambda x, y: x in {1, 3}, "in a dictionary": lambda x, y: x in {1: 2}, "set": lambda x, y: {x, y},
    "get": lambda x, y: {5: 1}.get(x, 0), "hash": lambda x, y: hash(x), "power": lambda x, y: x**2,
    "power of two": lambda x, y: 2**x, "xor of numbers": lambda x, y: x ^ y,
}  # fmt: skip
SEVERAL = {
    "not": lambda f, x: not f, "*": lambda f, x: f * 2, "= =": lambda f, x: f == f, "!=": lambda f, x: f != 3,
    "+": lambda f, x: f + f, "radd": lambda f, x: 1 + f, "tuple": lambda f, x: (x,) + f,  # noqa: RUF005
    "-": lambda f, x: f - 1, "rsub": lambda f, x: 1 - f, "&": lambda f, x: f & x, "neg": lambda f, x: -f,
    "pos": lambda f, x: +f, "~": lambda f, x: ~f, "abs": lambda f, x: abs(f), "int": lambda f, x: int(f),
    "numpy": lambda f, x: np.int64(1) + f, "array": lambda f, x: np.arange(2) == f,
    "ADD": lambda f, x: wb.functions.ADD(f),
    "Trim": lambda f, x: wb.processors.Trim(1)(f), "in": lambda f, x: x in f, "hash": lambda f, x: hash(f),
    "slice": lambda f, x: f[:1] + f[1:], "slice is 3": lambda f, x: f[:1] == 3, "<": lambda f, x: f < f,
}  # fmt: skip


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_what_needs_events_while_a_pipeline_is_built_is_refused(use):
    with pytest.raises(TypingError, match="hint: "):
        wb.pipeline(x=INT, y=INT)(lambda x, y: use(x, y))


@pytest.mark.parametrize("use", SEVERAL.values(), ids=SEVERAL)
def test_several_streams_are_no_operand(use):
    with pytest.raises(TypingError, match=r"are several streams\n *hint: unpack them first: `left, right = "):
        wb.pipeline(x=INT)(lambda x: (use(wb.processors.Fork(2)(x), x), x))


def test_several_streams_can_be_taken_apart():
    @wb.pipeline(x=INT)
    def taken(x):
        left, right = wb.processors.Fork(2)(x)
        several = [x + 1]
        several += wb.processors.Fork(2)(x)
        return left, right + 2, *several, wb.processors.Fork(2)(x)[1:][0], *wb.processors.Fork(2)(x)[:1]

    assert [*wb.run(taken, {"x": [5]}).values()] == [[5], [7], [6], [5], [5], [5], [5]]


def test_refusals_name_the_stream_and_what_to_write():
    with pytest.raises(
        TypingError, match=r"<stream x of .*> is neither true nor false(.|\n)*wb\.functions\.ite.*wb\.functions\.MAX"
    ):
        wb.pipeline(x=INT)(lambda x: not x)


RESULTS = [lambda x: None, lambda x: True, lambda x: 3, lambda x: (), lambda x: (x, 3), lambda x: wb.processors.Trim(1)]


@pytest.mark.parametrize("define", RESULTS, ids="none truth number empty mixed processor".split())
def test_what_returns_no_stream_is_refused(define):
    with pytest.raises(PipelineError, match="not a stream"):
        wb.pipeline(x=INT)(define)


def test_what_is_no_argument_of_an_operator_is_refused():
    uses = [lambda x: x == None, lambda x: x != (x, x), lambda x: x == wb.processors.Fork(2)(x)]  # noqa: E711
    uses += [lambda x: x == [1], lambda x: x == np.arange(3), lambda x: np.arange(3) == x, lambda x: x == {1: 2}]
    for use in [*uses, lambda x: x == (1, [2]), lambda x: wb.functions.ADD(x, wb.processors.Fork(2)(x))]:
        with pytest.raises((PipelineError, TypingError)):
            wb.pipeline(x=INT)(use)


def test_streams_are_one_or_another_by_is():
    @wb.pipeline(x=INT, y=INT)
    def both(x, y):
        assert x is not y
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


WIDE = 2**62
LITERALS = {
    "+": (lambda x, b: x + np.int64(WIDE) + np.int64(WIDE), lambda x, b: x + 2**63),
    "radd": (lambda x, b: np.int64(WIDE) + x, lambda x, b: x + WIDE),
    "unsigned": (lambda x, b: x - np.uint8(5), lambda x, b: x - 5),
    "rsub": (lambda x, b: np.uint8(5) - x, lambda x, b: 5 - x),
    "==": (lambda x, b: x == np.int64(3), lambda x, b: x == 3),
    "<": (lambda x, b: np.int8(0) < x, lambda x, b: x > 0), "bool": (lambda x, b: b & np.bool_(True), lambda x, b: b),
    "ite": (lambda x, b: wb.functions.ite(b, x, np.int64(2)), lambda x, b: x if b else 2),
    "turn": (lambda x, b: wb.processors.TurnInto(np.int64(WIDE))(x) * np.int64(4), lambda x, b: WIDE * 4),
    "div of divmod": (lambda x, b: divmod(x, 2)[0], lambda x, b: x // 2),
    "mod of divmod": (lambda x, b: divmod(7, x)[1], lambda x, b: 7 % x),
    "^": (lambda x, b: b ^ (x > 0), lambda x, b: b != (x > 0)),
    "rxor": (lambda x, b: True ^ b, lambda x, b: not b), "pos": (lambda x, b: +x, lambda x, b: x),
}  # fmt: skip
"""What is built of numpy's scalars, and by operators beside the usual ones, and what it computes."""


@pytest.mark.parametrize(("built", "meant"), LITERALS.values(), ids=LITERALS)
def test_literals_are_python_values(built, meant):
    rows = [(3, True), (-2, False), (WIDE, False)]
    program = wb.pipeline(x=INT, b=wb.BOOL)(lambda x, b: (built(x, b), x, b))
    for found in (
        wb.run(program, {"x": [x for x, _ in rows], "b": [b for _, b in rows]}, backend="reference")["out1"],
        program.denote([[x for x, _ in rows], [b for _, b in rows]])[0],
    ):
        assert found == [meant(*row) for row in rows]
        assert {type(value) for value in found} == {type(meant(*row)) for row in rows}


FUNCTIONS = {
    "&": lambda a, p: (a > 0) & (a < 3), "|": lambda a, p: (a > 0) | p,
    "^": lambda a, p: (a > 0) ^ p, "neg": lambda a, p: -a,
    "abs": lambda a, p: abs(a), "pos": lambda a, p: +a, "divmod": lambda a, p: divmod(a, 2),
    "plus": lambda a, p: a + np.int8(5), "constant": lambda a, p: (np.int64(4), a),
}  # fmt: skip


@pytest.mark.parametrize("define", FUNCTIONS.values(), ids=FUNCTIONS)
def test_operators_in_functions_compute_what_python_does(define):
    typed = wb.functions.Function("f", 2, define).specialise([INT, wb.BOOL])
    for a, p in itertools.product(range(-4, 5), [False, True]):
        assert typed(a, p) == define(a, p)


def test_not_in_a_function():
    typed = wb.functions.Function("f", 1, lambda a: ~(a > 1)).specialise([INT])
    assert [typed(a) for a in range(4)] == [True, True, False, False]


PAIR, RECORD = wb.Tuple((wb.Range(0, 3), wb.BOOL)), wb.Record((wb.Range(0, 3), wb.BOOL), ("n", "b"))
OF_TERMS = {
    "if": lambda a: 1 if a else 0, "not": lambda a: not a, "int": int, "float": float, "len": len, "list": list,
    "item": lambda a: a[0], "round": round, "power": lambda a: a**2, "list literal": lambda a: a == [1],
    "array": lambda a: a == np.arange(2), "array first": lambda a: np.arange(2) == a,
    "range": range, "in": lambda a: 1 in a, "xor": lambda a: a ^ 1,
}  # fmt: skip
OF_PARTS = {
    "if": lambda a: 1 if a else 0, "not": lambda a: not a, "== 3": lambda a: a == 3, "!= 3": lambda a: a != 3,
    "+": lambda a: a + a, "tuple +": lambda a: (1,) + a, "*": lambda a: a * 2, "<": lambda a: a < a,  # noqa: RUF005
    "other length": lambda a: a == (1,),
}  # fmt: skip


OF_DOMAINS: list[tuple[wb.Domain, dict]] = [
    (INT, OF_TERMS),
    *((domain, OF_PARTS) for domain in (PAIR, RECORD, wb.Map(wb.BOOL, wb.BOOL))),
]


@pytest.mark.parametrize(("domain", "use"), [(domain, use) for domain, uses in OF_DOMAINS for use in uses.values()])
def test_what_needs_values_in_a_function_is_refused(domain, use):
    with pytest.raises((Refused, TypingError)):
        wb.functions.Function("f", 1, lambda a: (use(a), a)).specialise([domain])


@pytest.mark.parametrize("domain", [PAIR, RECORD], ids=["tuple", "record"])
def test_equality_of_records_is_that_of_their_fields(domain):
    for define in (lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a == (1, True), lambda a, b: a == a):
        typed = wb.functions.Function("f", 2, define).specialise([domain, domain])
        for a, b in itertools.product(domain.values(), repeat=2):
            assert typed(a, b) is define(a, b)


def test_a_refusal_in_a_function_names_what_there_is():
    with pytest.raises(Refused, match="hint: ") as raised:
        wb.functions.Function("f", 1, lambda a: 1 if a else 0).specialise([wb.BOOL])
    named = re.findall(r"wb\.functions\.(\w+)", raised.value.hint)
    assert {"ite", "NOT", "MAX", "MIN"} <= set(named) <= set(dir(wb.functions))
