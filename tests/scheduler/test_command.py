"""`python -m experiments.scheduler`: what the dataflow executor does, and its scheduler for the graph of a pipeline."""

import json

import pytest

from experiments.scheduler.commands.dataflow import PARTS
from experiments.scheduler.flow_moments import history_page, history_text
from experiments.scheduler.listings import Variant
from tests.scheduler.test_flow_moments import PIPE, history


@pytest.mark.slow
def test_the_command(scheduler, tmp_path):
    (tmp_path / "p.pipe").write_text(PIPE)
    (tmp_path / "x.csv").write_text("x\n" + "7\n" * 9)
    given = ("show", tmp_path / "p.pipe", "--input", tmp_path / "x.csv")
    shown = json.loads(scheduler(*given, "--json").out)
    assert shown == json.loads(json.dumps(history().to_json()))
    assert [each["name"] for each in shown["vertices"]][:3] == ["log", "turn", "count"]
    assert scheduler(*given).out == history_text(history())
    assert scheduler(*given, "--phases", 0).code == 2
    done = scheduler(*given, "-o", tmp_path / "page.html")
    assert (done.code, done.out) == (0, "")
    assert (tmp_path / "page.html").read_text() == history_page(history())


@pytest.fixture
def path(tmp_path):
    """A join that is fed by the log and by what the log feeds."""
    path = tmp_path / "p.pipe"
    path.write_text("pipeline p(x: int) -> int { return x + x * 2 }")
    return path


def test_all_claims_hold(path, scheduler):
    done = scheduler("check", path, "--threads", "2")
    first, *lines = done.out.splitlines()
    assert done.code == 0
    assert first.startswith("vertices: 1 log, 2 ")
    assert len(lines) == 7
    assert all(line.startswith("✓ holds") for line in lines)


def test_a_broken_variant_is_replayed(path, scheduler):
    assert list(PARTS) == [str(each.name).lower() for each in Variant]
    done = scheduler("check", path, "--without", "overtaking", "--claim", "serialisable", "--json")
    (verdict,) = done.objects
    assert done.code == 1
    assert verdict["verdict"] == "fails"
    assert verdict["replay"] == "confirmed by execution"
    assert verdict["steps"][-1] == "thread 0 takes (3, 2)"


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ("log,a,b,nothing", "the order log, a, b, nothing is none of the vertices\n  hint: log, "),
        ("log,b,a,c", "vertex 2 has the predecessors [3]\n  hint: number them in topological order"),
        ("log,a,b,c", "the numbering is not satisfactory: S(1) is [1, 2, 4]\n  hint: "),
    ],
)
def test_a_numbering_that_is_not_satisfactory_is_refused(tmp_path, scheduler, order, said):
    path = tmp_path / "p.pipe"
    path.write_text("pipeline p(x: int, y: int) -> int, int { a = x * 2  b = a * 3  c = y * 2  return b, c }")
    done = scheduler("check", path, "--order", order)
    assert done.code == 2
    assert said in done.err


def test_the_model_is_a_file_for_nusmv(path, tmp_path, scheduler):
    model = tmp_path / "model.smv"
    assert scheduler("export", path, "-o", model, "--phases", "1").code == 0
    text = model.read_text()
    assert text.count("INVARSPEC") == 6
    assert "LTLSPEC G (F (claim.finished))" in text
