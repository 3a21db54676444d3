"""`workbench run --help` is one screen; pages have the rest, and nothing is left out of both."""

import argparse

import pytest

from workbench.cli.command_line import parser
from workbench.cli.help_pages import PagedParser
from workbench.cli.main import main
from workbench.executors.table import backend_rows


def shown(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["run", "--help", *arguments]) == 0
    return capsys.readouterr().out


def run_parser() -> PagedParser:
    commands = next(a for a in parser(["run"])._actions if isinstance(a, argparse._SubParsersAction))
    found = commands.choices["run"]
    assert isinstance(found, PagedParser)
    return found


@pytest.mark.parametrize("columns", ["80", "120"])
def test_help_is_one_screen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    text = shown(capsys)
    assert len(text.splitlines()) <= 60
    assert all(page in text for page in run_parser().pages)
    assert "may not go back without --late" in " ".join(text.split())


def test_every_option_is_on_some_page(capsys: pytest.CaptureFixture[str]) -> None:
    run = run_parser()
    told = shown(capsys) + "".join(shown(capsys, page) for page in run.pages)
    words = set(told.replace(",", " ").split())
    assert {flag for action in run._actions for flag in action.option_strings} <= words


def test_a_backend_has_a_page_with_its_own_options(capsys: pytest.CaptureFixture[str]) -> None:
    for row in backend_rows().values():
        if row.runs:
            text = shown(capsys, row.name)
            assert {word for word in text.split() if word.startswith("--")} >= {
                option.flag for option in row.options if option.help
            }
    assert "--master" in shown(capsys, "spark")
    assert "--master" not in shown(capsys, "reference")


def test_an_unknown_page_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--help", "fromats"]) == 2
    assert "there is no page 'fromats' of help\n  hint: did you mean 'formats'?" in capsys.readouterr().err
