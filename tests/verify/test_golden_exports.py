"""The exported models in smv/time2021 are what the printer prints now, and NuSMV decides them as `check` does.

To renew them after a wanted change: for each model, `workbench export models/time2021/F.pipe -o smv/time2021/F.smv`.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from workbench.cli.main import main
from workbench.verify.decide.table import get_engine

ROOT = Path(__file__).resolve().parents[2]
MODELS = sorted((ROOT / "models" / "time2021").glob("*.pipe"))


@pytest.mark.parametrize("model", MODELS, ids=lambda path: path.stem)
def test_the_golden_export_is_current(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", str(model)]) == 0
    assert (ROOT / "smv" / "time2021" / f"{model.stem}.smv").read_text() == capsys.readouterr().out


def test_every_golden_export_belongs_to_a_model() -> None:
    exported = {path.stem for path in (ROOT / "smv" / "time2021").glob("*.smv")}
    assert exported == {path.stem for path in MODELS}


@pytest.mark.parametrize(
    ("name", "false"),
    [("figure_2a", 0), ("sum_of_ones_on_window", 0), ("output_if_smaller_than_k", 0), ("passthrough", 0)],
)
def test_nusmv_reads_the_file_by_itself(name: str, false: int) -> None:
    """By hand, as the file's header says: the optimistic specifications of these models are true."""
    executable = get_engine("nusmv")
    path = str(getattr(executable, "path", ""))
    done = subprocess.run(
        [path, str(ROOT / "smv" / "time2021" / f"{name}.smv")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    answers = re.findall(r"-- (?:specification|invariant) .* is (true|false)", done.stdout)
    assert answers
    assert answers.count("false") == false
