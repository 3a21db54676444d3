"""What an undecided verdict says: how far each engine got, and what to try."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.verify.engines.conftest import engine_or_skip
from tests.verify.engines.models import COUNTER, HARD, long
from workbench.cli.output import block
from workbench.extras import install_extra
from workbench.smv.engines.engine import Answer, EngineLimits, Query, Reached, Task
from workbench.verify.answer.prepare import prepare
from workbench.verify.answer.verdict import Ground, Vacuity
from workbench.verify.decide import deciders
from workbench.verify.decide.part import Decision, Part
from workbench.verify.decide.table import Turn

SOURCE = """
pipeline products(x: int, y: int) -> int {
    total = window(x * y, 4, cumulate(+))
    return total * total
}
"""


@functools.cache
def undecided(**settings: Any) -> wb.Verdict:
    """A verdict of who refutes nothing, on what does not hold."""
    pipeline = wb.parse(SOURCE).get().pipeline
    prop = wb.properties.property_from(wb.properties.parse_property("always (out != 1)"))
    return wb.check(pipeline, prop, wb.Settings(engine="algebra", seconds=60.0, **settings))


def test_the_state_is_described() -> None:
    """The window keeps 3 products of 3 bits, and counts them."""
    verdict = undecided(n=8, q=3)
    assert verdict.outcome == "unknown"
    assert "total (11)" in verdict.reached[-1].text


def test_what_decides_no_such_question_is_replaced() -> None:
    """Algebra gives up at once, and refutes nothing with fewer integers or more time either."""
    verdict = undecided(n=8)
    assert verdict.advice == ("every engine in turn: --engine auto",)
    assert verdict.to_json()["advice"] == list(verdict.advice)
    assert check(SOURCE, "always (out != 1)", n=2).outcome == "fails"


def limited(limit: str, **settings: Any) -> wb.Verdict:
    """A verdict that a limit has prevented."""
    found = undecided(**settings)
    assert found.problem is not None
    problem = replace(found.problem, settings=replace(found.problem.settings, engine="auto"))
    return replace(found, reason=f"{limit} limit of 60 s met", reached=(), problem=problem)


def test_a_limit_of_time_is_raised_or_the_model_made_smaller() -> None:
    assert limited("time", n=8, q=3).advice == (
        "state ranges: x: 0..9 in place of int", "fewer integers: -N 4 (N = 8 now; a smaller question)",
        "shorter queues: -Q 1 (3 now; a smaller question)", "more time: --timeout 600",
    )  # fmt: skip
    assert limited("memory", n=8, q=3, memory_mb=1000).advice[-1] == "more memory: --memory 2000"
    going = replace(limited("time", n=8, q=3), reached=(Reached("bmc", "no counterexample of up to 9 steps"),))
    first, *_, last = going.advice
    assert first == "all the time for a short counterexample or proof: --engine bmc"
    assert last == "more time: --timeout 600"
    assert len(going.advice) == 4


def test_a_large_state_is_no_matter_of_visiting_all() -> None:
    """2^46 states are too many one by one: an engine that came as far by other means is named, if there is one."""
    limit = limited("time", n=8, q=3)

    def first(bits: int, *more: Reached) -> str:
        seen = Reached("explicit", "states seen: 7,000,000", steps=5)
        return replace(limit, reached=(seen, *more, Reached("model", "", further=False, bits=bits))).advice[0]

    induction = Reached("induction", "no counterexample of up to 5 steps", steps=5)
    visiting, smaller = "all the time for the states, one by one: --engine explicit", limit.advice[0]
    assert first(45) == first(45, induction) == visiting
    assert first(46) == first(46, induction._replace(steps=4)) == first(46, Reached("simulation", "runs")) == smaller
    assert first(46, induction) == "all the time for the engine that got farthest: --engine induction"
    described = undecided(n=8, q=3).reached[-1]
    assert f" {described.bits} bits" in described.text


def test_engines_that_are_not_installed_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """They decide invariants, of pipelines: whether outputs still come is none."""
    monkeypatch.setattr(
        "workbench.verify.answer.advice.find_spec", lambda name: None if name == "z3" else find_spec(name)
    )
    missing = (
        "induction, invariants, spacer (z3), which decide windows over large numbers; not installed: "
        + install_extra("smt")
    )
    assert limited("time", n=8, q=3).advice[0] == undecided(n=8).advice[0] == missing
    asked = wb.problem(wb.parse(SOURCE).get(), "liveness", wb.Settings(seconds=2.0))
    assert not any("not installed" in said for said in asked.make_undecided("time limit of 2 s met").advice)


def test_queues_that_there_are_not_cannot_be_shorter() -> None:
    """Where the limit comes before the model is composed, its queues are those of the pipeline."""
    for body, hints in (("x + trim(x, 1)", 2), ("x + 1", 1)):
        asked = wb.problem(wb.parse(f"pipeline p(x: int) -> int {{ return {body} }}").get(), "liveness")
        asked = replace(asked, settings=wb.Settings(seconds=2.0))
        verdict = replace(asked.make_undecided("time limit of 2 s met while composing the model"))
        assert (
            verdict.advice[-hints:]
            == ("shorter queues: -Q 1 (2 now; a smaller question)", "more time: --timeout 20")[-hints:]
        )
        assert len(verdict.advice) == hints


def test_queues_that_overflow_are_not_made_shorter() -> None:
    overflowing = (Ground("queues", "", {"add.left": 3}), Ground("overflow", "", True))
    advice = replace(limited("time", n=2, q=3), grounds=overflowing).advice
    assert not any("shorter queues" in each for each in advice)


TOGETHER = wb.Environment("synchronised")


def test_what_cannot_be_smaller_is_not_named() -> None:
    assert limited("time", n=2, q=1, environment=TOGETHER).advice == ("more time: --timeout 600",)


def test_free_inputs_may_be_synchronised() -> None:
    """There are fewer events at each step then, so this is another question, which a condition says."""
    synchronised = "--inputs synchronised, if events come on all inputs at the same time"
    assert limited("time", n=2, q=1).advice == (synchronised, "more time: --timeout 600")


def test_no_fewer_integers_than_constants_need() -> None:
    """5 is none of 0..3, and half of 8 is what is asked about."""
    verdict = limited("time", n=8, q=1, environment=TOGETHER)
    assert verdict.problem is not None
    problem = wb.problem(wb.parse(SOURCE).get(), "always (out != 5)", verdict.problem.settings)
    assert replace(verdict, problem=problem).advice == ("more time: --timeout 600",)


def check(source: str, prop: str, **settings: Any) -> wb.Verdict:
    return wb.check(wb.parse(source).get(), prop, wb.Settings(grow=0, **settings))


LATER = "pipeline late(x: int, y: int) -> int { return trim(x, 6) + y }"
"""The first sum is the seventh x with the first y: six of y wait where they come together."""


def test_a_run_that_the_bounds_prevent_is_found_where_they_are_larger() -> None:
    verdict = check(LATER, "can(out = 1)", q=2, environment=TOGETHER)
    assert (verdict.outcome, verdict.advice) == ("unknown", ("longer queues: -Q 8 (2 now)",))
    assert check(LATER, "can(out = 1)", q=8, environment=TOGETHER).outcome == "holds"


def test_numbers_that_the_model_lacks() -> None:
    source = "pipeline p(x: int) -> int { return if x > 3 then x else x + 0 }\npipeline q(x: int) -> int { return x }"
    verdict = replace(check(source, "no-overflow"), outcome=wb.Outcome.UNKNOWN, vacuity=Vacuity("x", "float = 0..9"))
    assert verdict.advice == ("more numbers: --values float=-1..19",)
    assert replace(verdict, vacuity=Vacuity("x", "--rate")).advice == ("leave out --rate, or raise it",)
    below = replace(verdict, vacuity=Vacuity("x < 0 is never true", "int = 0..3")).advice
    assert below == ("declare what x carries, with numbers below 0: x: -4..3",)


def test_a_decided_property_needs_none() -> None:
    pipeline = wb.parse(SOURCE).get().pipeline
    verdict = wb.check(pipeline, wb.properties.liveness(), wb.Settings(n=2))
    assert verdict.outcome != "unknown"
    assert (verdict.advice, verdict.reached) == ((), ())
    assert "advice" not in verdict.to_json()


def test_advice_is_printed_below_the_verdict() -> None:
    text = block(replace(undecided(n=8), reached=(Reached("explicit", "states seen: 1,234"),)))
    assert "    try every engine in turn: --engine auto" in text
    assert "    so far: explicit: states seen: 1,234" in text


def test_an_engine_that_reports_nothing_gave_no_answer_in_its_time() -> None:
    part = prepare(
        wb.parse(SOURCE).get().pipeline.resolve(wb.Settings(n=2).domain), wb.properties.liveness(), wb.Settings(n=2)
    ).main
    nothing = Decision(dict.fromkeys(part.questions, Answer(None)), "")
    met = Decision(dict.fromkeys(part.questions, Answer(None, reason="time limit of 0.04 s")), "pynusmv")
    (answer, *_) = deciders._join(part, nothing, met, "pynusmv").answers.values()
    assert list(map(str, answer.reached)) == ["pynusmv: no answer within 0.04 s"]


def test_the_explicit_engine_says_how_many_states_it_has_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum has 64 values; there is memory for none of them after the first."""
    monkeypatch.setattr("workbench.verify.decide.explicit.decider.PLAIN_BYTES", 2**40)
    total = wb.parse("pipeline total(x: int) -> int { return cumulate(x, +) }").get().pipeline
    prop = wb.properties.property_from(wb.properties.parse_property("always (out <= 63)"))
    verdict = wb.check(total, prop, wb.Settings(n=64, engine="explicit", memory_mb=4000))
    assert verdict.reached[0] == Reached("explicit", "states seen: 1")
    assert verdict.to_json()["reached"][0] == "explicit: states seen: 1"


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
checker._REPORT_SECONDS = -1.0
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
            return Decision(dict.fromkeys(part.questions, Answer(None)), self.name)

    monkeypatch.setattr(deciders, "get_decider", lambda name: Listens())
    monkeypatch.setattr(deciders, "_list_turns", lambda part: ([("listens", Turn(1.0, 9.0))], []))
    pipeline = wb.parse(SOURCE).get().pipeline.resolve(wb.Settings(n=2).domain)
    part = prepare(
        pipeline, wb.properties.property_from(wb.properties.parse_property("always (out != 1)")), wb.Settings(n=2)
    ).main
    monkeypatch.setattr(time, "monotonic", iter(range(0, 1000, 10)).__next__)
    deciders.AutoDecider().decide(part, EngineLimits(0.05))
    assert given == [0.0]
