"""`--fault`, and faults that strike while a pipeline runs."""

from pathlib import Path

import pytest

from tests.cli.conftest import MODELS, ROOT, Run, program
from tests.cli.test_runs import passing

PASS = MODELS / "passthrough.pipe"
FAULTS = ROOT / "models" / "faults"


def test_a_fault_given_on_the_command_line(workbench: Run) -> None:
    asked = ["check", PASS, "-p", "always (x.present -> out.present)", "--json"]
    (without,) = workbench(*asked).objects
    (found,) = workbench(*asked, "--fault", "lose out at most 1 when out = 3").objects
    assert (without["verdict"], found["verdict"]) == ("holds", "fails")
    assert "fault: events of out may be lost, at most 1, when out = 3" in found["assumptions"]
    (step,) = found["trace"]["steps"]
    assert step["faults"] == [{"pipe": "out", "event": 3, "what": "lost"}]


def test_equivalence_with_a_pipeline_that_has_no_faults(workbench: Run) -> None:
    asked = ["equiv", PASS, PASS, "--quiet", "-N", "2"]
    assert workbench(*asked, "--fault", "delay x by 1").code == 0
    done = workbench(*asked, "--fault", "delay x by 1", "--mode", "stepwise")
    assert (done.code, done.out) == (1, "✗ fails  stepwise-equivalent  of passthrough, passthrough  (N = 2)\n")


@pytest.mark.parametrize(("model", "fault"), [("zeros.pipe:every_second", "lose x"), ("delays.pipe:merged", "lose p")])
def test_the_test_that_is_written_makes_the_faults_strike_again(
    workbench: Run, tmp_path: Path, model: str, fault: str
) -> None:
    file = tmp_path / "test_runs.py"
    done = workbench("check", FAULTS / model, "-p", "tolerates", "--fault", fault, "--to-test", file, "--quiet")
    assert done.code == 1
    assert passing(file) == [f"test_shows_that_tolerates_of_{model.partition(':')[2]}_fails"]
    text = file.read_text()
    assert f'wb.faults.faulty(wb.parse(SOURCE).get("{model.partition(":")[2]}").pipeline, "{fault}")' in text
    assert "wb.faults.faultless(" in text


def test_a_test_of_one_pipeline(workbench: Run, tmp_path: Path) -> None:
    file = tmp_path / "test_runs.py"
    workbench("check", FAULTS / "zeros.pipe:compared", "-p", "never-false", "--to-test", file)
    assert passing(file) == ["test_shows_that_never_false_of_compared_fails"]
    assert '"second.lost": "lost"' in file.read_text()


@pytest.mark.slow
def test_faults_strike_at_random_and_again(workbench: Run) -> None:
    events = "x\n" + "".join(f"{i}\n" for i in range(30))
    run = ("run", PASS, "--input", "-", "--fault", "lose x at most 3", "--rate", "0.5")
    first, again, other = (program(*run, "--seed", seed, stdin=events) for seed in (1, 1, 2))
    assert first == again != other
    lost = [line.split()[2] for line in first.err.splitlines()]
    assert len(lost) == 3
    assert first.out.split()[1:] == [str(i) for i in range(30) if str(i) not in lost]


@pytest.mark.slow
def test_the_faults_of_a_file_strike_when_asked_for() -> None:
    run = ("run", FAULTS / "zeros.pipe:compared", "--input", "-")
    quiet = program(*run, stdin="x\n1\n2\n")
    assert (quiet.out, quiet.err) == ("same\ntrue\ntrue\n", "")
    struck = program(*run, "--rate", "1", stdin="x\n1\n2\n")
    assert (struck.out, struck.err) == ("same\nfalse\n", "step 0: 1 on second was lost\n")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["check", PASS, "--fault", "lose z"], "no pipe 'z'"),
        (["check", PASS, "-p", "tolerates"], "no faults that it could tolerate"),
        (["run", PASS, "--input", "-", "--seed", "1"], "no faults to inject"),
        (["run", PASS, "--input", "-", "--fault", "lose x", "--rate", "2"], "a probability, not 2.0"),
    ],
)
def test_mistakes(workbench: Run, args: list[object], said: str) -> None:
    done = workbench(*args)
    assert done.code == 2
    assert said in done.err


def test_a_monitor_that_misses_events(workbench: Run) -> None:
    """One loss shifts what is compared by one step, which the algorithm survives; two do not."""
    asked = ["monitor", "smv/systems/peterson.smv", "models/monitors/peterson.pipe:mutual_exclusion", "-Q", "3"]
    outcomes = [workbench(*asked, "--quiet", "--fault", f"lose p_critical at most {n}").out.split()[1] for n in (1, 2)]
    assert outcomes == ["holds", "fails"]


def test_other_commands_know_faults(workbench: Run) -> None:
    assert "MODULE Lose(" in workbench("export", PASS, "--fault", "lose x", "-p", "liveness").out
    assert "⚡ lose" in workbench("draw", PASS, "--fault", "lose x").out
    done = workbench("buffers", FAULTS / "delays.pipe:joined", "--param", "d=1", "--quiet")
    assert done.out.startswith("✓ max.left  capacity 1\n✓ max.right  capacity 0\n")
    done = workbench("analyse", PASS, "--fault", "lose x", "--quiet", "--only", "latency,silence,constants")
    assert "silence: unbounded" in done.out
    assert "latency from x to out: 0 steps" in done.out
