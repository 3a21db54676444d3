"""Suites: what they refuse, and how they are found among other files."""

import textwrap
from pathlib import Path

import pytest

from tests.lab.conftest import SQUARES
from workbench.errors import InputError, SuiteError
from workbench.lab import Beside, Limits, Output, Region, Suite, mean, median, only, total
from workbench.lab.suite_search import find_suite, load_suite, suite_file, suite_files

WORD = Output("a word", kind=str)
ROOT = Path(__file__).resolve().parents[2]


def make(**changes):
    suite = Suite("s", "a suite")

    def square(n):
        return {"y": n}

    given = {"region": Region(n=[1, 2]), "y": Output("y"), **changes}
    suite.experiment(given.pop("region"), **given)(square)
    return suite


@pytest.mark.parametrize(
    ("mistake", "word"),
    [
        (lambda: Suite("no/name", ""), "cannot be called"),
        (lambda: make(region=Region(k=1)), "takes 'n'"),
        (lambda: make(n=Output("n")), "both an axis and an output"),
        (lambda: make(status=Output("s")), "'status' cannot be"),
        (lambda: make(repeat=0), "repeated 0 times"),
        (lambda: make(expected=lambda q: None), "takes 'q'"),
        (lambda: make(needs=print), "not a prerequisite"),
        (lambda: make(y=Output("y", kind=list)), "cannot be of type"),
        (lambda: make().table("t", of="squares", rows="n", cells={}), "no experiment 'squares'"),
        (lambda: make().table("t", of="square", rows="k", cells={}), "no axis 'k'"),
        (lambda: make().table("t", of="square", rows="n", cells={"a": median("z")}), "no 'z'"),
        (lambda: make().table("t", of="square", rows="n", cells={}, beside=[Beside("b", ("k",), {})]), "no axis 'k'"),
        (lambda: make().plot("p", of="square", x="n", y=median("y"), kind="pie"), "no kind 'pie'"),
        (lambda: make().plot("p", of="square", y=median("y")), "x is missing"),
        (lambda: make().plot("p", of="square", x="y", y=median("y")), "no axis 'y'"),
        (lambda: make().plot("p", of="square", x="n", y=median("y"), log="z"), "not 'z'"),
        (
            lambda: make(s=WORD).table("t", of="square", rows="n", cells={"s": mean("s")}),
            "'s' is a text",
        ),
        (lambda: make(b=Output("", kind=bool)).plot("p", of="square", x="n", y=total("b")), "'b' is true or false"),
        (lambda: make().table("t", of="square", rows="n", cells={"s": only("status").as_("%", 2)}), "is a text"),
        (lambda: make().plot("p", of="square", x="n", y=only("y")), "several values"),
    ],
)
def test_mistakes_are_named(mistake, word):
    with pytest.raises(SuiteError, match=word):
        mistake()


@pytest.mark.parametrize(
    ("mistake", "what", "hint"),
    [
        (lambda: make(timeout=5), "timeout: expected an Output, not 5", "a limit limits=lab.Limits(seconds=60)"),
        (lambda: make(limits=5), "limits: expected a Limits, not 5", "write limits=lab.Limits(seconds=60)"),
        (lambda: make(repaet=3), "repaet: expected an Output", "did you mean 'repeat'"),
        (lambda: make(zzz=1), "zzz: expected an Output", "options are: limits, repeat, persistent, warm_up, needs"),
        (lambda: make(outputs=[Output("y")]), "outputs: expected a Mapping", "write outputs={'seconds'"),
        (lambda: make(region={"k": [1]}), "region: expected a Region, not {'k'", "write lab.Region(k=["),
        (lambda: make().plot("p", of="square", x="n", y="y"), "plot 'p': expected a Statistic", "y=lab.median('y')"),
        (lambda: make().table("t", of="square", rows="n", cells=median("y")), "cells: expected a Mapping", "cells={"),
        (lambda: make().table("t", of="square", rows="n", cells="y"), "cells: expected a Mapping", "cells={"),
        (lambda: make().table("t", of="square", rows="n", cells={"y": "y"}), "table 't': expected a", "median('y')"),
        (lambda: make().table("t", of="square", rows="n", cells={}, where="n"), "where: expected a Ma", "where={'k'"),
        (lambda: make().table("t", of="square", rows="n", cells={}, z=1), "no option 'z'", "of, rows, cells, columns,"),
        (lambda: make().plot("p", of="square", x="n", y=median("y"), z=1), "no option 'z'", "series, kind, log, where"),
    ],
)
def test_an_argument_of_another_type_has_a_hint(mistake, what, hint):
    with pytest.raises(InputError) as error:
        mistake()
    assert what in error.value.what
    assert hint in error.value.hint


def test_an_option_that_is_misspelt_is_an_error():
    with pytest.raises(InputError, match=r"no option 'titel'\n  hint: did you mean 'title'"):
        make().table("t", of="square", rows="n", cells={}, titel="Squares")
    with pytest.raises(InputError, match="no option 'were'"):
        make().plot("p", of="square", x="n", y=median("y"), were={})


def test_a_name_is_used_once():
    suite = make()
    suite.table("t", of="square", rows="n", cells={})
    with pytest.raises(SuiteError, match="two tables 't'"):
        suite.table("t", of="square", rows="n", cells={})


def test_the_examples_in_the_docstring_are_a_suite(make_lab):
    import workbench.lab.suite as module

    text = textwrap.dedent((module.__doc__ or "").partition("\n\n")[2])
    assert text.startswith('suite = Suite("squares"')
    lab = make_lab(text, "squares")
    assert list(lab.suite.experiments) == ["sum_of_squares"]
    assert list(lab.suite.claims) == ["grows"]


def test_suites_are_told_from_other_scripts(make_lab, tmp_path):
    make_lab(SQUARES, "one")
    folder = tmp_path / "experiments"
    (folder / "bench.py").write_text("import sys\nsys.exit('this must not be run')\nsuite = 3\n")
    (folder / "broken.py").write_text("from workbench.lab import *\nsuite = Suite('broken',\n")
    (folder / "python2.py").write_text("print 'suite = Suite()'")
    (folder / "typed.py").write_text("from workbench.lab import Suite\nsuite: Suite = Suite('typed', '')\n")
    (folder / "inside.py").write_text("def f():\n    suite = Suite('inside', '')\n")
    (folder / "two.py").write_text("from workbench import lab\nsuite = lab.Suite('two', '')\n")
    assert list(suite_files(folder)) == ["broken", "one", "two", "typed"]
    assert load_suite(folder / "two.py").name == "two"
    assert suite_file(folder, "two") == folder / "two.py"
    for name in ("bench", "nowhere", "../experiments/two", "./two"):  # a path is not a name
        assert suite_file(folder, name) is None


def test_benchmarks_beside_suites_are_no_suites():
    assert not [name for name in suite_files(ROOT / "experiments") if name.startswith("bench")]


@pytest.mark.parametrize(
    ("text", "what", "where"),
    [
        ("suite = Suite('bad', '')\nx = 1 / 0\n", "ZeroDivisionError", "bad.py:3"),
        ("suite = Suite('other', '')\n", "called 'other'", "bad.py"),
        ("suite = Suite('bad', '')\nx = (\n", "not valid Python", "bad.py:3"),
        (
            "suite = Suite('bad', '')\nsuite.table('t', of='f', rows='n', cells={})\n",
            "loaded: suite 'bad' has",
            "bad.py:3",
        ),
    ],
)
def test_an_error_in_a_suite_says_where(tmp_path, text, what, where):
    path = tmp_path / "bad.py"
    path.write_text("from workbench.lab import *\n" + text)
    with pytest.raises(SuiteError, match=what) as caught:
        load_suite(path)
    assert where in str(caught.value.where)


def test_a_missing_suite_names_those_that_there_are(make_lab, tmp_path):
    make_lab(SQUARES, "one")
    with pytest.raises(SuiteError, match="there are: one"):
        find_suite(tmp_path / "experiments", "two")
    with pytest.raises(SuiteError, match="no such folder"):
        find_suite(tmp_path / "elsewhere", "two")


def test_limits_are_shown():
    assert str(Limits()) == "60 s, 2048 MB"
    assert str(Limits(0.5, 2.0, None)) == "0.5 s, 2 s of CPU time"
    assert str(Limits(None, None, None)) == "no limits"


def test_limits_have_defaults():
    assert Limits().seconds
    assert Limits().memory_mb
