"""Python asks what the command line asks, in the same words; what is misspelt is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.cli.main import main
from workbench.errors import InputError, LanguageError
from workbench.language.properties import PROPERTIES, parse_property
from workbench.tesla.check import parse_rules
from workbench.tesla.model.build import RuleBounds
from workbench.verify.rules.problems import rule_problem

TEXT = """
pipeline a(x: int) -> y: bool { y = x >= 0 fault lose y at most 1 return y }
pipeline b(x: int) -> y: bool { y = x + 1 > 0 return y }
"""
ASKED = [
    *(name for name, row in PROPERTIES.items() if row.argument is None), "bounded-liveness(3)", "always (y)",
    "ctl(AG (y.present -> y))", "ltl(G (y.present -> y))",
    *(f"{name}(b)" for name, row in PROPERTIES.items() if row.mode and row.argument),
]  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> str:
    (tmp_path / "p.pipe").write_text(TEXT)
    return f"{tmp_path / 'p.pipe'}:a"


@pytest.mark.parametrize("asked", ASKED)
def test_properties_are_spelled_as_on_the_command_line(
    asked: str, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    verdict = wb.check(file, asked)
    assert main(["check", file, "-p", asked, "--json"]) == verdict.outcome.exit_code
    told = json.loads(capsys.readouterr().out)
    assert (told["verdict"], told["property"], told["trace"] if verdict.counterexample else None) == (
        verdict.outcome, asked, verdict.to_json().get("trace"),
    )  # fmt: skip
    assert wb.check(wb.load(file), asked).outcome == verdict.outcome


def test_files_are_taken_wherever_programs_are(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    other = file.replace(":a", ":b")
    assert main(["equiv", file, other, "--mode", "stepwise", "--json"]) == 1
    verdict = wb.equiv(file, other, "stepwise")
    assert json.loads(capsys.readouterr().out)["verdict"] == verdict.outcome == "fails"
    assert wb.faults.tolerates(file).outcome == wb.check(file, "tolerates").outcome
    assert wb.buffers(Path("models/time2021/figure_2a.pipe")).exit_code == 1
    assert wb.check(other, "response", faults=["lose y"]).outcome == "fails"


WRONG: dict[str, tuple[Callable[[Any], object], str]] = {
    "a property": (lambda p: wb.check(p, "no-overflw"), "there is no property.*did you mean 'no-overflow'"),
    "no property": (lambda p: wb.check(p, 3), "3 is not a property"),  # type: ignore[arg-type]
    "a sense": (lambda p: wb.equiv(p, p, "stepwize"), "did you mean 'stepwise'"),  # type: ignore[arg-type]
    "a sense of tolerance": (lambda p: wb.faults.tolerates(p, None, "x"), "there is no sense"),  # type: ignore[arg-type]
    "an arithmetic": (lambda _: wb.Settings(integers="cheked"), "did you mean 'checked'"),  # type: ignore[arg-type]
    "an environment": (lambda _: wb.Environment("alway"), "did you mean 'always'"),  # type: ignore[arg-type]
    "a device": (lambda p: wb.executors.Batch(p, device="cpuu"), "did you mean 'cpu'"),  # type: ignore[arg-type]
    "a name": (lambda _: wb.chek, "did you mean 'check'"),  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_misspelt_is_told(case: str, file: str) -> None:
    do, message = WRONG[case]
    with pytest.raises((InputError, LanguageError, AttributeError), match=f"(?s){message}"):
        do(wb.load(file))


RULES = """
declare Temp(area: string, value: int) declare Alarm(area: string) declare Fire(area: string)
from Temp(value > 1) emit Alarm(area = Temp.area)
"""


@pytest.mark.parametrize(
    ("asked", "hint", "followed"),
    [
        ("always (Alarm -> Fire)", "write Alarm.present for", "always (Alarm.present -> Fire.present)"),
        ("always (Temp.value > 1 -> Alarm)", "write Alarm.present", "always (Temp.value > 1 -> Alarm.present)"),
        ("always (not Alarm)", "write Alarm.present for", "always (not Alarm.present)"),
        ("ltl(G (Temp -> F Alarm))", "write Temp.present for", "ltl(G (Temp.present -> F Alarm.present))"),
    ],
)
def test_of_events_it_is_asked_whether_they_come(asked: str, hint: str, followed: str) -> None:
    rules = parse_rules(RULES)
    with pytest.raises(LanguageError) as caught:
        rule_problem(rules, asked).decide()
    assert hint in caught.value.hint
    assert rule_problem(rules, followed).decide().outcome in ("holds", "fails")


def test_the_model_has_the_texts_of_a_property() -> None:
    rules, asked = parse_rules(RULES), 'always (Alarm.area != "zz")'
    assert rule_problem(rules, asked).decide().outcome == "fails"
    chosen = RuleBounds(values={("Temp", "area"): ["a", "b"]})
    with pytest.raises(LanguageError, match="no text of the model is 'zz'") as caught:
        rule_problem(rules, asked, chosen).decide()
    assert "--values Temp.area=a,b,zz" in caught.value.hint


def test_a_text_is_compared_with_an_attribute_without_values() -> None:
    """No such event comes, so the property holds vacuously."""
    rules = parse_rules(
        "declare A(s: string) declare B(s: string)\n"
        "from A and each A as Old within 1 s from A where TIME(A) - TIME(Old) > 2 s emit B(s = A.s)"
    )
    for text in ('always (B.s = "x")', 'always (B.s != "x")'):
        verdict = rule_problem(rules, text).decide()
        assert (verdict.outcome, verdict.vacuity is not None) == ("holds", True)


def test_a_field_may_be_called_value() -> None:
    rules = parse_rules(RULES)
    asked = ("always (Temp.value > 1 -> Alarm.present)", "always (Temp.value > 0 -> Alarm.present)")
    assert [rule_problem(rules, each).decide().outcome for each in asked] == ["holds", "fails"]
    assert rule_problem(rules, asked[0].replace("value", "value.value")).decide().outcome == "holds"


DOOR = """machine door(e: {coin, push}) -> opened: bool {
    state locked: false
    state opened: true
    locked -> opened when e = coin
    opened -> locked when e = push
}"""
TAKEN = "machine m(on: {on, off}) -> bool { state on: true state b: false on -> b when on = off }"


@pytest.mark.parametrize(
    ("text", "asked", "outcome"),
    [
        (DOOR, "always (opened -> state = opened)", "holds"),
        (DOOR, "always (opened = (state = opened) -> opened)", None),  # two truth values, and a label
        (DOOR, "always (opened.value = (state = opened))", "holds"),
        (DOOR, "always (opened -> state != opened)", "fails"),
        (DOOR, "ctl(AG EF (not opened and state = locked))", "holds"),
        (DOOR, "can(opened)", "holds"),
        (TAKEN, "can(on)", "holds"),
        (TAKEN, "always (on.value = off -> state = b)", "holds"),
        (TAKEN, "always (state = on)", None),
        (TAKEN, 'always (state = "on" -> out)', "holds"),
        (TAKEN, 'always (on.value = "off" -> state = "on")', "fails"),
    ],
)
def test_a_name_of_a_pipe_and_of_a_label(text: str, asked: str, outcome: str | None) -> None:
    program = wb.parse(text).get()
    if outcome is not None:
        assert wb.check(program, asked).outcome == outcome
        return
    with pytest.raises(LanguageError, match="is both a pipe and a label") as caught:
        wb.check(program, asked)
    assert ".value for the pipe" in caught.value.hint


def test_a_text_that_no_stream_of_the_model_has() -> None:
    program = wb.parse("pipeline p(x: str) -> str { return x }").get()
    with pytest.raises(LanguageError, match="no text of the model is 'zz'") as caught:
        wb.check(program, 'always (out != "zz")')
    assert caught.value.hint.endswith("--values str=a,b,c,d,zz")


@pytest.mark.parametrize("name", ["bounded-response", "response"])
def test_a_response_to_an_event_is_a_formula(name: str) -> None:
    with pytest.raises(LanguageError) as caught:
        parse_property(f"{name}(Temp, Alarm, 5)")
    assert caught.value.hint == "write ltl(G (Temp.present -> F Alarm.present))"
    with pytest.raises(LanguageError) as caught:
        parse_property("bounded-overflow(x, 5)")
    assert "always" not in caught.value.hint
