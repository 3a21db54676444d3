"""`workbench dataflow`: what the executor does, and its scheduler for the graph of a pipeline."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.show.test_flow_moments import PIPE, history
from workbench.cli.commands.dataflow import PARTS
from workbench.cli.main import main
from workbench.executors.dataflow.listings import Variant
from workbench.show.flow_moments import history_page, history_text


def test_the_command(workbench: Run, tmp_path: Path) -> None:
    (tmp_path / "p.pipe").write_text(PIPE)
    (tmp_path / "x.csv").write_text("x\n" + "7\n" * 9)
    given = ("dataflow", "show", tmp_path / "p.pipe", "--input", tmp_path / "x.csv")
    shown = json.loads(workbench(*given, "--json").out)
    assert shown == json.loads(json.dumps(history().to_json()))
    assert [each["name"] for each in shown["vertices"]][:3] == ["log", "turn", "count"]
    assert workbench(*given).out == history_text(history())
    assert workbench(*given, "--phases", 0).code == 2
    done = workbench(*given, "-o", tmp_path / "page.html")
    assert (done.code, done.out) == (0, "")
    assert (tmp_path / "page.html").read_text() == history_page(history())


@pytest.fixture
def path(tmp_path):
    """A join that is fed by the log and by what the log feeds."""
    path = tmp_path / "p.pipe"
    path.write_text("pipeline p(x: int) -> int { return x + x * 2 }")
    return str(path)


def test_all_claims_hold(path, capsys):
    assert main(["dataflow", "check", path, "--threads", "2"]) == 0
    first, *lines = capsys.readouterr().out.splitlines()
    assert first.startswith("vertices: 1 log, 2 ")
    assert len(lines) == 7
    assert all(line.startswith("✓ holds") for line in lines)


def test_a_broken_variant_is_replayed(path, capsys):
    assert list(PARTS) == [str(each.name).lower() for each in Variant]
    assert main(["dataflow", "check", path, "--without", "overtaking", "--claim", "serialisable", "--json"]) == 1
    (said,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert said["verdict"] == "fails"
    assert said["replay"] == "confirmed by execution"
    assert said["steps"][-1] == "thread 0 takes (3, 2)"


def test_a_numbering_that_is_not_satisfactory_is_refused(tmp_path, capsys):
    path = tmp_path / "p.pipe"
    path.write_text("pipeline p(x: int, y: int) -> int { a = x * 2  b = a + y  return b - y }")
    assert main(["dataflow", "check", str(path), "--order", "log,a,b,nothing"]) == 2
    assert "hint: log, " in capsys.readouterr().err


def test_the_model_is_a_file_for_nusmv(path, tmp_path):
    model = tmp_path / "model.smv"
    assert main(["dataflow", "export", path, "-o", str(model), "--phases", "1"]) == 0
    text = model.read_text()
    assert text.count("INVARSPEC") == 6
    assert "LTLSPEC G (F (claim.finished))" in text
