"""`workbench check` and `workbench equiv`."""

import json
import os
import pty
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import workbench as wb
from tests.cli.conftest import BANNER, MODELS, Run, busy, command, script
from workbench.cli.main import main

KEYS = {"pipeline", "property", "verdict", "engine", "seconds", "Q", "N", "assumptions"}


def test_the_checks_of_the_file(workbench: Run) -> None:
    done = workbench("check", MODELS / "sum_of_odds.pipe", "--grow", "0.5")
    assert done.code == 0
    assert "✓ holds  liveness  of sum_of_odds" in done.out
    assert "equivalent(squares)" in done.out
    assert done.err == ""


@pytest.mark.parametrize(
    ("condition", "mistake", "hint"),
    [
        (
            "n < 4",
            "'n' is a variable of the machine, but properties read pipes",
            "types or stays-in-range show that it stays in 0..3; to state more, "
            "emit it, e.g. state red: n, and read the output",
        ),
        ("state = reed", "pipeline m has no pipe 'reed'", "did you mean 'red'?"),
        ("reed", "pipeline m has no pipe 'reed'", "pipes: c, state, out; labels: reeds, blue, red, read"),
        ("foo > 3", "pipeline m has no pipe 'foo'", "pipes: c, state, out; labels: reeds, blue, red, read"),
    ],
)
def test_a_property_has_the_same_mistakes_in_a_file_and_on_the_command_line(
    workbench: Run, pipe: Callable[[str], Path], condition: str, mistake: str, hint: str
) -> None:
    machine = (
        "machine m(c: {reeds, blue}) -> 0..3 {\n var n: 0..3 = 0\n state red: n\n state read: 1\n red -> read\n}\n"
    )
    alone = workbench("check", pipe(machine), "-p", f"always ({condition})")
    inside = workbench("check", pipe(f"{machine}check always ({condition})"))
    assert (alone.code, inside.code) == (2, 2)
    for done in (alone, inside):
        first, *_, last = done.err.splitlines()
        assert first.endswith(f": {mistake}")
        assert last == f"  hint: {hint}"


def test_constants_of_a_property_that_do_not_fit(workbench: Run, pipe: Callable[[str], Path]) -> None:
    done = workbench("check", pipe("pipeline p(x: int) -> int { return x }"), "-p", 'always (x > 4 + "a")')
    assert done.code == 2
    assert "'+' needs texts, not values of 4..4" in done.err


def test_without_checks_the_usual_properties(workbench: Run, pipe: Callable[[str], Path]) -> None:
    done = workbench("check", pipe("pipeline p(x: int) -> int { return x }"), "--quiet")
    assert [line.split()[2] for line in done.out.splitlines()] == ["liveness", "response", "no-overflow"]


TWO = """
pipeline spec<k = 4>(x: 0..3) -> bool { return x > k }
check always (out)
pipeline other(x: 0..3) -> bool { return x <= trim(x, 1) + 3 }
check always (out)
"""


@pytest.mark.parametrize("options", [[], ["-Q", "1"]])
def test_all_pipelines_of_a_file_are_checked(workbench: Run, pipe: Callable[[str], Path], options: list[str]) -> None:
    file = pipe(TWO)
    done = workbench("check", file, "--quiet", *options)
    assert (done.code, done.out.count("of spec"), done.out.count("of other")) == (1, 1, 1)


@pytest.mark.parametrize("options", [[], ["--param", "k=1"], ["-Q", "le.left=2"], ["-p", "liveness"]])
def test_one_pipeline_of_a_file_is_checked(workbench: Run, pipe: Callable[[str], Path], options: list[str]) -> None:
    name = "spec" if "--param" in options else "other"
    done = workbench("check", f"{pipe(TWO)}:{name}", "--quiet", *options)
    assert (done.code, done.out.count("  of ")) == (int(name == "spec"), 1)


def test_a_failing_property_with_its_run(workbench: Run) -> None:
    done = workbench("check", MODELS / "figure_2a.pipe", "-p", "no-overflow", "-Q", 1)
    assert done.code == 1
    assert "✗ fails  no-overflow" in done.out
    assert "queue add.right" in done.out
    assert "▲ an event arrives at a full queue" in done.out
    assert "confirmed by execution; no shorter run shows it" in done.out


def test_within_bounds_says_so_and_counts_as_holding(workbench: Run) -> None:
    done = workbench("check", MODELS / "figure_2a.pipe", "-p", "liveness")
    assert done.code == 0
    assert "≈ holds-within-bounds" in done.out
    assert "no counterexample before a queue overflows" in done.out


def test_strict_takes_bounds_for_undecided(workbench: Run) -> None:
    done = workbench("check", MODELS / "figure_2a.pipe", "-p", "liveness", "--strict")
    assert (done.code, done.out[0]) == (3, "≈")
    assert workbench("check", MODELS / "passthrough.pipe", "-p", "liveness", "--strict").code == 0
    assert workbench("analyse", MODELS / "figure_2a.pipe", "--only", "silence").code == 0
    assert workbench("analyse", MODELS / "figure_2a.pipe", "--only", "silence", "--strict").code == 3


def test_quiet_says_the_bounds_of_every_verdict(workbench: Run, pipe: Callable[[str], Path]) -> None:
    file = pipe("pipeline p(t: float) -> bool { return t > 30.0 }")
    done = workbench("check", file, "-p", "always (out)", "-p", "always (t >= 0.0)", "--quiet")
    first, second = done.out.splitlines()
    assert first.endswith("(float = -1..31)")  # which has nothing to do with N
    assert second.endswith("(float = -1..31)")
    failed = workbench("check", pipe("pipeline p(x: int) -> bool { return x > 3 }"), "-p", "always (out)", "--quiet")
    assert failed.out.rstrip().endswith("(N = 8)")


def test_floats_reach_the_constants_of_a_property(workbench: Run, pipe: Callable[[str], Path]) -> None:
    """2 * x > 150 where x > 75; the constants of the pipeline alone need no more than 2."""
    file = pipe("pipeline p(x: float) -> float { return x * 2.0 }")
    for prop, code in {"never(out > 150)": 1, "can(out > 150.5)": 0, "always (out >= -7.0)": 1}.items():
        assert workbench("check", file, "-p", prop).code == code


def test_quiet_says_the_bounds(workbench: Run) -> None:
    done = workbench("check", MODELS / "figure_2a.pipe", "-p", "liveness", "-Q", 1, "--quiet")
    assert done.out.endswith("of figure_2a  (Q = 1, every N, k = 2): nothing is known beyond 2 steps\n")
    done = workbench("check", MODELS / "sum_of_odds.pipe", "-p", "liveness", "--quiet")
    assert done.out.endswith("of sum_of_odds  (Q = 2, N = 4)\n")


@pytest.mark.parametrize(("body", "count"), [("x", 5), ("trim(x, 1)", 10)])
def test_states_are_counted_on_request(workbench: Run, pipe: Callable[[str], Path], body: str, count: int) -> None:
    """An input of five values, and whether an event has come."""
    file = pipe(f"pipeline p(x: 0..4) -> 0..4 {{ return {body} }}")
    for engine in ("explicit", "nusmv"):
        options = ("check", file, "-p", "always (out < 4)", "--engine", engine)
        assert f", {count} reachable states\n" in workbench(*options, "--count-states").out
        assert json.loads(workbench(*options, "--count-states", "--json").out)["reachable_states"] == count
        assert "reachable" not in workbench(*options).out + workbench(*options, "--json").out
    verdict = wb.check(f"{file}:p", "always (out < 4)", wb.Settings(count_states=True))
    assert f"\n- {count} reachable states\n" in str(verdict)
    assert f"<li>{count} reachable states</li>" in verdict._repr_html_()
    assert "reachable" not in str(wb.check(f"{file}:p", "always (out < 4)"))


def test_vacuity_is_said_and_can_count_as_undecided(workbench: Run, pipe: Callable[[str], Path]) -> None:
    file = pipe("pipeline p(t: float) -> bool { return t > 30.0 }")
    asked = ("check", file, "-p", "always (not out)", "--values", "float=0..6")
    done = workbench(*asked)
    assert done.code == 0
    assert done.out.startswith("✓ holds vacuously  ")
    assert done.out.splitlines()[0].endswith(": t > 30 is never true (float = 0..6 prevents it)")
    assert workbench(*asked, "--strict-vacuity").code == 3
    assert workbench("check", file, "-p", "always (not out)").code == 1


def test_nothing_compared_is_undecided(workbench: Run, tmp_path: Path) -> None:
    file = tmp_path / "two.pipe"
    left, right = "filter(x, x > 3)", "filter(x, x > 3 and x < 0)"
    file.write_text(f"pipeline a(x: int) -> int {{ return {left} }}\npipeline b(x: int) -> int {{ return {right} }}")
    for options in ([], ["-N", "4"], ["-N", "4", "--mode", "stepwise"]):
        done = workbench("equiv", f"{file}:a", f"{file}:b", *options, "--json", "--grow", "0.3")
        assert (done.code, done.objects[0]["verdict"], done.objects[0]["reason"][:7]) == (3, "unknown", "vacuous")
    assert workbench("equiv", f"{file}:a", f"{file}:b", "--mode", "stepwise").code == 1


@pytest.mark.parametrize("seconds", ["-1", "nan", "soon"])
def test_seconds_that_are_none(workbench: Run, seconds: str) -> None:
    done = workbench("check", MODELS / "passthrough.pipe", f"--grow={seconds}")
    assert done.code == 2
    assert f"'{seconds}' is not a number of seconds" in done.err


def test_json_is_one_object_a_property_and_nothing_else(workbench: Run) -> None:
    done = workbench("check", MODELS / "figure_2a.pipe", "-p", "liveness", "-p", "no-overflow", "--json")
    assert done.code == 1
    first, second = done.objects
    assert first.keys() >= KEYS
    assert (first["verdict"], second["verdict"]) == ("holds-within-bounds", "fails")
    assert second["counterexample"][0].keys() == {"x", "third", "add"}
    assert second["counterexample"][1]["third"] is None
    assert (second["Q"], second["N"]) == (2, 4)
    assert done.err == ""


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (["-Q", "3"], 3),
        (["-Q", "add.left=0,add.right=1"], {"add.left": 0, "add.right": 1}),
        (["-Q", "3", "-Q", "add.right=1"], {"add.left": 3, "add.right": 1}),
    ],
)
def test_capacities(workbench: Run, given: list[str], shown: object) -> None:
    done = workbench("check", MODELS / "figure_2a.pipe", "-p", "no-overflow", "--json", *given)
    assert done.objects[0]["Q"] == shown
    capacity = shown if isinstance(shown, int) else 1
    assert len(done.objects[0]["counterexample"]) == {3: 6, 1: 3}[capacity]


def test_stated_capacities_that_a_number_leaves_are_named(workbench: Run, pipe: Callable[[str], Path]) -> None:
    file = pipe("pipeline p(x: bool) -> bool { s = x and trim(x, 1)\n capacity queue(s.left) = 3\n return s }")
    asked = ("check", file, "-p", "no-overflow", "--quiet")
    said = "capacities that the program states stay (s.left = 3); -Q s.left=1 sets one"
    assert said in workbench(*asked, "-Q", 1).err
    assert [workbench(*asked, *more).err for more in ((), ("-Q", 3), ("-Q", "s.left=1"))] == [""] * 3
    assert said in workbench(*asked, "-Q", 1, "-Q", "s.right=0").err
    for more, right in ((["-Q", 1], (3, 1)), (["-Q", 1, "-Q", "s.right=0"], (3, 0)), (["-Q", "1,s.left=2"], (2, 1))):
        assert "Queues: s.left {}, s.right {}\n".format(*right) in workbench("export", file, *more).out


def test_several_at_a_time_are_printed_in_order(workbench: Run, tmp_path: Path) -> None:
    asked = (
        "check",
        MODELS / "sum_of_odds.pipe",
        "-p",
        "no-full-queues",
        "-p",
        "liveness",
        "-p",
        "no-overflow",
        "-Q",
        1,
    )
    one, two = (workbench(*asked, "--quiet", "--jobs", jobs) for jobs in (1, 2))
    assert one == two
    assert workbench(*asked, "--jobs", 2, "--to-test", tmp_path / "test_it.py").out.count("confirmed by execution") == 1
    assert "def test_shows_that_no_full_queues" in (tmp_path / "test_it.py").read_text()


def test_capacities_of_a_pipeline_reach_its_comparisons(workbench: Run) -> None:
    done = workbench("check", MODELS / "sum_of_odds.pipe", "-p", "equivalent(squares)", "-Q", "kept.data=1", "--json")
    assert done.objects[0]["Q"] == {"sum_of_odds.kept.data": 1}


def test_parameters_and_domains(workbench: Run) -> None:
    file = MODELS / "sum_of_ones_on_window.pipe"
    done = workbench("check", file, "--param", "k=5", "-N", 8, "--int", "checked", "--json", "-p", "always (out = 5)")
    assert done.objects[0]["verdict"] == "holds"
    assert (done.objects[0]["N"], done.objects[0]["integers"]) == (8, "checked")


def test_the_environment(workbench: Run) -> None:
    done = workbench("check", MODELS / "figure_2b.pipe", "-p", "no-overflow", "--inputs", "always", "--fair")
    assert "inputs always present, each infinitely often" in done.out


@pytest.mark.parametrize(("mode", "code"), [("sequence", 0), ("stepwise", 1)])
def test_equivalence(workbench: Run, mode: str, code: int) -> None:
    file = MODELS / "passthrough_against_delay.pipe"
    done = workbench("equiv", f"{file}:passthrough_against_delay", f"{file}:delay", "--mode", mode, "--json")
    assert done.code == code
    assert done.objects[0]["property"] == f"{mode}-equivalent"
    assert done.objects[0]["pipeline"] == "passthrough_against_delay, delay"


def test_a_pipeline_is_equivalent_to_itself(workbench: Run) -> None:
    file = MODELS / "sum_of_odds.pipe"
    assert workbench("equiv", file, file, "--mode", "stepwise", "--quiet").code == 0


def test_parameters_go_to_the_side_that_has_them(workbench: Run) -> None:
    file = MODELS / "product_of_1_and_kth.pipe"
    done = workbench("equiv", file, MODELS / "figure_2a.pipe", "--param", "k=2", "--json")
    assert done.code == 1
    done = workbench("equiv", file, MODELS / "figure_2a.pipe", "--param", "z=2")
    assert done.code == 2
    assert "neither pipeline has a parameter 'z'" in done.err


@pytest.mark.parametrize(
    ("properties", "code"),
    [
        (["liveness", "ltl(X out.present)"], 3),
        (["liveness", "no-overflow"], 1),
        (["ltl(X out.present)", "no-overflow"], 1),
    ],
)
def test_the_worst_verdict_decides(workbench: Run, properties: list[str], code: int) -> None:
    """Of one that holds within bounds, one that the engine does not decide, and one that fails."""
    asked = [word for each in properties for word in ("-p", each)]
    done = workbench("check", MODELS / "figure_2a.pipe", "--engine", "explicit", *asked, "--quiet")
    assert done.code == code


def test_a_model_gap_is_loud(workbench: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.verify.answer.replay.execute", lambda *args: ("model gap at step 0", None))
    done = workbench("check", MODELS / "figure_2a.pipe", "-p", "no-overflow")
    assert done.code == 3
    assert "DEFECT OF WORKBENCH: model gap at step 0" in done.err
    assert "report" in done.err


def test_interrupting_a_check(hard: Path) -> None:
    args = ["check", hard, "-N", "4096", "--quiet"]
    process = subprocess.Popen(command(args), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    busy(process.pid)
    process.send_signal(2)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")


def test_progress_and_colour_on_a_terminal(hard: Path, tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    args = ["check", hard, "-N", "4096", "--timeout", "5", "--engine", "nusmv"]  # a loaded machine starts slowly
    env = script(tmp_path, f"{BANNER}; exec sleep 60")  # an engine that takes no time of the machine
    process = subprocess.Popen(command(args), stdout=theirs, stderr=theirs, env={**os.environ, **env})
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 4096)
        except OSError:
            break
    process.wait()
    os.close(ours)
    text = shown.decode()
    assert re.search(r"\r\x1b\[Kproperty 1 of 1: always \(out != 3\), deciding with nusmv  [1-4] s", text)
    assert "\r\x1b[K\x1b[35m? unknown\x1b[0m" in text
    assert process.returncode == 3


def test_main_as_a_function() -> None:
    assert main(["check", str(MODELS / "passthrough.pipe"), "-p", "liveness", "--quiet"]) == 0


def test_strict_is_about_floats(workbench: Run, pipe: Callable[[str], Path]) -> None:
    """A half refutes it, which no whole number does; what a run shows can happen, whatever floats are."""
    file = pipe("pipeline p(t: float) -> d: float { return trim(t, 1) - t }")
    held = "always (abs(d) < 1.0 -> d = 0.0)"
    done = workbench("check", file, "-p", held)
    assert done.code == 0
    assert re.match(r"✓ holds .*\bfloat = -?\d+\.\.\d+\)$", done.out.splitlines()[0])
    assert workbench("check", file, "-p", held, "--strict").code == 3
    assert workbench("check", file, "-p", "can(d = 0.0)", "--strict").code == 0


def test_a_model_that_only_the_installation_has(
    workbench: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "unlike.pipe").touch()
    done = workbench("check", "models/time2021/figure_2a.pipe")
    assert (done.code, done.err.splitlines()[-1]) == (
        2, "  hint: workbench models --copy . puts the models of the installation here",
    )  # fmt: skip
    assert "did you mean" not in workbench("check", "rise.pipe").err
    assert "did you mean 'unlike.pipe'?" in workbench("check", "unlke.pipe").err


def test_contracts_in_place_of_bodies(workbench: Run, tmp_path: Path) -> None:
    file = tmp_path / "p.pipe"
    file.write_text(
        """
        pipeline q(x: 0..9) -> 0..9 { guarantee out <= 9  return cast(max(x, trim(x, 1)), 0..9) }
        pipeline p(x: 0..9) -> 0..9 { y = q(x)  return y  check never (out > 9)  check liveness }
        """
    )
    done = workbench("check", file, "--abstract", "q")
    assert done.code == 0
    assert done.out.count("call 'y' is replaced by guarantee out <= 9 of q") == 1  # liveness is decided with the body
    done = workbench("check", f"{file}:p", "-p", "never (out = 5)", "--abstract", "y")
    assert done.code == 3
    assert "try a guarantee of y that excludes this run" in done.out
    assert re.search(r"\by = out +5", done.out)  # the run is shown, which the program does not confirm
    assert "confirmed" not in done.out
    done = workbench("check", file, "--abstract", "z")
    assert (done.code, done.err.splitlines()[0]) == (2, "workbench: there is no call 'z'")
