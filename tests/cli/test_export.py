"""`workbench export`, `draw`, `doctor` and `--version`."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import MODELS, Run, program
from workbench.extras import install_extra
from workbench.verify.decide.table import find_engines

SQUARES = MODELS / "sum_of_odds.pipe"
USABLE = {found.name: found for found in find_engines() if found.usable}


def test_export_prints_the_whole_model(workbench: Run) -> None:
    done = workbench("export", SQUARES, "-p", "liveness", "-N", 8)
    assert done.code == 0
    assert done.out.startswith("-- Pipeline sum_of_odds\n")
    for phrase in (
        "unsigned word[3]",
        "MODULE main",
        "-- liveness\n  CTLSPEC AG (EF (",
        "overflow.now",
        "kept_queue",
    ):
        assert phrase in done.out


def test_the_stages_of_the_compiled_loop(workbench: Run) -> None:
    stages = {
        "system": "next:",
        "layout": "x0: x:value: int[]",
        "lowered": "def run(first: Int, last: Int, whole: Int[:]",
        "inline-single-uses": "for i in range(first, last):",
        "python": "def run(first, last, whole",
    }
    for stage, phrase in stages.items():
        assert phrase in workbench("export", SQUARES, "--show", stage).out, stage
    wrong = workbench("export", SQUARES, "--show", "pyton")
    assert wrong.code == 2
    assert "did you mean 'python'?" in wrong.err


def test_the_tables_of_rules(workbench: Run) -> None:
    rules = "models/tesla/fire.tesla"
    found = workbench("export", rules, "--show", "plan").out
    assert found.startswith("columns\n")
    assert "\n  1: Temp by own.0, retained for 300000000\n" in found
    assert "\n  trigger Smoke -> r1, r2 = own.0\n" in found
    wrong = workbench("export", rules, "--show", "python")
    assert wrong.code == 2
    assert "rules have no stage 'python'\n  hint: --show plan prints" in wrong.err


def test_export_is_written_whole(workbench: Run, tmp_path: Path) -> None:
    target = tmp_path / "model.smv"
    assert workbench("export", SQUARES, "-o", target, "-Q", 1).code == 0
    assert target.read_text() == workbench("export", SQUARES, "-Q", 1).out
    assert os.listdir(tmp_path) == ["model.smv"]
    assert target.stat().st_mode & 0o044  # as any other file


@pytest.mark.sampled(2)
@pytest.mark.skipif("nusmv" not in USABLE, reason="no NuSMV executable")
@pytest.mark.parametrize("name", ["figure_2a", "sum_of_odds", "output_if_smaller_than_k", "window_sum_of_3"])
def test_nusmv_by_hand_says_what_check_says(workbench: Run, tmp_path: Path, name: str) -> None:
    asked = ["liveness", "response", "bounded-liveness(2)", "bounded-liveness(0)", "no-overflow", "no-full-queues"]
    file = MODELS / f"{name}.pipe"
    options = [word for text in asked for word in ("-p", text)]
    target = tmp_path / "model.smv"
    assert workbench("export", file, "-o", target, *options).code == 0
    verdicts = [found["verdict"] for found in workbench("check", file, "--json", *options).objects]
    said = subprocess.run([USABLE["nusmv"].path, target], capture_output=True, text=True, check=True).stdout
    lines = [line for line in said.splitlines() if line.startswith(("-- specification", "-- invariant"))]
    assert len(lines) == len(asked)
    # NuSMV decides CTL first, then LTL, then invariants
    assert [line.endswith("is false") for line in lines] == [v == "fails" for v in verdicts]


def test_comparisons_are_mentioned_in_an_export(workbench: Run) -> None:
    done = workbench("export", SQUARES, "-p", "equivalent(squares)")
    assert "-- equivalent(squares)" in done.out


def test_properties_that_count_silent_steps_have_a_counter_each(workbench: Run) -> None:
    asked = [f"-pbounded-liveness({k})" for k in (1, 2, 3, 2, 1)]
    done = workbench("export", SQUARES, *asked)
    assert done.code == 0
    assert re.findall(r"^    (silence\w*) :", done.out, re.MULTILINE) == ["silence", "silence_2", "silence_3"]
    assert done.out.count("INVARSPEC") == 5


# --- draw, doctor, version --------------------------------------------------------------------------------


def test_draw_as_text(workbench: Run) -> None:
    done = workbench("draw", SQUARES)
    assert done.code == 0
    assert done.out.startswith("digraph")


@pytest.mark.skipif(shutil.which("dot") is None, reason="no graphviz")
def test_draw_to_a_file(workbench: Run, tmp_path: Path) -> None:
    assert workbench("draw", SQUARES, "-o", tmp_path / "p.svg").code == 0
    assert "<svg" in (tmp_path / "p.svg").read_text()
    assert os.listdir(tmp_path) == ["p.svg"]


def test_draw_without_graphviz(workbench: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = workbench("draw", SQUARES, "-o", tmp_path / "p.svg")
    assert done.code == 2
    assert "graphviz" in done.err
    assert os.listdir(tmp_path) == []


def test_models_are_listed_and_copied(workbench: Run, tmp_path: Path) -> None:
    done = workbench("models", "time2021/sum")
    assert done.code == 0
    assert "models/time2021/sum_of_odds.pipe " in done.out
    assert "figure_2a" not in done.out
    assert workbench("models", "figure_2", "--copy", tmp_path).out == f"2 files are in {tmp_path}/models\n"
    copied = tmp_path / "models" / "time2021" / "figure_2a.pipe"
    assert workbench("check", copied, "-p", "no-overflow", "--quiet").code == 1
    copied.write_text("mine")
    done = workbench("models", "--copy", tmp_path)
    assert (done.code, copied.read_text()) == (2, "mine")
    assert "exists, and differs" in done.err
    assert "no model has 'sum_of_evens'" in workbench("models", "sum_of_evens").err


def test_docs(workbench: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the package, else those that a clone has built."""
    package = tmp_path / "workbench"
    package.mkdir()
    monkeypatch.setattr("workbench.cli.commands.docs.files", lambda _: package)
    done = workbench("docs")
    assert (done.code, "make docs builds them" in done.err) == (2, True)
    for page in (tmp_path / "build" / "docs" / "index.html", package / "site" / "index.html"):
        page.parent.mkdir(parents=True)
        page.touch()
        assert workbench("docs", "--print").out == f"{page}\n"


def test_doctor(workbench: Run) -> None:
    done = workbench("doctor")
    assert done.code == 0
    for name in ("Python", "pynusmv", "nuxmv", "graphviz", "Java", "pyspark", "numba", "GPU", "matplotlib"):
        assert name in done.out
    (found,) = workbench("doctor", "--json").objects
    assert found["works"] is True
    assert found["found"][0].keys() == {"group", "name", "available", "detail", "hint"}
    assert all(item["hint"] for item in found["found"] if not item["available"])


def test_doctor_compiles_what_runs_rules(workbench: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once; and without a compiler it says what to install."""
    pytest.importorskip("numba")
    from workbench.executors.compiled.rules import compiling

    compiled = list[bool]()
    monkeypatch.setattr(compiling, "is_cached", lambda: bool(compiled))
    monkeypatch.setattr(compiling, "compile_aside", lambda: compiled.append(True))
    told = [workbench("doctor", "--compile").err for _ in range(2)]
    assert compiled == [True]
    assert told == ["compiling the kernel of rules: up to twenty seconds\n", ""]
    monkeypatch.setattr("workbench.executors.table.find_spec", lambda name: None)
    done = workbench("doctor", "--compile")
    assert done.code == 2
    assert install_extra("fast") in done.err


def test_version() -> None:
    done = program("--version")
    assert done.code == 0
    assert done.out.startswith("workbench ")


@pytest.mark.skipif("nusmv" not in USABLE, reason="no NuSMV executable")
def test_nusmv_by_hand_says_of_rules_what_check_says(workbench: Run, tmp_path: Path) -> None:
    """What rules can do is a condition that is never met, which NuSMV finds to be false."""
    file, target = MODELS.parent / "tesla" / "silence.tesla", tmp_path / "model.smv"
    asked = ["can(Silent)", "never(Gateway)", "no-full-queues", "always (queue(silence.Silent).length <= 2)"]
    options = ["-Q", "2", *(word for text in asked for word in ("-p", text))]  # that of `export` does not grow
    done = workbench("export", file, "-o", target, *options)
    assert done.code == 0
    text = target.read_text()
    assert "-- Rule set silence\n" in text
    assert "--   1 is Silent, up to 20 ticks old" in text  # 10 min at 30 s: two gaps beyond a minute fit into 3
    verdicts = [found["verdict"] for found in workbench("check", file, "--json", *options).objects]
    said = subprocess.run([USABLE["nusmv"].path, target], capture_output=True, text=True, check=True).stdout
    lines = [line for line in said.splitlines() if line.startswith("-- invariant")]
    assert verdicts[0] == "holds"
    assert [line.endswith("is false") for line in lines] == [True, *(v == "fails" for v in verdicts[1:])]
