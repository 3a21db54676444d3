"""The moving average with hysteresis: its checks, and its values beside plain Python."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import workbench as wb

FILE = Path(__file__).parents[2] / "models" / "control" / "moving_average.pipe"


def by_hand(values: list[int], k: int, low: int, high: int) -> list[bool]:
    """The alarm after each complete window."""
    on, said = False, []
    for end in range(k, len(values) + 1):
        mean = sum(values[end - k : end]) // k
        on = mean > low if on else mean >= high
        said.append(on)
    return said


@pytest.mark.parametrize("seed", range(5))
def test_the_alarm_is_the_one_by_hand(seed: int) -> None:
    draw = random.Random(seed)
    values = [draw.choice((0, 4, 8, 12, 15)) for _ in range(200)]
    alarm = wb.read_file(FILE).get("alarm").pipeline
    assert wb.executors.Reference(alarm).run(values)["out"] == by_hand(values, 3, 4, 11)


@pytest.mark.parametrize("name", ["percent", "average", "alarm", "steady"])
def test_its_checks_hold(name: str) -> None:
    loaded = wb.read_file(FILE).get(name)
    assert loaded.checks
    for check in loaded.checks:
        verdict = wb.check(loaded.pipeline, wb.properties.property_from(check))
        assert verdict.outcome == "holds"


def test_without_hysteresis_it_flickers() -> None:
    flickering = wb.read_file(FILE).get("steady", low=8, high=9).pipeline
    verdict = wb.check(flickering, wb.properties.never_false())
    assert verdict.outcome == "fails"
    assert verdict.counterexample is not None
    said = [step.pipes["said"] for step in verdict.counterexample.steps]
    assert said[-3:] == [said[-1], not said[-1], said[-1]]
    assert verdict.counterexample.replay == "confirmed by execution"
