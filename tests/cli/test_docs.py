"""Every command in README.md and the guides is executed; `...` stands for any output."""

import doctest
import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, command
from workbench.cli.main import COMMANDS
from workbench.cli.main import command as command_module

PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
MONITORING = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
ANALYSES = (ROOT / "docs" / "analyses.md").read_text(encoding="utf-8")
RUNS = (ROOT / "docs" / "counterexamples.md").read_text(encoding="utf-8")
FAULTS = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
RUNNING = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
LAB = (ROOT / "docs" / "lab.md").read_text(encoding="utf-8")
CONFORMANCE = (ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
PAGES = PAGE + CONFORMANCE + MONITORING + ANALYSES + RUNS + FAULTS + RUNNING + LAB + README
BLOCKS = re.findall(r"^```console\n(.*?)^```$", PAGES, re.MULTILINE | re.DOTALL)
EXAMPLES = [
    (line, wanted)
    for block in BLOCKS
    for line, wanted in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


@pytest.mark.parametrize(("line", "wanted"), EXAMPLES)
def test_example(line: str, wanted: str, tmp_path: Path) -> None:
    program = " ".join(command([]))
    script = f'workbench() {{ {program} "$@"; }}\n{line}'
    env = {**os.environ, "TMPDIR": str(tmp_path), "COLUMNS": "100", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, env=env, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert doctest.OutputChecker().check_output(wanted, done.stdout, doctest.ELLIPSIS), done.stdout


def test_every_command_has_an_example() -> None:
    used = {word for line, _ in EXAMPLES for word in re.findall(r"workbench (\w+)", line)}
    assert used == set(COMMANDS)
    assert all(f"\n## {name}\n" in PAGE for name in COMMANDS)


def test_every_command_is_in_the_table() -> None:
    assert re.findall(r"^\| \[`workbench (\w+)`\]\(#(\w+)\) \|", PAGE, re.MULTILINE) == [
        (name, name) for name in COMMANDS
    ]


def test_examples_need_no_variable_that_a_reader_may_lack() -> None:
    names = {name for line, _ in EXAMPLES for name in re.findall(r"\$\{?(\w+)", line) if f"{name}=" not in line}
    assert names <= {"OLDPWD"}


def test_every_dependency_is_named() -> None:
    """In the sentence on the library alone, and in the row of each extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "installing.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*)$", page, re.MULTILINE))
    alone = page.partition("installs the library")[2].partition(" only")[0]
    for text, needed in (
        (alone, project["dependencies"]),
        *((rows[e], n) for e, n in project["optional-dependencies"].items()),
    ):
        for requirement in needed:
            assert re.split(r"[^\w.-]", requirement)[0] in text, requirement


def test_every_option_is_mentioned() -> None:
    for name in COMMANDS:
        source = Path(str(command_module(name).__file__)).read_text(encoding="utf-8")
        for option in re.findall(r'"(--[a-z]+)"', source):
            assert option in PAGE or option == "--property", f"{name} {option}"
