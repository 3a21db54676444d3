"""What expressions and aggregates of rules are worth, in cases written by hand.

Each value follows from the definitions: an operator on null is null; whole numbers are exact; a float beside a whole
number makes it a float, and one beyond all floats infinite; `/` is of floats; `%` has the sign of its right operand;
both are null by zero; comparisons of whole numbers with floats are exact, and NaN is equal to nothing; texts stand in
the order of their code points; sums and averages of floats are the exact ones, rounded once.

The specification, the engines and models of rules have to agree with them.
"""

import math
from collections.abc import Sequence

import pytest

from tests.tesla.events import told
from workbench.core.domain import BOOL, FLOAT, INT, STR
from workbench.tesla import tree as t
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.expressions import PythonLines
from workbench.tesla.model.guarded_values import GuardedValue, evaluate
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.resolved import domain_of
from workbench.tesla.scope import RuleScope
from workbench.tesla.values import Selected, value

NAN, INF = math.nan, math.inf
ODD, EVEN = 2**53 + 1, 2.0**53
"""A whole number that is no float, and the float nearest to it."""
HUGE = 10**400
"""Beyond all floats."""
TINY = 5e-324
"""The least positive float."""
DOMAINS = {int: INT, float: FLOAT, str: STR, bool: BOOL}

ARITHMETIC = [
    # whole numbers are exact
    ("+", 2, 3, 5), ("+", ODD, 1, 2**53 + 2), ("+", 2**63 - 1, 1, 2**63), ("+", HUGE, 1, 10**400 + 1), ("+", -5, 5, 0),
    ("-", 2, 3, -1), ("-", ODD, 2**53, 1), ("-", -(2**63), 1, -(2**63) - 1), ("-", HUGE, HUGE, 0), ("-", 0, ODD, -ODD),
    ("*", 2, 3, 6), ("*", ODD, ODD, 2**106 + 2**54 + 1), ("*", -1, ODD, -ODD), ("*", HUGE, 0, 0),
    ("*", 2**62, 2, 2**63),
    # a float among the operands
    ("+", 0.1, 0.2, 0.30000000000000004), ("+", ODD, 0.0, EVEN), ("+", 0.0, ODD, EVEN), ("+", 2, 0.5, 2.5),
    ("+", HUGE, 1.0, INF), ("+", -HUGE, 1.0, -INF), ("+", 1e308, 1e308, INF), ("+", INF, -INF, NAN), ("+", NAN, 1, NAN),
    ("+", HUGE, -INF, NAN), ("+", -0.0, 0, 0.0), ("+", -0.0, -0.0, -0.0), ("+", 1, NAN, NAN), ("+", 1e16, 1.0, 1e16),
    ("-", 0.3, 0.1, 0.19999999999999998), ("-", ODD, 0.0, EVEN), ("-", -0.0, 0, -0.0), ("-", 0, 0.0, 0.0),
    ("-", -0.0, -0.0, 0.0), ("-", INF, INF, NAN), ("-", INF, -INF, INF), ("-", NAN, NAN, NAN), ("-", 1.0, HUGE, -INF),
    ("-", HUGE, INF, NAN), ("-", 1, 0.75, 0.25),
    ("*", 0.1, 3, 0.30000000000000004), ("*", ODD, 1.0, EVEN), ("*", 0, -1.0, -0.0), ("*", -0.0, 0, -0.0),
    ("*", -0.0, -1, 0.0), ("*", INF, 0, NAN), ("*", HUGE, 0.0, NAN), ("*", HUGE, -1.0, -INF), ("*", 1e308, 10, INF),
    ("*", TINY, 0.5, 0.0), ("*", NAN, 0, NAN), ("*", -INF, -INF, INF),
    # a quotient is a float, and null by zero
    ("/", 7, 2, 3.5), ("/", -7, 2, -3.5), ("/", 6, 3, 2.0), ("/", 1, 3, 0.3333333333333333), ("/", 0, 5, 0.0),
    ("/", 0, -5, -0.0), ("/", -0.0, 1, -0.0), ("/", ODD, 1, EVEN), ("/", ODD, ODD, 1.0), ("/", HUGE, 1, INF),
    ("/", HUGE, HUGE, NAN), ("/", 1, HUGE, 0.0), ("/", -1, INF, -0.0), ("/", INF, INF, NAN), ("/", INF, 2, INF),
    ("/", 1e308, 0.1, INF), ("/", TINY, 2, 0.0), ("/", NAN, 2, NAN), ("/", 2, NAN, NAN), ("/", 1.5, 0.5, 3.0),
    ("/", 1, 0, None), ("/", 0, 0, None), ("/", 1, 0.0, None), ("/", 1, -0.0, None), ("/", 0.0, 0.0, None),
    ("/", NAN, 0, None), ("/", INF, 0, None), ("/", HUGE, 0, None), ("/", -1.5, 0, None),
    # a remainder has the sign of the right operand, and is null by zero
    ("%", 7, 3, 1), ("%", -7, 3, 2), ("%", 7, -3, -2), ("%", -7, -3, -1), ("%", 6, 3, 0), ("%", 0, -3, 0),
    ("%", 2, 5, 2),
    ("%", -2, 5, 3), ("%", ODD, 2, 1), ("%", HUGE, 7, 4), ("%", 7, HUGE, 7), ("%", -1, 2**63, 2**63 - 1),
    ("%", 7.5, 2, 1.5), ("%", -7.5, 2, 0.5), ("%", 7.5, -2, -0.5), ("%", -7.5, -2, -1.5), ("%", 6.0, 3, 0.0),
    ("%", -6.0, 3, 0.0), ("%", 6.0, -3, -0.0), ("%", 7, 2.5, 2.0), ("%", ODD, 2.0, 0.0), ("%", INF, 2, NAN),
    ("%", 5, INF, 5.0), ("%", -5, INF, INF), ("%", 5, -INF, -INF), ("%", NAN, 2, NAN), ("%", 2, NAN, NAN),
    ("%", HUGE, 7.0, NAN), ("%", 0.0, 5, 0.0), ("%", -0.0, 5, 0.0), ("%", 7, 0, None), ("%", 0, 0, None),
    ("%", 7, 0.0, None), ("%", 7.5, 0, None), ("%", 7.5, -0.0, None), ("%", NAN, 0, None), ("%", INF, 0.0, None),
    # texts
    ("+", "", "", ""), ("+", "a", "", "a"), ("+", "a", "b", "ab"), ("+", "b", "a", "ba"), ("+", "a\0", "b", "a\0b"),
    ("+", "\u00e9", "e\u0301", "\u00e9e\u0301"), ("+", "1", "2", "12"), ("+", "null", "", "null"),
]  # fmt: skip

LESS, EQUAL, GREATER, APART = "<", "=", ">", "apart"
"""How two values compare; those that are apart are equal to nothing, and in no order."""
COMPARED = [
    (1, 2, LESS), (2, 1, GREATER), (1, 1, EQUAL), (-1, 0, LESS), (ODD, 2**53, GREATER), (2**63, 2**63 - 1, GREATER),
    (HUGE, HUGE, EQUAL), (-HUGE, HUGE, LESS), (2**70, 2**70 + 1, LESS),
    (1, 1.0, EQUAL), (1, 1.5, LESS), (2.5, 2, GREATER), (ODD, EVEN, GREATER), (EVEN, ODD, LESS), (2**53, EVEN, EQUAL),
    (2**53 + 2, EVEN, GREATER), (HUGE, 1e308, GREATER), (HUGE, INF, LESS), (-HUGE, -INF, GREATER), (INF, HUGE, GREATER),
    (0, -0.0, EQUAL), (0.0, -0.0, EQUAL), (-0.0, 0.0, EQUAL), (-TINY, 0, LESS), (TINY, -0.0, GREATER),
    (INF, INF, EQUAL),
    (-INF, INF, LESS), (0.1, 0.1, EQUAL), (0.1, 0.30000000000000004, LESS), (1e16, 10**16, EQUAL),
    (1e23, 10**23, LESS), (10**23, 1e23, GREATER),
    (NAN, NAN, APART), (NAN, 0, APART), (0, NAN, APART), (NAN, INF, APART), (-INF, NAN, APART), (HUGE, NAN, APART),
    ("a", "b", LESS), ("b", "a", GREATER), ("a", "a", EQUAL), ("", "", EQUAL), ("", "a", LESS), ("a", "ab", LESS),
    ("B", "a", LESS), ("10", "9", LESS), ("a", "a\0", LESS), ("a\0b", "a\0c", LESS), ("\u00e9", "z", GREATER),
    ("\u00e9", "e\u0301", GREATER), ("\U0001f600", "\uffff", GREATER), ("a" * 30, "a" * 30 + "b", LESS),
    ("a ", "a", GREATER),
]  # fmt: skip
"""10**23 lies above the float that 1e23 is: 99999999999999991611392."""
TRUE_OF = {
    "==": {EQUAL}, "!=": {LESS, GREATER, APART}, "<": {LESS}, "<=": {LESS, EQUAL}, ">": {GREATER},
    ">=": {GREATER, EQUAL},
}  # fmt: skip

TRUTH = [
    ("==", True, True, True), ("==", False, False, True), ("==", True, False, False), ("!=", True, False, True),
    ("!=", True, True, False), ("and", True, True, True), ("and", True, False, False), ("and", False, True, False),
    ("and", False, False, False), ("or", True, True, True), ("or", True, False, True), ("or", False, True, True),
    ("or", False, False, False),
]  # fmt: skip

ALONE = [
    ("neg", 5, -5), ("neg", 0, 0), ("neg", ODD, -ODD), ("neg", -(2**63), 2**63), ("neg", HUGE, -HUGE),
    ("neg", 1.5, -1.5),
    ("neg", 0.0, -0.0), ("neg", -0.0, 0.0), ("neg", INF, -INF), ("neg", NAN, NAN), ("not", True, False),
    ("not", False, True),
]  # fmt: skip

ON_NULL = [
    *((sign, 1, 1) for sign in ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=")),
    *((sign, 0.0, NAN) for sign in ("+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=")),
    *((sign, "", "a") for sign in ("+", "==", "!=", "<", "<=", ">", ">=")),
    *((sign, False, True) for sign in ("==", "!=", "and", "or")),
    *((sign, True, False) for sign in ("and", "or")),
]
"""An operator, and two values: it is null where either of them, or both, are."""

CASES = [
    *ARITHMETIC,
    *TRUTH,
    *((sign, a, b, how in TRUE_OF[sign]) for a, b, how in COMPARED for sign in TRUE_OF),
]


def shown(case):
    return " ".join(repr(each) if len(repr(each)) < 30 else f"{str(each)[:9]}..." for each in case)


def exact(found):
    """A text that tells types, zeros and NaN."""
    return f"{type(found).__name__} {found!r}"


def all_ways(expression: t.Expression, own: dict) -> dict[str, str]:
    """What each of those that compute expressions makes of one, over an event's values and their types."""
    declared = t.Declaration("A", tuple(t.Attribute(name, domain) for name, (_, domain) in own.items()))
    values = {name: each for name, (each, _) in own.items()}
    lines, resolved = PythonLines({}, "e"), RuleScope(declared).resolve(expression)
    ((found, _),) = evaluate(resolved, lambda slot: GuardedValue.constant(values[slot.name])).cases.values()
    return {
        "specification": exact(value(expression, Selected(), values)),
        "engines": exact(lines.function(lines.value(resolved))(Occurrence("A", 0, tuple(values.values())))),
        "models": exact(found),
    }


def agree(expression: t.Expression, own: dict, expected: object) -> None:
    assert all_ways(expression, own) == dict.fromkeys(("specification", "engines", "models"), exact(expected))
    declared = t.Declaration("A", tuple(t.Attribute(name, domain) for name, (_, domain) in own.items()))
    if expected is not None:
        assert RuleScope(declared).domain(expression) == DOMAINS[type(expected)]
        assert domain_of(RuleScope(declared).resolve(expression)) == DOMAINS[type(expected)]


A, B = t.OwnAttribute("a"), t.OwnAttribute("b")


@pytest.mark.sampled(80)
@pytest.mark.parametrize("case", CASES, ids=shown)
def test_an_operator_on_two_values(case):
    sign, a, b, expected = case
    agree(t.Operation(sign, (A, B)), {"a": (a, DOMAINS[type(a)]), "b": (b, DOMAINS[type(b)])}, expected)


@pytest.mark.parametrize("case", ALONE, ids=shown)
def test_an_operator_on_one_value(case):
    sign, a, expected = case
    agree(t.Operation(sign, (A,)), {"a": (a, DOMAINS[type(a)])}, expected)


@pytest.mark.parametrize("case", ON_NULL, ids=shown)
def test_an_operator_on_null(case):
    sign, a, b = case
    kinds = DOMAINS[type(a)], DOMAINS[type(b)]
    for one, other in ((None, b), (a, None), (None, None)):
        agree(t.Operation(sign, (A, B)), {"a": (one, kinds[0]), "b": (other, kinds[1])}, None)


@pytest.mark.parametrize(("sign", "domain"), [("neg", INT), ("neg", FLOAT), ("not", BOOL)])
def test_an_operator_on_null_alone(sign, domain):
    agree(t.Operation(sign, (A,)), {"a": (None, domain)}, None)


NESTED = [  # n is null, z is zero, x is 1, h is 0.5, o is 2**53 + 1
    ("x == 1 or n == 1", None), ("n == 1 or x == 1", None), ("x == 2 and n == 1", None), ("not (n == 1)", None),
    ("x / z == 1.0 or true", None), ("not (x % z == 0)", None), ("x / z == x / z", None), ("x / (x / z) == 0.0", None),
    ("z / x == 0.0", True), ("x / z - x / z", None), ("-(x / z)", None), ("(n + x) * z", None), ("z * n", None),
    ("x + h * 2", 2.0), ("(x + x) * h", 1.0), ("o + x - o", 1), ("o + h - o", 0.0), ("o - o + h", 0.5),
    ("x - h - h", 0.0), ("x / 4 * 4 == x", True), ("7 % (x + x) == x", True), ("-7 % 3 == 2", True),
    ("o * x == o", True),
    ("o * 1.0 == o", False), ("o * 1.0 < o", True), ("h + h == x", True), ("not (o == o + h)", True), ("-z == z", True),
    ("1 / -(z * 1.0)", None), ("(x < 2) == (h < 1)", True),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), NESTED)
def test_operators_in_operators(text, expected):
    read = parse_rules(f"declare A(n: int, z: int, x: int, h: float, o: int) declare R() from A[$v = {text}] emit R()")
    (assigned,) = read.rules[0].trigger.assignments
    own = {"n": (None, INT), "z": (0, INT), "x": (1, INT), "h": (0.5, FLOAT), "o": (ODD, INT)}
    agree(assigned.value, own, expected)


# --- aggregates: COUNT, SUM, AVG, MIN and MAX of these ---------------------------------------------------

WHOLE: list[tuple[list[int | None], int, int, float | None, int | None, int | None]] = [
    ([], 0, 0, None, None, None), ([None], 0, 0, None, None, None), ([None, None, 3], 1, 3, 3.0, 3, 3),
    ([1, 2], 2, 3, 1.5, 1, 2), ([2, 1, None], 2, 3, 1.5, 1, 2), ([0], 1, 0, 0.0, 0, 0), ([-5, 5], 2, 0, 0.0, -5, 5),
    ([ODD], 1, ODD, EVEN, ODD, ODD), ([ODD, 1], 2, 2**53 + 2, 2.0**52 + 1, 1, ODD),
    ([ODD, ODD], 2, 2**54 + 2, EVEN, ODD, ODD), ([ODD, -ODD, 1], 3, 1, 0.3333333333333333, -ODD, ODD),
    ([2**63 - 1, 1], 2, 2**63, 2.0**62, 1, 2**63 - 1), ([HUGE, 1], 2, 10**400 + 1, INF, 1, HUGE),
    ([-HUGE], 1, -HUGE, -INF, -HUGE, -HUGE), ([HUGE, -HUGE], 2, 0, 0.0, -HUGE, HUGE),
    ([7, 7, 7], 3, 21, 7.0, 7, 7), ([1, 1, 0], 3, 2, 0.6666666666666666, 0, 1),
]  # fmt: skip
REAL: list[tuple[list[float | None], int, float, float | None, float | None, float | None]] = [
    ([], 0, 0.0, None, None, None), ([None], 0, 0.0, None, None, None), ([1.5, None], 1, 1.5, 1.5, 1.5, 1.5),
    ([0.1] * 10, 10, 1.0, 0.1, 0.1, 0.1), ([0.1, 0.2], 2, 0.30000000000000004, 0.15000000000000002, 0.1, 0.2),
    ([1e16, 1.0, -1e16], 3, 1.0, 0.3333333333333333, -1e16, 1e16), ([EVEN, 1.0], 2, EVEN, 2.0**52, 1.0, EVEN),
    ([EVEN, 1.0, 1.0], 3, EVEN + 2, 3002399751580331.5, 1.0, EVEN), ([-0.0], 1, 0.0, 0.0, -0.0, -0.0),
    ([1e308, 1e308], 2, INF, 1e308, 1e308, 1e308), ([1e308, 1e308, -1e308], 3, 1e308, 1e308 / 3, -1e308, 1e308),
    ([TINY, TINY], 2, 1e-323, TINY, TINY, TINY), ([TINY, 0.0], 2, TINY, 0.0, 0.0, TINY),
    ([NAN], 1, NAN, NAN, NAN, NAN), ([1.0, NAN], 2, NAN, NAN, NAN, NAN), ([NAN, 1.0, None], 2, NAN, NAN, NAN, NAN),
    ([INF], 1, INF, INF, INF, INF), ([INF, 1.0], 2, INF, INF, 1.0, INF), ([INF, -INF], 2, NAN, NAN, -INF, INF),
    ([-INF, 1e308], 2, -INF, -INF, -INF, 1e308), ([INF, NAN], 2, NAN, NAN, NAN, NAN),
    ([INF, INF], 2, INF, INF, INF, INF),
]  # fmt: skip
TEXT: list[tuple[list[str | None], int, str | None, str | None]] = [
    ([], 0, None, None), ([None], 0, None, None), (["a"], 1, "a", "a"), (["b", "a", None], 2, "a", "b"),
    (["", "a"], 2, "", "a"), (["a", "ab"], 2, "a", "ab"), (["B", "a"], 2, "B", "a"), (["10", "9"], 2, "10", "9"),
    (["a", "a\0"], 2, "a", "a\0"), (["z", "\u00e9"], 2, "z", "\u00e9"),
    (["\U0001f600", "\uffff"], 2, "\uffff", "\U0001f600"),
    (["a" * 30 + "b", "a" * 30], 2, "a" * 30, "a" * 30 + "b"),
]  # fmt: skip
"""COUNT, MIN and MAX."""
MIDDLE: list[tuple[str, Sequence[float | None], float | None]] = [
    ("int", [], None), ("int", [None], None), ("int", [3], 3.0), ("int", [None, 3, None], 3.0), ("int", [2, 1], 1.5),
    ("int", [9, 1, 2], 2.0), ("int", [4, 1, 3, 2], 2.5), ("int", [1, 1, 1, 5], 1.0), ("int", [-5, 0, 5], 0.0),
    ("int", [-2, -1], -1.5), ("int", [ODD], EVEN), ("int", [ODD, ODD], EVEN), ("int", [ODD, ODD + 2], EVEN + 2),
    ("int", [HUGE, -HUGE], 0.0), ("int", [HUGE, 0], INF), ("int", [HUGE, 7, -HUGE], 7.0), ("int", [-HUGE], -INF),
    ("int", [2**63 - 1, 2**63 - 1], 2.0**63), ("float", [], None), ("float", [None], None), ("float", [0.1], 0.1),
    ("float", [0.1, 0.2], 0.15000000000000002), ("float", [0.3, None, 0.1, 0.2], 0.2), ("float", [-0.0], 0.0),
    ("float", [1e308, 1e308], 1e308), ("float", [TINY, 0.0], 0.0), ("float", [TINY, TINY], TINY),
    ("float", [NAN], NAN), ("float", [1.0, NAN, 2.0], NAN), ("float", [INF, 1.0, -INF], 1.0),
    ("float", [INF, -INF], NAN), ("float", [INF, 1.0], INF), ("float", [-INF, -INF, 0.0, 1.0], -INF),
    ("float", [INF, INF], INF), ("float", [NAN, INF], NAN), ("float", [EVEN, EVEN + 2], EVEN + 0.0),
]  # fmt: skip
"""MEDIAN: of an even number the exact mean of the two in the middle, rounded once; NaN where a value is."""
AGGREGATES = [
    *(("int", "COUNT SUM AVG MIN MAX", "int int float int int", given, expected) for given, *expected in WHOLE),
    *(("float", "COUNT SUM AVG MIN MAX", "int float float float float", given, expected) for given, *expected in REAL),
    *(("string", "COUNT MIN MAX", "int string string", given, expected) for given, *expected in TEXT),
    *((kind, "MEDIAN", "float", given, [expected]) for kind, given, expected in MIDDLE),
]
"""Aggregates over values of a type: which, their types, the values, and what comes of them."""


@pytest.mark.sampled(20)
@pytest.mark.parametrize(("kind", "functions", "results", "given", "expected"), AGGREGATES)
def test_aggregates(kind, functions, results, given: Sequence, expected):
    """Over events in a window, and over facts."""
    functions = functions.split()
    declared = ", ".join(f"v{i}: {each}" for i, each in enumerate(results.split()))
    text = f"declare A() declare B(x: {kind}) declare fact G(x: {kind}) declare R({declared}) from A "
    emits = " emit R(" + ", ".join(f"v{i} = $v{i}" for i in range(len(functions))) + ")"
    for over, window in (("B", " within 9 from A"), ("G", "")):
        calls = "".join(f"and $v{i} = {name}({over}().x{window}) " for i, name in enumerate(functions))
        events = [Occurrence("B", 0, (each,)) for each in given if over == "B"]
        facts = {"G": [(each,) for each in given]}
        ((_, _, *found),) = told(text + calls + emits, *events, Occurrence("A", 1, ()), facts=facts)
        assert list(map(exact, found)) == list(map(exact, expected)), over
