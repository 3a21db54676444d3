"""The same examples everywhere; a search for new ones that ends in time and shows what it found."""

from __future__ import annotations

import importlib
import runpy
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

import workbench as wb
from tests.conftest import TOGETHER
from tests.examples import examples
from tests.found import case, read
from workbench.language import parse

ROOT = Path(__file__).resolve().parent.parent
TEXT = "pipeline p(x: 0..1) -> 0..1 { return trim(x, 1) }"


@pytest.fixture
def fuzz(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("fuzz")


@pytest.mark.parametrize("where", [None, "1"], ids=["at home", "CI"])
def test_examples_are_the_same_everywhere(where: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    if where:
        monkeypatch.setenv("CI", where)
    before = settings.get_current_profile_name()
    try:
        runpy.run_path(str(ROOT / "tests" / "conftest.py"))
        assert settings.default.derandomize
        assert settings.default.database is None
        assert settings.default.max_examples == 7
        assert settings.get_profile("thorough").max_examples == 25
        assert settings.get_profile("fuzz").max_examples == 100
    finally:
        settings.load_profile(before)


def test_one_profile_scales_all_examples() -> None:
    before = settings.get_current_profile_name()
    settings.register_profile("more", settings.get_profile("default"), max_examples=250)
    try:
        settings.load_profile("more")
        assert [examples(count).max_examples for count in (1, 40, 300)] == [2, 100, 750]
    finally:
        settings.load_profile(before)


def test_what_fails_is_shown_as_a_program() -> None:
    def compare(pipeline: wb.Pipeline, steps: list[object]) -> None:
        raise AssertionError

    try:
        compare(parse(TEXT).get("p").pipeline, [{"x": 1}, wb.END])
    except AssertionError as error:
        ((_, text),) = case("test_it", error.__traceback__)
    pipeline, steps = read(text)
    assert [node.name for node in pipeline.nodes] == ["trim"]
    assert steps == [{"x": 1}, wb.END]


@pytest.mark.parametrize("code", [1, 2])
def test_the_round_that_finds_something_is_the_last(
    fuzz: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], code: int
) -> None:
    rounds = {7: 0, 8: 0, 9: code}
    monkeypatch.setattr(fuzz, "commands", lambda seed, *_: [[sys.executable, "-c", f"exit({rounds[seed]})"]])
    assert fuzz.search(time.monotonic() + 60, "1", [], 7) == 1
    assert "again with --seed 9" in capsys.readouterr().out


@pytest.mark.parametrize("handled", ["except KeyboardInterrupt: exit(130)", "finally: pass"])
def test_the_search_ends_when_the_time_is_over(
    fuzz: ModuleType, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], handled: str
) -> None:
    program = f"import time\ntry: time.sleep(600)\n{handled}"
    monkeypatch.setattr(fuzz, "commands", lambda *_: [[sys.executable, "-c", program]])
    assert fuzz.search(time.monotonic() + 1, "1", [], 0) == 0
    assert "nothing found" in capfd.readouterr().out


def test_a_round_is_random_pipelines_and_then_all_properties(fuzz: ModuleType) -> None:
    conform, properties = fuzz.commands(5, "2", [])
    assert conform[1:6] == ["-m", "workbench.cli.main", "conform", "--random", "200"]
    assert "--hypothesis-seed=5" in properties
    assert fuzz.commands(5, "2", ["tests/core"])[0][-1] == "tests/core"


def test_what_is_started_once_is_needed_by_files_that_there_are() -> None:
    assert [file for file in TOGETHER if not (ROOT / file).is_file()] == []
