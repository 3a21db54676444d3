"""Functions of Python files: run only where that is allowed, with the types that they say, refused with a reason."""

import pytest

import workbench as wb
from workbench.errors import WorkbenchError

FUNCTIONS = """
from typing import Literal

import factors


def risk(amount: float, country: str) -> float:
    if country == "xx":
        raise ValueError("no such country")
    return amount * factors.OF[country]

def kind(amount: float) -> str:
    return type(amount).__name__

def even(n: int) -> bool:
    return n % 2 == 0

def state(n: int) -> Literal["low", "high"]:
    return "low" if n < 2 else "high"

def given(n: int | None) -> bool:
    return n is not None

def wrong(n: int) -> bool:
    return n

def untyped(n) -> bool:
    return True

def listed(n: list) -> bool:
    return True

def spread(*n: int) -> bool:
    return True
"""


@pytest.fixture
def write(tmp_path):
    (tmp_path / "mine.py").write_text(FUNCTIONS)
    (tmp_path / "factors.py").write_text('OF = {"de": 2.0, "fr": 0.5}\n')

    def written(text, name="p.pipe"):
        path = tmp_path / name
        path.write_text(text)
        return str(path)

    return written


def pipe(names, inputs, outputs, value):
    return f'use "mine.py": {names}\npipeline p({inputs}) -> {outputs} {{ return {value} }}\n'


def error(call, *args, **options):
    with pytest.raises(WorkbenchError) as caught:
        call(*args, **options)
    return caught.value


RISK = pipe("risk", "amount: float, country: str", "float", "risk(amount, country)")


def test_a_function_is_run_where_that_is_allowed(write):
    program = wb.load(write(RISK), allow_python=True)
    assert wb.run(program, {"amount": [3.0, 4.0], "country": ["de", "fr"]}) == {"out": [6.0, 2.0]}
    assert wb.run(write(RISK), {"amount": [1.0], "country": ["fr"]}, allow_python=True) == {"out": [0.5]}


def test_no_line_of_the_file_is_run_where_it_is_not(write, tmp_path):
    (tmp_path / "mine.py").write_text(f"open({str(tmp_path / 'seen')!r}, 'w')")
    found = error(wb.load, write(RISK))
    assert found.what == "this program would run the Python file 'mine.py', which could do all that you can"
    assert found.hint == "if you trust that file, add --allow-python (allow_python=True in Python)"
    assert found.where.line == 1
    assert not (tmp_path / "seen").exists()
    assert "would run the Python file" in str(error(wb.parse, RISK, str(tmp_path / "text.pipe")))


def test_a_permission_ends_with_the_call(write):
    wb.load(write(RISK), allow_python=True)
    assert "would run the Python file" in str(error(wb.load, write(RISK)))


def test_a_whole_number_is_a_float_where_the_function_takes_one(write):
    program = wb.load(write(pipe("kind", "n: int", "str", "kind(n)")), allow_python=True)
    assert wb.run(program, {"n": [1]}) == {"out": ["float"]}


def test_constants_may_be_arguments(write):
    program = wb.load(write(pipe("risk", "amount: float", "float", 'risk(amount, "de")')), allow_python=True)
    assert wb.run(program, {"amount": [1.5]}) == {"out": [3.0]}


@pytest.mark.parametrize("value", ["risk(amount, country)", 'risk(amount, "xx")'])
def test_what_it_raises_is_told_with_the_step_and_the_line(write, tmp_path, value):
    program = wb.load(write(pipe("risk", "amount: float, country: str", "float", value)), allow_python=True)
    shown = "2.0, 'xx'" if "country" in value else "2.0"
    found = str(error(wb.run, program, {"amount": [2.0], "country": ["xx"]}))
    line = FUNCTIONS.splitlines().index('        raise ValueError("no such country")') + 1
    place = tmp_path / "mine.py"
    assert "step 0: processor" in found
    assert f"failed on {shown}: ValueError: no such country, in {place}:{line}" in found


def test_small_finite_types_are_a_table_and_others_are_refused(write):
    text = pipe("even, state", "n: 0..3", "(bool, {low, high})", "(even(n), state(n))")
    small = wb.load(write(text), allow_python=True)
    assert wb.check(small, "always(out.1 = low or out.1 = high)").outcome == "holds"
    large = wb.load(write(RISK), allow_python=True)
    found = str(error(wb.check, large, "always(out > 0)"))
    assert "'risk' has no translation: the Python function 'risk' failed on " in found
    assert "KeyError: " in found
    data = {"amount": [1.0], "country": ["de"]}
    assert "not supported by backend 'compiled'" in str(error(wb.run, large, data, backend="compiled"))


def test_null_is_an_argument_where_the_function_takes_it(write):
    program = wb.load(write(pipe("given", "s: str", "bool", "given(to_int(s))")), allow_python=True)
    assert wb.run(program, {"s": ["4", "x"]}) == {"out": [True, False]}


WRONG = [
    ("untyped", "n: int", "untyped(n)", "'untyped' does not declare all of its types: 'n' has none"),
    ("listed", "n: int", "listed(n)", "'n' is list, which the language does not have"),
    ("spread", "n: int", "spread(n)", "'spread' has arguments that are not positional"),
    ("rusk", "n: int", "n > 1", "'mine.py' has no function 'rusk'"),
    ("even", "s: str", "even(s)", "argument 1 of 'even' is int, not str"),
    ("even", "x: float", "even(x)", "argument 1 of 'even' is int, not float"),
    ("even", "n: int", "even(n, n)", "takes 1 argument, 2 given"),
]


@pytest.mark.parametrize(("names", "inputs", "value", "what"), WRONG, ids=[row[3] for row in WRONG])
def test_mistakes(write, names, inputs, value, what):
    assert what in str(error(wb.load, write(pipe(names, inputs, "bool", value)), allow_python=True))


def test_a_function_of_some_texts_says_how_to_name_them_in_a_check(write, tmp_path):
    (tmp_path / "mine.py").write_text('OF = {"de": 2, "fr": 1}\ndef risk(c: str) -> int:\n    return OF[c]\n')
    program = wb.load(write(pipe("risk", "c: str", "int", "risk(c)")), allow_python=True)
    said = str(error(wb.check, program, "liveness", wb.Settings(n=4)))
    assert "KeyError: 'd'" in said
    assert "(in a check the texts are a, b, c, d: --values str=de,fr gives others)" in said
    assert wb.check(program, "liveness", wb.Settings(texts=("de", "fr"))).outcome == "holds"


def test_only_functions_of_the_file_are_proposed(write, tmp_path):
    code = "from textwrap import dedent\nclass Rising:\n    n: int\ndef rise(n: int) -> int:\n    return n\n"
    (tmp_path / "mine.py").write_text(code)
    of_class = error(wb.load, write(pipe("Rising", "n: int", "bool", "n > 1")), allow_python=True)
    assert "Rising is a class\n" in str(of_class)
    assert "use takes functions; a plugin adds processors (docs/reference/plugins.md)" in of_class.hint
    unknown = error(wb.load, write(pipe("zzz", "n: int", "bool", "n > 1")), allow_python=True)
    assert unknown.hint == "its functions are: rise"


def test_a_result_of_another_type_is_an_error(write):
    program = wb.load(write(pipe("wrong", "n: int", "bool", "wrong(n)")), allow_python=True)
    assert "wrong(5) = 5 is not in its result domain bool" in str(error(wb.run, program, {"n": [5]}))


def test_a_function_in_python_is_no_part_of_one_in_the_language(write):
    text = 'use "mine.py": even\nfunction f(n) = not even(n)\npipeline p(n: int) -> bool { return f(n) }'
    found = error(wb.load, write(text), allow_python=True)
    assert "cannot be applied to symbols" in str(found)
    assert "apply it to streams" in str(found)


def test_files_lie_where_those_of_programs_lie(write, tmp_path):
    (tmp_path / "sub").mkdir()
    text = RISK.replace("mine.py", "../mine.py")
    path = write(text, "sub/p.pipe")
    assert "lies outside the folder of the program" in str(error(wb.load, path, allow_python=True))
    assert wb.load(path, include=[tmp_path], allow_python=True)
    assert "there is no file 'none.py'" in str(error(wb.load, write(RISK.replace("mine", "none")), allow_python=True))


def test_a_file_that_cannot_be_run_is_told_with_its_line(write, tmp_path):
    (tmp_path / "mine.py").write_text("\nimport nothing_of_this_name\n")
    found = str(error(wb.load, write(RISK), allow_python=True))
    assert "mine.py:2: it cannot be run: ModuleNotFoundError" in found


def test_a_name_is_defined_once(write):
    text = RISK + "function risk(a, b) = a"
    assert "'risk' is defined twice" in str(error(wb.load, write(text), allow_python=True))


def test_a_changed_file_is_run_again(write, tmp_path):
    path = write(pipe("even", "n: int", "bool", "even(n)"))
    assert wb.run(wb.load(path, allow_python=True), {"n": [1]}) == {"out": [False]}
    file = tmp_path / "mine.py"
    file.write_text("def even(n: int) -> bool:\n    return True\n")
    assert wb.run(wb.load(path, allow_python=True), {"n": [1]}) == {"out": [True]}


def test_use_is_a_name_elsewhere():
    text = "pipeline use(use: int) -> int { return use }"
    assert wb.run(wb.parse(text).get(), {"use": [1]}) == {"out": [1]}
