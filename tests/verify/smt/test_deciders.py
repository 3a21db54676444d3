"""The SMT engines and simulation: their answers are those of the other engines, and they keep to their limits."""

from __future__ import annotations

import itertools
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench import Outcome, Settings
from workbench.conformance.generate.pipelines import pipelines
from workbench.core.pipeline import Pipeline
from workbench.errors import EngineMissing
from workbench.processors.held.group import flatten
from workbench.smv.engines.engine import EngineLimits
from workbench.verify.answer.prepare import prepare
from workbench.verify.ask.environment import Arrivals
from workbench.verify.ask.labels import property_from
from workbench.verify.ask.properties import (
    Property,
    bounded_liveness,
    never_false,
    no_full_queues,
    no_overflow,
)
from workbench.verify.decide import system_decider
from workbench.verify.decide.deciders import SmvDecider, get_decider
from workbench.verify.decide.explicit.decider import ExplicitDecider
from workbench.verify.decide.part import Decider, Part
from workbench.verify.decide.smt import session
from workbench.verify.decide.table import get_engine

SMT = ["induction", "bits", "spacer", "invariants"]
MODELS = Path(__file__).resolve().parents[3] / "models"
INVARIANTS = [no_overflow(), no_full_queues(), bounded_liveness(1), bounded_liveness(3)]
LTL = [
    "response",
    "ltl(G F OUT.present)",
    "ltl(F G OUT.present)",
    "ltl(X X OUT.present)",
    "ltl(F (not OUT.present and X OUT.present))",
    "ltl(OUT.present U not OUT.present)",
    "ltl(G (OUT.present -> X (OUT.present or X OUT.present)))",
    "ltl(not (OUT.present U not OUT.present))",
]
"""On the first output of a pipeline, in place of OUT."""
smt = pytest.mark.skipif(find_spec("z3") is None, reason="z3 is not installed")


def written(text: str) -> Property:
    return property_from(wb.properties.parse_property(text))


def parts(pipeline: Pipeline, prop: Property, settings: Settings) -> list[Part]:
    prepared = prepare(flatten(pipeline.resolve(settings.domain)), prop, settings)
    return [] if prepared.trivial else [part for part in (prepared.main, prepared.bound) if part is not None]


def steady(k: int, top: int, low: int, high: int) -> Pipeline:
    loaded = wb.read_file(MODELS / "control" / "moving_average.pipe").get("steady", k=k, top=top, low=low, high=high)
    return loaded.pipeline


def compare(part: Part, engines: list[str], reference: Decider, seconds: float = 1.0) -> dict[str, int]:
    """Compare the answers of engines with those of a reference; return how many each gave."""
    expected = reference.decide(part, EngineLimits())
    decided = dict.fromkeys(engines, 0)
    for name in engines:
        decision = get_decider(name).decide(part, EngineLimits(seconds=seconds))
        for role, answer in decision.answers.items():
            right = expected.answers[role]
            if answer.truth is None:
                assert answer.reason, (name, role)
                continue
            decided[name] += 1
            assert answer.truth is right.truth is not None, (name, role)
            if answer.trace is not None and right.trace is not None and right.shortest:
                assert len(answer.trace.steps) >= len(right.trace.steps), (name, role)
                if answer.shortest:
                    assert len(answer.trace.steps) == len(right.trace.steps), (name, role)
    return decided


@smt
@given(
    data=st.data(),
    q=st.integers(0, 2),
    prop=st.sampled_from(INVARIANTS),
    arrivals=st.sampled_from(["free", "synchronised", "always"]),
)
@examples(50)
def test_random_pipelines_have_the_answers_of_the_explicit_engine(
    data: st.DataObject, q: int, prop: Property, arrivals: Arrivals
) -> None:
    pipeline = data.draw(pipelines(max_bits=10))
    for part in parts(pipeline, prop, Settings(q=q, environment=wb.Environment(arrivals))):
        compare(part, [*SMT, "simulation"], ExplicitDecider(plain_seconds=None))


@given(
    data=st.data(),
    q=st.integers(0, 2),
    text=st.sampled_from(LTL),
    arrivals=st.sampled_from(["free", "synchronised", "always"]),
    fair=st.booleans(),
)
@examples(100)
def test_formulas_that_a_lasso_refutes_are_false_in_nusmv(
    data: st.DataObject, q: int, text: str, arrivals: Arrivals, fair: bool
) -> None:
    pipeline = data.draw(pipelines(max_bits=10))
    prop = written(text.replace("OUT", pipeline.outputs[0][0]))
    for part in parts(pipeline, prop, Settings(q=q, environment=wb.Environment(arrivals, fair))):
        compare(part, ["simulation"], SmvDecider(get_engine("pynusmv")))


PRACTICAL = wb.parse("""
machine watchdog<most = 1000>(beat: bool) -> bool {
    var silent: 0..most = 0
    state fine: true
    state late: false
    fine -> fine when beat / silent := 0
    fine -> late when silent >= most - 1 / silent := most
    fine -> fine / silent := silent + 1
    late -> fine when beat / silent := 0
}
machine bucket<size = 300>(cost: 0..300) -> 0..300 {
    var tokens: 0..size = size
    state only: tokens
    only -> only when cost = 0 and tokens < size / tokens := tokens + 1
    only -> only when cost > 0 and tokens >= cost / tokens := tokens - cost
}
pipeline sum_of_window(x: 0..1000) -> 0..10000 { return window(x, 10, cumulate(+)) }
pipeline mean(x: 0..200) -> bool { return window(x, 3, cumulate(+)) div 3 > 50 }
""")
KNOWN = [
    # a sum of ten values in 0..1000 is at most 10000, and reaches it
    ("sum_of_window", "always (out <= 10000)", SMT, Outcome.HOLDS),
    ("sum_of_window", "always (out < 10000)", [*SMT, "simulation"], Outcome.FAILS),
    # tokens never get below 0; the first event of cost 300 takes all
    ("bucket", "always (out >= 0)", SMT, Outcome.HOLDS),
    ("bucket", "always (out > 0)", [*SMT, "simulation"], Outcome.FAILS),
    # the dog barks after 1000 events without a beat, not when one just came
    ("watchdog", "always (beat -> out)", SMT, Outcome.HOLDS),
    # inputs that are always 0 refute the first, those that are always 200 the second
    ("mean", "ltl(G F out)", ["simulation"], Outcome.FAILS),
    ("mean", "ltl(F G not out)", ["simulation"], Outcome.FAILS),
]


@smt
@pytest.mark.parametrize(
    ("name", "text", "engine", "outcome"),
    [(name, text, engine, outcome) for name, text, engines, outcome in KNOWN for engine in engines],
)
def test_known_answers_are_replayed(name: str, text: str, engine: str, outcome: Outcome) -> None:
    verdict = wb.check(PRACTICAL.get(name).pipeline, text, Settings(engine=engine, seconds=60))
    assert verdict.outcome is outcome
    if outcome is Outcome.FAILS:
        assert verdict.counterexample is not None
        assert verdict.counterexample.replay == "confirmed by execution"


@smt
@pytest.mark.parametrize("engine", [*SMT, "simulation"])
def test_a_pipeline_may_have_no_state(engine: str) -> None:
    pipeline = wb.parse("pipeline larger(x: 0..99999) -> bool { return x > 5 }").get().pipeline
    assert wb.check(pipeline, "always (not out)", Settings(engine=engine, seconds=20)).outcome is Outcome.FAILS


@smt
@pytest.mark.parametrize(
    ("k", "top", "low", "high"),
    [
        (10, 50, 20, 30),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in ((20, 100, 40, 60), (100, 1000, 400, 600))),
    ],
)
def test_a_moving_average_of_real_size_does_not_flicker(k: int, top: int, low: int, high: int) -> None:
    """An event moves the average by at most top / k + 1, which is less than high - low."""
    verdict = wb.check(steady(k, top, low, high), never_false(), Settings(engine="invariants", seconds=60))
    assert verdict.outcome is Outcome.HOLDS


@smt
@pytest.mark.parametrize("engine", SMT)
def test_a_limit_of_time_is_met(engine: str) -> None:
    """The shortest run on which the dog barks has 1000 steps, and there is no shorter proof that it may."""
    begin = time.monotonic()
    verdict = wb.check(PRACTICAL.get("watchdog").pipeline, "always (out)", Settings(engine=engine, seconds=1))
    assert time.monotonic() - begin < 8
    assert verdict.outcome is Outcome.UNKNOWN or verdict.counterexample is None
    assert "1 s" in verdict.reason


@smt
def test_a_limit_of_memory_is_met(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_decider, "resident_mb", itertools.count(1000, 300).__next__)
    part = parts(PRACTICAL.get("watchdog").pipeline, written("always (out)"), Settings())[0]
    answer = get_decider("induction").decide(part, EngineLimits(memory_mb=2000)).answers["property"]
    assert answer.truth is None
    assert answer.reason == "memory limit of 2000 MB"


def test_without_z3_the_engines_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "find_spec", lambda _: None)
    for engine in SMT:
        with pytest.raises(EngineMissing, match="z3 is not installed") as error:
            get_decider(engine)
        assert "smt" in error.value.hint
