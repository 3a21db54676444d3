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
    assert done.out.splitlines()[-1].startswith(("worth it: ", "not worth it: "))


def test_json(workbench: Run, events: Path) -> None:
    file = MODELS / "window_sum_of_3.pipe"
    done = workbench("advise", file, "--input", events, "--threads", 1, "--sample", 50, "--json")
    (found,) = done.objects
    assert found["threads"] == 1
    assert set(found["processors"])
    assert all(seconds >= 0 for seconds in found["processors"].values())
    for advice in found["advice"]:
        assert set(advice) == {"pattern", "cuts", "pipelined", "copies", "predicted", "measured", "worth"}


def test_nothing_to_measure(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("x\n")
    done = workbench("advise", MODELS / "sum_of_odds.pipe", "--input", tmp_path / "x.csv")
    assert done.code == 2
    assert "there are no events to measure" in done.err
    done = workbench("advise", MODELS / "sum_of_odds.pipe", "--input", tmp_path / "x.csv", "--threads", 0)
    assert "0 threads" in done.err
    done = workbench("advise", MODELS / "sum_of_odds.pipe", "--input", tmp_path / "x.csv", "--sample", -1)
    assert (done.code, "-1 steps are no sample" in done.err) == (2, True)
