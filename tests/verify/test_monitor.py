"""Monitors over systems: fairness, queues, paths, and verdicts known independently."""

from __future__ import annotations

import itertools
import random
from collections import deque
from dataclasses import replace

import pytest

import workbench as wb
from tests.verify.counter_system import COUNTER, pipeline, says
from tests.verify.engines.conftest import engine_or_skip
from workbench.errors import Refused
from workbench.ir.compose import compose
from workbench.ir.simulate import Simulator
from workbench.processors.held.group import flatten
from workbench.smv.engines.engine import Query, RawTrace, Task
from workbench.smv.system import system_from
from workbench.verify.answer.verdict import Verdict
from workbench.verify.decide.table import get_engine
from workbench.verify.monitor.driven_inputs import follows
from workbench.verify.monitor.monitor import Watching

# --- fairness -------------------------------------------------------------------------------------------------------

TRAP = """
MODULE main
  VAR n : 0..2;
  ASSIGN init(n) := 0; next(n) := case n = 0 : {0, 1, 2}; TRUE : n; esac;
"""
"""From 0 one may fall into 1 or 2 and stays there."""


def verdict_on(more: str, property_: str = "never-false") -> Verdict:
    monitor = pipeline("pipeline p(n: 0..2) -> bool { return n != 1 }")
    prop = wb.properties.property_from(wb.properties.parse_property(property_))
    return wb.monitor(system_from(TRAP + more), monitor, prop)


def test_invariants_are_asked_of_fair_runs() -> None:
    assert verdict_on("").outcome == "fails"
    assert verdict_on("FAIRNESS n != 1;").outcome == "holds"  # no fair run stays in 1
    assert "fair runs" in " ".join(verdict_on("FAIRNESS n != 1;").rests_on)
    assert verdict_on("FAIRNESS n != 2;").outcome == "fails"
    assert verdict_on("JUSTICE n = 1;").counterexample.shortest


def test_compassion_is_seen_by_ltl_only() -> None:
    fair = "COMPASSION (TRUE, n != 1);"
    found = verdict_on(fair)
    assert found.outcome == "fails"
    assert "COMPASSION is left out" in " ".join(found.rests_on)
    assert verdict_on(fair, "ltl(G out)").outcome == "holds"
    assert verdict_on("", "ltl(G out)").outcome == "fails"
    with pytest.raises(Refused, match="COMPASSION, which CTL does not see"):
        verdict_on(fair, "ctl(AG out)")


def test_often_true_over_compassion() -> None:
    """A run that stays in 2 is fair, and the monitor never says true there."""
    monitor = pipeline("pipeline p(n: 0..2) -> bool { return n = 1 }")
    system = system_from(f"{TRAP}COMPASSION (TRUE, n != 1);")
    found = wb.monitor(system, monitor, wb.properties.often_true(), settings=wb.Settings(seconds=30))
    assert found.outcome == "fails"
    assert found.counterexample.replay == "confirmed by execution, and a run of the system alone"


def test_a_verdict_without_a_counterexample_says_why() -> None:
    """The executable goes round for ever looking for it; on a busy machine even its verdict takes more than 2 s."""
    engine_or_skip("nusmv")
    monitor = pipeline("pipeline p(n: 0..2) -> bool { return n = 1 }")
    system = system_from(f"{TRAP}COMPASSION (TRUE, n != 1);")
    for seconds in (2, 30):
        settings = wb.Settings(engine="nusmv", seconds=seconds)
        found = wb.monitor(system, monitor, wb.properties.often_true(), settings=settings)
        if found.outcome == "fails":
            break
    assert (found.outcome, found.counterexample) == ("fails", None)
    assert found.reason == f"no counterexample could be built: time limit of {seconds} s"
    assert found.to_json()["reason"] == found.reason


@pytest.mark.parametrize(
    ("property_", "more", "outcome"),
    [
        ("often-true", "", "fails"),  # stay in 1
        ("often-true", "FAIRNESS n != 1;", "holds"),
        ("liveness", "", "holds"),
        ("response", "", "holds"),
        ("bounded-liveness(0)", "", "holds"),
        ("always (n != 1)", "", "fails"),
        ("always (n <= 2)", "", "holds"),
        ("ctl(EF n = 2)", "", "holds"),
        ("ctl(AG (n = 2 -> AG n = 2))", "", "holds"),
        ("ltl(F n > 0)", "", "fails"),
        ("ltl(F n > 0)", "FAIRNESS n > 0;", "holds"),
        ("no-overflow", "", "holds"),
    ],
)
def test_other_properties(property_: str, more: str, outcome: str) -> None:
    """By the definition of the system above."""
    found = verdict_on(more, property_)
    assert found.outcome == outcome
    if found.counterexample:
        assert found.counterexample.replay == "confirmed by execution, and a run of the system alone"


def test_pipelines_can_be_compared_over_a_system() -> None:
    """They differ from 6 on, which the system does not reach."""
    one = pipeline("pipeline one(x: int) -> int { return x + 2 }")
    other = pipeline("pipeline other(x: int) -> int { return if x > 5 then 0 else x + 2 }")
    settings = wb.Settings(n=16)
    source = system_from(COUNTER)
    within = replace(settings, environment=Watching(one, source, {"x": "n"}, {}, settings).environment)
    beyond = replace(settings, environment=Watching(one, source, {"x": "n + 1"}, {}, settings).environment)
    assert wb.equiv(one, other, "stepwise", settings).outcome == "fails"
    assert wb.equiv(one, other, "stepwise", within).outcome == "holds"
    assert wb.equiv(one, other, "stepwise", beyond).outcome == "fails"


# --- queues ---------------------------------------------------------------------------------------------------------

PAIRS = """
MODULE main
  VAR n : 0..7;
  ASSIGN init(n) := 0; next(n) := (n + 1) mod 8;
"""


@pytest.mark.parametrize(("q", "outcome"), [(0, "holds-within-bounds"), (2, "holds-within-bounds"), (3, "fails")])
def test_overflow_hides_what_follows(q: int, outcome: str) -> None:
    """a comes in steps 0, 1, 2 and b in steps 3, 4, 5: three wait; the third pair is the first that differs."""
    monitor = pipeline("pipeline p(a: 0..7, b: 0..7) -> bool { return a = b }")
    verdict = wb.monitor(
        system_from(PAIRS), monitor,
        bind={"a": "n", "b": "case n = 5 : 7; n >= 3 : n - 3; TRUE : 0; esac"},
        when={"a": "n < 3", "b": "n >= 3 & n < 6"}, settings=wb.Settings(q=q),
    )  # fmt: skip
    assert verdict.outcome == outcome
    if outcome == "fails":
        assert len(verdict.counterexample.steps) == 6
    else:
        assert len(verdict.witness.steps) == q + 1
        assert verdict.witness.replay == "confirmed by execution, and a run of the system alone"


def test_several_events_in_a_step_and_streams_that_do_not_end() -> None:
    """Each value comes twice, so a window of three has two values, or one; keep-last speaks at the end, never."""
    twice = pipeline("pipeline p(n: 0..7) -> bool { return window(stutter(n, 2), 3, cumulate(max)) < 7 }")
    assert wb.monitor(system_from(PAIRS), twice).outcome == "fails"
    below = pipeline("pipeline p(n: 0..7) -> bool { return stutter(n, 2) <= 7 }")
    assert wb.monitor(system_from(PAIRS), below).outcome == "holds"
    assert wb.monitor(system_from(PAIRS), below, wb.properties.often_true()).outcome == "holds"
    last = pipeline("pipeline p(n: 0..7) -> bool { return keep_last(n) < 0 }")
    verdict = wb.monitor(system_from(PAIRS), last)
    assert verdict.outcome == "holds"
    assert "the input streams do not end" in verdict.rests_on
    assert any(line.startswith("VACUOUS") for line in verdict.rests_on)


# --- paths ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ["pynusmv", "nusmv"])
def test_what_is_a_run_of_a_system(engine: str) -> None:
    def run(*values: int, loop: int | None = None) -> bool:
        trace = RawTrace(tuple({"n": str(value)} for value in values), loop)
        return follows(TRAP + "FAIRNESS n != 1;", trace, engine)

    assert run(0, 0, 2, 2)
    assert run(0, 1)
    assert not run(1)
    assert not run(0, 2, 1)
    assert run(0, 2, loop=1)
    assert not run(0, 2, loop=0)
    assert not run(0, 1, loop=1)  # not fair


def test_a_run_that_the_system_does_not_have_is_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.verify.monitor.driven_inputs.follows", lambda *_: False)
    trace = says("0..5", "x < 1", bind={"x": "n"}).counterexample
    assert trace.gap
    assert trace.replay == "model gap: the system alone has no such run"


# --- against brute force --------------------------------------------------------------------------------------------

MONITORS = [
    "x != 2",
    "trim(x, 1) != x",
    "window(x, 3, cumulate(max)) - x <= 1",
    "filter(x, x != 1) < 2",
    "decimate(x, 2) <= trim(x, 1)",
    "not filter(x = trim(x, 1), decimate(x, 1) = 0)",
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(24))
def test_random_systems_against_exploration(seed: int) -> None:
    """A random graph with a value and a presence in each node; the product is explored in Python, breadth first."""
    rng = random.Random(seed)
    nodes = range(5)
    edges = {n: sorted(rng.sample(nodes, rng.choice([1, 1, 2]))) for n in nodes}
    value = {n: rng.randrange(3) for n in nodes}
    there = {n: rng.random() < 0.7 for n in nodes}
    pick = " ".join(f"s = {n} : {{{', '.join(map(str, edges[n]))}}};" for n in nodes)
    text = (
        f"MODULE main\n  VAR s : 0..4;\n  ASSIGN init(s) := 0; next(s) := case {pick} esac;\n  DEFINE\n"
        f"    x := case {' '.join(f's = {n} : {value[n]};' for n in nodes)} esac;\n"
        f"    there := {' | '.join(f's = {n}' for n in nodes if there[n]) or 'FALSE'};\n"
    )
    monitor = pipeline(f"pipeline p(x: 0..2) -> bool {{ return {MONITORS[seed % len(MONITORS)]} }}")
    found = wb.monitor(system_from(text), monitor, when={"x": "there"}, settings=wb.Settings(q=1))
    wrong, full = explored(monitor, edges, value, there)
    expected = "fails" if wrong is not None else "holds-within-bounds" if full else "holds"
    assert found.outcome == expected
    if wrong is not None:
        assert len(found.counterexample.steps) == wrong
        assert found.counterexample.replay == "confirmed by execution, and a run of the system alone"


def explored(
    monitor: wb.Pipeline, edges: dict[int, list[int]], value: dict[int, int], there: dict[int, bool]
) -> tuple[int | None, bool]:
    """The length of a shortest run on which the monitor says false, and whether a queue overflows on some run."""
    simulator = Simulator(compose(flatten(monitor), 1))
    ((_, output),) = simulator.system.outputs
    todo = deque([(0, simulator.state, 1)])
    seen, full = {(0, simulator.state)}, False
    while todo:
        node, state, length = todo.popleft()
        simulator.state = state
        step = simulator.step({"x": value[node]} if there[node] else {})
        if step.overflows:
            full = True
            continue
        if step.pipes[output] is False:
            return length, full
        for following in edges[node]:
            if (following, simulator.state) not in seen:
                seen.add((following, simulator.state))
                todo.append((following, simulator.state, length + 1))
    return None, full


# --- the counting property of TIME 2021 -----------------------------------------------------------------------------


def counter(k: int, *, faulty: bool = False) -> str:
    """A system in which `recent` is the number of requests in the last k steps; the faulty one forgets a case."""
    overlap = "" if faulty else "request & oldest : recent;"
    shift = f"history[{k - 2}:0] :: word1(request)" if k > 1 else "word1(request)"
    return f"""
MODULE main
  VAR request : boolean; history : unsigned word[{k}]; recent : 0..{k};
  DEFINE oldest := history[{k - 1}:{k - 1}] = 0ud1_1;
  ASSIGN
    init(history) := 0ud{k}_0; next(history) := {shift};
    init(recent) := 0;
    next(recent) := case {overlap}
        request & recent < {k} : recent + 1; oldest & recent > 0 : recent - 1; TRUE : recent; esac;
"""


@pytest.mark.parametrize(("k", "faulty"), list(itertools.product([1, 2, 3, 5, 8], [False, True])))
def test_figure_2b_over_a_counter(k: int, faulty: bool) -> None:
    from experiments.monitors import counts

    loaded = wb.read_file("models/time2021/figure_2b.pipe").get(k=k)
    bind = {"a": "request", "b": "recent"}
    source = system_from(counter(k, faulty=faulty))
    verdict = wb.monitor(source, loaded.pipeline, bind=bind, settings=wb.Settings(n=32))
    assert verdict.outcome == ("fails" if faulty else "holds")
    if k <= 5:  # at k = 8 the formula has twelve thousand characters, at k = 16 three million
        formula = Query("ltl", counts(k))
        assert get_engine().check(Task(counter(k, faulty=faulty), (formula,))).answers[0].truth is not faulty
