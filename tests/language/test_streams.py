"""Pipelines made from text: what they compute, how they are wired, what their parts are called."""

import pytest

from workbench.core.domain import BOOL, INT, Enum, Integer, Overflowing, Range
from workbench.core.fields import Record, Tuple
from workbench.core.function import user_function
from workbench.errors import LanguageError, Location
from workbench.language import parse
from workbench.processors import PROCESSORS


def run(text, *streams, **params):
    return parse(text).get(**params).pipeline.denote(streams)


PARTS = """
pipeline sum<k = 3>(x: int) -> int { return window(x, k, cumulate(+)) }
pipeline total(x: int) -> int { return cumulate(x, +) }
function square(v) = v * v
table powers = [1, 2, 2 * 2, 8]
function second(v, i) = v * powers[1] + powers[i]
"""


def run_body(body, *streams, inputs="x: int", output="any"):
    return run(f"{PARTS} pipeline p({inputs}) -> {output} {{ {body} }}", *streams)


COMPUTED = {
    "passthrough": ("return x", [1, 2], [1, 2]),
    "literal in an operator": ("return 2 * x + 1", [1, 2], [3, 5]),
    "literals only": ("return x + (2 + 3 * 4)", [0], [14]),
    "a name for a literal": ("n = 1 + 1\n return trim(x, n)", [1, 2, 3], [3]),
    "unary minus": ("return -x", [1, -2], [-1, 2]),
    "division rounds down": ("return x div 2", [3, -3], [1, -2]),
    "remainder": ("return x mod 3", [4, -1], [1, 2]),
    "division by zero": ("return x div 0", [4], [0]),
    "comparison": ("return x >= 2", [1, 2], [False, True]),
    "inequality": ("return x != 2", [1, 2], [True, False]),
    "logic": ("return not (x > 1) or x = 3", [1, 2, 3], [True, False, True]),
    "implication": ("return x > 1 -> x > 2", [1, 2, 3], [True, False, True]),
    "other signs": ("return !(x > 1) | x = 3 & x = 3", [1, 2, 3], [True, False, True]),
    "choice": ("return if x > 1 then x else 0", [1, 2], [0, 2]),
    "choice of literals": ("return if x > 1 then 1 else 0", [1, 2], [0, 1]),
    "functions": ("return max(abs(x), 2)", [-3, 1], [3, 2]),
    "even and odd": ("return even(x) = odd(x + 1)", [1, 2], [True, True]),
    "neg and min": ("return min(neg(x), 0)", [1, -2], [-1, 0]),
    "own function": ("return square(x) + square(2)", [3], [13]),
    "own function as a parameter": ("return apply(x, square)", [3], [9]),
    "sign as a parameter": ("return apply(x, trim(x, 1), -)", [5, 3, 4], [2, -1]),
    "cumulate": ("return cumulate(x, +)", [1, 2, 3], [1, 3, 6]),
    "cumulate a function": ("return cumulate(x, max)", [1, 3, 2], [1, 3, 3]),
    "cumulate from": ("return cumulate(x, -, 10)", [1, 2], [9, 7]),
    "cumulate from a negative": ("return cumulate(x, +, -1)", [1, 2], [0, 2]),
    "turn": ("return turn(x, 7)", [1, 2], [7, 7]),
    "table": ("return powers[x]", [0, 3, 4, -1], [1, 8, 0, 0]),
    "table in a function": ("return second(x, 2)", [0, 1], [4, 6]),
    "table at a constant": ("return x * powers[2] - powers[9]", [3], [12]),
    "table as a function": ("return apply(x, powers)", [2], [4]),
    "trim": ("return trim(x, 1)", [1, 2, 3], [2, 3]),
    "decimate": ("return decimate(x, 2)", [1, 2, 3, 4, 5], [1, 3, 5]),
    "parameter by name": ("return decimate(x, 2, last = true)", [1, 2, 3, 4], [1, 3, 4]),
    "filter": ("return filter(x, x > 1)", [1, 2, 3], [2, 3]),
    "window of a pipeline": ("return window(x, 2, total)", [1, 2, 3], [3, 5]),
    "window of a processor": ("return window(x, 2, cumulate(*))", [1, 2, 3], [2, 6]),
    "window of a bare processor": ("return window(x, 2, passthrough)", [1, 2, 3], [2, 3]),
    "window of a function": ("return window(x, 2, square)", [1, 2, 3], [4, 9]),
    "window of a window": ("return window(x, 2, window(3, total))", [1, 2, 3, 4, 5, 6], []),
    "window in a window": ("return window(x, 3, window(2, total))", [1, 2, 3, 4], [5, 7]),
    "window of a pipeline with parameters": ("return window(x, 3, sum<2>)", [1, 2, 3, 4], [5, 7]),
    "encoding by name": ("return window(x, 2, total, encoding = copies)", [1, 2, 3], [3, 5]),
    "group": ("return total(x) + 1", [1, 2], [2, 4]),
    "group with default": ("return sum(x)", [1, 2, 3, 4], [6, 9]),
    "group with a parameter": ("return sum<2>(x)", [1, 2, 3], [3, 5]),
    "group with a named parameter": ("return sum<k = 1 + 1>(x)", [1, 2, 3], [3, 5]),
    "fork": ("a, b = fork(x)\n return a + b", [1, 2], [2, 4]),
    "tuple and its field": ("return (x, x + 1).1", [1, 2], [2, 3]),
    "tuple with a literal": ("return (x, true)", [1], [(1, True)]),
    "second name": ("y = x\n return y", [1], [1]),
    "cast": ("return cast(x, int mod 3)", [4], [1]),
    "cast to a saturating type": ("return cast(x, int sat 3)", [4], [2]),
    "typed turn": ("return cumulate(turn(x, 1, int mod 2), +)", [9, 9, 9], [1, 0, 1]),
}


@pytest.mark.parametrize(("body", "given", "expected"), COMPUTED.values(), ids=COMPUTED)
def test_computes(body, given, expected):
    assert run_body(body, given) == (expected,)


def test_two_streams_join():
    assert run_body("return x * y", [1, 2, 3], [4, 5], inputs="x: int, y: int") == ([4, 10],)
    joined = parse("pipeline p(x: int) -> int { return x * turn(x, 2) }").get().pipeline
    alone = parse("pipeline p(x: int) -> int { return x * 2 }").get().pipeline
    assert joined.queues == ("mul.left", "mul.right")
    assert alone.queues == ()
    assert joined.denote([[1, 2]]) == alone.denote([[1, 2]]) == ([2, 4],)


def test_records_enumerations_tuples():
    text = """
    pipeline sold(x: {price: int, state: {open, closed}}, y: (int, bool)) -> int {
        return filter(x.price + y.0, x.state = closed and y.1)
    }"""
    streams = ([(5, "closed"), (6, "open"), (7, "closed")], [(1, True), (1, True), (1, False)])
    assert run(text, *streams) == ([6],)
    assert run("pipeline p(c: {red, green}) -> bool { return c = green }", ["red", "green"]) == ([False, True],)
    given = run("pipeline p(x: int) -> any { return turn(x, red, {red, green}) }", [1])
    assert given == (["red"],)
    turned = run("pipeline p(c: {red, green}) -> {red, green} { return turn(c, red) }", ["green"])
    assert turned == (["red"],)


TYPES = {
    "bool": BOOL,
    "int": INT,
    "int mod 5": Integer(5),
    "int sat 5": Integer(5, Overflowing.SATURATING),
    "int checked 5": Integer(5, Overflowing.CHECKED),
    "0..7": Range(0, 7),
    "-3..-1": Range(-3, -1),
    "0..k + 1": Range(0, 4),
    "0..k * 2": Range(0, 6),
    "-k..k": Range(-3, 3),
    "-k * 2..k": Range(-6, 3),
    "k - 1..2 * k - 1": Range(2, 5),
    "0..max(k, 2 * (k + 1))": Range(0, 8),
    "int mod k + 1": Integer(4),
    "int mod 2 * k": Integer(6),
    "int sat 2 * k": Integer(6, Overflowing.SATURATING),
    "int mod k": Integer(3),
    "{red, green}": Enum(("red", "green")),
    "(int, bool)": Tuple((INT, BOOL)),
    "(int,)": Tuple((INT,)),
    "{price: int, sold: bool}": Record((INT, BOOL), ("price", "sold")),
    "{a: (0..1, {b: bool})}": Record((Tuple((Range(0, 1), Record((BOOL,), ("b",)))),), ("a",)),
}


@pytest.mark.parametrize(("text", "domain"), TYPES.items())
def test_types(text, domain):
    made = parse(f"pipeline p<k = 3>(x: {text}) -> {text} {{ return x }}").get().pipeline
    assert made.input_domains == made.output_domains == (domain,)
    if domain.numeric and text != "int":
        cast = parse(f"pipeline p<k = 3>(x: int) -> {text} {{ return cast(x, {text}) }}").get().pipeline
        assert cast.output_domains == (domain,)
    if "k" not in text:
        again = parse(f"pipeline p(x: {domain}) -> {domain} {{ return x }}").get().pipeline
        assert again.input_domains == (domain,)


@pytest.mark.parametrize("declared", ["-1..9", "int"])
def test_a_declared_type_may_be_wider_than_the_computed_one(declared):
    made = parse(f"pipeline p(x: 0..3) -> {declared} {{ return 2 * x + 1 }}").get().pipeline
    assert made.output_domains == (Range(1, 7),)


def test_a_range_is_not_declared_as_floats():
    """They are written in another way: 7 and 7.0."""
    with pytest.raises(LanguageError, match=r"declared to return float, but it returns 1\.\.7"):
        parse("pipeline p(x: 0..3) -> float { return 2 * x + 1 }").get()


def test_the_range_of_an_entry():
    """Beyond the ends of a table it is 0; an index of a range that has only entries leaves 0 out."""
    text = "table t = [5, 3, 9]\npipeline p<a = 0, b = 2>(x: a..b) -> any { return t[x] }"
    for (a, b), (lo, hi) in {(0, 2): (3, 9), (1, 1): (3, 3), (0, 3): (0, 9), (-1, 0): (0, 5), (7, 9): (0, 0)}.items():
        made = parse(text).get(a=a, b=b).pipeline
        assert made.output_domains == (Range(lo, hi),)
        assert made.denote([[*range(a, b + 1)]]) == ([dict(enumerate((5, 3, 9))).get(i, 0) for i in range(a, b + 1)],)


FIGURE_5A = """
# Figure 5a of TIME 2021: sums of successive odd numbers,
# i.e. the squares
pipeline sum_of_odds(x: int) -> int {
    count = cumulate(turn(x, 1), +)   # the inner turn has no name
    odd   = filter(count, even(trim(count, 1)))
    return cumulate(odd, +)
}
"""


def test_names_of_pipes_and_processors():
    made = parse(FIGURE_5A, "odds.pipe").get().pipeline
    assert [(n.name, n.inputs, n.outputs) for n in made.nodes] == [
        ("turn", ("x",), ("turn",)),
        ("count", ("turn",), ("count",)),
        ("trim", ("count",), ("trim",)),
        ("even", ("trim",), ("even",)),
        ("odd", ("count", "even"), ("odd",)),
        ("cumulate", ("odd",), ("cumulate",)),
    ]
    assert made.outputs == (("out", "cumulate"),)
    assert made.queues == ("odd.data", "odd.condition")
    assert made.doc == "Figure 5a of TIME 2021: sums of successive odd numbers,\ni.e. the squares"
    where = made.node("odd").where
    assert isinstance(where, Location)
    assert (where.file, where.line, where.column) == ("odds.pipe", 6, 13)


def test_anonymous_processors_leave_the_users_names_alone():
    made = parse("pipeline p(x: int) -> int { a = x + 1 + 2\n add = a * 2 + 3\n return add }").get().pipeline
    assert [n.name for n in made.nodes][-1] == "add"
    assert made.denote([[0]]) == ([9],)
    forked = parse("pipeline p(x: int) -> int { fork1 = x + 1\n a, b = fork(x)\n return fork1 + a + b }").get()
    assert forked.pipeline.denote([[1]]) == ([4],)


def test_a_second_name_is_a_passthrough():
    made = parse("pipeline p(x: int) -> int { y = x\n return y }").get().pipeline
    assert [(n.name, n.inputs) for n in made.nodes] == [("y", ("x",))]


def test_several_outputs():
    two = "pipeline two(x: int) -> int, y: bool { return x, even(x) }\n"
    text = two + "pipeline p(x: int) -> int, int { a, b = two(x)\n return filter(a, b), a }"
    assert run(text, [1, 2]) == ([2], [1, 2])
    made = parse(two).get().pipeline
    assert [name for name, _ in made.outputs] == ["out1", "y"]
    whole = two + "pipeline p(x: int) -> int, bool { return two(x) }"
    assert run(whole, [1, 2]) == ([1, 2], [False, True])


def test_parameters():
    text = "pipeline p<k = 2, n = k + 1>(x: int) -> int { return trim(x, n) + k }"
    stream = [0, 1, 2, 3, 4, 5]
    assert run(text, stream) == ([5, 6, 7],)
    assert run(text, stream, k=3) == ([7, 8],)
    assert run(text, stream, k=3, n=5) == ([8],)


def test_inside_a_pipeline_the_processor_of_its_name_is_meant():
    assert run("pipeline passthrough(x: int) -> int { return passthrough(x) }", [1]) == ([1],)
    shadowed = "pipeline trim(x: int) -> int { return trim(x, 2) }\npipeline p(x: int) -> int { return trim(x) }"
    assert run(shadowed, [1, 2, 3]) == ([3],)


def test_python_functions():
    halves = user_function(lambda v: v // 2, result=INT, arity=1, name="halve")
    source = parse("pipeline p(x: int) -> int { return halve(x) + 1 }", functions={"halve": halves})
    assert source.get().pipeline.denote([[4, 7]]) == ([3, 4],)


def test_functions_of_tuples_and_of_each_other():
    text = """
    function first(v) = v.0
    function clipped(v, top) = if v > top then top else v
    function both(v) = clipped(first(v), 2 + 1)
    pipeline p(x: (int, bool)) -> int { return both(x) }
    """
    assert run(text, [(1, True), (7, False)]) == ([1, 3],)


def test_every_processor_of_the_language_has_a_signature():
    from workbench.language.arguments import signature

    assert signature(PROCESSORS["window"]) == "window(x, width, inner[, encoding])"
    assert signature(PROCESSORS["cumulate"]) == "cumulate(x, function[, start][, domain])"
    assert all(signature(cls).startswith(f"{name}(") for name, cls in PROCESSORS.items())


def test_it_is_what_the_python_api_makes():
    from workbench.builder import pipeline
    from workbench.core.function import ADD, EVEN
    from workbench.processors.cumulate import Cumulate
    from workbench.processors.filter import Filter
    from workbench.processors.trim import Trim
    from workbench.processors.turn_into import TurnInto

    @pipeline(x=INT)
    def sum_of_odds(x):
        count = Cumulate(ADD)(TurnInto(1)(x)).named("count")
        return Cumulate(ADD)(Filter()(count, EVEN(Trim(1)(count))).named("odd"))

    assert parse(FIGURE_5A).get().pipeline == sum_of_odds
