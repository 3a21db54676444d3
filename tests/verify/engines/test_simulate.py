"""Simulation by NuSMV's semantics, against the same machine written in Python."""

import random
from collections.abc import Sequence

import pytest

from workbench.errors import EngineError
from workbench.smv.engines.embedded import PynusmvEngine
from workbench.smv.engines.engine import EngineLimits
from workbench.verify.decide.table import get_simulator

from .conftest import engine_or_skip
from .models import COUNTER, HARD

WATCH = ("n", "twice + 1", "full", "n > 2", "w", "w + 0ud3_3", "z", "light", "box[0]", "inner.seen")


@pytest.fixture
def simulator() -> PynusmvEngine:
    engine_or_skip("pynusmv")
    return get_simulator()


def simulated(
    simulator: PynusmvEngine, model: str, steps: list[dict[str, str]], watch: Sequence[str], **more: EngineLimits
) -> list[dict[str, str]]:
    """One list of steps through a model."""
    return simulator.simulate_many(model, (), [steps], watch, **more)[0]


def expected(goes: list[bool]) -> list[dict[str, str]]:
    n, w, seen, steps = 0, 5, False, []
    for index, go in enumerate(goes):
        values = (n, 2 * n + 1, n == 7, n > 2, f"0ud3_{w}", f"0ud3_{(w + 3) % 8}", "-0sd3_1",
                  ("red", "green", "5")[index % 3], index % 2 == 1, seen)  # fmt: skip
        steps.append(
            {name: str(v).upper() if isinstance(v, bool) else str(v) for name, v in zip(WATCH, values, strict=True)}
        )
        n, w, seen = min(7, n + go), (w + 1) % 8, seen or go
    return steps


def test_many_runs(simulator: PynusmvEngine) -> None:
    pick = random.Random(1)
    goes = [[pick.random() < 0.5 for _ in range(pick.randrange(1, 20))] for _ in range(50)]
    runs = [[{"go": str(go).upper()} for go in run] for run in goes]
    results = simulator.simulate_many(COUNTER, ("n.2", "n.1", "n.0"), runs, WATCH)
    assert results == [expected(run) for run in goes]


def test_no_steps_and_nothing_watched(simulator: PynusmvEngine) -> None:
    assert simulated(simulator, COUNTER, [], WATCH) == []
    assert simulated(simulator, COUNTER, [{"go": "TRUE"}], []) == [{}]
    assert simulator.simulate_many(COUNTER, (), [], WATCH) == []


def test_words_ranges_and_enumerations_can_be_given(simulator: PynusmvEngine) -> None:
    model = "MODULE main\nVAR x : unsigned word[4]; y : -3..4; e : {up, down}; b : boolean;"
    given = {"x": "0ud4_9", "y": "-2", "e": "down", "b": "TRUE"}
    assert simulated(simulator, model, [given, given], ["x", "y", "e", "b"]) == [given, given]


def test_a_step_may_leave_its_state_open(simulator: PynusmvEngine) -> None:
    run = simulated(simulator, COUNTER, [{"go": "TRUE"}, {}, {"go": "FALSE"}], ["n"])
    assert run[1] == {"n": "1"}


@pytest.mark.parametrize(
    ("steps", "watch", "words"),
    [
        ([{"go": "TRUE"}, {"n": "3"}], ["n"], "no state matches step 1"),
        ([{"go": "TRUE"}, {"nobody": "3"}], ["n"], "undefined identifier 'nobody'"),
        ([{"light": "blue"}], ["n"], "undefined identifier 'blue'"),
        ([{}], ["nobody"], '"nobody" undefined'),
        ([{}], ["n + "], "syntax error"),
        ([{}], ["n / (n - n)"], "Division by zero"),
    ],
)
def test_defects(simulator: PynusmvEngine, steps: list[dict[str, str]], watch: list[str], words: str) -> None:
    with pytest.raises(EngineError) as caught:
        simulated(simulator, COUNTER, steps, watch)
    assert words in caught.value.message


def test_limits(simulator: PynusmvEngine) -> None:
    with pytest.raises(EngineError, match=r"time limit of 0\.3 s"):
        simulated(simulator, HARD, [{}], ["a"], limits=EngineLimits(seconds=0.3))
