"""`workbench monitor`: systems, bindings, exit codes, JSON."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ROOT, Run

Pipe = Callable[[str], Path]
SYSTEM = "MODULE main\nVAR n : 0..3;\nASSIGN init(n) := 0; next(n) := (n + 1) mod 4;\nDEFINE odd := n mod 2 = 1;\n"
BELOW = "pipeline below<k = 4>(n: 0..3) -> bool {{ return n < k }}\n{}"


@pytest.fixture
def system(tmp_path: Path) -> Path:
    path = tmp_path / "counter.smv"
    path.write_text(SYSTEM, encoding="utf-8")
    return path


def test_exit_codes(workbench: Run, pipe: Pipe, system: Path) -> None:
    file = pipe(BELOW.format(""))
    assert workbench("monitor", system, file).code == 0
    assert workbench("monitor", system, file, "--param", "k=3").code == 1
    assert workbench("monitor", system, file, "--bind", "n=n + 1").code == 2
    assert workbench("monitor", system, file, "--engine", "nusmv", "--quiet").code == 0
    system.write_text(SYSTEM + "TRANS next(n) != 3;\n")
    stuck = workbench("monitor", system, file)
    assert stuck.code == 3
    assert f"{system}: the model deadlocks: there is no successor of the reachable state n = 2" in stuck.err


def test_a_limit_is_undecided(workbench: Run, system: Path, pipe: Pipe) -> None:
    """A multiplier of 2 x 16 bits has no small BDD."""
    system.write_text(
        "MODULE main\nVAR a : unsigned word[16]; b : unsigned word[16];\n"
        "DEFINE odd := extend(a, 16) * extend(b, 16) = 0ud32_2147117569;\n"
    )
    done = workbench("monitor", system, pipe("pipeline p(odd: bool) -> bool { return not odd }"), "--timeout", "1.5")
    assert done.code == 3
    assert "? unknown  never-false  of p over" in done.out
    assert "time limit of 1.5 s" in done.out


def test_json(workbench: Run, pipe: Pipe, system: Path) -> None:
    done = workbench("monitor", system, pipe(BELOW.format("")), "--param", "k=1", "--json", "-p", "never-false")
    (found,) = done.objects
    assert found["verdict"] == "fails"
    assert found["system"] == str(system)
    assert found["pipeline"] == "below"
    assert [step["system"]["n"] for step in found["trace"]["steps"]] == ["0", "1"]
    assert [step["n"] for step in found["counterexample"]] == [0, 1]


def test_the_file_names_the_systems(workbench: Run, pipe: Pipe, system: Path) -> None:
    file = pipe(BELOW.format('monitor "counter.smv" { n = "3 - n" when "odd" check never-false check often-true }'))
    done = workbench("monitor", file, "--json", "-p", "always (n = 0 or n = 2)")
    assert [(o["verdict"], o["property"]) for o in done.objects] == [("holds", "always (n = 0 or n = 2)")]
    done = workbench("monitor", file, "--json")
    assert [(o["verdict"], o["property"]) for o in done.objects] == [("holds", "never-false"), ("holds", "often-true")]
    done = workbench("monitor", system, file, "--when", "n=TRUE", "--json", "-p", "ltl(G n.present)")
    assert done.code == 0
    assert "n := 3 - n" in str(done.objects[0]["assumptions"])


def test_another_system_knows_nothing_of_the_statement(
    workbench: Run, pipe: Pipe, tmp_path: Path, system: Path
) -> None:
    file = pipe(BELOW.format('monitor "counter.smv" { n = "3 - n" }'))
    other = tmp_path / "other.smv"
    other.write_text(SYSTEM)
    assert "counter.smv: n := 3 - n\n" in workbench("monitor", system, file).out
    assert "other.smv: n\n" in workbench("monitor", other, file).out


@pytest.mark.parametrize(
    ("arguments", "phrase"),
    [
        (["{pipe}"], "names no system to watch"),
        (["{system}", "{system}", "{pipe}"], "at most one system"),
        (["{pipe}", "{system}"], "put the system first: workbench monitor SYSTEM.smv FILE"),
        (["{system}", "{pipe}", "--bind", "n"], "'n' binds nothing"),
        (["{system}", "{pipe}", "--bind", "m=n"], "no input 'm'"),
        (["{system}", "{pipe}", "--bind", "n=n", "--when", "n=next(n) = 1"], "two states"),
        (["{system}", "{pipe}", "--param", "j=1"], "no pipeline has a parameter 'j'"),
        (["{system}", "{pipe}", "-p", "equivalent(other)"], "workbench equiv"),
        (["{system}", "{pipe}", "-p", "always (m = 1)"], "no pipe 'm'"),
        (["{system}", "models/tesla/fire.tesla"], "contains rules, but only a pipeline can watch a system"),
        (["{system}", "models/tesla/freezer.pipe", "--bind", "level=n"], "need the time"),
        (["missing.smv", "{pipe}"], "cannot read missing.smv"),
        (["{system}", "{pipe}", "--inputs", "always"], "unrecognized arguments: --inputs"),
    ],
)
def test_mistakes(workbench: Run, pipe: Pipe, system: Path, arguments: list[str], phrase: str) -> None:
    file = pipe(BELOW.format(""))
    done = workbench("monitor", *(a.replace("{system}", str(system)).replace("{pipe}", str(file)) for a in arguments))
    assert done.code == 2
    assert phrase in done.err
    assert done.out == ""


def test_a_pipeline_can_be_asked_without_a_system_too(workbench: Run) -> None:
    """Free inputs let both processes be critical."""
    file = ROOT / "models" / "monitors" / "peterson.pipe"
    assert workbench("check", f"{file}:mutual_exclusion", "-p", "never-false", "--quiet").code == 1
    assert workbench("check", f"{file}:mutual_exclusion", "-p", "often-true", "--quiet").code == 1


def test_a_run_of_rules_over_a_system_is_a_test_of_its_own(workbench: Run, tmp_path: Path) -> None:
    """Written elsewhere than where it is asked: the rules are found from there."""
    (tmp_path / "door.smv").write_text("MODULE main\nVAR open : boolean;\n")
    test = tmp_path / "test_bell.py"
    bound = ["--bind", "door=open", "--bind", "level=2", "--bind", "elapsed=1", "--tick", "1 min"]
    asked = ["monitor", tmp_path / "door.smv", "models/tesla/freezer.pipe", *bound, "-p", "can(bell)"]
    assert workbench(*asked, "--to-test", test, "--quiet").code == 0
    found: dict[str, Any] = {"__file__": str(test)}
    exec(test.read_text(), found)
    found["test_shows_that_can_of_freezer_holds"]()


@pytest.mark.parametrize("command", ["analyse", "buffers"])
def test_rates_of_pipelines_are_for_checks(workbench: Run, command: str) -> None:
    ended = workbench(command, "models/tesla/freezer.pipe", "--rate", "door=1/4min")
    assert (ended.code, "--rate" in ended.err) == (2, True)
