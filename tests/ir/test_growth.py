"""What a model costs to make: a long chain in proportion to its length, a long queue only what is looked at."""

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Callable

import pytest

import workbench as wb
from workbench.verify.answer.prepare import prepare
from workbench.verify.answer.settings import Settings
from workbench.verify.ask.properties import liveness

STEPS = {"trim": "trim({0}, 1)", "passthrough": "passthrough({0})", "cumulate": "cumulate({0}, +)", "apply": "{0} + 1"}


def chain(step: str, length: int, *, named: bool) -> str:
    if not named:
        last = "x"
        for _ in range(length):
            last = step.format(last)
        return f"pipeline p(x: int) -> int {{ return {last} }}"
    lines = [f"a{i} = {step.format(f'a{i - 1}' if i else 'x')}" for i in range(length)]
    return "\n".join(["pipeline p(x: int) -> int {", *lines, f"return a{length - 1}", "}"])


def calls(job: Callable[[], object]) -> int:
    """How many calls of functions a job takes, those of C included."""
    profile = cProfile.Profile()
    profile.runcall(job)
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


def prepared(text: str) -> None:
    settings = Settings()
    pipeline = wb.parse(text).get().pipeline
    prepare(pipeline.resolve(settings.domain), liveness(), settings)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", STEPS)
def test_a_chain_costs_in_proportion_to_its_length(name: str) -> None:
    short, long = (chain(STEPS[name], n, named=True) for n in (60, 240))
    prepared(short)  # what is made once: the grammar
    assert calls(lambda: prepared(long)) < 4.4 * calls(lambda: prepared(short))


def test_so_does_one_without_names() -> None:
    short, long = (chain(STEPS["passthrough"], n, named=False) for n in (10, 40))
    prepared(short)
    assert calls(lambda: prepared(long)) < 4.4 * calls(lambda: prepared(short))
