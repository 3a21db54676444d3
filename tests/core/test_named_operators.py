"""The functions of floats and texts: IEEE 754 as numpy computes it, texts by hand, tables in models, the same bits."""

from __future__ import annotations

import itertools
import math
import random
import struct
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.core.domain import BOOL, FLOAT, INT, STR, Domain, Integer, Overflowing, Range, SomeFloats, SomeTexts
from workbench.core.evaluate import compile_terms
from workbench.core.fields import Nullable
from workbench.core.fold import postorder
from workbench.core.function import LIBRARY, Function
from workbench.core.tabulation import needs_table
from workbench.core.term import Term, const, leaves, var
from workbench.errors import Refused, TypingError, WorkbenchError

INF, NAN = math.inf, math.nan
NUMBERS = (
    0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 3.0, -3.0, 1e16, -1e16, 2.0**52 - 0.5, 2.0**52 + 1, 5e-324,
    -5e-324, 1.7976931348623157e308, INF, -INF, NAN, 709.9, -746.0,
)  # fmt: skip

NUMPY: dict[str, Any] = {
    "/": np.divide, "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "pow": lambda a, b: np.power([a, a], [b, b])[0],
    "round": np.rint, "floor": np.floor, "ceil": np.ceil,
}  # fmt: skip
"""Another implementation of each; its last bits may differ for `exp`, `log` and `pow`.

With a scalar 0.5 numpy's power is a square root, which differs at -0.0: so it is given arrays."""


@pytest.mark.parametrize("name", NUMPY)
def test_functions_of_floats_are_those_of_numpy_also_where_they_have_no_value(name: str) -> None:
    function = LIBRARY[name]
    symbols = [var(f"x{i}", FLOAT) for i in range(function.arity)]
    run = compile_terms([function(*symbols)], symbols)
    for args in itertools.product(NUMBERS, repeat=function.arity):
        with np.errstate(all="ignore"):
            wanted = float(NUMPY[name](*args))
        for found in (function(*args), run(*args)[0], function(*(const(a, FLOAT) for a in args)).payload):
            assert type(found) is float
            assert found == pytest.approx(wanted, rel=1e-15, abs=0, nan_ok=True), args
            assert math.isnan(wanted) or math.copysign(1, found) == math.copysign(1, wanted), args


WHOLE = [
    ("/", (1, 2), 0.5), ("/", (-7, 2), -3.5), ("/", (1, 0), INF), ("/", (-1, 0), -INF), ("/", (10**400, 1), INF),
    ("/", (2**53 + 1, 1), 2.0**53), ("sqrt", (9,), 3.0), ("pow", (2, 10), 1024.0),
    ("exp", (0,), 1.0), ("log", (1,), 0.0),
    ("round", (3,), 3), ("floor", (-3,), -3), ("ceil", (10**30,), 10**30), ("to_int", (-3,), -3),
    ("to_float", (3,), 3.0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "wanted"), WHOLE)
def test_whole_numbers_become_floats_but_for_those_that_are_rounded(name: str, args: Any, wanted: float) -> None:
    found = LIBRARY[name](*args)
    assert (found, type(found)) == (wanted, type(wanted))


TEXTS = [
    ("+", ("ab", "c"), "abc"), ("length", ("",), 0), ("length", ("größe",), 5), ("lower", ("ÄbC",), "äbc"),
    ("upper", ("äbc",), "ÄBC"), ("contains", ("error 5", "or 5"), True), ("contains", ("a", "b"), False),
    ("contains", ("a", ""), True), ("starts_with", ("error", "err"), True), ("starts_with", ("error", "rr"), False),
    ("ends_with", ("error", "or"), True), ("ends_with", ("error", "ro"), False),
    ("matches", ("id=42;", "[0-9]+"), True),
    ("matches", ("id=42;", "^[0-9]+$"), False), ("matches", ("42", "^[0-9]+$"), True),
    ("replace", ("a-b-c", "-", "+"), "a+b+c"),
    ("replace", ("abc", "", "x"), "abc"), ("substring", ("abcdef", 1, 2), "bc"), ("substring", ("abc", 1, 9), "bc"),
    ("substring", ("abc", 7, 1), ""), ("substring", ("abc", -2, 1), "b"), ("substring", ("abc", 0, -1), ""),
    ("to_int", ("42",), 42), ("to_int", (" -7 ",), -7), ("to_int", ("abc",), None), ("to_int", ("",), None),
    ("to_int", ("4.0",), None), ("to_int", ("1_000",), None), ("to_int", ("٣",), None),
    ("to_int", ("9" * 5000,), None),
    ("to_int", (2.7,), 2), ("to_int", (-2.5,), -3), ("to_int", (NAN,), None), ("to_int", (-INF,), None),
    ("to_float", ("2.5",), 2.5), ("to_float", ("-1e3",), -1000.0), ("to_float", (".5",), 0.5),
    ("to_float", ("-inf",), -INF),
    ("to_float", ("1e999",), INF), ("to_float", ("1,5",), None), ("to_float", ("1_0",), None),
    ("to_float", ("",), None),
    ("to_text", (5,), "5"), ("to_text", (-0.0,), "-0.0"), ("to_text", (2.0,), "2.0"), ("to_text", (True,), "true"),
    ("to_text", ("a",), "a"),
]  # fmt: skip


def domain_of(value: Any) -> Domain:
    return {bool: BOOL, int: INT, float: FLOAT, str: STR}[type(value)]


@pytest.mark.parametrize(("name", "args", "wanted"), TEXTS)
def test_functions_of_texts(name: str, args: tuple[Any, ...], wanted: Any) -> None:
    symbols = [var(f"x{i}", domain_of(arg)) for i, arg in enumerate(args)]
    given: list[Any] = [args[i] if (name, i) == ("matches", 1) else each for i, each in enumerate(symbols)]
    term = LIBRARY[name](*given)
    for found in (LIBRARY[name](*args), compile_terms([term], symbols)(*args)[0]):
        assert (found, type(found)) == (wanted, type(wanted))
        assert found in term.domain


def test_a_number_of_any_size_is_a_text() -> None:
    text = LIBRARY["to_text"](10**5000)
    assert (len(text), text.strip("0")) == (5001, "1")


RESULTS = [
    ("/", (INT, INT), FLOAT), ("/", (INT, FLOAT), FLOAT), ("sqrt", (INT,), FLOAT), ("round", (FLOAT,), FLOAT),
    ("floor", (Integer(5),), Integer(5)), ("+", (STR, STR), STR), ("length", (STR,), INT),
    ("to_int", (STR,), Nullable(INT)),
    ("to_int", (FLOAT,), Nullable(INT)), ("to_int", (INT,), INT), ("to_float", (STR,), Nullable(FLOAT)),
    ("to_float", (INT,), FLOAT), ("to_text", (FLOAT,), STR),
]  # fmt: skip


@pytest.mark.parametrize(("name", "domains", "result"), RESULTS)
def test_the_types_of_results(name: str, domains: tuple[Domain, ...], result: Domain) -> None:
    assert LIBRARY[name].specialise(domains).result == result


WRONG = [
    ("sqrt", (STR,), "'sqrt' needs numbers", "to_float(NAME)"), ("+", (STR, INT), "'+' needs texts", "to_text(NAME)"),
    ("length", (INT,), "'length' needs texts", "to_text(NAME)"), ("lower", (Nullable(STR),), "needs texts", "value_or"),
    ("matches", (STR, STR), "is a constant", 'matches(x, "[0-9]+")'),
    ("substring", (STR, FLOAT, INT), "whole numbers", ""),
]  # fmt: skip


@pytest.mark.parametrize(("name", "domains", "what", "hint"), WRONG)
def test_other_types_are_refused(name: str, domains: tuple[Domain, ...], what: str, hint: str) -> None:
    with pytest.raises(TypingError) as caught:
        LIBRARY[name].specialise(domains)
    assert what in str(caught.value)
    assert hint in caught.value.hint


def test_a_wrong_regular_expression_is_told_before_the_first_event() -> None:
    with pytest.raises(WorkbenchError, match=r'"\[" is not a regular expression: unterminated'):
        wb.parse('pipeline p(s: str) -> bool { return matches(s, "[") }').get()


# --- in models ------------------------------------------------------------------------------------------------

ABC = SomeTexts(("a", "b", "A"))


def cases(*domains: Domain) -> Any:
    return itertools.product(*(d.values() for d in domains))


TABLES: list[tuple[Function, tuple[Domain, ...]]] = [
    (Function("half", 1, lambda x: x / 2 > 1), (Range(-3, 3),)),
    (Function("quotient", 2, lambda x, y: wb.functions.divide(x, y) >= 0.5), (Range(0, 3), Range(-1, 2))),
    (Function("near", 1, lambda x: wb.functions.sqrt(x) * 2 < 3), (Integer(5),)),
    (Function("has", 1, lambda x: wb.functions.contains(x, "a")), (ABC,)),
    (Function("low", 1, lambda x: wb.functions.lower(x)), (ABC,)),
    (Function("long", 1, lambda x: wb.functions.length(x)), (SomeTexts(("", "a", "four")),)),
    (
        Function("number", 1, lambda x: wb.functions.ite(wb.core.ops.IS_NULL(wb.functions.to_int(x)), False, True)),
        (SomeTexts(("1", "a")),),
    ),
]


@pytest.mark.parametrize(("function", "domains"), TABLES, ids=lambda each: getattr(each, "name", ""))
def test_over_small_finite_types_a_function_is_a_table(function: Function, domains: tuple[Domain, ...]) -> None:
    typed = function.specialise(domains)
    assert not needs_table(typed.body)
    assert typed.result.finite
    for args in cases(*domains):
        assert typed(*args) == function(*args)


def test_what_is_large_is_no_table_and_refused_by_models() -> None:
    body = Function("half", 1, lambda x: x / 2 > 1).specialise((Range(0, 10_000),)).body
    assert needs_table(body)
    source = wb.parse("function half(x) = x / 2 > 1\npipeline p(x: 0..10000) -> bool { return half(x) }").get()
    with pytest.raises(Refused, match="'/' only as a table of all cases") as caught:
        wb.check(source, "always(out)")
    assert "0..7" in caught.value.hint


def test_a_table_does_not_hide_that_a_checked_domain_is_left() -> None:
    checked = Integer(4, Overflowing.CHECKED)
    typed = Function("f", 1, lambda x: (x + 1) / 2 > 1).specialise((checked,))
    assert needs_table(typed.body) is False
    assert any(term.op is not None and term.op.by_table for term in postorder(leaves(typed.body)))
    with pytest.raises(WorkbenchError, match="leaves the checked domain"):
        typed(3)


def test_of_a_map_there_is_no_table() -> None:
    text = """
    function any_half(m) = get(m, 1, 0) / 2 >= 0.5
    function id(v) = v
    pipeline p(x: 0..3) -> bool { return any_half(slice(x, id, cumulate(max))) }
    """
    program = wb.parse(text).get()
    assert wb.run(program, {"x": [0, 1, 3]}) == {"out": [False, True, True]}
    with pytest.raises(Refused, match="'/' only as a table of all cases"):
        wb.check(program, "always(not out)")


def test_texts_that_a_model_does_not_have_are_refused() -> None:
    source = wb.parse("pipeline p(s: str) -> str { return upper(s) }").get()
    with pytest.raises(WorkbenchError, match="'upper' makes \"A\", which is none of the texts of the model") as caught:
        wb.check(source, 'always(out != "B")')
    assert "--values str=a,b,c" in caught.value.hint
    verdict = wb.check(source, 'always(out != "B")', wb.Settings(texts=("a", "A", "b", "B")))
    assert verdict.outcome == "fails"


def test_floats_of_a_model_are_whole_already() -> None:
    x = var("x", SomeFloats(0, 4))
    assert LIBRARY["round"](x) is x


# --- the same bits on every backend -----------------------------------------------------------------------------

EVERY = """
pipeline every(x: float, y: float) -> a: float, b: float, c: float, d: float, e: float, f: float, g: float, h: float {
    return x / y, sqrt(x), exp(x), log(x), pow(x, y), round(x), floor(x) + ceil(y), pow(x, 2) + pow(2, y) + pow(x, 0.5)
}
"""


def drawn(count: int) -> list[float]:
    """Floats of all sizes: half of them of random bits, which are never the same in two backends by chance."""
    draw = random.Random(count)
    bits = [struct.unpack("<d", draw.randbytes(8))[0] for _ in range(count)]
    return [*NUMBERS, *bits, *(draw.gauss(0, 50) for _ in range(count))]


def test_compiled_code_and_python_give_the_same_bits() -> None:
    program, x = wb.parse(EVERY).get(), drawn(4000)
    y = [*x[100:], *x[:100]]
    slow = wb.executors.Reference(program.pipeline).run({"x": x, "y": y})
    fast = wb.run(program, {"x": np.array(x), "y": np.array(y)}, backend="compiled")
    for name, events in slow.items():
        wanted, found = np.array(events, float), fast[name]
        differ = (wanted.view(np.int64) != found.view(np.int64)) & ~(np.isnan(wanted) & np.isnan(found))
        assert not differ.any(), (name, wanted[differ][:3], found[differ][:3])


def test_compiled_code_refuses_texts_that_are_made_and_auto_takes_another_backend() -> None:
    for text in ("lower(s)", 'contains(s, "a")', "to_text(length(s))"):
        program = wb.parse(f"pipeline p(s: str) -> any {{ return {text} }}").get()
        with pytest.raises(WorkbenchError, match=r"only compares them|cannot hold"):
            wb.run(program, {"s": ["A"]}, backend="compiled")
    program = wb.parse('pipeline p(s: str, n: int) -> str { return lower(s) + ":" + to_text(n) }').get()
    assert wb.run(program, {"s": ["A", "bC"], "n": [1, 2]}) == {"out": ["a:1", "bc:2"]}


# --- in the language ----------------------------------------------------------------------------------------------


def test_division_binds_as_multiplication() -> None:
    program = wb.parse("pipeline p(x: float, y: float) -> float { return 1 - x * 2 / y * 3 div 2 / -y }").get()
    assert wb.run(program, {"x": [3.0], "y": [4.0]}) == {"out": [1 - ((3.0 * 2 / 4 * 3) // 2) / -4]}


def test_updates_of_a_machine_still_begin_with_a_slash() -> None:
    text = """
    machine m(x: int) -> float {
        var n: float = 0
        state a: n
        a -> a when x / 2 > 1 / n := n / 2 + x
        a -> a when x / 2 <= 1 /  # a comment
            n := 1 / 2
    }
    """
    assert wb.run(wb.parse(text).get(), {"x": [1, 4]}) == {"out": [0.5, 4.25]}


def test_a_window_of_texts_is_one_text() -> None:
    program = wb.parse("pipeline p(s: str) -> str { return window(s, 2, cumulate(+)) }").get()
    assert wb.run(program, {"s": ["a", "b", "c"]}) == {"out": ["ab", "bc"]}


def test_from_python() -> None:
    @wb.pipeline(x=wb.FLOAT, s=wb.STR)
    def both(x: Any, s: Any) -> Any:
        return (
            wb.functions.sqrt(x) / 2,
            1 / x,
            wb.functions.contains(s, "a") & wb.functions.starts_with(s, "b"),
            s + "!",
        )

    found = wb.run(both, {"x": [16.0], "s": ["ba"]})
    assert found == {"out1": [2.0], "out2": [0.0625], "out3": [True], "out4": ["ba!"]}


def test_an_int_that_is_divided_says_what_to_write() -> None:
    with pytest.raises(WorkbenchError) as caught:
        wb.parse("pipeline p(x: int) -> int { return x / 2 }").get()
    assert "/ divides floats, and div whole numbers" in caught.value.hint
    assert isinstance(wb.functions.sqrt, Function)
    assert isinstance(wb.core.term.const(1, INT), Term)


def test_operators_travel_to_other_processes_as_rows_of_the_table() -> None:
    """Code asks whether an operator is one of these; a copy with the same fields is none."""
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    text = "pipeline p(x: int, s: str) -> float, bool { return pow(x / 2, 2) + floor(x / 3), length(s) > 2 }"
    pipeline = wb.parse(text).get().pipeline
    again = cloudpickle.loads(cloudpickle.dumps(pipeline))
    terms = [[pipe.typed[node.name].function.body for node in pipe.nodes] for pipe in (pipeline, again)]
    ops = [[term.op for body in bodies for leaf in leaves(body) for term in postorder([leaf])] for bodies in terms]
    assert any(ops[0])
    assert all(one is other for one, other in zip(*ops, strict=True))
