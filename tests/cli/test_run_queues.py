"""Queues of compiled runs: a log in which all inputs come together needs no capacities of the user's."""

import re
import shlex
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
    done = workbench("run", file, "--input", log, "--backend", "numba", *options)
    assert (done.code, done.out, done.err) == (0, "out\n7\n11\n", "")


def test_traces_without_gaps(workbench: Run, pipe: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(DENSE)
    done = workbench("run", pipe(PAIRS), "--input", tmp_path / "log.csv", "--backend", "numba", "--key", "user")
    assert (done.code, done.out) == (0, "user,out\na,7\na,11\n")


def test_queues_that_no_values_decide(workbench: Run, tmp_path: Path) -> None:
    """Squares as sums of odd numbers: 1, 4, 9 after 1, 3 and 5 events, in unbounded integers."""
    (tmp_path / "log.csv").write_text("x\n" + "7\n" * 6)
    done = workbench("run", MODELS / "sum_of_odds.pipe", "--input", tmp_path / "log.csv", "--backend", "numba")
    assert (done.code, done.out) == (0, "out\n1\n4\n9\n")


def test_a_capacity_of_the_file_stays(workbench: Run, pipe: Callable[[str], Path], log: Path) -> None:
    file = pipe(PAIRS.replace("}", "capacity queue(add.left) = 1 }"))
    done = workbench("run", file, "--input", log, "--backend", "numba")
    assert done.code == 2
    assert "step 1: queue 'add.left' of pipeline pairs overflows: its capacity is 1" in done.err
    assert "proven" not in done.err


def test_a_log_with_gaps_that_needs_more_is_told_so(
    workbench: Run, pipe: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "log.csv").write_text("x,y\n1,2\n3,\n5,\n7,8\n")
    done = workbench("run", pipe(PAIRS), "--input", tmp_path / "log.csv", "--backend", "numba")
    assert done.code == 2
    assert "step 2: queue 'add.left' of pipeline pairs overflows: its capacity is 2" in done.err
    assert "proven for inputs that all come together, and this log has gaps" in done.err


def test_a_log_with_gaps_that_do_not_matter(workbench: Run, pipe: Callable[[str], Path], tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("x,y\n1,2\n3,\n,6\n7,8\n9,1\n")
    given = ("run", pipe(PAIRS), "--input", tmp_path / "log.csv")
    assert workbench(*given, "--backend", "numba") == workbench(*given)


def test_what_no_capacity_is_enough_for(workbench: Run, pipe: Callable[[str], Path], log: Path) -> None:
    file = pipe("pipeline p(x: int, y: int) -> int { return stutter(x, 2) + y }")
    done = workbench("run", file, "--input", log, "--backend", "numba")
    assert (done.code, done.out) == (2, "")
    assert "queue 'add.left' of pipeline p grows without bound, also where all inputs come together" in done.err
    assert workbench("run", file, "--input", log).code == 0


def test_the_hint_is_a_way_out_where_the_capacity_depends_on_values(
    workbench: Run, pipe: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "log.csv").write_text("x\n1\n2\n3\n4\n")
    file = pipe(
        "pipeline p(x: int) -> int {\n"
        "    count = cumulate(turn(x, 1), +)\n"
        "    return x + stutter(filter(x, count mod 2 = 0), 2)\n"
        "}\n"
    )
    given = ("run", file, "--input", tmp_path / "log.csv", "--backend")
    done = workbench(*given, "numba")
    assert (done.code, done.out) == (2, "")
    assert "depends on values: with integers 0..3" in done.err
    found = re.search(r"`workbench (buffers .*?)`", done.err)
    assert found
    assert workbench(*shlex.split(found[1])).code == 0
    assert workbench(*given, "numba") == workbench(*given, "reference")
