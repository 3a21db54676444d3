"""Fair lassos against a plain search of small graphs, and what becomes of an answer whose lasso cannot be built."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass

import pytest

from workbench.smv.engines.embedded import PynusmvEngine
from workbench.smv.engines.engine import EngineLimits, Query, Task
from workbench.smv.engines.lasso import Fairness, SymbolicGraph, fair_lasso
from workbench.verify.monitor.driven_inputs import follows

from .conftest import engine_or_skip

SIZE = 5
ALL = (1 << SIZE) - 1


@dataclass(frozen=True)
class States:
    """A set of the states 0..SIZE-1, a bit each."""

    bits: int

    def __and__(self, other: States) -> States:
        return States(self.bits & other.bits)

    def __or__(self, other: States) -> States:
        return States(self.bits | other.bits)

    def __invert__(self) -> States:
        return States(ALL & ~self.bits)

    def is_false(self) -> bool:
        return self.bits == 0

    def members(self) -> list[int]:
        return [state for state in range(SIZE) if self.bits >> state & 1]


def graph_of(edges: set[tuple[int, int]]) -> SymbolicGraph:
    def image(pairs: list[tuple[int, int]], states: States) -> States:
        return States(sum({1 << b for a, b in pairs if states.bits >> a & 1}))

    back = [(b, a) for a, b in edges]
    return SymbolicGraph(
        lambda s: image([*edges], s), lambda s: image(back, s), lambda s: States(1 << random.choice(s.members()))
    )


def reachable(edges: set[tuple[int, int]], start: set[int], within: set[int]) -> set[int]:
    found = start & within
    while more := {b for a, b in edges if a in found and b in within} - found:
        found |= more
    return found


def fair(visited: set[int], fairness: Fairness) -> bool:
    """Whether a run is fair that visits these states, and only these, for ever."""

    def meets(states: States) -> bool:
        return not visited.isdisjoint(states.members())

    return all(map(meets, fairness.justice)) and all(not meets(p) or meets(q) for p, q in fairness.compassion)


def has_fair_run(edges: set[tuple[int, int]], start: set[int], fairness: Fairness) -> bool:
    """By the definition: some set of states can be reached, can be gone round in for ever, and is fair."""
    there = reachable(edges, start, set(range(SIZE)))
    for size in range(1, SIZE + 1):
        for inner in map(set, itertools.combinations(sorted(there), size)):
            around = all(
                reachable(edges, {b for a, b in edges if a == state and b in inner}, inner) == inner for state in inner
            )
            if around and fair(inner, fairness):
                return True
    return False


@pytest.mark.parametrize("seed", range(4))
def test_a_lasso_is_found_where_there_is_one(seed: int) -> None:
    random.seed(seed)
    outcomes = set()
    for _ in range(150):
        edges = {(a, b) for a, b in itertools.product(range(SIZE), repeat=2) if random.random() < 0.3}

        def some() -> States:
            return States(random.randrange(ALL + 1))

        justice = [some() for _ in range(random.randrange(2))]
        fairness = Fairness(justice, [(some(), some()) for _ in range(random.randrange(3))])
        start = some()
        found, loop = fair_lasso(graph_of(edges), start, fairness)
        expected = has_fair_run(edges, set(start.members()), fairness)
        assert (loop is not None) == expected
        outcomes.add(expected)
        if loop is None:
            continue
        path = [state.members() for state in found]
        assert all(len(state) == 1 for state in path)
        run = [state for (state,) in path]
        assert run[0] in start.members()
        assert run[-1] == run[loop]
        assert loop < len(run) - 1
        assert edges.issuperset(itertools.pairwise(run))
        assert fair(set(run[loop:]), fairness)
    assert outcomes == {True, False}


TRAP = """
MODULE main
  VAR n : 0..2;
  ASSIGN init(n) := 0; next(n) := case n = 0 : {0, 1, 2}; TRUE : n; esac;
COMPASSION (TRUE, n != 1);
"""
"""From 0 one may fall into 1 or 2 and stays there; a fair run does not stay in 1."""

SWITCH = """
MODULE main
  VAR n : 0..3; other : boolean;
  ASSIGN init(n) := 0; next(n) := case n = 0 : {1, 2}; n = 1 : {0, 3}; n = 2 : {0, 2}; TRUE : 3; esac;
COMPASSION (n = 0, n = 2);
COMPASSION (n = 2, n != 2);
JUSTICE other;
"""
"""A fair run that does not end in 3 is in 2 infinitely often, and again and again leaves it."""

CASES = [
    (TRAP, "G F n = 1", False),
    (TRAP, "G F (n = 0 | n = 2)", True),
    (TRAP, "F n != 0", False),
    (TRAP, "G n != 1", True),
    (SWITCH, "G F n = 2", False),
    (SWITCH, "F G n = 3 | G F n = 2", True),
    (SWITCH, "F G (n = 3 | n = 2)", False),
    (SWITCH, "G F (n = 3 | n = 0)", True),
    (SWITCH, "F G n = 3 | G F n = 1", False),
    (SWITCH, "G F other", True),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("model", "formula", "truth"), CASES)
def test_compassion(pynusmv: PynusmvEngine, model: str, formula: str, truth: bool) -> None:
    """The answers are those of the definition; a counterexample is a run of the model, and a fair one."""
    query = Query("ltl", formula)
    (answer,) = pynusmv.check(Task(model, (query,)), EngineLimits(seconds=30)).answers
    assert answer.truth is truth
    if truth:
        return
    assert answer.trace is not None
    assert answer.trace.loop is not None
    assert follows(model, answer.trace)
    around = [int(step["n"]) for step in answer.trace.steps[answer.trace.loop :]]
    if model == TRAP:
        assert set(around) != {1}
    else:
        assert 0 not in around or 2 in around
        assert set(around) != {2}
        assert any(step["other"] == "TRUE" for step in answer.trace.steps[answer.trace.loop :])


def test_a_verdict_does_not_wait_for_its_counterexample() -> None:
    """The executable goes round for ever looking for this one; what else was asked has been answered before."""
    queries = (Query("ltl", "G F n = 1"), Query("invar", "n <= 2"), Query("invar", "n < 2"))
    answers = engine_or_skip("nusmv").check(Task(TRAP, queries), EngineLimits(seconds=1.5)).answers
    assert [answer.truth for answer in answers] == [False, True, False]
    assert answers[0].trace is None
    assert answers[0].reason == "no counterexample could be built: time limit of 1.5 s"
    assert answers[0].open
    assert not answers[2].open


def test_a_refutation_whose_lasso_meets_a_limit(pynusmv: PynusmvEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = [{"phase": "search"}, {"answer": 1, "truth": True, "steps": [], "loop": None, "length": None}]
    reply = {"frames": [*frames, {"refuted": 0}], "ended": "time", "status": -9, "log": ""}
    cost = {"cpu_seconds": 3.0, "wall_seconds": 3.0, "peak_mb": 30.0}
    monkeypatch.setattr(pynusmv, "_call", lambda *_: reply | cost)
    task = Task(TRAP, (Query("ltl", "G F n = 1"), Query("invar", "n <= 2")))
    first, second = pynusmv.check(task, EngineLimits(seconds=3)).answers
    assert (first.truth, first.trace, second.truth) == (False, None, True)
    assert first.reason == "no counterexample could be built: time limit of 3 s"


def test_bmc_does_not_see_compassion() -> None:
    (answer,) = engine_or_skip("bmc").check(Task(TRAP, (Query("ltl", "G F (n = 0 | n = 2)"),))).answers
    assert answer.truth is None
    assert "COMPASSION" in answer.reason
