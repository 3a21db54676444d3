"""Suites written to a folder of their own, and labs over them."""

import os
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab import nvml
from workbench.lab.local_sweep import sweep
from workbench.lab.plan import Lab, Origin, Selection, SweepPlan
from workbench.lab.result import Result
from workbench.lab.store import ResultStore
from workbench.lab.suite_search import load_suite

ROOT = Path(__file__).resolve().parents[2]
HEAD = "from workbench.lab import *\n"
MakeLab = Callable[..., Lab]


@pytest.fixture
def make_lab(tmp_path: Path) -> MakeLab:
    """Writes a suite of that name and opens it."""

    def make(text: str, name: str = "tiny") -> Lab:
        path = tmp_path / "experiments" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"{HEAD}suite = Suite({name!r}, 'A suite for tests')\n{textwrap.dedent(text)}")
        return Lab(load_suite(path), path, ResultStore(tmp_path / "data", name))

    return make


@pytest.fixture
def two_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that are started find two GPUs: each point uses 64 MB and 0.4 s of one."""
    paths = [str(nvml.folder(tmp_path / "site")), str(ROOT), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))


def run(lab: Lab, selection: Selection | None = None, jobs: int = 1) -> list[Result]:
    """Measure what is missing."""
    selection = selection or Selection()
    todo = SweepPlan.of(lab, selection).todo
    return list(sweep(lab, todo, Origin.of(lab), jobs))


SQUARES = """
@suite.experiment(Region(n=[3, 1, 2], kind=["plain", "odd"]), square=Output("the square", kind=int))
def squares(n, kind):
    return {"square": n * n + (kind == "odd")}
"""
