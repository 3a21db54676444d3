"""`workbench conform` on rules: engines are held to what the rules mean."""

from collections import Counter
from pathlib import Path

import pytest

from workbench.conformance.compare import rule_engines
from workbench.conformance.compare.rule_engines import evaluate_meaning
from workbench.conformance.generate.rule_streams import stream_case
from workbench.errors import Refused
from workbench.executors.table import rule_engines as table
from workbench.tesla.check import load_rules
from workbench.tesla.occurrence import in_units

MODELS = sorted((Path(__file__).parents[2] / "models" / "tesla").glob("*.tesla"))


def test_engines_agree(workbench):
    done = workbench("conform", MODELS[0], "--examples", 5, "--random-rules", 8)
    assert done.code == 0
    file, random = done.out.splitlines()
    assert file == f"✓ agree    all engines  on {MODELS[0]}: 5 streams"
    assert random.startswith("✓ agree    all engines  on random rules: 8 streams")
    assert "cdp refused" not in random


def test_the_backends_that_are_named_are_compared(workbench):
    done = workbench("conform", MODELS[0], "--examples", 5, "--backend", "aip", "--backend", "cdp")
    assert done.out == f"✓ agree    aip, cdp  on {MODELS[0]}: 5 streams\n"
    for name, said in (("nonsense", "there is no backend 'nonsense'"), ("reference", "has no engine of rules")):
        done = workbench("conform", MODELS[0], "--backend", name)
        assert (done.code, done.out) == (2, "")
        assert said in done.err


def test_who_refuses_rules_is_told(workbench, monkeypatch):
    """Rules that nobody else runs do not count as agreed on."""

    def choosy(rules, facts, settings):
        raise Refused("rules are not supported by engine 'choosy'")

    monkeypatch.setattr(rule_engines, "engines_here", lambda: {"choosy": choosy, "cdp": table()["cdp"]})
    done = workbench("conform", MODELS[0], "--examples", 5)
    assert done.out == f"✓ agree    all engines  on {MODELS[0]}: 5 streams; choosy refused the rules\n"
    (found,) = workbench("conform", MODELS[0], "--examples", 5, "--json").objects
    assert (found["outcome"], found["engines"], found["refused"]) == ("agrees", ["choosy", "cdp"], {"choosy": 5})
    monkeypatch.setattr(rule_engines, "engines_here", lambda: {"choosy": choosy})
    done = workbench("conform", MODELS[0], "--examples", 5)
    assert (done.code, done.out) == (0, f"– refused  all engines  on {MODELS[0]}\n")
    (found,) = workbench("conform", MODELS[0], "--examples", 5, "--json").objects
    assert (found["outcome"], found["streams"]) == ("refused", 5)


def test_backends_are_refused_where_they_compare_nothing(workbench):
    for asked, said in (
        (("--random", 3, "--backend", "gpu"), "random pipelines are not compared on gpu"),
        (("--random", 3, "--backend", "cdp"), "backend 'cdp' is not compared on pipelines"),
        ((MODELS[0], "--param", "x=1"), "rules have no parameters"),
    ):
        done = workbench("conform", *asked)
        assert (done.code, done.out) == (2, "")
        assert said in done.err


def test_a_backend_is_refused_by_programs_of_another_kind_beside_its_own(workbench):
    pipeline = MODELS[0].parents[1] / "time2021" / "passthrough.pipe"
    given = ("conform", pipeline, MODELS[0], "--examples", 5, "--backend")
    done = workbench(*given, "threaded")
    assert done.code == 0
    assert done.out == f"– refused  threaded  on {MODELS[0]}\n✓ agrees   threaded  of passthrough: 5 traces\n"
    refused, compared = workbench(*given, "threaded", "--json").objects
    assert (refused["outcome"], refused["engines"], compared["outcome"]) == ("refused", ["threaded"], "agrees")
    compared, refused, _ = workbench(*given, "cdp").out.splitlines()
    assert compared == f"✓ agree    cdp  on {MODELS[0]}: 5 streams"
    assert refused == "– refused  cdp  of passthrough: backend 'cdp' is not compared on pipelines"
    assert "there is no backend 'cpd'" in workbench(*given, "cpd").err


def test_an_interrupted_comparison_says_where_to_go_on(workbench, monkeypatch, capsys):
    seen = []

    def interrupted(case, *_):
        seen.append(case)
        if len(seen) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(rule_engines, "smallest_disagreement", interrupted)
    done = workbench("conform", MODELS[0], "--seed", 10)
    assert done.code == 130
    assert f"{MODELS[0]}: continue with --seed 13\n" in done.err


class Forgetful:
    """An engine that never tells more than one composite of an event."""

    def __init__(self, *given):
        self.engine = table()["cdp"](*given)

    def process(self, event):
        return self.engine.process(event)[:1]

    def advance(self, time):
        return self.engine.advance(time)


def test_an_engine_that_differs_is_found_and_kept(workbench, tmp_path, monkeypatch):
    monkeypatch.setattr(rule_engines, "engines_here", lambda: {"forgetful": Forgetful})
    fire = next(model for model in MODELS if model.stem == "fire")
    done = workbench("conform", fire, "--to-test", tmp_path, "--json")
    assert done.code == 1
    (found,) = done.objects
    assert found["outcome"] == "differs"
    assert "forgetful differs from the formulas at composite 1" in found["failure"]
    text = (tmp_path / "test_fire_on_forgetful.py").read_text()
    assert text.count("Occurrence(") <= 3, "a trigger and a temperature make two fires"
    compile(text, "test", "exec")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.stem)
def test_something_comes_of_the_streams(model):
    """Every rule of every model fires on some of them, but the one that is there to show that it cannot."""
    rules = in_units(load_rules(model), "us")
    told = Counter(
        composite.rule for seed in range(150) for composite in evaluate_meaning(stream_case(rules, seed, 24))
    )  # fmt: skip
    assert {rule.name for rule in rules.rules if rule.name != "never"} <= told.keys()
