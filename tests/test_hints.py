"""Who follows a hint comes to a text without that mistake: each hint of the two languages, followed.

A case is a text in which `«wrong→right»` is the change that the hint proposes. Every place in `MODULES` that makes an
error with a hint is in a case, or in `ELSEWHERE` with a reason; of a place whose hint has several forms, one is.
"""

import ast
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.core.types import FOREIGN_TYPES
from workbench.errors import WorkbenchError
from workbench.language import mistakes, parse
from workbench.language.arguments import FOREIGN_NAMES
from workbench.language.depth import DEPTH
from workbench.language.evaluate import FOREIGN_FUNCTIONS
from workbench.tesla import mistakes as rule_mistakes
from workbench.tesla.check import parse_rules
from workbench.tesla.own_aggregates import OTHER_NAMES

PACKAGE = Path(mistakes.__file__).parents[1]
MODULES = [
    *sorted((PACKAGE / "language").glob("*.py")),
    *(PACKAGE / f"tesla/{name}.py" for name in (
        "check", "check_declarations", "older_grammar", "own_aggregates", "parser", "scope", "windows",
    )),
]  # fmt: skip
ELSEWHERE = {
    ("language/annotate", "_read_back"): "a defect of ours, which no text has",
    ("language/faults", "faultless"): "asked of a program, not of a text: tests/cli/test_faults.py",
    ("language/front", "read"): "about Python: tests/verify/test_any_program.py",
    ("language/front", "mistake"): "only passes the hint of its callers on",
    ("language/load", "load"): "about Python: tests/verify/test_any_program.py",
    ("language/load", "read_file"): "about the name of a file: tests/cli/test_followed_hints.py",
    ("language/load", "parameters"): "about --param: tests/cli/test_check.py",
    ("language/mistakes", "explain"): "its hints are those of `SLIPS` and `_habit`, and tested one by one",
    ("language/parser", "parse_trouble"): "about --fault: tests/cli/test_faults.py",
    ("language/python_functions", "_load"): "needs a file of Python: tests/language/test_python_functions.py",
    ("language/python_functions", "_add_types"): "needs a file of Python: tests/language/test_python_functions.py",
    ("language/source", "_syntax"): "about FILE:NAME: tests/language/test_source.py",
    ("language/source", "systems"): "needs an SMV file: tests/language/test_monitors.py",
    ("language/streams", "_of_file"): "needs a file of rules: tests/tesla/test_processor.py",
    ("language/streams", "inner"): "one of its two, about rules in a window, needs a file of rules",
    ("tesla/own_aggregates", "_declare"): "about aggregates from Python: tests/tesla/test_python.py",
    ("tesla/own_aggregates", "combined"): "about aggregates from Python: tests/tesla/test_python.py",
    ("tesla/parser", "_include_file"): "needs files: tests/tesla/test_language.py",
}
"""Places that no text of a single file comes to, by module and function, and where they are tested."""

BEFORE = (
    "pipeline sum<k = 2>(x: int) -> int { return window(x, k, cumulate(+)) }\nfunction square(v) = v * v\n"
    "function even_a(r) = even(r.a)\npipeline first_of(r: {a: int, b: int}) -> int { return r.a }\n"
)
DEEP = DEPTH + 9

BODIES = [
    # arguments
    "return decimate(x, 2«, interval = 3→»)",
    "return decimate(x«→, 2»)",
    "return trim(x, «+→1»)",
    "return window(x, 2, sum, «evnts→events»)",
    "return window(x, «cumulate(+)→2», cumulate(+))",
    "return cumulate(x, «maxx→max»)",
    "return window(x, 2, «max→cumulate(max)»)",
    "return «avg(x)→window(x, 3, cumulate(+)) / 3»",
    "return x - «lag(x)→insert(x, 0)»",
    "return x - «x[-1]→insert(x, 0)»",
    "return x + «next(x)→trim(x, 1)»",
    "return «latest(x)→sample(x, x)»",
    "return «rolling(x, 3)→window(x, 3, cumulate(+))»",
    "return window(«x > 3→(if x > 3 then 1 else 0)», 2, cumulate(+))",
    # statements
    "return x«\n a = y→»",
    "a = x«→\n return a»",
    "«a, c→a» = sum(x)\n return a",
    "a = x\n «a→c» = y\n return a",
    "«a = c\n c = x→c = x\n a = c»\n return a",
    "return «sum→sum(x)»",
    "return «xx→x»",
    f"return «{'(' * DEEP}x{')' * DEEP}→x»",
    # parameters and capacities
    "return sum<«kk→k» = 3>(x)",
    "return sum<3«, 4→»>(x)",
    "return sum<«y→2»>(x)",
    "s = x + y\n capacity queue(«z.left→s.left») = 3\n return s",
    "s = x + y\n capacity queue(s.left) = 3«\n capacity queue(s.left) = 4→»\n return s",
    "s = x + y\n capacity queue(s.left) = «x→3»\n return s",
    # values and calls
    "return max(x, «{red}→y»)",
    "return square(x«, y→»)",
    "return «squar→square»(x)",
    "return e.«c→a»",
    "return trim«<3>(x)→(x, 3)»",
    "return window(«2, x→x, 2», sum)",
    "return decimate(x, «intervall→interval» = 2)",
    "return «3→turn(x, 3)»",
    "return sum(x«, y→»)",
    "return window(x, 2, «summ→sum»)",
    "a, c = fork(x)\n return «fork(x)→a» + 1",
    "return cast(x, «3→0..3»)",
    # contracts
    "h = x + 1\n assume «h→x» > 3\n return h",
    "«assume→guarantee» out > 3\n return x + 1",
    "assume x«→ <= 100»\n return x",
    "h = x + 1\n guarantee «h→out» > 3\n return h * 2",
    # faults
    "fault «loose→lose» x\n return x",
    "fault lose «xx→x»\n return x",
    "fault delay x«→ by 2 at most 2»\n return x",
    "fault delay x by «0→3» at most 2\n return x",
    "fault lose x when «x→x > 0»\n return x",
    "fault lose x when «xx→x» > 0\n return x",
    # slips and habits
    "return filter(x, b «&&→and» b)",
    "return filter(x, b «||→or» b)",
    "return x «//→#» all",
    "return filter(x, x «<>→!=» 1)",
    "return filter(x, x «==→=» 1)",
    "return x «%→mod» 2",
    "return b «=>→->» b",
    "a «:=→=» x\n return a",
    "return x«;→»",
    "return turn(x, «'→\"»text«'→\"»)",
    "return x «**→*» x",
    "return filter(x, 1 < x «<→and x <» 3)",
    "return 1 + «if b then x else 2→(if b then x else 2)»",
    "return «b ? x : y→(if b then x else y)»",
    "«a→a = x»\n return x",
    "return trim(x«→,» 1)",
    "a = (x«→)»\n c = x\n return a",
    "return «3→»x",
    "return «x + b→x + (if b then 1 else 0)»",
    "return filter(x, «b > 0→b»)",
    "return filter(x, «x→x > 0»)",
    "return once(«x→x > 0»)",
    "«if x > 3 { return x }\n return y→return if x > 3 then x else y»",
    "a = x\n «if b { return a }\n return x→return if b then a else x»",
    "«not b→c = not b»\n return x",
    'a = x\n «"a"→c = 3»\n return a',
    "return if b then x« → else y»",
    "return cumulate(x, «add→+»)",
    # from other languages
    "return x «/*→#» all */",
    "return x «--→#» all",
    "return xor(x, y) + x«^y→»",
    "a = x\n «a += 1→b1 = a + 1»\n return a",
    "return x«++→ + 1»",
    "return «x ?? 0→value_or(x, 0)»",
    "return «coalesce(x, 0)→value_or(x, 0)»",
    "return filter(x, «True→true» or b)",
    "return filter(x, «e.a = None→is_null(e.a)»)",
    "«let →»a = x\n return a",
    "«int →»a = x\n return a",
    "return «select x from log where x > 3→filter(x, x > 3)»",
    "return filter(x, «x in (1, 2)→x = 1 or x = 2»)",
    "return «x not in (1, 2)→not (x = 1 or x = 2)»",
    "return filter(x, «x between 1 and 3→1 <= x and x <= 3»)",
    "return filter(y, not «(e.a is null)→is_null(e.a)»)",
    "return «e.a is None→is_null(e.a)»",
    "return «x as float→cast(x, float)»",
    "return «case when b then x else y end→if b then x else y»",
    "return if b «{ x } else { y }→then x else y»",
    "return if b then x «elif→else if» x > 3 then y else 3",
    "return window(x, 3, cumulate(«lambda v: v→+»))",
    "«for i in x: return i→return cumulate(x, +)»",
    "return filter(x, b «implies→->» x > 3)",
    "return «0 fby x→insert(x, 0)»",
    "return «0 -> pre x→insert(x, 0)»",
    "return «pre(x)→insert(x, 0)»",
    "return «x.shift(1)→insert(x, 0)»",
    "return «x[1:]→trim(x, 1)»",
    "return window(x, 5« min→», sum)",
    "return «[x, y]→(x, y)»",
    "return {«x→x: x», y: y}",
    'return {«"x"→x»: x}',
    "return «int(x)→cast(x, int)» + «int(5)→5»",
    "return «str(x)→to_text(x)»",
    "return «lead(x)→trim(x, 1)»",
    "return «count(x)→cumulate(turn(x, 1), +)»",
    "return «len→length»(to_text(x))",
    "return filter(y, «bool(x)→x != 0»)",
    "return «float(to_text(x))→value_or(to_float(to_text(x)), 0.0)»",
    "return «distinct→changes»(x)",
    "return «merge→multiplex»(x, y)",
    "return «zip→»(x, y)",
    "return «cumsum(x)→cumulate(x, +)»",
    "return «map(x, square)→square(x)»",
    "return «diff(x)→trim(x, 1) - x»",
    "return «first(x)→prefix(x, 1)»",
    "return «last→keep_last»(x)",
    "return «groupby(e, a, sum)→slice(e, even_a, first_of)»",
]
OTHER_TYPES = (("text", "str"), ("number", "float"), ("long", "int"), ("datetime", "float"))
PIPES = [
    *(f"{BEFORE}pipeline p(x: int, y: int, b: bool, e: {{a: int, b: int}}) -> any {{\n {each}\n}}" for each in BODIES),
    "pipeline p(x: int«→, time: int») -> int { return time }",
    "pipeline q<k«→ = 3»>(x: int) -> int { return trim(x, k) }\npipeline p(x: int) -> int { return q(x) }",
    "pipeline p(x: int) -> int«→, int» { return x, x }",
    "pipeline p(x: int) -> «→a: »int { out = x\n a = trim(x, 1)\n return a }",
    "pipeline p(x: int) -> a: int, «a→c»: int { return x, x }",
    "pipeline p(x: int) -> «x→x_out»: int { return filter(x, x > 3) }",
    "pipeline p(x: int) -> «int→float» { return x * 2.0 }",
    "pipeline p(x: int) -> int { return «x * 2.0→cast(x * 2.0, int)» }",
    "pipeline p(x: int) -> n: int, «int→float» { return x, x * 2.0 }",
    "pipeline p<k = 3>(x: 0..«k / 2→2 * k - 1») -> any { return x }",
    "table t = [1]\npipeline p(x: int) -> int { return x + «x→t»[0] }",
    "function f(v) = «w→v»\npipeline p(x: int) -> int { return f(x) }",
    "function f(v) = «mx→max»(v, 1)\npipeline p(x: int) -> int { return f(x) }",
    "function f(e) = e.«prize→price»\npipeline p(e: {price: int}) -> int { return f(e) }",
    "function f(e) = e.«price→0»\npipeline p(e: (int, int)) -> int { return f(e) }",
    "function f(v) = «f(v)→v»\npipeline p(x: int) -> int { return f(x) }",
    "function f(v«= 1→») = v\npipeline p(x: int) -> int { return f(x) }",
    "function f(v, «v→w») = v\npipeline p(x: int) -> int { return x }",
    "function f(v) = v\npipeline «f→p»(x: int) -> int { return x }",
    "«check liveness\n→»pipeline p(x: int) -> int { return x }«→\ncheck liveness»",
    "«a = b\n→»pipeline p(x: int) -> int { return x }",
    f"pipeline p(x: int) -> int {{ return trim(x, «{'1' * 5000}→3») }}",
    "pipeline p(x: int) -> int { return x }\ncheck ctl(«A[x = 1]→AF x = 1»)",
    "pipeline p(x: int) -> any { return {a: x, «a→b»: x} }",
    "«→pipeline p(x: int) -> int { return x }»",
    "pipeline p(x: int) «→-> int »{ return x }",
    "pipeline p(x: «itn→int») -> any { return x }",
    *(f"pipeline p(x: «{other}→{ours}») -> any {{ return x }}" for other, ours in OTHER_TYPES),
    "pipeline p(x: {h: {y: int«→?»}«?→»}) -> any { return x }",
    "pipeline p(x: {y: int«→?»}«?→») -> any { return x }",
    "pipeline p(x: «mapp→map»(int, bool)) -> any { return x }",
    "pipeline p(x: «float→int» mod 5) -> any { return x }",
    "function large(r) = r«→.a» > 1\nfunction parity(v) = v mod 2\n"
    "pipeline both(x: int) -> «int, int→{a: int, b: int}» { return «x, x→{a: x, b: x}» }\n"
    "pipeline p(x: int) -> any { return slice(x, parity, both, until = large) }",
    "pipeline p(x«→: int») -> int { return x }",
    "machine m(x: int, y«→: int») { state a }",
    "function f(v) «{ return v + 1 }→= v + 1»\npipeline p(x: int) -> int { return f(x) }",
    "function f(v«: int→») = v\npipeline p(x: int) -> int { return f(x) }",
    "pipeline p(x: int) -> int\n «→{» return x\n«→}»",
    "pipeline p(x: int) -> int «= x→{ return x }»",
    "pipeline p(x: «list(int)→map(int, int)») -> any { return x }",
    "pipeline p(x: map«<str, int>→(str, int)») -> any { return x }",
    "pipeline p(x: «list<int>→map(int, int)») -> any { return x }",
    "pipeline p(x: «int[]→map(int, int)») -> any { return x }",
    "«→function values(e) = (e.0, e.1)\npipeline holds(k: int, e: (int, int)) -> bool { return k > 3 }\n»"
    "pipeline p(x: (int, int)) -> bool { return forall(«k in x, k > 3→x, values, holds») }",
    "«→function add(total, x) = min(total + x, 100)\n»"
    "pipeline p(x: 0..3) -> any { return cumulate(x, «+→add, 0, 0..100») }",
    "pipeline p(x: {a: int?}) -> any { return «x.a→value_or(x.a, 0)» + 1 }",
    'pipeline p(x: str?) -> any { return «x→value_or(x, "")» + "a" }',
    "pipeline p(x: bool?, y: int) -> any { return filter(y, «x→value_or(x, false)») }",
    "pipeline p(x: int mod 4) -> any { return «x * 0.5→x div 2» }",
    'pipeline p(x: int mod 4) -> any { return x + «"a"→1» }',
    # machines
    "machine m(x: int) -> int { var n«→: int» = 0\n state a: n }",
    "machine m(x: int) { var n: int = 0\n state a\n a -> a when x > 3 «{ n := 1 }→/ n := 1» }",
    "machine m(x: int) { var n: int = 0\n state a\n a -> a when x > 3«, n := 1→ / n := 1» }",
    "machine m(x: {a, b}«→)» -> bool { state a: true }",
    "machine m(x: 0..9) -> «int mod 4→0..9» { state a: x }",
    "machine m(x: 0..9) { var n: int mod «4→10» = 0\n state a\n a -> a / n := x }",
    "machine m(«state→x»: int) { state a }",
    "machine m(x: int) { var «x→n»: int = 0\n state a }",
    "machine m(x: int) { var n: int«→ = 0»\n state a }",
    "machine m(x: int) { «→state a» }",
    "machine m(x: int) -> int { state a«→: x» }",
    "machine m(x: int) «→-> int »{ state a: x }",
    "machine m(x: int) { var n: int = 0\n state a\n a -> a / «nn→n» := x }",
    "machine m(x: 0..3) { var n: «int→array(0..7, int)» = 0\n state a\n a -> a / n[x] := 1 }",
    "machine m(x: int) { var n: array(«bool→0..7», int) = 0\n state a }",
    "machine m(k: str, x: int) { var n: map(str, int)\n state a\n a -> a / «n[k] := x→n := put(n, k, x)» }",
    'pipeline p(d: map(str, int)) -> int { return «d["a"]→get(d, "a", 0)» }',
    "pipeline p(x: «array(0..7, int)→int») -> any { return x }",
    "machine m(x: int) { state a\n a -> a «if→when» x > 1 }",
    "machine m(x: int) -> bool { state a«→:» true }",
    "machine m(x: int) { var n: int = 0\n state a\n a -> a when x = 1 / n «=→:=» n + 1 }",
    "machine m(x: int) { state a\n «*→a» -> a when x > 1 }",
    "machine m(x: int) { state a\n a -> a when x«→ > 0» }",
    "machine m(x: int) { var n: 0..3 = 0\n state a\n a -> a when n«→ > 0» and x = 1 }",
    "machine m(e: {p, q}) { state a\n a -> a when not «e→(e = p)» }",
    'machine m(x: str) { state a\n a -> a when x«→ = "text"» }',
    "machine m(x: int) { var n: 0..3 = «true→3»\n state a }",
    "machine m(x: int) { var n: bool = «3→true»\n state a }",
    "machine m(x: int) { var n: {p, q} = p\n state a\n a -> a / n := «x→q» }",
    'machine m(x: int) { var n: 0..3 = 0\n state a\n a -> a / n := «"a"→3» }',
    "machine m(x: int) { var n: 0..3 = 0\n state a\n a -> a / n := «5→3» }",
    "machine m(x: int) { var n: 0..«3→5» = 0\n state a\n a -> a / n := 5 }",
    "machine m(x: int) { var n: int = 0\n state a\n a -> a when x = 1 «→/ »n := 3 }",
    "machine m(x: int) { var n: int = 0\n state a\n a -> a when x «:=→=» 1 }",
    "machine m(x: int) -> int { var n: 0..3 = 3\n state a: «x→n» }\ncheck always («n→out» >= 0)",
    "machine m(x: int) { state locked }\ncheck always (state = «lockd→locked»)",
    "machine m(x: int) -> int { var n: «array(int)→array(0..7, int)» = 0\n state a: n[x] }",
    "machine m(x: int) -> int { var n: «array(8, int)→array(0..7, int)» = 0\n state a: n[x] }",
    "machine m(x: int) -> int { var n: «array<int>→array(0..7, int)» = 0\n state a: n[x] }",
    "machine m(x: int) -> int { var n: «int[8]→array(0..7, int)» = 0\n state a: n[x] }",
    "machine m(x: int) -> int { var n: «array→array(0..7, int)» = 0\n state a: n[x] }",
    "machine m(x: int) { var n: «map(int)→map(int, bool)»\n state a }",
    "machine m(x: float) -> int { var n: int = «int(5)→5»\n state a: n }",
    "machine m(x: float) -> int { state a: «int(x)→value_or(to_int(x), 0)» }",
    "machine m(x: int) { state a\n a -> a «[x > 1]→when x > 1» }",
    "machine m(x: int) { state a\n a -> a« :→ when» x > 1 }",
    "machine m(x: int) { state a\n a -> a« on→ when» x > 1 }",
    "machine m(x: int) { state a\n a -> a «→when »x > 1 }",
    "machine m(x: int) { state a\n «if x > 1 →»a -> a« → when x > 1» }",
    "machine m(x: int) { state a\n «when x > 1: →»a -> a« → when x > 1» }",
    "machine m(x: int) { «init →»state a }",
    "machine m(x: int) { state a«,→ state» b }",
    "machine m(x: int) -> int { state a «=→:» 3 }",
    "machine m(x: int) -> int { state a: «return →»3 }",
    "machine m(x: int) { state a «{ on x > 3 goto b }→» state b «→a -> b when x > 3» }",
    "machine m(x: int) { state a state b\n a«, b→» -> b «→b -> b» }",
    "machine m(x: int) { state a state b\n a -> b when x > 3 «else a→a -> a» }",
    "machine m(x: int) { var n: int = 0\n state a\n a -> a «do→/» n := 3 }",
    "machine m(x: int) { var n: int = 0\n state a\n a -> a when x > 1 «then→/» n := 3 }",
    "machine m(x: int) { «→var »n: int = 0\n state a }",
    "machine m(x: int) { «let→var» n: int = 0\n state a }",
    "machine m(x: int) { var «int n→n: int» = 0\n state a }",
    "machine m(x: int) { state a\n a «-->→->» a }",
    "machine m(x: int) { var n: int = 0\n state a\n a -> a when «prev(x)→n» > 3 / n := x }",
    "machine m(x: int) { state a\n a -> a when «trim(x, 1)→x» > 3 }",
    # heads and files
    "pipeline p(x: int) -> int { return «sum(x)→cumulate(x, +)» }",
    'pipeline p(x: str) -> any { return filter(x, «x like "a%"→starts_with(x, "a")») }',
    "pipeline p(x: int) «:→->» int { return x }",
    "pipeline p(x: int) «returns→->» int { return x }",
    "pipeline p«[k = 3]→<k = 3>»(x: int) -> int { return x + k }",
    "pipeline p«(x: int, k: int = 3)→<k = 3>(x: int)» -> int { return x + k }",
    "pipeline «my-p→my_p»(x: int) -> int { return x }",
    "pipeline p(x: int) -> «(a: int, b: int)→a: int, b: int» { return x, x }",
    "pipeline p(«int x→x: int») -> int { return x }",
    "pipeline p(x: {a: «int | null→int?»}) -> any { return x }",
    'pipeline p(x: {«"red"→red», green}) -> any { return x }',
    "pipeline p(x: «enum(red, green)→{red, green}») -> any { return x }",
    "«def→function» f(v) = v\npipeline p(x: int) -> int { return f(x) }",
    "«node p(x: int) returns (y: int) let y = x tel→pipeline p(x: int) -> int { return x }»",
    "«type C = {red, green}→»\npipeline p(x: «→{red, green}») -> any { return x }",
    "«import math→»\npipeline p(x: int) -> any { return x }",
    "«const k = 3→»\npipeline p«→<k = 3>»(x: int) -> any { return x + k }",
    "pipeline p(x: int) -> int { return x }\ncheck ltl(«[] x > 0→G x > 0»)",
    "pipeline p(x: int) -> int { return x }\ncheck «always (eventually x > 0)→ltl(G F x > 0)»",
    "pipeline p(x: int) -> int { return x }\ncheck «eventually→ltl»(«x→F x» > 0)",
    "machine p(x: int) -> int { var n: int = 0 state a: n a -> a / n := x«, n := 2→» }",
    "machine p(x: int) -> int { var n: int = 0 state a: n a -> a / n := «true→1» }",
    "pipeline p(x: int) -> int { return x }\ncheck «invariant→always»(out > 0)",
    "pipeline p(x: int) -> int { return x }\ncheck «deadlock-free→liveness»",
    # properties
    "pipeline p(x: int) -> int { return x }\ncheck «livenes→liveness»",
    "pipeline p(x: int) -> int { return x }\ncheck liveness«, →\ncheck »response",
    "pipeline p(x: int) -> int { return x }\ncheck always«→(x > 0)»",
    "pipeline p(x: int) -> int { return x }\ncheck always «x > 0→(x > 0)»",
    "pipeline p(x: int) -> int { return x }\ncheck «x > 0→always (x > 0)»",
    "pipeline p(x: int) -> bool { return x > 0 }\ncheck «out→always (out)»",
    "pipeline p<k = 1>(x: int) -> int { return x }\ncheck equivalent(p<3«, 4→»>)",
    "pipeline p(x: int) -> int { return x }\ncheck bounded-liveness(«0 - 1→3»)",
    "pipeline p(x: int) -> int { return x }\ncheck equivalent(«x + 1→p»)",
    "pipeline p(x: int) -> int { return x }\ncheck «always→ltl»(G x > 0)",
    "pipeline p(x: int) -> int { return x }\ncheck equivalent(«q→p»)",
    "pipeline p(x: int) -> int { return x }\ncheck always(«xx→x» > 0)",
    'pipeline p(x: int) -> int { return x }\nmonitor "a.smv" { «xx→x» = "a" }',
]

TYPES = """
declare Temp(area: int, value: int) with id 1
declare Smoke(area: int) with id 2
declare Fire(area: int, value: int) with id 10
declare fact Zone(area: int, name: string) declare aggregate JOINED(a: string, b: string) = a + b from ""
"""
RULES = [
    *(f"declare A(x: «{other}→{ours}»)" for other, ours in OTHER_TYPES),
    "«from Smoke limit 0 emit Smoke(area = 1)→»",
    "from Smoke and absent Temp within 1 after Smoke «and absent Temp as T within 2 after Smoke →»emit Smoke(area = 1)",
    "from «Smok→Smoke» emit Smoke(area = 1)",
    "from Smoke emit Smoke(area = «abs(Smoke.area)→Smoke.area»)",
    "from Smoke[$a = area] emit Smoke(area = «abs($a)→$a»)",
    "from Smoke[$a = area, $«a→b» = area] emit Smoke(area = $a)",
    "from Smoke and each Temp within 1 from Smoke« ordered by area→» emit Smoke(area = 1)",
    "from Smoke and each Temp«→ within 5 min from Smoke» emit Smoke(area = 1)",
    "from Smoke and each Zone and each Temp within 1 from «Zone→Smoke» emit Smoke(area = 1)",
    "from Smoke and each Temp within 1 from Smoke and absent Smoke as S within 1 after «Temp→Smoke»"
    " emit Smoke(area = 1)",
    "from «Zone→Smoke» emit Smoke(area = 1)",
    "from Smoke and each Zone()« within 1 from Smoke→» emit Smoke(area = 1)",
    "from Smoke and last Zone()«→ ordered by area asc» emit Smoke(area = 1)",
    "from Smoke and «→$n = »COUNT(Temp() within 1 from Smoke) emit Smoke(area = 1)",
    "from Smoke and $n = COUNT(Zone()« within 1 from Smoke→») emit Smoke(area = 1)",
    "from Smoke and $n = COUNT(Temp()«→ within 5 min from Smoke») emit Smoke(area = 1)",
    "from Smoke and $n = AVG(Temp()«→.value» within 1 from Smoke) emit Smoke(area = 1)",
    "from Smoke(area«→ > 0») emit Smoke(area = 1)",
    "from Smoke emit «Fir→Fire»(area = 1, value = 1)",
    "from Smoke emit Smoke(area = 1«, area = 2→»)",
    "from Smoke emit Fire(area = 1«→, value = 2»)",
    "from Smoke emit Smoke(«aera→area» = 1)",
    "declare Half(part: «int→float») from Smoke emit Half(part = 1 / 2)",
    "define X() from Smoke($x«, $y→»)",
    "«define fact(x: int) from fact→define Fact(x: int) from Fact»() where x = 1",
    "declare A(x: int)« declare A(y: int)→»",
    "declare A() with id 7 declare B() with id «7→8»",
    "declare A(«time→at»: int)",
    "define X(n«→: int») from X() where n = X.n",
    "declare A(x: int, «x→y»: int)",
    "define X(n) from Smoke() where n «>→=» 1",
    # scope
    "from Smoke and each Temp within 1 from «Smok→Smoke» emit Smoke(area = 1)",
    "from Smoke and each Temp«→ as Temp1» within 1 from Smoke and each Temp within 1 from Smoke"
    " emit Smoke(area = Temp«→1».area)",
    "from Smoke «→and $n = COUNT(Temp within 1 from Smoke) »"
    "emit Smoke(area = 1 + «COUNT(Temp within 1 from Smoke)→$n»)",
    "from Smoke«→[$a = area]»(area == $a) emit Smoke(area = 1)",
    "from Smoke emit Smoke(area = «→Smoke.»area)",
    "from Smoke(«Smoke.→»area > 3) emit Smoke(area = 1)",
    "from Smoke as S where «S.time→TIME(S)» > 3 emit Smoke(area = 1)",
    "from Smoke as S where «time→TIME(S)» > 3 emit Smoke(area = 1)",
    "from Smoke(«aera→area» == 1) emit Smoke(area = 1)",
    # windows
    "from Smoke emit Smoke(area = 1) at most once in «3 events→10 min»",
    "from Smoke and absent Temp within «3 events→5 min» after Smoke emit Smoke(area = 1)",
    "from Smoke and each Temp within «5 .. 2→2 .. 5» from Smoke emit Smoke(area = 1)",
    "from Smoke and each Temp within 5 «s→events» .. 9 events from Smoke emit Smoke(area = 1)",
    "from Smoke and not Temp within «1.5→2» events from Smoke emit Smoke(area = 1)",
    "from Smoke and each Temp within «0 events→1 event» from Smoke emit Smoke(area = 1)",
    # aggregates
    "declare aggregate P(a: int, b: int) = a from 1 declare aggregate «P→Q»(a: int, b: int) = b from 0",
    "from Smoke and $n = «JOINT→JOINED»(Zone.name) emit Smoke(area = 1)",
    "declare aggregate «Avg→Mean»(a: int, b: int) = a * b from 1",
    "declare aggregate P(a: int, b: «float→int») = a * b from 1",
    "declare aggregate P(a: int, «a→b»: int) = a * «a→b» from 1",
    "declare aggregate P(a: int, b: int) = a * b from «1 + 0→1»",
    "declare aggregate P(a: int, b: int) = a «-→+» b from 0",
    "declare aggregate P(a: int, b: int) = a * b from «1.0→1»",
    # text
    "declare A(x: «it→int»)",
    "declare A(x: «{a, b}→string»)",
    "declare A(x: «0..3→int»)",
    f"from Smoke(area > «{'1' * 5000}→1») emit Smoke(area = 1)",
    "from Smoke and each Temp within «1e99→forever» from Smoke emit Smoke(area = 1)",
    "from Smoke and «2 < →»$n = COUNT(Temp() within 1 from Smoke) «→where $n > 2 »emit Smoke(area = 1)",
    "from Smoke and «3 + 4→each Temp within 1 from Smoke» emit Smoke(area = 1)",
    "from Smoke and each Temp as A within 1 from Smoke« as B→» emit Smoke(area = 1)",
    "from «→Smoke and $n = »COUNT(Temp within 5 min from Smoke) «> 2→where $n > 2» emit Smoke(area = 1)",
    # slips and habits
    "from Smoke(area > 1 «&&→and» area < 3) emit Smoke(area = 1)",
    "from Smoke(area > 1 «||→or» area < 3) emit Smoke(area = 1)",
    "from Smoke «//→#» all\n emit Smoke(area = 1)",
    "from Smoke(area «<>→!=» 1) emit Smoke(area = 1)",
    "from Smoke emit Smoke(area «:=→=» 1)",
    "from Smoke emit Smoke(area = 1)«;→»",
    "from Smoke emit Smoke(area = 1)\n«check always (Smoke.area > 1)→»",
    "from Smoke(«!→not »(area == 1)) emit Smoke(area = 1)",
    "from Smoke(area > 1 «&→and» area < 3) emit Smoke(area = 1)",
    "from «3→Smoke» emit Smoke(area = 1)",
    "from Smoke and not Temp within «X→5 min» from Smoke emit Smoke(area = 1)",
    "from Smoke and «→each »Temp within 1 from Smoke emit Smoke(area = 1)",
    "from Smoke and each Temp within 1 «week→d» from Smoke emit Smoke(area = 1)",
    "from Smoke and each Temp within 9 s from Smoke where TIME(Temp) > «3 events→30 s» emit Smoke(area = 1)",
    "from Smoke and each Temp within 9 s from Smoke where TIME(Temp) > «0.25 us→1 us» emit Smoke(area = 1)",
    "from Smoke and last Temp «as T→»(area == 1) «→as T »within 1 from Smoke emit Smoke(area = 1)",
    "from Smoke «as S→»[$a = area] «→as S »emit Smoke(area = $a)",
    "from Smoke emit Smoke(area = Smoke.area «mod→%» 2)",
    "from Smoke where Smoke.area «div→/» 2 > 1 emit Smoke(area = 1)",
    "from Smoke«→[$a = area]»(area > 1)«[$a = area]→» emit Smoke(area = $a)",
    "from Smoke«[area > 1]→(area > 1)» emit Smoke(area = 1)",
    "from Smoke and $n = COUNT(Temp within 5 min«→ from Smoke») emit Smoke(area = $n)",
    "from Smoke(area > 1)«→ emit Smoke(area = 1)»",
    "define Fire(area «= Smoke.area→: int», value«→: int») from Smoke where area = Smoke.area, value = 1",
    "«fact→declare fact» Gate(area: int)",
    "from Smoke and «last→each» Zone emit Smoke(area = 1)",
    "from Smoke and each Temp «in→within» 5 min from Smoke emit Smoke(area = 1)",
    "from Smoke and each Temp «→within 5 min »from Smoke emit Smoke(area = 1)",
    # phrases
    "declare A(x: «0..3→int»)",
    "from Smoke and $n = «MEAN→AVG»(Temp.value within 1 from Smoke) emit Smoke(area = 1)",
    "from Smoke and $n = «Average→AVG»(Temp.value within 1 from Smoke) emit Smoke(area = 1)",
    "from Smoke and $n = «median→MEDIAN»(Temp.value within 1 from Smoke) emit Smoke(area = 1)",
    "from Smoke and last «3 →»Temp within 1 from Smoke emit Smoke(area = 1)",
    "from Smoke and last Temp«() where value > 45→(value > 45)» within 1 from Smoke emit Smoke(area = 1)",
    "from Smoke and last Temp«→(value > 45)» «where Temp.value > 45 →»within 1 from Smoke emit Smoke(area = 1)",
    "from Smoke and last Temp«.value > 45→(value > 45)» within 1 from Smoke emit Smoke(area = 1)",
    "from Smoke and last Temp« value > 45→(value > 45)» within 1 from Smoke emit Smoke(area = 1)",
    "from Smoke and not Temp« > 45→(value > 45)» within 1 from Smoke emit Smoke(area = 1)",
    "from Smoke and «→$n = »AVG(Temp.value within 1 from Smoke)« as n→» emit Smoke(area = 1)",
    "from Smoke and «n→$n» = COUNT(Temp within 1 from Smoke) emit Smoke(area = 1)",
    "from Smoke and $n = COUNT(Temp«()) within 1 from Smoke→ within 1 from Smoke)» emit Smoke(area = 1)",
    "from Smoke and «any→each» Temp within 1 from Smoke emit Smoke(area = 1)",
    "from Smoke«,→ and» last Temp within 1 from Smoke emit Smoke(area = 1)",
    "from Smoke and last Temp within 1 from Smoke«,→ and» $n = COUNT(Temp within 1 from Smoke) emit Smoke(area = 1)",
    "from Smoke «or →emit Smoke(area = 1) from »Temp emit Smoke(area = 1)",
    "from Smoke and absent Temp within 1 «from→after» Smoke emit Smoke(area = 1)",
    "from Smoke and each Temp within 1 from Smoke and «absent→not» Smoke between Temp and Smoke emit Smoke(area = 1)",
    "from Smoke« where Smoke.area > 3→» and last Temp within 1 from Smoke «→where Smoke.area > 3 »emit Smoke(area = 1)",
    "from Smoke« where Smoke.area > 3→» and not Temp within 1 from Smoke «→where Smoke.area > 3 »emit Smoke(area = 1)",
    "from Smoke «→where Smoke.area > 3 »emit Smoke(area = 1)« where Smoke.area > 3→»",
    "from Smoke «→limit 3 »emit Smoke(area = 1)« limit 3→»",
    "from Smoke «limit 3 where Smoke.area > 3→where Smoke.area > 3 limit 3» emit Smoke(area = 1)",
    "from Smoke emit Smoke(«→area = »Smoke.area)",
    "from Smoke[$a = area] emit Smoke(«→area = »$a)",
    "from Smoke emit Smoke(area«: →= »1)",
    "from Smoke emit Smoke(area «==→=» 1)",
    "from Smoke emit Smoke(area = 1) «consuming Smoke →»at most once in 5 min« → consuming Smoke»",
    "declare A(x«→: int», y: int)",
    "«event→declare» A(x: int)",
    "from Smoke where «Smoke.area is not null→Smoke.area == Smoke.area» emit Smoke(area = 1)",
    "from Smoke where Smoke.area «!= null→== Smoke.area» emit Smoke(area = 1)",
    "from Smoke(area «!= null→== area») emit Smoke(area = 1)",
    "from Smoke emit Smoke(area = «aera→Smoke.area»)",
    'from Smoke and each Zone(name > «3→"3"») emit Smoke(area = 1)',
    "from Smoke(not area« → > 0») emit Smoke(area = 1)",
    "from Smoke(area > 0 «+→and» true) emit Smoke(area = 1)",
    "from Smoke(area «:→==» 3) emit Smoke(area = 1)",
    "declare A(x: «list<int>→int»)",
    # from other languages
    "from «(Smoke(area > 3))→Smoke(area > 3)» emit Smoke(area = 1)",
    "from Smoke and each «(Temp(value > 3))→Temp(value > 3)» within 1 from Smoke emit Smoke(area = 1)",
    "from Smoke and not «(Temp(value > 3))→Temp(value > 3)» within 1 from Smoke emit Smoke(area = 1)",
    "from Smoke and not «(Temp within 1 from Smoke)→Temp within 1 from Smoke» emit Smoke(area = 1)",
    "from Smoke and «(last Temp within 1 from Smoke)→last Temp within 1 from Smoke» emit Smoke(area = 1)",
    "from Smoke and «(Temp(value > 3))→each Temp(value > 3)» within 1 from Smoke emit Smoke(area = 1)",
    "define X(n: int) from «(Smoke())→Smoke()» where n = 1",
    "«FROM→from» Smoke emit Smoke(area = 1)",
    "«select * from Smoke→from Smoke emit Smoke(area = 1)»",
    "«every Smoke→from Smoke emit Smoke(area = 1)»",
    "from «every →»Smoke emit Smoke(area = 1)",
    "from «Smoke -> Temp→Temp and each Smoke within 5 min from Temp» emit Smoke(area = 1)",
    "from «Smoke followed by Temp→Temp and each Smoke within 5 min from Temp» emit Smoke(area = 1)",
    "from «Smoke and then Temp→Temp and each Smoke within 5 min from Temp» emit Smoke(area = 1)",
    "from Smoke «→and »not Temp within 1 from Smoke emit Smoke(area = 1)",
    "from Smoke and «not exists→not» Temp within 1 from Smoke emit Smoke(area = 1)",
    "from Smoke and «LAST→last» Temp within 1 from Smoke emit Smoke(area = 1)",
    "from Smoke and «at least 3 Temp within 1 from Smoke→$n = COUNT(Temp within 1 from Smoke) where $n >= 3»"
    " emit Smoke(area = 1)",
    "from «Temp group by area→Temp[$k = area] and $n = COUNT(Temp(area == $k) within 5 min from Temp)»"
    " emit Smoke(area = 1)",
    "from Smoke and each Temp«.win:time(5 min)→ within 5 min from Smoke» emit Smoke(area = 1)",
    "from Smoke and each Temp«#window.time(5 min)→ within 5 min from Smoke» emit Smoke(area = 1)",
    "from Smoke and last Temp within «1 h 30 min→90 min» from Smoke emit Smoke(area = 1)",
    "from Smoke and last Temp within «1h30m→90 min» from Smoke emit Smoke(area = 1)",
    "from Smoke and last Temp within 1«-→ .. »5 min from Smoke emit Smoke(area = 1)",
    "from Smoke and absent Temp within 5 min «→after Smoke »emit Smoke(area = 1)",
    "from Smoke(«area in (1, 2)→area == 1 or area == 2») emit Smoke(area = 1)",
    "from Smoke(«area between 1 and 3→area >= 1 and area <= 3») emit Smoke(area = 1)",
    'from Smoke and each Zone(name «like "hall%"→== "hall"») emit Smoke(area = 1)',
    'from Smoke and each Zone(name «===→==» "hall") emit Smoke(area = 1)',
    "from Smoke(«1 < area < 3→1 < area and area < 3») emit Smoke(area = 1)",
    "from Smoke and $n = COUNT(«*→Temp within 1 from Smoke») emit Smoke(area = $n)",
    "from Smoke and $n = «TOTAL→SUM»(Temp.area within 1 from Smoke) emit Smoke(area = $n)",
    "from Smoke and $n = «minimum→MIN»(Temp.area within 1 from Smoke) emit Smoke(area = $n)",
    "from Smoke and $n = «maximum→MAX»(Temp.area within 1 from Smoke) emit Smoke(area = $n)",
    "from Smoke and $n = SUM(«value of Temp→Temp.area» within 1 from Smoke) emit Smoke(area = $n)",
    "from Smoke and $n = COUNT(Temp within 1 from Smoke) «having→where» $n > 2 emit Smoke(area = 1)",
    "from Smoke «if→where» Smoke.area > 2 emit Smoke(area = 1)",
    "from Smoke emit Smoke(area = «if Smoke.area > 3 then 1 else 2→1»)",
    "from Smoke emit Smoke(area = «Smoke.area > 3 ? 1 : 2→1»)",
    "from Smoke emit Smoke(area = Smoke.area«^2→ * Smoke.area»)",
    "from «s: Smoke→Smoke as s» emit Smoke(area = s.area)",
    "from Smoke as «$s→s» emit Smoke(area = s.area)",
    "from Smoke «→as »S emit Smoke(area = S.area)",
    "from Smoke and last Temp «→as »T within 1 from Smoke emit Smoke(area = T.area)",
    "rule «'fire'→fire»: from Smoke emit Smoke(area = 1)",
    "rule «my-fire→my_fire»: from Smoke emit Smoke(area = 1)",
    "rule fire «{→:» from Smoke emit Smoke(area = 1)«}→»",
    "from Smoke «return→emit» Smoke(area = 1)",
    "from Smoke emit Smoke(area = 1)«, Fire(area = 1, value = 1)→ from Smoke emit Fire(area = 1, value = 1)»",
    "from Smoke emit Smoke«{→(»area = 1«}→)»",
    "from Smoke emit Smoke(area = 1) at most once «per→in» 5 min",
    "from Smoke emit Smoke(area = 1) «every 5 min→at most once in 5 min»",
    "declare A(x«→:» int)",
    "declare A(«int x→x: int»)",
    "declare «event →»A(x: int)",
    "«define→declare» B(n: int) from Smoke emit B(n = 1)",
    "declare A«→()» from A emit A",
    "declare A(x: int«?→»)",
    "«create schema→declare» A(x: int)",
    '«import "types.tesla"→»',
    "from Smoke emit Smoke(area = «TIME→TIME(Smoke)»)",
    "from Smoke emit «Zon→Smoke»(area = 1)",
]


def variants(case: str) -> tuple[str, str]:
    """The text with the mistake, and the one that follows the hint."""
    wrong = right = ""
    for i, part in enumerate(case.replace("»", "«").split("«")):
        one, _, other = part.partition("→") if i % 2 else (part, "", part)
        wrong, right = wrong + one, right + other
    return wrong, right


def read_pipes(text: str) -> None:
    source = parse(text)
    for name in source.pipelines or [""]:
        source.get(name or None)


def errors_of(text: str, *, of_rules: bool) -> list[WorkbenchError]:
    try:
        parse_rules(TYPES + text) if of_rules else read_pipes(text)
    except WorkbenchError as error:
        return [error, *error.others]
    return []


CASES = [*((case, False) for case in PIPES), *((case, True) for case in RULES)]


@pytest.mark.parametrize(("case", "of_rules"), CASES, ids=[case[-60:] for case, _ in CASES])
def test_who_follows_a_hint_is_rid_of_the_mistake(case, of_rules):
    wrong, right = variants(case)
    assert any(error.hint for error in errors_of(wrong, of_rules=of_rules))
    assert not errors_of(right, of_rules=of_rules)


# --- that no hint is forgotten ----------------------------------------------------------------------------


GIVING = {"mistake": 1, "error": 1, "report": 2}
"""What is called with a hint, and the number of arguments before it, at least."""


def places(path: Path) -> Iterator[tuple[str, str, int, int]]:
    """Module, function, first and last line of each call that gives a hint."""
    module = path.relative_to(PACKAGE).with_suffix("").as_posix()

    def visit(node: ast.AST, function: str) -> Iterator[tuple[str, str, int, int]]:
        for child in ast.iter_child_nodes(node):
            inside = child.name if isinstance(child, ast.FunctionDef) else function
            if isinstance(child, ast.Call):
                gives = any(keyword.arg == "hint" for keyword in child.keywords)
                name = child.func.attr if isinstance(child.func, ast.Attribute) else ""
                gives |= name in GIVING and len(child.args) > GIVING[name]
                if gives:
                    yield module, function, child.lineno, child.end_lineno or child.lineno
            yield from visit(child, inside)

    yield from visit(ast.parse(path.read_text(encoding="utf-8")), "")


def test_every_hint_is_followed(monkeypatch):
    reached, hints, original = set[tuple[str, int]](), set[str](), WorkbenchError.__init__

    def remember(self, what, *, where="", hint="", **more):
        original(self, what, where=where, hint=hint, **more)
        for frame, line in traceback.walk_stack(sys._getframe(1)) if hint else ():
            reached.add((frame.f_code.co_filename, line))
            if frame.f_code.co_name not in (*GIVING, "__init__"):
                break

    monkeypatch.setattr(WorkbenchError, "__init__", remember)
    for case, of_rules in CASES:
        hints |= {error.hint for error in errors_of(variants(case)[0], of_rules=of_rules)}
    missing = [
        f"{module}:{first} {function}"
        for path in MODULES
        for module, function, first, last in places(path)
        if (module, function) not in ELSEWHERE
        and not any((str(path), line) in reached for line in range(first, last + 1))
    ]
    assert not missing
    tables = mistakes.SLIPS, rule_mistakes.SLIPS, FOREIGN_NAMES, FOREIGN_FUNCTIONS, FOREIGN_TYPES, OTHER_NAMES
    assert {hint for table in tables for hint in table.values()} <= hints
    for hint in (*mistakes.PHRASES.values(), *rule_mistakes.PHRASES.values()):
        filled = re.sub(r"\\\\\d", ".*", re.escape(hint))
        assert any(re.fullmatch(filled, each, re.DOTALL) for each in hints), hint
    for module in (mistakes, rule_mistakes):
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        (habit,) = (each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef) and each.name == "_habit")
        values = (each.value for each in ast.walk(habit) if isinstance(each, ast.Constant))
        told = [words for words in values if isinstance(words, str) and " " in words]
        assert not [words for words in told if not any(words in hint for hint in hints)]
