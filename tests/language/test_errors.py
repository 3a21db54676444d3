"""What the language says about texts it cannot read: the place (marked § in the text) and a phrase each."""

import pytest

from workbench.core.domain import BOOL
from workbench.core.function import user_function
from workbench.errors import Location, WorkbenchError
from workbench.language import parse
from workbench.language.mistakes import PIPE, WORDS, name_terminals
from workbench.language.parser import LANGUAGE

IDENTITY = "pipeline p(x: int) -> int {{ {} }}"


def body(text: str) -> str:
    return (
        "pipeline sum(x: int) -> int { return cumulate(x, +) }\npipeline p(x: int, b: bool) -> int {\n" + text + "\n}"
    )


SYNTAX = {
    "no output type": ("pipeline p(x: int) §{ return x }", "expected '->', found '{'", "-> int {"),
    "equality": (
        body("return filter(x, x =§= 3)"),
        "expected an expression, found '='",
        "equality is written =",
    ),
    "power": (body("return x *§* 2"), "found '*'", "pow(x, 2)"),
    "remainder": (body("return x §% 2"), "'%' has no meaning here", "'mod'"),
    "comment": (body("return x /§/ all"), "found '/'", "comments begin with #; whole numbers are divided with div"),
    "conjunction": (body("return filter(x, b &§& b)"), "found '&'", "conjunction is written 'and'"),
    "semicolon": (body("a = x§; return a"), "';' has no meaning here", "leave out the ;"),
    "open parenthesis": (body("a = (x\n§c = x\nreturn a"), "found 'c'", "the '(' of line 3 is not closed"),
    "choice as a statement": (body("§if x > 3 { return x }"), "found 'if'", "return if c then a else b"),
    "choice behind a statement": (body("a = x\n§if b { return a }"), "found 'if'", "return if c then a else b"),
    "negation as a statement": (body("§not b\nreturn x"), "found 'not'", "statements begin with"),
    "text as a statement": (body('a = x\n§"a"\nreturn a'), "found", "statements begin with"),
    "choice without else": (
        "pipeline p(x: int) -> int { return if x > 3 then x §}",
        "expected 'else'",
        "every if has an else",
    ),
    "quantifier": (body("return forall(k §in x, k > 3)"), "found 'in'", "forall(x, values, holds)"),
    "input without a type": ("pipeline p(x: int, y§) -> int { return x }", "expected ':'", "y: int"),
    "open brace": ("pipeline p(x: int) -> int {\n return x§", "the end of the text", "the '{' of line 1"),
    "chain": (body("return filter(x, 1 < x §< 3)"), "found '<'", "comparisons do not chain"),
    "side by side": (body("return trim(x §1)"), "expected an operator, ')' or ',', found '1'", "write ', 1'"),
    "a name beside": (body("return window(x, 2 §sum)"), "expected ')' or ',', found 'sum'", "write ', sum'"),
    "digit": (body("§3x = x\nreturn 3x"), "'3' has no meaning here", "a name begins with a letter"),
    "a foreign letter": (body("z§ähler = x\nreturn zähler"), "'ä' has no meaning here", "--column x=COLUMN"),
    "stray statement": (
        "§a = b",
        "expected 'check', 'function', 'machine', 'monitor', 'pipeline'",
        "inside the braces",
    ),
    "missing type": ("pipeline p(x:§) -> int { return x }", "expected a type, found ')'", ""),
    "missing expression": (body("return\n§)"), "expected an expression, found ')'", ""),
    "missing condition": (body("return filter(x, if b then x§)"), "found ')'", ""),
    "check of nothing": ("check§", "expected the name of a property, found the end of the text", ""),
    "check above": (
        "check §liveness\npipeline p(x: int) -> int { return x }",
        "above every pipeline",
        "below it",
    ),
    "until": ("pipeline p(x: int) -> int { return x }\ncheck ctl(§A[x = 1])", "needs an until", "A[p U q]"),
    "choice in an operator": (body("return 1 + §if b then x else 2"), "found 'if'", "in parentheses"),
    "negation in a comparison": (body("return filter(x, b = §not b)"), "found 'not'", "in parentheses"),
    "reserved word": (body("§then = x\nreturn then"), "found 'then'", ""),
    "update in a guard": (
        "machine m(x: int) { var n: int = 0\n state a\n a -> a when n §:= 3 }",
        "':=' has no meaning here",
        "updates follow '/'",
    ),
    "update without /": (
        "machine m(x: int) { var n: int = 0\n state a\n a -> a when x > 1 n §:= 3 }",
        "':=' has no meaning here",
        "updates follow '/'",
    ),
    "single quotes": (body("return filter(x, §'a' = 'a')"), "has no meaning here", "double quotes"),
}

NAMES = {
    "unknown stream": (
        body("count = x\nreturn filter(§coutn, b)"),
        "no stream or parameter 'coutn'",
        "'count'",
    ),
    "unknown in operator": (body("return x + §y"), "no stream or parameter 'y'", "the names here are: x, b"),
    "unknown processor": (
        body("return §cumulat(x, +)"),
        "no processor, pipeline or function 'cumulat'",
        "'cumulate'",
    ),
    "unknown function": (body("return cumulate(x, §maxx)"), "must be a function, and 'maxx' is not", "'max'"),
    "unknown parameter": (
        "pipeline p<size = 3>(x: int) -> int { return trim(x, §sise) }",
        "no stream or parameter 'sise'",
        "'size'",
    ),
    "unknown pipeline in a window": (body("return window(x, 3, §summ)"), "not 'summ'", "'sum'"),
    "unknown condition": (body("cond = b\nreturn filter(x, §condd)"), "'condd'", "'cond'"),
    "function call as stream": (body("return §sum"), "'sum' is not a stream", "sum(...)"),
    "used before": (body("a = §c\nc = x\nreturn a"), "'c' is used before it has a value", "line 4"),
    "used before on the line": (
        body("a = §c c = x return a"),
        "'c' is used before it has a value",
        "later on this line",
    ),
    "feedback on the line": (body("b1 = x a = x + §a return a"), "'a' is used before", "cumulate"),
    "feedback": (body("a = x + §a\nreturn a"), "'a' is used before it has a value", "cumulate"),
    "given twice": (body("a = x\n§a = x\nreturn a"), "the name 'a' is taken, by line 3", "defined once"),
    "input again": (body("§x = x + 1\nreturn x"), "the name 'x' is taken, by line 2", ""),
    "pipeline twice": (
        "pipeline p(x: int) -> int { return x }\npipeline §p(x: int) -> int { return x }",
        "'p' is defined twice, first in line 1",
        "rename",
    ),
    "input twice": ("pipeline p(x: int, §x: int) -> int { return x }", "the name 'x' is taken", ""),
    "output twice": (
        "pipeline p(x: int) -> y: int, §y: int { return x, x }",
        "two outputs are called 'y'",
        "",
    ),
    "output is another pipe": (
        "pipeline p(x: int) -> §y: int { y = x + 1\n return y + 1 }",
        "the output 'y' shows 'y + 1', but another pipe is called 'y'",
        "give the pipe or the output another name",
    ),
    "output is an input": (
        "pipeline p(path: int) -> §path: int { return filter(path, path > 3) }",
        "the output 'path' shows 'filter(path, path > 3)', but the input is called 'path'",
        "give the output another name, e.g. path_out",
    ),
    "variable in property": (
        "machine m(x: int) { var n: 0..3 = 0\n state a }\ncheck always (§n.present -> n >= 0)",
        "'n' is a variable of the machine, but properties read pipes",
        "types or stays-in-range show that it stays in 0..3; to state more, emit it, e.g. state a: n",
    ),
    "variable of a called machine": (
        "machine m(x: int) { var n: bool = true\n state a }\n"
        "pipeline p(x: int) -> any { y = m(x)\n return y }\ncheck always (y.§n)",
        "'y.n' is a variable of the machine, but properties read pipes",
        "emit it, e.g. state a: n",
    ),
    "state in property": (
        "machine m(x: int) { state locked }\ncheck always (x > 0 -> state = §lockd)",
        "pipeline m has no pipe 'lockd'",
        "did you mean 'locked'?",
    ),
    "label of another type": (
        "pipeline p(c: {red, blue}, s: {reeds, writes}) -> any { return filter(c, c = §reed) }",
        "no stream or parameter 'reed'",
        "did you mean 'red'?",
    ),
    "pipe for a label": (
        "pipeline p(c: {red, blue}, reeds: int) -> any { z = reeds + 1\n return filter(c, c = §reed) }",
        "no stream or parameter 'reed'",
        "did you mean 'red'?",
    ),
    "label for a number": (
        "pipeline p(x: int, c: {limit, none}) -> any { return x > §limits }",
        "no stream or parameter 'limits'",
        "the names here are: x, c, limit, none",
    ),
    "stream of labels for a number": (
        "pipeline p(x: int, limit: {red, blue}) -> any { return filter(x, §limits > 3) }",
        "no stream or parameter 'limits'",
        "the names here are: x, limit, red, blue",
    ),
    "undeclared variable of a machine": (
        "machine m<k = 2>(e: {p, q}) { var n: 0..9 = 0 state a a -> a when n > k and §waiting }",
        "there is no 'waiting' here",
        "inputs: e; variables: n; parameters: k; labels: p, q; states: a; or declare it: var waiting: bool = false",
    ),
    "undeclared number of a machine": (
        "machine m(e: {p, q}) { var n: 0..9 = 0 state a a -> a / n := min(§other + 1, 9) }",
        "there is no 'other' here",
        "states: a; or declare it: var other: int = 0",
    ),
    "start outside of the range": (
        "machine m(e: {p, q}) { var §n: 3..8 = 0 state a }",
        "the variable 'n' begins with 0, not a value of 3..8",
        "choose a larger range, var n: 0..8, or another start",
    ),
    "label in a branch": (
        "pipeline p(b: bool, c: {red, blue}) -> {read, write} { return if b then write else §reed }",
        "no stream or parameter 'reed'",
        "did you mean 'read'?",
    ),
    "label in a guard": (
        "machine m(c: {red, blue}, s: {reeds, writes}) { state a\n a -> a when c = §reed }",
        "there is no 'reed' here",
        "did you mean 'red'?",
    ),
    "label in a machine's output": (
        "machine m(c: {reeds, blue}) -> {red, green} { state a: §reed }",
        "there is no 'reed' here",
        "did you mean 'red'?",
    ),
    "label in an update": (
        "machine m(c: {reeds, blue}) { var n: {red, green} = red\n state a\n a -> a / n := §reed }",
        "there is no 'reed' here",
        "did you mean 'red'?",
    ),
    "first label of a variable": (
        "machine m(c: {reeds, blue}) { var n: array(0..3, {red, green}) = §reed\n state a }",
        "there is no 'reed' here",
        "did you mean 'red'?",
    ),
    "label in a fault": (
        "pipeline p(c: {red, blue}, s: {reeds, writes}) -> any { fault lose c when c = §reed\n return c }",
        "a fault of 'c' reads its event, not 'reed'",
        "did you mean 'red'?",
    ),
    "label in an assumption": (
        "pipeline p(c: {red, blue}, s: {reeds, writes}) -> any { assume c = §reed\n return c }",
        "no stream or parameter 'reed'",
        "did you mean 'red'?",
    ),
    "label in a property": (
        "machine m(c: {reeds, blue}, reads: int) { state red }\ncheck always (state = §reed)",
        "pipeline m has no pipe 'reed'",
        "did you mean 'red'?",
    ),
    "label for a condition": (
        "machine m(x: int) { state red }\ncheck ctl(AG §reed)",
        "pipeline m has no pipe 'reed'",
        "pipes: x, state; labels: red",
    ),
    "constant": (body("return filter(x, §False or b)"), "no stream or parameter 'False'", "did you mean 'false'?"),
    "function in function": ("function f(v) = §g(v)", "there is no function 'g'", ""),
    "name in function": ("function f(value) = §valeu + 1", "there is no 'valeu' here", "'value'"),
    "argument twice": ("function f(v, §v) = v", "two arguments are called 'v'", "rename"),
    "property": (
        "pipeline p(x: int) -> int { return x }\ncheck §livenes",
        "no property 'livenes'",
        "'liveness'",
    ),
    "pipe in property": (
        "pipeline p(x: int) -> int { count = x + 1\n return count }\ncheck always (§cont >= 0)",
        "pipeline p has no pipe 'cont'",
        "'count'",
    ),
    "pipeline in property": (
        "pipeline p(x: int) -> int { return x }\ncheck equivalent(§q)",
        "there is no pipeline 'q' in this file",
        "p",
    ),
}

ARITY = {
    "no width": (
        body("return window(x, §sum)"),
        "'width' of window is a whole number, not 'sum'",
        "window(x, width, inner",
    ),
    "window without parameters": (
        body("return §window(x)"),
        "'window' needs 'width'",
        "window(x, width, inner",
    ),
    "too many parameters": (
        body("return §trim(x, 1, 2)"),
        "'trim' takes 1 parameter, 2 given",
        "trim(x, count)",
    ),
    "too few streams": (
        body("return §filter(x)"),
        "'filter' takes 2 streams here, 1 given",
        "filter(data, condition)",
    ),
    "an operator in a window": (
        body("return §window(x, 4, max)"),
        "'max' takes 2 streams, and 'window' gives it 1",
        "write cumulate(max), or window(x, width, inner",
    ),
    "no stream": (body("return §trim(3)"), "'trim' takes 1 stream here, none given", "trim(x, count)"),
    "stream late": (body("return trim(3, §x)"), "the stream 'x' comes after a parameter", "trim(x, count)"),
    "pipeline": (body("return §sum(x, x)"), "pipeline sum takes 1 stream, 2 given", "sum(x: int)"),
    "function": (body("return §max(x)"), "the function 'max' takes 2 arguments, 1 given", "max(a, b)"),
    "two outputs": (
        body("§a = fork(x)\nreturn a"),
        "'fork(x)' gives 2 streams, 1 name on the left",
        "a, b = ...",
    ),
    "two outputs in operator": (
        body("return §fork(x) + 1"),
        "'fork(x)' has 2 streams where one is needed",
        "",
    ),
    "returns two": (body("§return x, x"), "returns 2 streams, but its head declares 1", "one type"),
    "returns nothing": (
        "pipeline §p(x: int) -> int { a = x }",
        "pipeline p returns nothing",
        "return STREAM",
    ),
    "returns twice": (body("return x\n§return x"), "has returned already", "last statement"),
    "parameter of pipeline": (
        body("return sum<§3>(x)"),
        "pipeline sum has no parameters, 1 given",
        "sum(x: int)",
    ),
    "named parameter": (body("return §sum<k = 3>(x)"), "pipeline sum has no parameter 'k'", "sum(x: int)"),
    "parameter of processor": (
        body("return §trim<3>(x)"),
        "'trim' has no parameters in < >",
        "trim(x, count)",
    ),
    "parameter of function": (body("return §even<3>(x)"), "'even' has no parameters in < >", ""),
    "no value": (
        "pipeline q<§k>(x: int) -> int { return x }",
        "pipeline q needs a value for 'k'",
        "add --param k=3",
    ),
    "given by name twice": (body("return trim(x, 1, §count = 2)"), "'count' is given twice", ""),
    "property argument": (
        "pipeline p(x: int) -> int { return x }\ncheck §liveness(3)",
        "'liveness' takes no argument",
        "",
    ),
    "property without argument": (
        "pipeline p(x: int) -> int { return x }\ncheck §bounded-liveness",
        "takes a number",
        "bounded-liveness(3)",
    ),
}

TYPES = {
    "logic on int": (
        body("return filter(x, x §and b)"),
        "'and' needs bool, not values of int",
        "compare it, e.g. NAME > 0",
    ),
    "mean of a window": (body("return window(x, 3, §average)"), "not 'average'", "window(x, 3, cumulate(+)) / 3"),
    "count": (body("return §count(x)"), "no processor, pipeline or function 'count'", "cumulate(turn(x, 1), +)"),
    "mean": (body("return cumulate(x, §mean)"), "must be a function, and 'mean' is not", "a mean is"),
    "constants in a function": (
        'function f(v) = v + (4 §+ "a")\npipeline p(x: int) -> int { return f(x) }',
        "'+' needs texts, not values of 4..4",
        "to_text(NAME) converts a number to a text",
    ),
    "constants in a guard": (
        'machine m(x: int) { state a\n a -> a when x > §sqrt("a") }',
        "'sqrt' needs numbers, not values of str",
        "to_float(NAME)",
    ),
    "constants in a fault": (
        'pipeline p(x: int) -> int { fault lose x when x > 4 §+ "a"\n return x }',
        "'+' needs texts, not values of 4..4",
        "to_text(NAME)",
    ),
    "number and truth": (body("return x §+ b"), "'+' needs numbers, not values of bool", "if NAME then 1 else 0"),
    "filter by number": (body("return §filter(x, x)"), "the condition of a filter is a bool stream", "NAME > 0"),
    "unknown type": ("pipeline p(x: §integer) -> int { return x }", "there is no type 'integer'", "int"),
    "empty range": ("pipeline p(x: §7..0) -> int { return x }", "the range 7..0 is empty", "0..7"),
    "bound": ("pipeline p<k = true>(x: 0..§k) -> int { return x }", "is not a whole number", "0..2 * k - 1"),
    "entry": ("table t = [1, §true]\n" + body("return t[x]"), "the entry 'true' of a table is not a whole number", ""),
    "misspelt table": (
        "table steps = [1]\n" + body("return §stpes[x]"),
        "there is no stream or parameter 'stpes'",
        "'steps'",
    ),
    "misspelt statement": (body("retrn §x"), "expected ',' or '=', found 'x'", "did you mean 'return'?"),
    "no statement": (body("foo §x"), "expected ',' or '=', found 'x'", "statements begin with: return, check"),
    "no table": (body("return §x[1]"), "'x' has no entries", "table NAME = [1, 2, 4]"),
    "table alone": ("table t = [1]\n" + body("return x + §t"), "'t' is not a stream", "apply it to streams: t(...)"),
    "table in a function alone": (
        "table t = [1]\nfunction f(v) = v + §t\n" + body("return f(x)"),
        "there is no 't' here",
        "read an entry, t[0]",
    ),
    "index": ("table t = [1]\n" + body("return §t[b]"), "an index is a number, not a value of bool", ""),
    "fraction as an index": (
        "table t = [1]\n" + body("return §t[x / 2]"),
        "'[ ]' needs whole numbers, not values of float",
        "cast",
    ),
    "range of a result": (
        "pipeline p(x: 0..7) -> §0..6 { return x }",
        "is declared to return 0..6, but it returns 0..7",
        "cast(x, 0..6)",
    ),
    "result": (
        "pipeline p(x: int) -> §bool { return x }",
        "is declared to return bool, but it returns int",
        "int",
    ),
    "constant result": (body("return §3"), "'3' is a constant where a stream is needed", "turn(x, 3)"),
    "constant stream": (
        body("return filter(x, §true)"),
        "'true' is a constant where a stream is needed",
        "turn(x, true)",
    ),
    "width": (body("return window(x, b, §sum)"), "'width' of window is a whole number, not 'sum'", ""),
    "width is bool": (
        body("return window(x, §true, sum)"),
        "'width' of window is a whole number, not 'true'",
        "",
    ),
    "width zero": (
        body("return §window(x, 0, sum)"),
        "the width of a window is a whole number of at least 1, not 0",
        "",
    ),
    "function expected": (
        body("return cumulate(x, §3)"),
        "'function' of cumulate must be a function, and '3' is not",
        "functions are",
    ),
    "function not there": (
        "pipeline p(x: int) -> any { return slice(x, §k, cumulate(+)) }",
        "'key' of slice must be a function, and 'k' is not",
        "write it above: function k(...) = ...; functions and names are: min, max",
    ),
    "parameter misspelt": (
        "pipeline p(x: bool) -> bool { return globally(x, §pendng = 3) }",
        "'globally' has no parameter 'pendng', and there is no stream of that name",
        "did you mean 'pending'?",
    ),
    "parameter of another": (
        "pipeline p(x: bool) -> bool { return globally(x, §width = 3) }",
        "'globally' has no parameter 'width'",
        "parameters and streams are: pending, x",
    ),
    "quantifier without its parts": (
        "pipeline p(x: (int, int)) -> bool { return §forall(x) }",
        "'forall' needs 'domain'",
        "write forall(x, domain, inner[, pending])",
    ),
    "inner expected": (body("return window(x, 3, §+)"), "a processor or pipeline, not '+'", "cumulate(+)"),
    "no field": (
        body("return x.§price"),
        "'x' carries int, which has no field 'price'",
        "only tuples and records",
    ),
    "field": (
        "pipeline p(x: {price: int}) -> int { return x.§prise }",
        "has no field 'prise'",
        "'price'",
    ),
    "group": (body("return §sum(b)"), "input 'x' of pipeline sum carries int, not bool", "same type"),
    "literal types": (body("return trim(x, 1 §+ true)"), "'+' needs numbers", "if NAME then 1 else 0"),
    "constant outside domain": (
        "pipeline p(x: int mod 3) -> int mod 3 { return x §+ 5 }",
        "the constant 5",
        "-N 6",
    ),
    "parameter kind": (
        "pipeline q<k = 3>(x: int) -> int { return trim(x, k) }\npipeline p(x: int) -> int { return §q<true>(x) }",
        "the parameter 'k' of q is a value like 3, not true",
        "",
    ),
    "parameter is a stream": (
        "pipeline q<k = 3>(x: int) -> int { return trim(x, k) }\npipeline p(x: int) -> int { return q<§x>(x) }",
        "the parameter 'k' is a stream",
        "constants",
    ),
    "ctl in ltl": (
        "pipeline p(x: int) -> int { return x }\ncheck ltl(§AG x = 1)",
        "'AG' has no meaning in ltl(...)",
        "ctl(...)",
    ),
    "ltl in ctl": (
        "pipeline p(x: int) -> int { return x }\ncheck ctl(§G x = 1)",
        "'G' has no meaning in ctl(...)",
        "AG or EG",
    ),
    "temporal in always": (
        "pipeline p(x: int) -> int { return x }\ncheck always (§F x = 1)",
        "'F' has no meaning in always",
        "ltl(...)",
    ),
    "choice": (
        "pipeline p(x: int) -> int { return decimate(x, 2, last = §3) }",
        "'last' of decimate is true or false, not '3'",
        "decimate(x, interval[, last])",
    ),
    "in the function, not at its use": (
        "function f(v) = v §and v\npipeline p(x: int) -> int { return filter(x, f(x)) }",
        "'and' needs bool",
        "",
    ),
    "cast": (body("return cast(x, §3)"), "'3' is not a type", "int mod 5"),
}

CYCLES = {
    "itself": (
        "pipeline p(x: int) -> int { return §p(x) }",
        "pipelines cannot call themselves: p -> p",
        "cumulate",
    ),
    "through another": (
        "pipeline p(x: int) -> int { return q(x) }\npipeline q(x: int) -> int { return window(x, 2, §p) }",
        "p -> q -> p",
        "",
    ),
    "functions": (
        "function §f(v) = g(v)\nfunction g(v) = f(v)",
        "functions cannot call themselves: f -> g -> f",
        "",
    ),
}

CORPUS = {
    f"{kind}: {name}": case
    for kind, cases in (
        ("syntax", SYNTAX),
        ("names", NAMES),
        ("arity", ARITY),
        ("types", TYPES),
        ("cycles", CYCLES),
    )
    for name, case in cases.items()
}


def read_all(text):
    source = parse(text, "bad.pipe")
    for name in source.pipelines or (None,):
        source.get(name)


@pytest.mark.parametrize(("text", "phrase", "hint"), CORPUS.values(), ids=CORPUS)
def test_place_and_words(text, phrase, hint):
    before, marker, after = text.partition("§")
    assert marker
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    with pytest.raises(WorkbenchError) as caught:
        read_all(before + after)
    error = caught.value
    assert isinstance(error.where, Location)
    assert (error.where.file, error.where.line, error.where.column) == ("bad.pipe", line, column), str(error)
    assert error.where.text == (before + after).splitlines()[line - 1]
    assert phrase in error.what
    assert hint in error.hint


def test_every_terminal_has_words():
    terminals = LANGUAGE.reader.lark.terminals
    names = name_terminals((each for each in terminals if each.name not in LANGUAGE.reader.ignored), PIPE)
    assert {each.name for each in terminals} > set(WORDS) - {"$END"}
    assert (names["PIPELINE"], names["_DOTS"], names["PROVIDED"]) == ("'pipeline'", "'..'", "'when'")
    assert "''" not in names.values()


def test_no_message_shows_a_terminal():
    for text, _, _ in SYNTAX.values():
        with pytest.raises(WorkbenchError) as caught:
            parse(text.replace("§", ""))
        assert not [t.name for t in LANGUAGE.reader.lark.terminals if len(t.name) > 2 and t.name in caught.value.what]


def test_the_grammar_has_no_conflicts(caplog):
    from importlib import resources

    from lark import Lark, logger

    text = resources.files("workbench.language").joinpath("pipe.lark").read_text(encoding="utf-8")
    level = logger.level
    logger.setLevel("DEBUG")
    logger.propagate = True
    try:
        Lark(text, parser="lalr", start=["start", "property", "formula"], debug=True)
    finally:
        logger.setLevel(level)
    assert not [record for record in caplog.records if "conflict" in record.message.lower()]


def test_unknown_parameter_lists_the_known_ones():
    source = parse("pipeline p<k = 3, start = 0>(x: int) -> int { return trim(x, k) }")
    with pytest.raises(WorkbenchError, match=r"no parameter 'n'.*\n.*its parameters are: k, start"):
        source.get("p", n=3)
    with pytest.raises(WorkbenchError, match=r"did you mean 'start'\? \(its parameters are: k, start\)"):
        source.get("p", strat=3)


def test_an_opaque_function_that_fails_says_where():
    invert = user_function(lambda v: 1 // v, result=BOOL, arity=1, name="invert")
    failing = parse("pipeline p(x: int) -> int { return trim(x, invert(0)) }", functions={"invert": invert})
    with pytest.raises(WorkbenchError, match=r"1:44: the Python function 'invert' failed on 0: ZeroDivision"):
        failing.get()


def test_an_opaque_function_is_called():
    source = parse(
        "pipeline p(x: int) -> bool { return f(x) }",
        functions={"f": user_function(bool, result=BOOL, arity=1)},
    )
    assert source.get().pipeline.denote([[0, 1]]) == ([False, True],)
