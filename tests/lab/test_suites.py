"""The suites that are shipped: they load, have the published figures' points, and their verdicts are as expected."""

import re
import sys
from itertools import product
from pathlib import Path

import pytest

import workbench as wb
from experiments.rules import rule_events
from tests.lab.conftest import run
from workbench.executors.table import engines_here
from workbench.lab.data import open_data
from workbench.lab.plan import Lab, Selection, tasks
from workbench.lab.result import Status
from workbench.lab.rule_runs import RULE_OUTPUTS, rule_run
from workbench.lab.store import ResultStore
from workbench.lab.suite_search import load_suite, suite_files
from workbench.tesla.engines.cdp.matcher import CDPMatcher
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.publisher import Publisher

ROOT = Path(__file__).resolve().parents[2]
FILES = suite_files(ROOT / "experiments")


def lab_of(name: str, folder: Path) -> Lab:
    return Lab(load_suite(FILES[name]), FILES[name], ResultStore(folder, name))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", FILES)
def test_suites_load_and_their_tables_can_be_made_of_nothing(name, tmp_path):
    lab = lab_of(name, tmp_path)
    assert tasks(lab, "", Selection())
    data = open_data(lab.suite, lab.store)
    for table in lab.suite.tables.values():
        assert data.grid(table).rows == ()
    for plot in lab.suite.plots.values():
        assert data.dots(plot) == {}
    for claim in lab.suite.claims.values():
        assert claim.evaluate(data).standing == "no data"


def test_every_figure_of_the_paper_and_the_peer_has_its_point(tmp_path):
    suite = lab_of("time2021", tmp_path).suite
    for table in suite.tables.values():
        region = table.experiment.region.where(**table.where)
        for beside in table.beside:
            points = {tuple(point[axis] for axis in beside.by) for point in region}
            missing = {key for key in beside.figures if key not in points}
            # at this N and Q the paper's query has no point only where its constant is not in the domain
            assert missing == set(), (table.name, beside.label)


def test_the_problems_of_time2021_are_at_least_those_of_the_paper(tmp_path):
    suite = lab_of("time2021", tmp_path).suite
    assert sum(len(suite.experiments[name].region) for name in ("check", "compare")) >= 162


@pytest.mark.slow
def test_some_of_time2021(tmp_path):
    """Its expected verdicts follow from what the pipelines do, and are checked by the lab itself."""
    lab = lab_of("time2021", tmp_path)
    lab = Lab(lab.suite.repeat(1), lab.path, lab.store)
    found = run(lab, Selection(("check",), {"n": (4,), "q": (2,), "k": (0, 3)}))
    assert len(found) == 24
    assert {r.measured.status for r in found} == {Status.OK}
    compared = run(lab, Selection(("compare",), {"query": ("Passthrough against delay",), "n": (4,)}))
    assert {r.point["mode"]: r.measured.outputs["verdict"] for r in compared} == {
        "stepwise": "fails",
        "sequence": "holds",
    }
    assert all(r.measured.outputs["confirmed"] for r in [*found, *compared] if r.measured.outputs["verdict"] == "fails")
    data = open_data(lab.suite, lab.store)
    rows = {key[0]: [cell.text for cell in cells] for key, cells in data.grid("properties").rows}
    assert rows["Sum of odds"][2:4] == ["612", "1000"]  # the paper's and the peer's, for no full queues
    assert rows["Sum on window of 3"][3] == ""  # the peer has not measured it


@pytest.mark.slow
def test_a_disagreement_is_found_and_shrunk(tmp_path):
    lab_of("conformance", tmp_path)
    module = sys.modules["workbench_suite_conformance"]

    def differ(pipeline, steps, _):
        assert len(pipeline.nodes) < 2 or not steps, f"{len(pipeline.nodes)} nodes, {len(steps)} steps"

    module.COMPARISONS["reference and denotation"] = differ
    found = module.agree("reference and denotation", 1)
    assert found["disagreements"] == 1
    assert re.match("[23] nodes, 1 steps", found["shrunk"])


def test_an_engine_of_rules_that_tells_something_else_is_found(tmp_path, monkeypatch):
    """One that tells nothing differs from the formulas where they first tell something: what is left is small."""
    lab_of("rule_conformance", tmp_path)
    module = sys.modules["workbench_suite_rule_conformance"]
    monkeypatch.setattr(module, "SIZE", 40)
    assert module.agree("aip", 0)["cases"] == 40

    class Silent(Publisher):
        def process(self, event):
            super().process(event)
            return []

    def make(rules, facts, settings):
        return Silent("silent", rules, facts, settings, CDPMatcher)

    monkeypatch.setattr(module, "engines_here", lambda: {"silent": make})
    found = module.agree("silent", 0)
    assert found["disagreements"] == 1
    assert found["composites"] > 0
    assert "silent differs from the formulas at composite 0: it has nothing" in found["shrunk"]
    assert found["shrunk"].count("rule ") == 1


def test_a_run_of_rules_is_a_measurement():
    """A at 0, 10, ... and B at 5, 15, ..., 50 of each; the first of each are not measured.

    Each B has two As in the last 20, that of 15 has the A whose x is 0.
    """
    text = (
        "declare A(x: float) declare B(x: float) declare D() from B and each A within 20 from B where A.x > 0 emit D()"
    )
    rules = wb.rules.parse_rules(text)
    log = [{"type": "AB"[at % 10 == 5], "time": at, "x": at} for at in range(0, 500, 5)]
    found = []
    engines = [each for each in engines_here() if each != "gpu"]  # a device counts nothing
    for engine, profiled in product(engines, (True, False)):
        settings = EngineSettings(profiled=profiled)
        made = rule_run(rules, rule_events(rules, log), engine, settings=settings, unmeasured=2)
        assert made.keys() == RULE_OUTPUTS.keys()
        assert made["rate"] * made["cost"] == pytest.approx(1e6)
        found.append((made["matches"], made["composites"], made["checksum"]))
    assert [each[:2] for each in found] == [(98, 97), (None, 97)] * len(engines)
    assert len({told for *_, told in found}) == 1


def test_a_batch_of_random_pipelines_is_made_from_its_seed(tmp_path, monkeypatch):
    lab_of("conformance", tmp_path)
    module = sys.modules["workbench_suite_conformance"]
    monkeypatch.setattr(module, "SIZE", 5)
    first, again, other = (module.agree("push, pull, reset and lockstep", seed) for seed in (1, 1, 2))
    assert first == again
    assert first["disagreements"] == other["disagreements"] == 0
    assert first["pipelines"] >= 5
    assert (first["steps"], first["processors"]) != (other["steps"], other["processors"])
