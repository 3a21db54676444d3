"""Queues of compiled runs: a log in which all inputs come together needs no capacities of the user's."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import MODELS, Run

pytest.importorskip("numba")

PAIRS = "pipeline pairs(x: int, y: int) -> int { return x + trim(y, 2) }"
"""On inputs that come together two events of x wait; on others there is no bound."""
DENSE = "x,y,user\n1,2,a\n3,4,a\n5,6,a\n7,8,a\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text(DENSE.replace(",user", "").replace(",a", ""))
    return path


@pytest.mark.parametrize("options", [[], ["--threads", 2], ["-N", 16], ["--param", "k=2"]], ids=str)
def test_a_log_without_gaps_runs_as_it_is(
    workbench: Run, pipe: Callable[[str], Path], log: Path, options: list[object]
) -> None:
    file = pipe(PAIRS.replace("pairs(", "pairs<k = 2>(").replace(", 2)", ", k)") if "--param" in options else PAIRS)
    done = workbench("run", file, "--input", log, "--backend", "compiled", *options)
    assert (done.code, done.out, done.err) == (0, "out\n7\n11\n", "")


def test_traces_without_gaps(workbench: Run, pipe: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(DENSE)
    done = workbench("run", pipe(PAIRS), "--input", tmp_path / "log.csv", "--backend", "compiled", "--key", "user")
    assert (done.code, done.out) == (0, "user,out\na,7\na,11\n")


def test_queues_that_no_values_decide(workbench: Run, tmp_path: Path) -> None:
    """Squares as sums of odd numbers: 1, 4, 9 after 1, 3 and 5 events, in unbounded integers."""
    (tmp_path / "log.csv").write_text("x\n" + "7\n" * 6)
    done = workbench("run", MODELS / "sum_of_odds.pipe", "--input", tmp_path / "log.csv", "--backend", "compiled")
    assert (done.code, done.out) == (0, "out\n1\n4\n9\n")


def test_a_capacity_of_the_file_stays(workbench: Run, pipe: Callable[[str], Path], log: Path) -> None:
    file = pipe(PAIRS.replace("}", "capacity queue(add.left) = 1 }"))
    done = workbench("run", file, "--input", log, "--backend", "compiled")
    assert done.code == 2
    assert "step 1: queue 'add.left' of pipeline pairs overflows: its capacity is 1" in done.err
    assert "proven" not in done.err


def test_a_log_with_gaps_that_do_not_matter(workbench: Run, pipe: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("x,y\n1,2\n3,\n,6\n7,8\n9,1\n")
    given = ("run", pipe(PAIRS), "--input", tmp_path / "log.csv")
    assert workbench(*given, "--backend", "compiled") == workbench(*given)


@pytest.mark.parametrize(
    "text",
    [
        "pipeline p(x: int, y: int) -> int { return stutter(x, 2) + y }",  # no capacity is enough
        "pipeline p(x: int, y: int) -> float { return x * 0.1 + trim(y, 1) }",  # no model has its numbers
        "pipeline p(x: int, y: int) -> int { return x + stutter(filter(y, y mod 2 = 0), 2) }",  # it depends on values
    ],
)
def test_a_queue_gets_the_room_that_the_log_needs(
    workbench: Run, pipe: Callable[[str], Path], tmp_path: Path, text: str
) -> None:
    (tmp_path / "log.csv").write_text("x,y\n" + "".join(f"{i},{'' if i % 5 == 0 else i}\n" for i in range(400)))
    given = ("run", pipe(text), "--input", tmp_path / "log.csv", "--backend")
    assert workbench(*given, "compiled") == workbench(*given, "reference")
    (tmp_path / "log.csv").write_text("x,y\n" + "".join(f"{i},{i}\n" for i in range(400)))
    assert workbench(*given, "compiled") == workbench(*given, "reference")
