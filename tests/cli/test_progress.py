"""The limit of time that commands have by themselves, and what they report while they decide."""

import argparse
import json
import re
import time
from pathlib import Path

import pytest

from workbench.budget import phase, report, work
from workbench.cli import progress
from workbench.cli.command_line import parser
from workbench.cli.progress import Progress
from workbench.smv.engines import sat

from .conftest import BANNER, MODELS, Run, script

SOON = 0.02
"""Seconds between two lines here."""


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "BETWEEN_LINES", SOON)


@pytest.fixture
def asleep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NuSMV never answers, and takes no time of the machine."""
    for name, value in script(tmp_path, f"{BANNER}; exec sleep 60").items():
        monkeypatch.setenv(name, value)


def parse(*args: str) -> argparse.Namespace:
    return parser(args).parse_args(args)


# --- the limit -----------------------------------------------------------------------------------------------------

DECIDES = [["check", "f"], ["equiv", "f", "g"], ["buffers", "f"], ["analyse", "f"], ["monitor", "f"],
           ["rules", "simplify", "f"]]  # fmt: skip


@pytest.mark.parametrize("command", DECIDES, ids=" ".join)
def test_what_decides_has_a_minute(command: list[str]) -> None:
    assert parse(*command).timeout == 60
    assert [parse(*command, "--timeout", text).timeout for text in ("0", "none", "1.5")] == [None, None, 1.5]


def test_what_only_runs_has_no_limit() -> None:
    assert parse("export", "f").timeout is None
    assert parse("run", "f", "--input", "-").timeout is None


def test_a_limit_that_is_none(workbench: Run) -> None:
    done = workbench("check", MODELS / "passthrough.pipe", "--timeout", "soon")
    assert (done.code, "'soon' is not a number of seconds" in done.err) == (2, True)


# --- the lines -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("soon")
def test_a_line_has_the_part_the_engine_how_deep_and_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    whole, part = Progress(None, always=True, limit=60.0), phase("queue 2 of 5", part=True)
    with whole, phase("starting"), Progress("buffers of p"), part, phase("looking"), phase("deciding with bmc"):
        report("runs of up to 7 steps")
        time.sleep(5 * SOON)
    first = capsys.readouterr().err.splitlines()[0]
    assert first == "workbench: buffers of p, queue 2 of 5, deciding with bmc: runs of up to 7 steps  0 s of 60 s"


def test_nothing_is_said_in_the_first_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    assert progress.BETWEEN_LINES == 5
    with Progress("checking", always=True):
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("given", [{"quiet": True, "always": True}, {}])
def test_who_is_quiet_silences_those_inside(capsys: pytest.CaptureFixture[str], given: dict[str, bool]) -> None:
    with Progress(None, **given), Progress("inside", always=True):
        time.sleep(5 * SOON)
    assert capsys.readouterr().err == ""


def test_what_was_done_is_no_part_of_what_is_done() -> None:
    with phase("outer"):
        with phase("inner"):
            report("3 steps")
        assert work().describe() == "outer"
        with phase("a part", part=True):
            assert (work().describe(), work().phase) == ("a part", "outer")
    assert work().describe() == ""


@pytest.mark.usefixtures("soon", "asleep")
@pytest.mark.parametrize(
    ("seconds", "more"), [(1, ()), pytest.param(12, ("-p", "liveness", "--jobs", "2"), marks=pytest.mark.slow)]
)
def test_the_output_has_objects_only(workbench: Run, hard: Path, seconds: float, more: tuple[str, ...]) -> None:
    args = "check", hard, "-p", "always (out != 3)", *more, "--engine", "nusmv", "--timeout", seconds
    done = workbench(*args, "--json")
    assert [each["verdict"] for each in done.objects if each["property"] != "liveness"] == ["unknown"]
    assert re.search(r"workbench: property 1 of .*: always \(out != 3\), ", done.said)
    assert not more or "liveness: deciding with nusmv" in done.said
    assert workbench(*args[:-1], 0.1, "--quiet").said.count("workbench: property") == 0


# --- how far engines are -------------------------------------------------------------------------------------------


def test_a_sat_solver_says_how_many_steps_it_has_unrolled() -> None:
    with phase("deciding with bmc"):
        sat._follow(b"-- no proof or counterexample found with bound 3\n-- no counterexample found with bound 4\n-- no")
        assert work().describe() == "deciding with bmc: runs of up to 5 steps"


def test_the_explicit_search_says_how_many_states_it_has_seen(workbench: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sum modulo 4: from 0 one step leads to all four states, and 0 is the one whose steps have been looked at."""
    said: list[str] = []
    monkeypatch.setattr("workbench.verify.decide.explicit.decider.REPORTING", -1.0)
    monkeypatch.setattr("workbench.verify.decide.explicit.decider.report", said.append)
    monkeypatch.setattr("workbench.verify.decide.explicit.decider._Run._count_states", lambda *_: 1)
    done = workbench("check", MODELS / "sum_of_ones_on_window.pipe", "-p", "liveness", "--engine", "explicit", "--json")
    assert json.loads(done.out)["verdict"] == "holds"
    assert said[0] == "1 states, 1 to visit, depth 0"
    assert len(said) > 1


# --- a run that does not end ---------------------------------------------------------------------------------------


def test_a_stopped_run_says_how_many_rows_it_has_skipped(
    workbench: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that earlier runs have skipped are not among them."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("workbench.events.follow.checkpoint", interrupt)
    log, said = tmp_path / "log.csv", list[str]()
    log.write_text("x\n")
    for rows in ("1\n?\n2\n", "?\n?\n3\n"):
        with log.open("a") as file:
            file.write(rows)
        args = "--input", log, "--follow", "--bad-rows", "skip", "--output", tmp_path / "out.csv", "--progress"
        said += workbench("run", MODELS / "passthrough.pipe", *args, "--state", tmp_path / "state").err.splitlines()
    first, second = (line for line in said if "stopped after" in line)
    assert first.startswith("workbench: stopped after 3 rows, 2 events out, 1 bad row; ")
    assert second.startswith("workbench: stopped after 3 rows, 1 event out, 2 bad rows; ")
    skipped = [line.partition("; ")[0] for line in said if " of 3 rows " in line]
    assert skipped == ["workbench: 1 of 3 rows was skipped", "workbench: 2 of 3 rows were skipped"]
    assert f"workbench: {log}: resuming after row 3 (2 run, 1 bad)" in said
