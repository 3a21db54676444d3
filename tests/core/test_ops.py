"""The pinned meaning of every operator: tables worked out by hand, then term against value, exhaustively."""

import itertools
import operator

import pytest

from workbench.core import ops
from workbench.core.domain import ANY, BOOL, FLOAT, INT, STR, Enum, Integer, Overflowing, Range
from workbench.core.evaluate import compile_terms
from workbench.core.fields import Tuple
from workbench.core.function import SHIFT_LEFT, SHIFT_RIGHT
from workbench.core.ops import OPERATORS, escapes
from workbench.core.range_escape import escape_condition
from workbench.core.term import FALSE, TRUE, Term, const, domain_of, same, var
from workbench.core.typing_rules import has_bits
from workbench.errors import DomainError, Refused, TypingError

M, S, C = (lambda n, kind=kind: Integer(n, kind) for kind in Overflowing)

EXACT = [
    # floor division and the remainder that goes with it, total
    ("div", (7, 2), 3), ("div", (-7, 2), -4), ("div", (7, -2), -4), ("div", (-7, -2), 3),
    ("div", (5, 0), 0), ("div", (-5, 0), 0), ("div", (0, 0), 0),
    ("mod", (7, 2), 1), ("mod", (-7, 2), 1), ("mod", (7, -2), -1), ("mod", (-7, -2), -1),
    ("mod", (5, 0), 5), ("mod", (-5, 0), -5), ("mod", (0, 3), 0),
    ("min", (-1, 2), -1), ("max", (-1, 2), 2), ("min", (2, 2), 2),
    ("add", (2, -3), -1), ("sub", (2, 3), -1), ("mul", (-2, 3), -6),
    ("xor", (12, 10), 6), ("xor", (-1, 5), -6),
    ("bit_and", (12, 10), 8), ("bit_and", (-4, 7), 4), ("bit_and", (6, 7), 6),
    ("bit_or", (12, 10), 14), ("bit_or", (-4, 1), -3),
    ("even", (0,), True), ("even", (-3,), False), ("odd", (-3,), True), ("odd", (4,), False),
    ("eq", (1, 1), True), ("ne", (1, 1), False), ("lt", (1, 1), False), ("le", (1, 1), True),
    ("gt", (2, 1), True), ("ge", (0, 1), False),
    ("not", (True,), False), ("and", (True, False), False), ("or", (False, True), True),
    ("implies", (False, False), True), ("implies", (True, False), False),
    ("ite", (True, 1, 2), 1), ("ite", (False, 1, 2), 2),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "result"), EXACT)
def test_exact_meaning(name, args, result):
    found = OPERATORS[name](*args)
    assert found == result
    assert type(found) is type(result)


def test_the_table_is_complete():
    assert {name for name, _, _ in EXACT} == set(OPERATORS)


MODULAR = [
    # domain, operator, operands, result
    (M(5), "add", (3, 4), 2), (M(5), "sub", (1, 3), 3), (M(5), "mul", (3, 4), 2),
    (M(5), "div", (3, 2), 1), (M(5), "div", (3, 0), 0), (M(5), "mod", (3, 0), 3), (M(5), "mod", (4, 3), 1),
    (M(2), "sub", (0, 1), 1), (M(1), "add", (0, 0), 0),
    (S(5), "add", (3, 4), 4), (S(5), "sub", (1, 3), 0), (S(5), "mul", (3, 4), 4), (S(5), "div", (4, 0), 0),
    (C(5), "add", (1, 3), 4), (C(5), "sub", (3, 1), 2), (C(5), "mod", (3, 0), 3),
    (M(5), "lt", (1, 4), True), (M(5), "max", (1, 4), 4), (M(5), "even", (3,), False),
]  # fmt: skip


@pytest.mark.parametrize(("domain", "name", "args", "result"), MODULAR)
def test_arithmetic_stays_in_its_domain(domain, name, args, result):
    symbols = [var(f"x{i}", domain) for i in range(len(args))]
    term = OPERATORS[name](*symbols)
    assert compile_terms([term], symbols)(*args) == (result,)
    assert result in term.domain


DOMAINS = [M(1), M(4), M(5), S(4), C(4), Range(-3, 2), Range(0, 3), Range(2, 4), Range(-4, -2), Range(0, 0)]
NUMERIC = [op for op in OPERATORS.values() if op.name not in ("not", "and", "or", "implies", "ite")]


BITWISE = (ops.XOR, ops.BIT_AND, ops.BIT_OR)
COMPUTED = [(op, domain) for op in NUMERIC for domain in DOMAINS if op not in BITWISE or has_bits(domain)]


@pytest.mark.sampled(60)
@pytest.mark.parametrize(("op", "domain"), COMPUTED, ids=str)
def test_terms_compute_what_the_exact_meaning_says(op, domain):
    symbols = [var(f"x{i}", domain) for i in range(op.arity)]
    term = op(*symbols)
    run = compile_terms([term], symbols)
    for args in itertools.product(domain.values(), repeat=op.arity):
        expected = term.domain.fit(op(*args))
        assert run(*args) == (expected,)
        assert expected in term.domain
        constants = op(*(const(a, domain) for a in args))
        assert compile_terms([constants], [])() == (expected,)


@pytest.mark.parametrize("name", ["div", "mod", "min", "max", "add", "sub", "mul"])
def test_ranges_of_different_bounds_are_exact(name):
    op = OPERATORS[name]
    for a, b in itertools.product([Range(-3, 2), Range(0, 3), Range(2, 4), Range(-4, -2)], repeat=2):
        domain = op(var("a", a), var("b", b)).domain
        assert all(op(x, y) in domain for x in a.values() for y in b.values())


@pytest.mark.parametrize(
    ("domain", "advice"),
    [
        (Range(-4, 3), "NAME mod 8 is the number with the same 3 bits, in 0..7"),
        (Range(-5, 0), "NAME mod 16 .* in 0..15"),
        (M(5), "declare int mod 8 or 0..7 .* -N 8"),
        (FLOAT, r"cast\(NAME, 0..255\)"),
        (BOOL, "needs numbers"),
    ],
)
@pytest.mark.parametrize("op", BITWISE, ids=str)
def test_what_has_no_bits_is_refused_with_the_remedy(op, domain, advice):
    with pytest.raises(TypingError, match=advice):
        op(var("x", domain), var("y", domain))


def test_a_remainder_has_the_bits_of_a_negative_number():
    """The remedy for -4..3: three bits in two's complement, which Python's integers have, too."""
    for a, b in itertools.product(range(-4, 4), repeat=2):
        assert ops.XOR(ops.MOD(a, 8), ops.MOD(b, 8)) == ops.MOD(ops.XOR(a, b), 8)


@pytest.mark.parametrize("domain", [M(1), M(2), M(5), M(8), S(5), C(5), Range(-3, 2), Range(0, 9), INT], ids=str)
def test_shifts_multiply_and_divide_by_powers_of_two(domain):
    """Also by places that are more than a domain has: all bits have gone then."""
    x, n = var("x", domain), var("n", Range(0, 6))
    for function, exact in ((SHIFT_LEFT, lambda v, k: v * 2**k), (SHIFT_RIGHT, lambda v, k: v // 2**k)):
        term = function(x, n)
        run = compile_terms([term], [x, n])
        constant = [compile_terms([function(x, k)], [x]) for k in range(7)]
        for value, k in itertools.product(domain.values() if domain.finite else range(-9, 9), range(7)):
            wanted = domain.fit(exact(value, k))
            assert run(value, k) == constant[k](value) == (wanted,)
            assert wanted in term.domain


@pytest.mark.parametrize(
    ("places", "shown"), [(-1, "by -1"), (64, "by 64"), (var("n", INT), "by int"), (var("n", Range(-1, 3)), "by -1..3")]
)
def test_places_of_a_shift_are_few_and_known(places, shown):
    with pytest.raises(
        TypingError, match=rf"shifts by 0 to 63 places, not {shown}\s+hint: write a constant, or declare"
    ):
        SHIFT_LEFT(var("x", INT), places)


@pytest.mark.parametrize("name", ["and", "or", "implies", "eq", "ne"])
def test_bool_operators(name):
    a, b = var("a", BOOL), var("b", BOOL)
    run = compile_terms([OPERATORS[name](a, b)], [a, b])
    for args in itertools.product((False, True), repeat=2):
        (found,) = run(*args)
        assert found is OPERATORS[name](*args)


@pytest.mark.parametrize(
    ("left", "op", "right", "hint"),
    [
        (var("a", M(4)), operator.add, var("b", M(5)), "cast"),
        (var("a", M(4)), operator.add, var("b", Range(0, 3)), "cast"),
        (var("a", M(4)), operator.add, var("b", C(4)), "cast"),
        (var("a", BOOL), operator.add, var("b", BOOL), "needs numbers"),
        (var("a", Enum(("r",))), operator.lt, var("b", Enum(("r",))), "needs numbers"),
        (var("a", STR), operator.mul, 2, "needs numbers"),
        (var("a", Enum(("r",))), ops.EQ, var("b", Enum(("s",))), "same domain"),
        (var("a", M(4)), ops.EQ, var("b", BOOL), "compare the number first"),
        (var("a", M(4)), ops.AND, var("b", BOOL), "needs bool"),
        (var("a", Tuple((BOOL,))), ops.EQ, var("b", BOOL), "not defined on tuples"),
        (var("a", Tuple((BOOL,))), ops.equal, var("b", Tuple((BOOL, BOOL))), "1 fields and one of 2"),
    ],
)
def test_operands_that_do_not_go_together(left, op, right, hint):
    with pytest.raises(TypingError, match=hint):
        op(left, right)


def test_ranges_widen_and_integers_do_not():
    x = var("x", Range(0, 7))
    assert (x + x).domain == Range(0, 14)
    assert (x - x).domain == Range(-7, 7)
    assert (x + 1).domain == Range(1, 8)
    assert (x % 4).domain == Range(0, 3)
    assert ops.ite(var("c", BOOL), x, 9).domain == Range(0, 9)
    y = var("y", M(8))
    assert (y + y).domain == (y + 1).domain == M(8)


@pytest.mark.parametrize("constant", [4, -1, 100, 1.5])
def test_a_constant_outside_the_domain_is_refused(constant):
    with pytest.raises(DomainError, match="is not in the domain int mod 4"):
        var("x", M(4)) + constant


def test_the_hint_names_a_domain_that_is_large_enough():
    """0..7 for a sum; 0..8 for a comparison, which can then be true and false."""
    with pytest.raises(DomainError, match="-N 8"):
        var("x", M(4)) + 7
    with pytest.raises(DomainError, match="-N 9"):
        _ = var("x", M(4)) > 7


def test_true_is_not_one():
    """`True == 1` in Python: constants of different types must not be merged."""
    assert const(1, ANY) is not const(True, ANY)
    assert const(0, Range(0, 1)) is not FALSE
    assert const(True, BOOL) is TRUE
    c, x = var("c", BOOL), var("x", M(2))
    for term, value in [(ops.ite(c, 1, 0), 1), (ops.either(c, ops.EQ(x, 1)), True), (ops.EQ(x, 1), True)]:
        (found,) = compile_terms([term], [c, x])(True, 1)
        assert found == value
        assert type(found) is type(value)


def test_equal_terms_are_one_object():
    x = var("x", M(4))
    assert x + 1 is var("x", M(4)) + 1
    assert x + 1 is not var("x", M(5)) + 1


def test_a_symbol_has_no_truth_value():
    with pytest.raises(Refused, match=r"wb\.functions\.ite"):
        bool(var("c", BOOL))


def test_text_constants_are_no_variables():
    assert const("x", STR).is_const
    assert const("x", STR) is not var("x", STR)


@pytest.mark.parametrize(
    ("left", "right"),
    [(var("f", FLOAT), 2), (var("i", INT), 1.5), (var("i", INT), var("f", FLOAT)), (var("a", ANY), "text")],
)
def test_unbounded_numbers_take_any_constant(left, right):
    assert not (left + right).domain.finite


SIMPLER = [
    (lambda c, d, x, y: ops.both(c, TRUE), lambda c, d, x, y: c),
    (lambda c, d, x, y: ops.both(c, ops.negate(c)), lambda c, d, x, y: FALSE),
    (lambda c, d, x, y: ops.either(c, ops.negate(c)), lambda c, d, x, y: TRUE),
    (lambda c, d, x, y: ops.negate(ops.negate(c)), lambda c, d, x, y: c),
    (lambda c, d, x, y: ops.ite(c, x, x), lambda c, d, x, y: x),
    (lambda c, d, x, y: ops.ite(c, d, False), lambda c, d, x, y: ops.both(c, d)),
    (lambda c, d, x, y: ops.ite(ops.negate(c), x, y), lambda c, d, x, y: ops.ite(c, y, x)),
    (lambda c, d, x, y: ops.ite(c, x, ops.ite(c, y, x)), lambda c, d, x, y: x),
    (lambda c, d, x, y: x + 0, lambda c, d, x, y: x),
    (lambda c, d, x, y: 1 * x, lambda c, d, x, y: x),
    (lambda c, d, x, y: ops.EQ(x, x), lambda c, d, x, y: TRUE),
]


@pytest.mark.parametrize(("built", "simple"), SIMPLER)
def test_simplifications(built, simple):
    symbols = var("c", BOOL), var("d", BOOL), var("x", M(3)), var("y", M(3))
    assert built(*symbols) is simple(*symbols)


def test_conditionals_on_tuples_go_by_field():
    c, x = var("c", BOOL), var("x", M(3))
    chosen = ops.ite(c, (x, True), (0, False))
    assert domain_of(chosen) == Tuple((M(3), BOOL))
    assert compile_terms([chosen], [c, x])(False, 2) == (0, False)
    with pytest.raises(TypingError, match="2 fields and one of 1"):
        ops.ite(c, (x, x), (x,))


def test_escapes_holds_exactly_when_the_exact_result_leaves():
    for op, domain in itertools.product([ops.ADD, ops.SUB, ops.MUL], [C(4), C(3), M(4)]):
        a, b = var("a", domain), var("b", domain)
        run = compile_terms([escapes(op(a, b))], [a, b])
        for args in itertools.product(domain.values(), repeat=2):
            assert run(*args) == (op(*args) not in domain,)


@pytest.mark.parametrize("source", [Range(-2, 6), Range(0, 2), C(7), M(3)])
def test_a_cast_escapes_when_the_value_does_not_fit(source):
    x = var("x", source)
    term = ops.Conversion.to(x, C(4))
    if isinstance(term, Term) and term.op is not None:
        run = compile_terms([escapes(term)], [x])
        assert [run(v)[0] for v in source.values()] == [v not in C(4) for v in source.values()]


def test_only_used_results_escape():
    x = var("x", C(4))
    lazy = ops.ite(ops.LT(x, 3), x + 1, 0)
    run = compile_terms([escape_condition([lazy], Overflowing.CHECKED)], [x])
    assert [run(v) for v in range(4)] == [(False,)] * 4
    eager = compile_terms([escape_condition([x + 1], Overflowing.CHECKED)], [x])
    assert [eager(v)[0] for v in range(4)] == [False, False, False, True]


@pytest.mark.parametrize(
    "condition",
    [
        lambda x: ops.ite(ops.LT(x, 3), ops.EQ(x + 1, 2), False),
        lambda x: ops.ite(ops.LT(x, 3), ops.EQ(x + 1, 2), True),
        lambda x: ops.ite(ops.EQ(x, 3), False, ops.EQ(x + 1, 2)),
        lambda x: ops.ite(ops.EQ(x, 3), True, ops.EQ(x + 1, 2)),
        lambda x: ops.IMPLIES(ops.LT(x, 3), ops.EQ(x + 1, 2)),
    ],
)
def test_conditionals_that_were_simplified_stay_lazy(condition):
    x = var("x", C(4))
    run = compile_terms([escape_condition([condition(x)], Overflowing.CHECKED)], [x])
    assert [run(v) for v in range(4)] == [(False,)] * 4


def test_casts():
    x = var("x", Range(0, 9))
    assert compile_terms([ops.Conversion.to(x, M(4))], [x])(7) == (3,)
    assert compile_terms([ops.Conversion.to(x, S(4))], [x])(7) == (3,)
    assert compile_terms([ops.Conversion.to(var("y", M(4)), Range(0, 9))], [var("y", M(4))])(3) == (3,)
    assert ops.Conversion.to(7, M(4)) == 3
    with pytest.raises(TypingError, match="do not all fit"):
        ops.Conversion.to(x, Range(0, 5))
    with pytest.raises(TypingError, match="cannot convert"):
        ops.Conversion.to(var("c", BOOL), M(4))


def test_wrong_number_of_arguments():
    with pytest.raises(TypingError, match="takes 2 arguments"):
        ops.ADD(var("x", M(4)))


def test_a_value_and_one_of_several_parts_are_not_the_same() -> None:
    """`==` would build a term of them, or refuse to."""
    pair = var("p", Tuple((BOOL, BOOL)))
    assert same(pair, pair)
    assert same((1, pair), (1, pair))
    assert not any(same(*each) for each in ((True, pair), (pair, True), ((1, pair), (1, True)), (pair, pair[0])))
