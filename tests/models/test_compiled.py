"""Every pipeline of the models runs compiled as it runs in the reference executor."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.core.domain import BOOL, Domain, Enum, Integer, Integers, Range, Reals, Texts
from workbench.core.fields import FrozenMap, Map, Tuple, within
from workbench.core.pipeline import Pipeline
from workbench.errors import Overflow, Refused, WorkbenchError
from workbench.executors.compiled.execute.executor import Compiled
from workbench.processors.held.group import flatten

MODELS = Path(__file__).resolve().parents[2] / "models"


def every() -> list[Any]:
    found = []
    for file in sorted(MODELS.glob("*/*.pipe")):
        source = wb.read_file(file)
        for name in source.pipelines:
            pipeline = source.get(name).pipeline
            large = [pytest.mark.slow] if len(flatten(pipeline).nodes) > 100 else []
            found.append(pytest.param(pipeline, id=f"{file.stem}:{name}", marks=large))
    return found


EVERY = every()


def event(domain: Domain, chance: random.Random) -> Any:
    if domain == BOOL:
        return chance.random() < 0.5
    if isinstance(domain, Reals):
        return chance.randint(-40, 72) / 8
    if isinstance(domain, Integers):
        return chance.randint(-5, 9)
    if isinstance(domain, Integer | Range):
        return chance.randint(domain.lo, domain.hi)
    if isinstance(domain, Tuple):
        return tuple(event(part, chance) for part in domain.fields)
    if isinstance(domain, Map):
        entries = range(chance.randint(0, 3))
        return FrozenMap({event(domain.key, chance): event(domain.value, chance) for _ in entries})
    assert isinstance(domain, Enum)
    return chance.choice(domain.labels)


MAPS = {
    "bashing:until_it_walks", "bashing:naive", "bashing:naive_whole",  # copies without a bound
    "candidates:ranked", "candidates:all_ranked", "candidates:has_chosen",  # keys that are texts, or maps of maps
    "turn_around:nobody",  # a map that is made
}  # fmt: skip
"""Pipelines with maps on their inputs that there is no machine code for."""


def runs(one: Any) -> bool:
    """Whether a compiled form is expected: for all but faults, rules, and some maps."""
    flat = flatten(one.values[0])
    return not flat.oracles and not flat.clocks and one.id not in MAPS


@pytest.mark.parametrize("pipeline", [one for one in EVERY if not runs(one)])
def test_what_is_refused(pipeline: Pipeline) -> None:
    with pytest.raises(Refused, match=r"compiled code|backend 'compiled'"):
        Compiled(pipeline, dict.fromkeys(flatten(pipeline).queues, 40))


def draws(one: Any) -> bool:
    """Whether events can be drawn from its domains."""
    return not any(isinstance(part, Texts) for _, domain in flatten(one.values[0]).inputs for part in within(domain))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("together", [True, False], ids=["every input", "some inputs"])
@pytest.mark.parametrize("pipeline", [one for one in EVERY if runs(one) and draws(one)])
def test_a_model(pipeline: Pipeline, together: bool) -> None:
    """Queues of 40 events: some overflow, or numbers leave their range, in the same step on both sides."""
    chance, room = random.Random(1), dict.fromkeys(flatten(pipeline).queues, 40)
    steps = [
        {name: event(domain, chance) for name, domain in pipeline.inputs if together or chance.random() < 0.6}
        for _ in range(80)
    ]
    reference = wb.executors.Reference(pipeline, room)
    executor = Compiled(pipeline, room, warm_up_steps=-1, machine=False)
    rows: list[dict[str, list[Any]]] = []
    try:
        rows += (dict(reference.step(events).outputs) for events in steps)
    except Overflow as error:
        failed = error
        with pytest.raises(Overflow) as caught:
            executor.outputs(steps)
        assert [f"step {len(rows)}: " in text for text in (str(caught.value), str(failed))] == [True, True]
        assert executor.outputs(steps[: len(rows)]) == rows
    else:
        assert executor.outputs(steps) == rows
        assert executor.end() == reference.end()


def test_there_are_models() -> None:
    assert len(EVERY) > 30
    assert issubclass(Overflow, WorkbenchError)
