"""`workbench conform`, on a user's own files."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import MODELS, Run, program
from tests.conformance.test_conform import MENDED, MINE
from tests.conformance.test_regression import play, run_pytest

RISING = MODELS.parent.parent / "docs" / "examples" / "rising.py"
FEW = ("--examples", "20", "--steps", "8")


def test_a_pipeline_on_several_backends(workbench: Run) -> None:
    done = workbench("conform", MODELS / "figure_2a.pipe", "--backend", "reference", "--backend", "threaded", *FEW)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "✓ agrees   specification  of figure_2a: 20 traces",
        "✓ agrees   pull  of figure_2a: 20 traces",
        "✓ agrees   threaded  of figure_2a: 20 traces",
    ]


def test_one_of_a_kind_has_no_plural(workbench: Run) -> None:
    threaded = ("--backend", "threaded", "--examples", "1")
    assert workbench("conform", MODELS / "figure_2a.pipe", *threaded).out.endswith(" of figure_2a: 1 trace\n")
    assert workbench("conform", "--random", "1", *threaded[:2]).out.endswith(" of random pipelines: 1 pipeline\n")
    rules = workbench("conform", MODELS.parent / "tesla" / "base.tesla", "--examples", "1", "--backend", "cdp")
    assert rules.out.endswith("base.tesla: 1 stream\n")


@pytest.mark.slow
def test_what_differs_is_shown_and_kept(workbench: Run, tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(MINE)
    done = workbench("conform", mine, "--backend", "reference", "--to-test", tmp_path, *FEW)
    kept = tmp_path / "test_rises_on_specification.py"
    assert done.code == 1
    assert "✗ differs  specification  of rising in rises: pipe 'rising' at step 2" in done.out
    assert re.search(r"^    out   rising \(specification\)   ?·   ?[01]  ·$", done.out, re.MULTILINE)
    assert str(kept) in done.out
    assert "1 failed" in run_pytest(kept).stdout
    mine.write_text(MENDED)
    play(kept.read_text(), kept)
    assert workbench("conform", f"{mine}:rises", "--backend", "reference", *FEW).code == 0


def test_json(workbench: Run, tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(MINE)
    done = workbench("conform", mine, "--backend", "specification", "--backend", "model", "--json", *FEW)
    differs, refused, _ = done.objects
    assert (differs["outcome"], differs["pipeline"], differs["backend"]) == ("differs", "rises", "specification")
    assert differs["part"] == ["rising"]
    events = [each["passthrough"] for each in differs["failure"]["steps"]]
    assert events in ([0, 1, 1], [-1, 0, 0])  # no event of either can be made smaller by itself
    assert (differs["failure"]["step"], differs["failure"]["what"]) == (2, "pipe 'rising'")
    assert (refused["outcome"], refused["agreements"]) == ("refused", 0)
    assert "it is plain Python" in refused["refused"]


def test_parameters_and_domains(workbench: Run, tmp_path: Path) -> None:
    path = tmp_path / "p.pipe"
    path.write_text("pipeline p<k = 1>(x: int) -> int { return turn(x, k) }")
    done = workbench("conform", path, "--param", "k=9", "--backend", "model", *FEW)
    assert "– refused  model  of p: it is not defined over int mod 4" in done.out
    assert done.code == 0
    done = workbench("conform", path, "--param", "k=9", "--backend", "model", "-N", "10", *FEW)
    assert "✓ agrees   model  of p: 20 traces, int is 0..9" in done.out


def test_any_seed_will_do(workbench: Run) -> None:
    done = workbench("conform", MODELS / "figure_2a.pipe", "--backend", "pull", "--seed", "-2", "--examples", "3")
    assert (done.code, done.out) == (0, "✓ agrees   pull  of figure_2a: 3 traces\n")


def test_random_pipelines(workbench: Run) -> None:
    done = workbench("conform", "--random", "10", "--backend", "specification", "--steps", "5")
    assert (done.code, done.out) == (0, "✓ agrees   specification  of random pipelines: 10 pipelines\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "there is nothing to compare"),
        (["nowhere.py"], "there is no such file"),
        ([MODELS / "figure_2a.pipe", "--backend", "spork"], "there is no backend 'spork'"),
        ([MODELS / "figure_2a.pipe", "--to-test", MODELS / "figure_2a.pipe"], "cannot write there: File exists"),
        ([MODELS / "figure_2a.pipe", "--examples", "0"], "'0' is not a positive number"),
        ([MODELS / "figure_2a.pipe", "-Q", "-1"], "'-1' is not a capacity"),
        ([RISING, "--param", "k=3"], "the pipelines of a Python file have no parameters"),
    ],
)
def test_mistakes(workbench: Run, arguments: list[object], message: str) -> None:
    done = workbench("conform", *arguments)
    assert done.code == 2
    assert message in done.err


def test_an_interruption_says_where_to_go_on(workbench: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.conformance.compare import conform as engine

    once = engine.search_round

    def interrupted(*args: Any) -> object:
        if args[-2] == 6:
            raise KeyboardInterrupt
        return once(*args)

    monkeypatch.setattr(engine, "search_round", interrupted)
    done = workbench(
        "conform", MODELS / "figure_2a.pipe", "--backend", "pull", "--examples", "250", "--seed", "5", "--steps", "3"
    )
    assert done.code == 130
    assert "figure_2a on pull: continue with --seed 6" in done.err


@pytest.mark.slow
def test_kernels_on_the_simulator(tmp_path: Path) -> None:
    path = tmp_path / "p.pipe"
    path.write_text("pipeline p(e: (0..3, bool)) -> (0..3, bool) { return decimate(filter(e, e.1), 2, last = true) }")
    done = program("conform", path, "--backend", "gpu", "--steps", "6", env={"NUMBA_ENABLE_CUDASIM": "1"})
    assert (done.code, done.out) == (0, "✓ agrees   gpu  of p: 20 traces\n")
