"""The kind `longest`: the most states in a row in a set, against a search by hand in random graphs."""

from __future__ import annotations

import itertools
import random

import pytest

from workbench.smv.engines.engine import Answer, Engine, Query, Task

from .conftest import engine_or_skip
from .models import COUNTER


def ask(engine: Engine, model: str, formula: str) -> Answer:
    return engine.check(Task(model, (Query("longest", formula),))).answers[0]


def test_nowhere(engine: Engine) -> None:
    assert ask(engine, COUNTER, "FALSE") == Answer(True, length=0)


def test_everywhere(engine: Engine) -> None:
    assert ask(engine, COUNTER, "TRUE").truth is False


def model_of(edges: dict[int, list[int]], inside: set[int]) -> str:
    """A graph as SMV, state 0 first."""
    rows = " ".join(f"s = {a} : {{{', '.join(map(str, after))}}};" for a, after in edges.items())
    named = " | ".join(f"s = {a}" for a in sorted(inside)) or "FALSE"
    return (
        f"MODULE main VAR s : 0..{len(edges) - 1}; ASSIGN init(s) := 0; next(s) := case {rows} esac;"
        f" DEFINE inside := {named};"
    )


def longest(edges: dict[int, list[int]], inside: set[int]) -> int | None:
    """The most states of `inside` in a row on a path from 0; None: there is no most."""
    reached, todo = {0}, [0]
    while todo:
        todo += (fresh := [b for b in edges[todo.pop()] if b not in reached])
        reached.update(fresh)
    runs = {(a,) for a in reached & inside}
    length = 0
    while runs:
        length += 1
        if length > len(edges):
            return None  # some state occurs twice
        # the last state of a run decides how it can go on
        runs = {(b,) for (a,) in runs for b in edges[a] if b in inside}
    return length


@pytest.mark.sampled(10)
@pytest.mark.parametrize("seed", range(40))
def test_random_graphs(engine: Engine, seed: int) -> None:
    chosen = random.Random(seed)
    size = chosen.randint(2, 8)
    edges = {a: chosen.sample(range(size), chosen.randint(1, min(2, size))) for a in range(size)}
    inside = {a for a in range(size) if chosen.random() < 0.6}
    answer = ask(engine, model_of(edges, inside), "inside")
    expected = longest(edges, inside)
    assert (answer.truth, answer.length) == (expected is not None, expected)


@pytest.mark.parametrize("seed", range(40))
def test_the_lasso_stays_inside(seed: int) -> None:
    chosen = random.Random(seed)
    size = chosen.randint(2, 8)
    edges = {a: chosen.sample(range(size), chosen.randint(1, min(2, size))) for a in range(size)}
    inside = {a for a in range(size) if chosen.random() < 0.8}
    answer = ask(engine_or_skip("pynusmv"), model_of(edges, inside), "inside")
    if answer.truth is False:
        assert answer.trace is not None
        assert answer.trace.loop is not None
        steps = [int(step["s"]) for step in answer.trace.steps]
        follow = [*steps, steps[answer.trace.loop]]
        assert steps[0] == 0
        assert all(b in edges[a] for a, b in itertools.pairwise(follow))
        assert set(steps[answer.trace.loop :]) <= inside
