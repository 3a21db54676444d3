"""What an undecided verdict says: how far each engine got, and what to try."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.verify.engines.conftest import engine_or_skip
from tests.verify.engines.models import COUNTER, HARD, long
from workbench.cli.output import block
from workbench.smv.engines.engine import Answer, EngineLimits, Query, Reached, Task
from workbench.verify.answer.prepare import prepare
from workbench.verify.decide import deciders
from workbench.verify.decide.part import Decision, Part
from workbench.verify.decide.table import Turn

SOURCE = """
pipeline products(x: int, y: int) -> int {
    total = window(x * y, 4, cumulate(+))
    return total * total
}
"""


def undecided(**settings: Any) -> wb.Verdict:
    """A verdict of who refutes nothing, on what does not hold."""
    pipeline = wb.parse(SOURCE).get().pipeline
    prop = wb.property_from(wb.parse_property("always (out != 1)"))
    return wb.check(pipeline, prop, wb.Settings(engine="algebra", seconds=60.0, **settings))


def test_advice_names_what_can_be_smaller() -> None:
    verdict = undecided(n=16, q=3, memory_mb=1000)
    assert verdict.outcome == "unknown"
    state, *others = verdict.advice
    # the window keeps 3 products of 4 bits, and counts them
    assert "total (14)" in state
    assert others == [
        "fewer integers: -N 8 (N = 16 now)",
        "shorter queues: -Q 1 (3 now)",
        "every engine in turn: --engine auto",
        "more time: --timeout 600",
        "more memory: --memory 2000",
    ]
    assert verdict.to_json()["advice"] == [state, *others]


def test_what_cannot_be_smaller_is_not_named() -> None:
    advice = " ".join(undecided(n=2, q=1).advice)
    assert "-N" not in advice
    assert "-Q" not in advice
    assert "--memory" not in advice


def test_a_decided_property_needs_none() -> None:
    pipeline = wb.parse(SOURCE).get().pipeline
    verdict = wb.check(pipeline, wb.liveness(), wb.Settings(n=2))
    assert verdict.outcome != "unknown"
    assert (verdict.advice, verdict.reached) == ((), ())
    assert "advice" not in verdict.to_json()


def test_advice_is_printed_below_the_verdict() -> None:
    text = block(replace(undecided(n=16), reached=(Reached("explicit", "states seen: 1,234"),)))
    assert "    try fewer integers: -N 8 (N = 16 now)" in text
    assert "    so far: explicit: states seen: 1,234" in text


def test_the_explicit_engine_says_how_many_states_it_has_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum has 64 values; there is memory for none of them after the first."""
    monkeypatch.setattr("workbench.verify.decide.explicit.decider.PLAIN_BYTES", 2**40)
    total = wb.parse("pipeline total(x: int) -> int { return cumulate(x, +) }").get().pipeline
    prop = wb.property_from(wb.parse_property("always (out <= 63)"))
    verdict = wb.check(total, prop, wb.Settings(n=64, engine="explicit", memory_mb=4000))
    assert verdict.reached == (Reached("explicit", "states seen: 1"),)
    assert verdict.to_json()["reached"] == ["explicit: states seen: 1"]


def test_bmc_says_how_many_steps_it_has_unrolled() -> None:
    """A run of 40,000 steps is needed, which is more than it looks at."""
    (answer,) = (
        engine_or_skip("bmc")
        .check(Task(long(17), (Query("ltl", "F n = 0ud17_40000"),)), EngineLimits(seconds=1))
        .answers
    )
    assert answer.truth is None
    (reached,) = answer.reached
    assert reached.engine == "bmc"
    assert reached.further
    steps = int(reached.text.removeprefix("no counterexample of up to ").removesuffix(" steps"))
    assert 0 < steps < 40_000


def test_bdds_say_how_far_they_have_come() -> None:
    engine = engine_or_skip("pynusmv")
    (answer,) = engine.check(
        Task(long(40), (Query("invar", "n != 0ud40_999999999999"),)), EngineLimits(seconds=1)
    ).answers
    (reached,) = answer.reached
    assert reached.text.startswith("the states up to ")
    assert int(reached.text.removeprefix("the states up to ").removesuffix(" steps away")) > 10
    (answer,) = engine.check(Task(HARD, (Query("invar", "TRUE"),)), EngineLimits(seconds=0.3)).answers
    assert answer.reached == ()  # the model itself was too large


TOLD = """
import json, sys
from workbench.smv.engines import bindings, checker
bindings.start()
checker._TOLD_EVERY = -1.0
text, queries = json.load(sys.stdin)
checker.check(text, (), queries, len(queries), False, (), lambda frame: print("#", json.dumps(frame)))
"""
"""All that a worker tells when it tells of every layer of states."""


@pytest.mark.parametrize(
    ("queries", "steps"), [([("invar", "n != 2"), ("invar", "n != 4")], [2, 4]), ([("ctl", "AG EF n = 7")], [0])]
)
def test_bdds_know_how_many_steps_they_have_looked_at(
    queries: Any, steps: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """After n steps the counter is n at most: cut off before it is found, runs of a step less have been looked at.

    The states that CTL needs are found before it is asked, and say nothing of it.
    """
    engine = engine_or_skip("pynusmv")
    given = json.dumps([COUNTER, queries])
    told = [sys.executable, "-c", TOLD]
    done = subprocess.run(told, input=given, cwd=tmp_path, capture_output=True, text=True, check=True)
    frames = [json.loads(line[2:]) for line in done.stdout.splitlines() if line.startswith("# ")]
    assert sum("depth" in frame for frame in frames) > steps[-1]
    for asked, known in enumerate(steps):
        cut = next(i for i, frame in enumerate(frames) if frame.get("answer") == asked)
        reply = {"frames": frames[:cut], "ended": "time", "status": -9, "log": "", "peak_mb": 1.0}
        reply |= {"cpu_seconds": 3.0, "wall_seconds": 3.0}
        monkeypatch.setattr(engine, "_call", lambda *_, reply=reply: reply)
        task = Task(COUNTER, tuple(Query(*each) for each in queries))
        answer = engine.check(task, EngineLimits(seconds=3)).answers[asked]
        assert (answer.truth, answer.depth) == (None, known)


def test_a_limit_that_is_over_is_no_negative_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left for the first engine is looked up when more than all has passed."""
    given: list[float | None] = []

    class Listens:
        name = "listens"

        def decide(self, part: Part, limits: EngineLimits, *, count_states: bool = False) -> Decision:
            given.append(limits.seconds)
            return Decision(dict.fromkeys(part.asked, Answer(None)), self.name)

    monkeypatch.setattr(deciders, "_list_deciders", lambda part: iter([(Listens(), Turn(1.0, 9.0))]))
    pipeline = wb.parse(SOURCE).get().pipeline.resolve(wb.Settings(n=2).domain)
    part = prepare(pipeline, wb.property_from(wb.parse_property("always (out != 1)")), wb.Settings(n=2)).main
    monkeypatch.setattr(time, "monotonic", iter(range(0, 1000, 10)).__next__)
    deciders.AutoDecider().decide(part, EngineLimits(0.05))
    assert given == [0.0]
