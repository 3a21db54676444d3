"""Tests that are written from runs: they pass as they are, and fail when the pipeline shows something else."""

import itertools
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.conformance.test_differential import STEPS, Changed, sums
from workbench import conformance
from workbench.conformance.compare.differential import agree
from workbench.conformance.compare.executables import Running
from workbench.conformance.compare.models import Evaluated
from workbench.conformance.written_tests.counterexamples import to_test
from workbench.conformance.written_tests.disagreements import disagreement
from workbench.conformance.written_tests.pytest_file import as_source, identifier
from workbench.conformance.written_tests.reproduce import Untranslated, translate
from workbench.core.domain import Overflowing
from workbench.errors import WorkbenchError
from workbench.language import parse_expression
from workbench.verify.answer.verdict import Verdict
from workbench.verify.ask.equivalence import EquivalenceMode

ROOT = Path(__file__).parents[2]
SOURCE = """
pipeline late(x: int) -> int { return x + trim(x, 2) }
pipeline doubled(x: int) -> int { return x * 2 }
pipeline twice(x: int) -> int { return x + x }
pipeline thrice(x: int) -> int { return x * 3 }
pipeline start(x: int) -> int {
    count = cumulate(turn(x, 1), +)
    return filter(count, count <= 2)
}
pipeline total(x: int) -> int { return cumulate(x, +) }
pipeline ones(x: int) -> int { return turn(x, 1) }
pipeline half(x: int) -> int { return turn(decimate(x, 2), 1) }
"""
MODULAR, SATURATING, CHECKED = Overflowing.MODULAR, Overflowing.SATURATING, Overflowing.CHECKED


def asked(name: str, text: str, integers: Overflowing = MODULAR, source: str = SOURCE, **given: Any) -> Verdict:
    """A verdict on a pipeline of the text above, as the command line makes it."""
    return wb.check(wb.parse(source).get(name), text, wb.Settings(integers=integers, **given))


def compared(left: str, right: str, mode: EquivalenceMode) -> Verdict:
    source = wb.parse(SOURCE)
    return wb.equiv(source.get(left), source.get(right), mode)


CASES: dict[str, tuple[Callable[[], Verdict], str]] = {
    "overflow": (lambda: asked("late", "no-overflow", q=1), "match=r\"step 1: queue 'add\\.left'\""),
    "full": (lambda: asked("late", "no-full-queues"), 'assert seen[-1].queues["add.left"] == 2'),
    "condition": (lambda: asked("doubled", "always (out != 2)"), 'assert not (now["mul"] != 2)'),
    "silent": (lambda: asked("start", "bounded-liveness(1)", SATURATING), "in seen[2:])"),
    "response": (lambda: asked("start", "response", SATURATING), "assert len(rounds) == 3"),
    "liveness": (lambda: asked("start", "liveness", SATURATING), "choose = random.Random(0)"),
    "ltl": (
        lambda: asked("total", "ltl(F G (out != 2))", environment=wb.Environment("always")),
        "where the loop begins",
    ),
    "ctl": (lambda: asked("doubled", "ctl(AG (x.present -> out < 2))"), "# the run violates"),
    "witness": (lambda: asked("late", "always (out.present -> x.present)", q=1), "pytest.raises(Overflow"),
    "checked": (lambda: asked("total", "always (out >= x)", CHECKED), "step 1: processor 'cumulate'"),
    "stepwise": (lambda: compared("doubled", "thrice", "stepwise"), "!= list(theirs.values())"),
    "sequence": (lambda: compared("twice", "thrice", "sequence"), "assert any(one != two"),
    "bounded comparison": (lambda: compared("ones", "half", "sequence"), "side_by_side("),
}
"""What is written, and what must be found in it."""


def run_pytest(path: Path) -> subprocess.CompletedProcess[str]:
    """The file, run by pytest, far from this project's settings."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(path.parent), str(path)]
    env = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=path.parent, env=env, timeout=120)


def executed(text: str, path: Path = Path("written")) -> dict[str, object]:
    """The names that a written file, which lies there, defines."""
    names: dict[str, object] = {"__name__": "written", "__file__": str(path)}
    exec(compile(text, "<written>", "exec"), names)
    return names


def play(text: str, path: Path = Path("written")) -> None:
    """Its tests, called."""
    for name, value in executed(text, path).items():
        if name.startswith("test_"):
            value()  # type: ignore[operator]


@pytest.fixture(scope="module")
def cases() -> dict[str, Verdict]:
    return {name: make() for name, (make, _) in CASES.items()}


@pytest.mark.parametrize("name", CASES)
def test_it_passes_as_it_is_written_and_says_what_is_wrong(cases: dict[str, Verdict], name: str) -> None:
    text = to_test([cases[name]])
    play(text)
    assert CASES[name][1] in text, text


@pytest.mark.parametrize(
    ("name", "of", "outcome"),
    [("overflow", "no_overflow_of_late", "fails"), ("witness", "always_of_late", "holds_within_bounds"),
     ("sequence", "sequence_equivalent_of_twice_thrice", "fails")],
)  # fmt: skip
def test_the_name_states_what_is_shown(cases: dict[str, Verdict], name: str, of: str, outcome: str) -> None:
    """It passes as long as the fault is there."""
    text = to_test(cases[name])
    assert f"def test_shows_that_{of}_{outcome}():\n" in text
    assert '; this test passes until that changes."""\n' in text


@pytest.mark.slow
def test_pytest_runs_a_file_of_many(cases: dict[str, Verdict], tmp_path: Path) -> None:
    path = tmp_path / "test_runs.py"
    path.write_text(to_test(list(cases.values()), "workbench check it"), encoding="utf-8")
    done = run_pytest(path)
    assert done.returncode == 0, done.stdout
    assert f"{len(CASES)} passed" in done.stdout
    assert path.read_text().count('SOURCE = """') == 1
    assert "Written by `workbench check it`." in path.read_text()


MUTANTS = {
    "overflow": ("trim(x, 2)", "trim(x, 0)"),
    "full": ("trim(x, 2)", "trim(x, 1)"),
    "condition": ("x * 2", "x * 3"),
    "silent": ("count <= 2", "count <= 3"),
    "response": ("count <= 2", "count <= 3"),
    "liveness": ("count <= 2", "count <= 3"),
    "ltl": ("cumulate(x, +) }", "x + 1 }"),
    "ctl": ("x * 2", "x * 0"),
    "witness": ("trim(x, 2)", "trim(x, 0)"),
    "checked": ("cumulate(x, +) }", "cumulate(x, max) }"),
    "stepwise": ("x * 3", "x * 2"),
    "sequence": ("x * 3", "x + x"),
    "bounded comparison": ("decimate(x, 2)", "decimate(x, 1)"),
}


@pytest.mark.parametrize("name", CASES)
def test_it_fails_when_the_pipeline_shows_something_else(cases: dict[str, Verdict], name: str) -> None:
    text = to_test([cases[name]])
    before, after = MUTANTS[name]
    assert text.count(before) == 1
    with pytest.raises((AssertionError, pytest.fail.Exception, WorkbenchError)):
        play(text.replace(before, after))


@pytest.mark.parametrize("name", CASES)
def test_it_fails_when_the_run_is_changed(cases: dict[str, Verdict], name: str) -> None:
    """Every output that the file says came is checked: each is changed in turn."""
    text = to_test([cases[name]])
    shown = [m for m in re.finditer(r"\[(\d|True|False)?\]", text) if "# step" in text[m.start() :].split("\n")[0]]
    for found in shown:
        wrong = {"True": "[False]", "False": "[True]", None: "[7]"}.get(found[1], "[7]")
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            play(text[: found.start()] + wrong + text[found.end() :])


def test_a_loop_is_run_three_times(cases: dict[str, Verdict]) -> None:
    run = cases["ltl"].run
    assert run.loop is not None
    around = len(run.steps) - run.loop
    text = to_test([cases["ltl"]])
    assert len(re.findall(r"# step \d+", text)) == len(run.steps) + 2 * around


def test_what_varies_in_later_rounds_is_what_execution_shows() -> None:
    """The loop repeats what the property sees, and the sum goes on."""
    pipeline = wb.parse("pipeline p(x: int) -> int { return cumulate(x, +) }").get().pipeline
    prop = wb.properties.property_from(wb.properties.parse_property("ltl(G F (x = 0))"))
    verdict = wb.check(pipeline, prop, wb.Settings(n=5, environment=wb.Environment("always")))
    run = verdict.run
    assert run
    assert run.varies
    assert run.loop is not None
    text = to_test([verdict])
    play(text)
    inputs = [step.inputs["x"] for step in run.steps]
    inputs += inputs[run.loop :] * 2
    sums = [total % 5 for total in itertools.accumulate(inputs)]
    assert [int(m) for m in re.findall(r'"out": \[(\d)\]', text)] == sums


def test_a_verdict_alone_is_enough_where_functions_have_sources() -> None:
    source = wb.parse(SOURCE)
    verdicts = [
        wb.check(source.get("late").pipeline, wb.properties.no_overflow(), wb.Settings(q=1)),
        wb.equiv(source.get("late").pipeline, source.get("total").pipeline, "stepwise"),
    ]
    text = to_test(verdicts)
    play(text)
    assert "Builder('late')" in text


def test_refusals() -> None:
    source = wb.parse(SOURCE)
    holds = wb.check(source.get("doubled").pipeline, wb.properties.liveness())
    with pytest.raises(WorkbenchError, match="no run to write a test of"):
        to_test([holds])
    fails = wb.check(source.get("start").pipeline, wb.properties.liveness(), wb.Settings(integers=SATURATING))
    with pytest.raises(WorkbenchError, match=r"(?s)'<= 2' has no source.*the pipeline of a file"):
        to_test([fails])


def test_texts_that_need_care() -> None:
    """Quotes and backslashes in comments of the source, and names that are no Python names."""
    text = '# say """hello""" \\n to C:\\new\n' + SOURCE
    verdict = asked("doubled", "always (out != 2)", source=text)
    found = to_test([replace(verdict, pipeline="a b-c")])
    play(found)
    assert str(executed(found)["SOURCE"]).strip() == text.strip()
    assert "def test_shows_that_always_of_a_b_c_fails():" in found


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("out != 2", '(now["mul"] != 2)'),
        ("x.present -> out = x", '(not ("x" in now) or (now["mul"] == now["x"]))'),
        ("not (x < 1) and true", '((not (now["x"] < 1)) and True)'),
        ("queue(mul.left).length <= 1", '(waiting["mul.left"] <= 1)'),
        ("not queue(mul.left).full", '(not (waiting["mul.left"] == 2))'),
        ("x = red", '(now["x"] == "red")'),
        ("out.value = true", '(now["mul"] == True)'),
    ],
)  # fmt: skip
def test_conditions_in_python(text: str, wanted: str) -> None:
    names = {"x": "x", "mul": "mul", "out": "mul"}
    assert translate(parse_expression(text, "<test>"), names, {"mul.left": 2}) == wanted


@pytest.mark.parametrize("text", ["out + 1 = 2", "x.price = 1", "overflow", "queue(a.b).full", "-x = 1", "(x, 1) = x"])
def test_conditions_that_are_not_translated(text: str) -> None:
    with pytest.raises(Untranslated):
        translate(parse_expression(text, "<test>"), {"x": "x", "out": "out"}, {})


def test_a_condition_that_computes_is_replaced_by_what_was_seen() -> None:
    text = to_test([asked("doubled", "always (out + 1 != 3)")])
    play(text)
    assert 'assert now == {"x": 1, "mul": 2}' in text


def test_values_and_names_in_python() -> None:
    assert as_source({"a": [(1, "b"), (True,)]}) == '{"a": [(1, "b"), (True,)]}'
    assert [identifier(text) for text in ("a.b", "class", "2nd", "!", "Ok")] == ["a_b", "class_", "_2nd", "it", "ok"]


# --- disagreements ----------------------------------------------------------------------------------------


def test_a_disagreement_is_a_test_that_fails_until_they_agree() -> None:
    bounded = Running(sums, {"sum.left": 4, "sum.right": 4})
    found = agree(sums, STEPS, bounded, Changed(1, {"sum": 0}))
    assert found
    text = disagreement(found)
    play(text)  # one of them is not known here, so the specification takes its place, and it agrees
    assert "Running(pipeline, {'sum.left': 4, 'sum.right': 4}), Denoting(pipeline)" in text
    assert text.count('{"x": ') == found.step + 1
    with pytest.raises(AssertionError, match=r"differ at step 1, pipe 'sum'"):
        play(text.replace("check(pipeline, steps, Running", "check(pipeline, steps, Broken(pipeline), Running").replace(
            ", Denoting(pipeline))", ")").replace("def test_they", BROKEN + "def test_they"))  # fmt: skip


BROKEN = """class Broken(Denoting):
    def trace(self, steps):
        for i, seen in enumerate(super().trace(steps)):
            yield seen._replace(pipes=seen.pipes | {"sum": 0}) if i else seen


"""


def test_both_executables_are_made_again() -> None:
    found = agree(sums, STEPS, Running(sums), Evaluated(sums, 2))
    assert found is None
    lies = Evaluated(sums, 2)
    lies.simulator.step = lambda events: Evaluated(sums, 2).simulator.step({"x": 3})  # type: ignore[method-assign]
    found = agree(sums, STEPS, Running(sums), lies)
    assert found
    text = disagreement(found)
    assert "check(pipeline, steps, Running(pipeline, None), Evaluated(pipeline, 2))" in text
    play(text)


# --- what the files import --------------------------------------------------------------------------------


def test_they_import_only_what_stays_where_it_is(cases: dict[str, Verdict]) -> None:
    source = wb.parse(SOURCE)
    alone = wb.check(source.get("late").pipeline, wb.properties.no_overflow(), wb.Settings(q=1))
    found = agree(sums, STEPS, Running(sums), Changed(1, {"sum": 0}))
    assert found
    texts = [to_test([*cases.values(), alone]), disagreement(found)]
    places = {place for text in texts for place in re.findall(r"^(?:from|import) (\S+)", text, re.MULTILINE)}
    assert places == {"random", "pytest", "workbench", "workbench.conformance", "workbench.processors"}


def test_what_they_import_is_there() -> None:
    assert [name for name in conformance.__all__ if not hasattr(conformance, name)] == []
    assert not hasattr(conformance, "nothing")


def test_a_pipeline_called_like_something_imported() -> None:
    pipeline = replace(sums, name="check")
    found = agree(pipeline, STEPS, Running(pipeline), Changed(1, {"sum": 0}))
    assert found
    assert "pipeline = check_2()" in disagreement(found)
    play(disagreement(found))
