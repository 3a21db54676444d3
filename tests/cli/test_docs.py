"""Every command in README.md and the guides is executed; `...` stands for any output."""

import doctest
import io
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cli.conftest import PROGRESS, ROOT, Run, command
from workbench.cli.command_line import command as command_module
from workbench.cli.commands import helps

REFERENCE = ROOT / "docs" / "reference"


def pages(*names: str) -> str:
    return "".join((REFERENCE / f"{name}.md").read_text(encoding="utf-8") for name in names)


PAGE = pages("cli", "cli-check", "cli-analyse", "cli-run", "cli-tools")
MONITORING = (ROOT / "docs" / "reference" / "monitoring.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
ANALYSES = (ROOT / "docs" / "reference" / "analyses.md").read_text(encoding="utf-8")
RUNS = (ROOT / "docs" / "explanation" / "counterexamples.md").read_text(encoding="utf-8")
FAULTS = (ROOT / "docs" / "reference" / "faults.md").read_text(encoding="utf-8")
RUNNING = pages("running", "logs", "times", "formats", "live", "keys", "compiled", "parallel")
DATAFLOW = (ROOT / "docs" / "explanation" / "dataflow.md").read_text(encoding="utf-8")
RULES = pages("rules", "rules-running", "rules-engines", "facts", "explain", "rules-in-pipelines")
LAB = (ROOT / "docs" / "reference" / "lab.md").read_text(encoding="utf-8")
CONFORMANCE = (ROOT / "docs" / "reference" / "conformance.md").read_text(encoding="utf-8")
WORDS = (ROOT / "docs" / "tutorial" / "from_words.md").read_text(encoding="utf-8")
CHECKED = pages("rules-checking", "rules-simplify")
BUFFERS = (ROOT / "docs" / "reference" / "buffers.md").read_text(encoding="utf-8")
OTHERS = (ROOT / "docs" / "reference" / "from-other-engines.md").read_text(encoding="utf-8")
PAGES = (
    CHECKED
    + OTHERS
    + BUFFERS
    + PAGE
    + WORDS
    + CONFORMANCE
    + MONITORING
    + ANALYSES
    + RUNS
    + FAULTS
    + RUNNING
    + DATAFLOW
    + RULES
    + LAB
    + README
)
BLOCKS = re.findall(r"^```console\n(.*?)^```$", PAGES, re.MULTILINE | re.DOTALL)
EXAMPLES = [
    (line, wanted)
    for block in BLOCKS
    for line, wanted in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


DEMO = next(each for each in EXAMPLES if each[0].startswith("workbench demo "))
"""It takes seconds: `test_demo` looks at it in its own run."""
EXAMPLES.remove(DEMO)
FILLED = r"(?:((?:seq|printf) [^|]*) \| )?workbench "
ALONE = r'((?:[^|;<>&$\']|\'[^\']*\'|"\$TMPDIR"|"\$\(mktemp -d\)["/])+)'
PLAIN = re.compile(FILLED + ALONE + r'(; echo "exit code \$\?")?')
"""A command alone: it can run in this process, which has everything imported and an engine at work."""

LONG = "workbench equiv models/crv2016/turn_around.pipe"
"""It takes ten seconds."""
GROWING = ("analyse", "check", "equiv", "monitor")
"""Commands whose bounds grow for some seconds, in which a busy machine comes less far than the docs say."""
PATIENT = f"""case $1 in {"|".join(GROWING)}) [[ " $* " = *" --grow "* ]] || set -- "$@" --grow 60;; esac"""
"""The same in a shell: what has the arguments of `workbench` gives them another one."""


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        pytest.param(*each, marks=[pytest.mark.slow] * (each[0].startswith(LONG)))
        for each in EXAMPLES
        if PLAIN.fullmatch(each[0])
    ],
)
def test_example(line: str, wanted: str, tmp_path: Path, workbench: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    before, given, asks = PLAIN.fullmatch(line).groups()
    read = subprocess.run(["bash", "-c", before or "true"], capture_output=True, check=True).stdout
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(read)))
    monkeypatch.setattr("sys.stderr", sys.stdout)
    command = shlex.split(re.sub(r"\$TMPDIR|\$\(mktemp -d\)", str(tmp_path), given))
    if command[0] in GROWING and "--grow" not in command:
        command += ["--grow", "60"]
    done = workbench(*command)
    code = f"exit code {done.code}\n" if asks else ""
    assert shows(wanted, done.out + code), done.out


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("line", "wanted"),
    [pytest.param(*each, marks=pytest.mark.slow if PLAIN.fullmatch(each[0]) else ()) for each in EXAMPLES],
)
def test_example_in_a_shell(line: str, wanted: str, tmp_path: Path) -> None:
    program = " ".join(command([]))
    script = f'workbench() {{ {PATIENT}; {program} "$@"; }}\npython() {{ {sys.executable} "$@"; }}\n{line}'
    env = {**os.environ, "TMPDIR": str(tmp_path), "COLUMNS": "100", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", script], cwd=ROOT, env=env, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert shows(wanted, done.stdout), done.stdout


def shows(wanted: str, output: str) -> bool:
    """Whether the output is the one of the guide, in which `...` is anything."""
    return doctest.OutputChecker().check_output(wanted, PROGRESS.sub("", output), doctest.ELLIPSIS)


def test_every_command_has_an_example() -> None:
    used = {word for line, _ in [*EXAMPLES, DEMO] for word in re.findall(r"workbench (\w+)", line)}
    assert used == set(helps())
    assert all(f"\n## {name}\n" in PAGE for name in helps())


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
    for name in helps():
        source = Path(str(command_module(name).__file__)).read_text(encoding="utf-8")
        for option in re.findall(r'"(--[a-z]+)"', source):
            assert option in PAGE or option == "--property", f"{name} {option}"
