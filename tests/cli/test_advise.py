"""`workbench advise`."""

from pathlib import Path

import pytest

from tests.cli.conftest import MODELS, Run


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "x.csv"
    path.write_text("x\n" + "".join(f"{i % 7}\n" for i in range(150)))
    return path


def test_a_table_and_a_conclusion(workbench: Run, events: Path) -> None:
    done = workbench("advise", MODELS / "sum_of_odds.pipe", "--input", events, "--threads", 2)
    assert (done.code, done.err) == (0, "")
    assert "150 steps" in done.out
    assert "PullGroup: cut before " in done.out
    assert done.out.splitlines()[-1].startswith(("worth it: ", "not worth it: ", "not clear: "))


def test_json(workbench: Run, events: Path) -> None:
    file = MODELS / "window_sum_of_3.pipe"
    done = workbench("advise", file, "--input", events, "--threads", 1, "--sample", 50, "--json")
    (found,) = done.objects
    assert found["threads"] == 1
    assert set(found["processors"])
    assert all(seconds >= 0 for seconds in found["processors"].values())
    for advice in found["advice"]:
        what = {"pattern", "cuts", "pipelined", "copies", "processes"}
        assert set(advice) == {*what, "predicted", "measured", "cores", "worth"}
        assert all(set(advice[gain]) == {"low", "middle", "high"} for gain in ("predicted", "measured"))


def test_logs_are_read_as_for_a_run_and_processes_are_tried(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "votes.csv").write_text("member,ann,reds\ncandidate,bob,reds\nrank,ann,bob\n" * 12)
    file = MODELS.parent / "crv2016" / "candidates.pipe:naive"
    options = ("--header", "kind,who,what", "--threads", 1, "--json")
    (found,) = workbench("advise", file, "--input", tmp_path / "votes.csv", *options).objects
    (processes,) = [advice for advice in found["advice"] if advice["processes"]]
    assert processes["pattern"] == "Processes: the copies in so_far.forall"


def test_a_few_events_are_not_enough(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x\n1\n2\n")
    done = workbench("advise", MODELS / "sum_of_odds.pipe", "--input", tmp_path / "x.csv", "--threads", 1)
    assert done.out.splitlines()[-1].startswith("too few events to decide: 2")


def test_nothing_to_measure(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x\n")
    done = workbench("advise", MODELS / "sum_of_odds.pipe", "--input", tmp_path / "x.csv")
    assert done.code == 2
    assert "there are no events to measure" in done.err
    done = workbench("advise", MODELS / "sum_of_odds.pipe", "--input", tmp_path / "x.csv", "--threads", 0)
    assert "0 threads" in done.err


@pytest.mark.parametrize("sample", [0, -3])
def test_an_empty_sample(workbench: Run, events: Path, sample: int) -> None:
    done = workbench("advise", MODELS / "sum_of_odds.pipe", "--input", events, "--sample", sample)
    assert (done.code, done.out) == (2, "")
    assert f"a sample of {sample} steps" in done.err


def test_what_goes_step_by_step_is_not_advised_on(workbench: Run, events: Path) -> None:
    """Where faults may strike at any step nothing overlaps: that is not blamed on Python's lock."""
    done = workbench("advise", MODELS.parent / "faults" / "delays.pipe", "--input", events, "--threads", 2)
    assert done.code == 0
    assert "PullGroup" not in done.out
    assert "no pattern fits" in done.out
