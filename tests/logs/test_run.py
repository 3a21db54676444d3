"""`wb.run_log`: a program on a log in one call, as `workbench run` does it."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from workbench.errors import InputError

TOTAL = "pipeline total(x: int) -> int { return cumulate(x, +) }"
LATE = "pipeline late(x: int, y: int) -> int { return x + trim(y, 1) }"


@pytest.mark.parametrize("backend", ["reference", "numba", "threaded"])
def test_steps_in_streams_out(backend: str) -> None:
    total = wb.parse(TOTAL).get()
    assert wb.run_log(total, [{"x": 3}, {}, {"x": 4}], backend=backend) == {"out": [3, 7]}
    assert wb.run_log(total.pipeline, [{"x": 3}, {"x": 4}], integers=wb.Integer(5), backend=backend) == {"out": [3, 2]}


def test_files(tmp_path: Path) -> None:
    (tmp_path / "p.pipe").write_text(f"{TOTAL}\n{LATE}\n")
    (tmp_path / "x.csv").write_text("x\n1\n2\n")
    assert wb.run_log(f"{tmp_path / 'p.pipe'}:total", tmp_path / "x.csv") == {"out": [1, 3]}
    assert wb.run_log(f"{tmp_path / 'p.pipe'}:total", tmp_path / "x.csv", tmp_path / "y.jsonl") == {}
    assert (tmp_path / "y.jsonl").read_text() == '{"out": 1}\n{"out": 3}\n'
    wb.run_log(tmp_path / "p.pipe", [{"x": 1, "y": 2}, {"x": 3, "y": 4}], tmp_path / "z.csv")
    assert (tmp_path / "z.csv").read_text() == "out\n5\n"


def test_queues_get_the_capacity_that_they_need() -> None:
    late = wb.parse(LATE).get()
    assert wb.run_log(late, [{"x": i, "y": i} for i in range(3)], backend="numba") == {"out": [1, 3]}
    endless = wb.parse("pipeline endless(x: int) -> int { return x + decimate(x, 2) }").get()
    assert wb.run_log(endless, [{"x": i} for i in range(20)], backend="numba") == {"out": [3 * i for i in range(10)]}


def test_a_run_for_each_key(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("user,x\na,1\nb,5\na,2\n")
    wb.run_log(wb.parse(TOTAL).get(), tmp_path / "x.csv", tmp_path / "y.csv", backend="numba", key="user")
    assert (tmp_path / "y.csv").read_text() == "user,out\na,1\nb,5\na,3\n"
    with pytest.raises(InputError, match="from a file"):
        wb.run_log(wb.parse(TOTAL).get(), [], backend="numba", key="user")


def test_options_are_those_of_the_backend() -> None:
    total = wb.parse(TOTAL).get()
    with pytest.raises(InputError, match="not for the reference backend: --threads"):
        wb.run_log(total, [], threads=2)
    with pytest.raises(InputError, match="did you mean 'threads'"):
        wb.run_log(total, [], thread=2)
    with pytest.raises(InputError, match="cannot read"):
        wb.run_log("missing.pipe", [])


def test_faults_strike_at_random() -> None:
    lossy = wb.faulty(wb.parse(TOTAL).get().pipeline, "lose out")
    steps = [{"x": 1}] * 100
    few = wb.run_log(lossy, steps, seed=1, rate=0.5)["out"]
    assert 20 < len(few) < 80
    assert few == wb.run_log(lossy, steps, seed=1, rate=0.5)["out"]
