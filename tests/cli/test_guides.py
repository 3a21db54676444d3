"""The tutorial and the how-tos are worked through, each in an empty folder: files are written, commands run.

A block whose fence names a file (```` ```pipe alarm.pipe ````) is that file; `...` stands for any output. The steps of
continuous integration (`- run: ...`) are run, too, and must not fail.
"""

import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Run
from tests.cli.test_docs import shows

HOWTO = ROOT / "docs" / "howto"
GUIDES = [
    ROOT / "docs" / "tutorial" / "cold-room.md",
    *sorted(page for page in HOWTO.glob("*.md") if page.stem != "README"),
]
LONG = {"read-an-unknown", "state-ranges", "test-your-engine", "data-frames", "figures"}
"""Guides whose commands take seconds, for limits of time and for many processes."""
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
STEP = re.compile(r"^- run: (.*)$", re.MULTILINE)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


@pytest.mark.parametrize(
    "guide", [pytest.param(page, marks=[pytest.mark.slow] * (page.stem in LONG), id=page.stem) for page in GUIDES]
)
def test_guide(guide: Path, tmp_path: Path, workbench: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    commands = 0
    for language, file, text in BLOCK.findall(guide.read_text(encoding="utf-8")):
        if file:
            (tmp_path / file).parent.mkdir(exist_ok=True)
            (tmp_path / file).write_text(text, encoding="utf-8")
        for line, wanted in COMMAND.findall(text) if language == "console" else ():
            assert shows(wanted, output(line, workbench, monkeypatch)), line
            commands += 1
        for line in STEP.findall(text) if language == "yaml" else ():
            in_shell(line)
            commands += 1
    assert commands


def test_the_command_that_follows_a_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall((HOWTO / "watch-a-log.md").read_text(encoding="utf-8"))
    for _, file, text in blocks:
        if file:
            Path(file).write_text(text, encoding="utf-8")
    (command,) = [text for language, _, text in blocks if language == "sh"]
    in_shell(f"{command.rstrip()} --head 5")
    assert Path("alerts.jsonl").read_text().count("Guessing") == 2
    assert Path("guessing.state").exists()


def test_the_recipe_for_the_last_up_to_n_rows(tmp_path: Path, workbench: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = (HOWTO / "watch-a-log.md").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"`(window\(insert.*?)`", page)
    Path("recent.pipe").write_text(f"pipeline recent<n = 3>(status: int) -> errors: 0..n {{ return {recipe} }}")
    Path("log.csv").write_text("status\n500\n200\n502\n503\n200\n")
    assert workbench("run", "recent.pipe", "--input", "log.csv").out == "errors\n1\n1\n2\n2\n2\n"


def output(line: str, workbench: Run, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a command prints: `workbench` runs here, what stands before it or is another program in a shell."""
    before, program, given = line.rpartition("workbench ")
    if not program:
        return in_shell(line)
    piped = subprocess.run(["bash", "-c", before.rstrip("| ") or "true"], capture_output=True, check=True).stdout
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(piped)))
    return workbench(*shlex.split(given)).out


def in_shell(line: str) -> str:
    """What a command prints in a shell, in which `workbench` is a program; it must not fail."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    return subprocess.run(["bash", "-c", line], capture_output=True, check=True, text=True, env=env).stdout


def test_every_guide_is_in_the_list() -> None:
    listed = (HOWTO / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in GUIDES[1:] if f"({page.name})" not in listed] == []
