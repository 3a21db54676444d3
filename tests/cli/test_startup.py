"""What a command imports decides how fast it starts: each has what it needs, and nothing of what others need."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.cli.commands import helps

HEAVY = {"networkx", "numpy", "numba", "llvmlite", "pandas", "pyarrow", "matplotlib", "duckdb", "pyspark", "hypothesis",
         "jinja2", "pynusmv", "pyparsing"}  # fmt: skip
"""Packages that take a tenth of a second and more."""
MEANING = {"core", "processors", "ir", "executors", "smv", "verify", "show", "conformance", "lab"}
"""What a text that cannot be read has no use for."""
LIGHT = re.compile(
    r"workbench\.(core(\.(mistakes|form))?|events(\.account|\.files|\.packing|\.reading_options|\.table|\.formats.*)?|executors(\.table|\.run_options|\.backends.*)?"
    r"|verify(\.decide(\.table|\.engines.*)?|\.analysis|\.certify|\.equivalence)?|tesla(\.caches(\.table|\.policies)?)?"
    r"|conformance(\.compare(\.search)?)?|conformance\.(contenders|differential|executables|functions|models|parts|subjects"
    r"|threads|watched)|processors\.stream)"
)
"""What writes files, the tables and defaults of which options are made (rows import what they are about at use), and
names of modules that are no more."""

ASK = """
import contextlib, io, json, sys
from workbench.cli.main import main
found = {}
for argv in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        code = main(argv)
    found[" ".join(argv)] = [code, *sys.modules]
print(json.dumps(found))
"""


def after(*commands: list[str]) -> dict[str, tuple[int, set[str]]]:
    """The exit code of each command, run one after the other in one process, and what was imported by then."""
    done = subprocess.run([sys.executable, "-c", ASK, json.dumps(commands)], capture_output=True, text=True, check=True)
    return {command: (code, set(modules)) for command, (code, *modules) in json.loads(done.stdout).items()}


def parts(modules: set[str]) -> set[str]:
    """The packages of workbench among the modules, less what is light."""
    return {name.split(".")[1] for name in modules if name.startswith("workbench.") and not LIGHT.fullmatch(name)}


def packages(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def test_the_list_of_commands_imports_nothing() -> None:
    for code, modules in after(["--help"], ["--version"]).values():
        assert code == 0
        assert parts(modules) <= {"budget", "cli", "errors", "extensions", "extras", "interrupts", "lazy_names"}
        assert not packages(modules) & {*HEAVY, "lark", "dataclasses", "subprocess"}
        assert {name for name in modules if name.startswith("workbench.cli.")} <= {
            "workbench.cli.main", "workbench.cli.command_line", "workbench.cli.supervised", "workbench.cli.commands",
                "workbench.cli.help_pages",
        }  # fmt: skip


def test_the_options_of_every_command_are_shown_without_its_work() -> None:
    for line, (code, modules) in after(*([name, "--help"] for name in helps())).items():
        assert code == 0, line
        assert parts(modules) <= {"budget", "cli", "errors", "extensions", "extras", "interrupts", "lazy_names"}, line
        assert not packages(modules) & {*HEAVY, "lark"}, line


def test_a_mistake_in_a_text_is_told_before_anything_else_is_imported(tmp_path: Path) -> None:
    path = tmp_path / "wrong.pipe"
    path.write_text("pipeline p(x: int) -> int { return x + + }")
    own = ("check", "equiv", "monitor", "buffers", "analyse", "export", "run", "advise", "draw")
    more = {"equiv": [str(path)], "run": ["--input", "-"], "advise": ["--input", "-"]}
    lines = [[name, str(path), *more.get(name, [])] for name in own]
    for line, (code, modules) in after(*lines).items():
        assert code == 2, line
        assert not parts(modules) & MEANING, line
        assert not packages(modules) & HEAVY, line


@pytest.mark.sampled(1)
@pytest.mark.parametrize("engine", ["auto", "explicit"])
def test_a_small_check_needs_no_large_package(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "small.pipe"
    path.write_text("pipeline p(x: bool) -> bool { return not x }")
    ((code, modules),) = after(["check", str(path), "--engine", engine, "--quiet"]).values()
    assert code == 0
    assert not packages(modules) & HEAVY
    unused = {
        "workbench.verify.decide.algebra",
        "workbench.executors.reference.executor",
        "workbench.verify.answer.examine",
    }
    assert not modules & (unused | ({"workbench.verify.decide.explicit"} if engine == "auto" else set()))


@pytest.mark.slow
def test_machine_code_that_is_kept_needs_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path, log = tmp_path / "small.pipe", tmp_path / "log.parquet"
    path.write_text("pipeline p(x: int) -> int { return cumulate(x, +) }")
    parquet.write_table(pa.table({"x": [1] * 25_000}), log)
    run = ["run", str(path), "--input", str(log), "--backend", "compiled", "--output", str(tmp_path / "out.parquet")]
    for made in (True, False):  # the second process has nothing to compile
        found = list(after(run, [*run, "--key", "x"]).values())
        assert [(code, "numba" in packages(modules)) for code, modules in found] == [(0, made)] * 2
    assert "pyarrow.compute" not in found[0][1]


def test_a_small_run_needs_no_large_package(tmp_path: Path) -> None:
    path, log = tmp_path / "small.pipe", tmp_path / "log.csv"
    path.write_text("pipeline p(x: bool) -> bool { return not x }")
    log.write_text("x\ntrue\n")
    ((code, modules),) = after(["run", str(path), "--input", str(log)]).values()
    assert code == 0
    assert not packages(modules) & HEAVY
