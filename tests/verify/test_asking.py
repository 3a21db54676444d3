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
from workbench.language.properties import PROPERTIES

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
    "no property": (lambda p: wb.check(p, 3), "3 is no property"),  # type: ignore[arg-type]
    "a sense": (lambda p: wb.equiv(p, p, "stepwize"), "did you mean 'stepwise'"),  # type: ignore[arg-type]
    "a sense of tolerance": (lambda p: wb.faults.tolerates(p, None, "x"), "there is no sense"),  # type: ignore[arg-type]
    "an arithmetic": (lambda _: wb.Settings(integers="cheked"), "did you mean 'checked'"),  # type: ignore[arg-type]
    "an environment": (lambda _: wb.Environment("alway"), "did you mean 'always'"),  # type: ignore[arg-type]
    "a device": (lambda p: wb.executors.Batch(p, device="cpuu"), "did you mean 'cpu'"),  # type: ignore[arg-type]
    "a name": (lambda _: wb.chek, "did you mean|no 'chek'"),  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_misspelt_is_told(case: str, file: str) -> None:
    do, message = WRONG[case]
    with pytest.raises((InputError, LanguageError, AttributeError), match=f"(?s){message}"):
        do(wb.load(file))
