"""Verdicts under faults: what they rest on, the runs that they show, engines that agree."""

from __future__ import annotations

from typing import Any

import pytest

import workbench as wb
from workbench.errors import PipelineError
from workbench.show.timeline import render_timeline
from workbench.verify.ask.equivalence import EquivalenceMode

SOURCE = wb.parse("""
pipeline same(x: int) -> y: int { y = passthrough(x) return y }
pipeline late(x: int) -> y: int { y = passthrough(x) return y fault delay y by 2 at most 1 }
pipeline twice(x: 0..1) -> y: 0..1 { y = stutter(x, 2) return y }
""")
SAME, LATE, TWICE = (SOURCE.get(name).pipeline for name in ("same", "late", "twice"))


def ask(pipeline: wb.Pipeline, text: str, *faults: str, **settings: Any) -> wb.Verdict:
    prop = wb.properties.property_from(wb.properties.parse_property(text))
    return wb.check(pipeline, prop, wb.Settings(**settings), faults=faults)


def test_what_may_happen_is_in_the_grounds() -> None:
    verdict = ask(SAME, "always (y <= 3)", "lose y at most 2 when y > 1", "duplicate x")
    assert verdict.outcome == "holds"
    assert "fault: events of y may be lost, at most 2, when y > 1" in verdict.rests_on
    assert "fault: events of x may be duplicated" in verdict.rests_on
    # one that makes no difference is not a ground
    assert ask(SAME, "always (x <= 3)", "lose y").rests_on[-2].startswith("inputs free")


def test_response_survives_finitely_many_losses_only() -> None:
    """`lose y`: every event may be lost; `at most 3`: from some step on none is."""
    assert ask(SAME, "response").outcome == "holds"
    assert ask(SAME, "response", "lose y at most 3").outcome == "holds"
    assert ask(SAME, "response", "delay y by 3").outcome == "holds"
    verdict = ask(SAME, "response", "lose y")
    assert verdict.outcome == "fails"
    assert verdict.counterexample is not None
    assert verdict.counterexample.replay == "confirmed by execution"
    loop = verdict.counterexample.steps[verdict.counterexample.loop :]
    assert all(step.inputs.get("y.lost") == "lost" for step in loop if "x" in step.inputs)


def test_bounded_liveness_counts_the_losses() -> None:
    for losses in (1, 2):
        fault = f"lose y at most {losses}"
        assert ask(SAME, f"bounded-liveness({losses})", fault).outcome == "holds"
        verdict = ask(SAME, f"bounded-liveness({losses - 1})", fault)
        assert verdict.outcome == "fails"
        assert verdict.counterexample is not None
        assert [step.pipes["y.lost"] for step in verdict.counterexample.steps] == ["lost"] * losses


def test_a_delayed_event_comes_out_without_input() -> None:
    """Time passes while an event waits, so a step without input is part of the model then."""
    fair = wb.Environment(fair=True)  # the streams do not end, which would let it out, too
    verdict = ask(LATE, "always (y.present -> x.present)", environment=fair)
    assert verdict.outcome == "fails"
    assert verdict.counterexample is not None
    last = verdict.counterexample.steps[-1]
    assert not last.inputs
    assert last.pipes["y"] is not None
    assert "steps without input, while no event is delayed, are left out (they change nothing)" in verdict.rests_on


def test_ctl_and_ltl_see_every_step() -> None:
    assert ask(LATE, "ltl(G (y.sent.present -> (y.present | X y.present | X X y.present)))").outcome == "holds"
    assert ask(LATE, "ltl(G (y.sent.present -> (y.present | X y.present)))").outcome == "fails"
    # there is another event to be lost only once
    assert ask(SAME, "ctl(AG (y.lost.present -> AX AG !y.lost.present))", "lose y at most 1").outcome == "holds"
    assert ask(SAME, "ctl(AG (y.lost.present -> AX AG !y.lost.present))", "lose y at most 2").outcome == "fails"


def test_oracles_that_are_not_heard_are_not_shown() -> None:
    verdict = ask(SAME, "always (y != 1)", "lose y when y = 2")
    assert verdict.counterexample is not None
    (step,) = verdict.counterexample.steps
    assert step.inputs == {"x": 1}


def test_the_timeline_shows_what_struck() -> None:
    verdict = ask(SAME, "always (x.present -> y.present)", "lose y")
    assert verdict.counterexample is not None
    shown = render_timeline(verdict.counterexample, verdict.counterexample.pipeline).splitlines()
    rows = [line.split() for line in shown if line[:6].strip() in ("fault", "in", "out") or "y.sent" in line]
    assert rows == [["in", "x", "0"], ["fault", "y", "lost"], ["y.sent", "0"], ["out", "y", "·"]]
    (step,) = verdict.to_json()["trace"]["steps"]
    assert step["faults"] == [{"pipe": "y", "event": 0, "what": "lost"}]


@pytest.mark.parametrize(
    ("fault", "mode", "outcome"),
    [
        ("lose y", "sequence", "fails"),
        ("duplicate y", "sequence", "fails"),
        ("delay y by 2", "sequence", "holds"),
        ("delay y by 1", "stepwise", "fails"),
    ],
)
def test_tolerance_of_a_bare_channel(fault: str, mode: EquivalenceMode, outcome: str) -> None:
    verdict = wb.faults.tolerates(SAME, wb.Settings(n=2), mode, faults=[fault])
    assert (verdict.outcome, verdict.property) == (outcome, "tolerates")
    assert verdict.counterexample is None or verdict.counterexample.replay == "confirmed by execution"


def test_one_value_cannot_tell_losses() -> None:
    """Sequence equivalence says that no output is wrong, not that all come."""
    assert wb.faults.tolerates(SAME, wb.Settings(n=1), faults=["lose y"]).outcome == "holds-within-bounds"


def test_there_must_be_something_to_tolerate() -> None:
    with pytest.raises(PipelineError, match="no faults that it could tolerate"):
        wb.faults.tolerates(SAME)


@pytest.mark.parametrize("fault", ["lose y at most 1", "duplicate y when y = 1", "lose x", "delay x by 2"])
@pytest.mark.parametrize("engine", ["explicit", "pynusmv"])
def test_engines_agree(fault: str, engine: str) -> None:
    faulty = wb.faults.faulty(TWICE, fault)
    settings = wb.Settings(engine=engine, seconds=20, q=1)
    assert wb.check(faulty, wb.properties.no_overflow(), settings).outcome == "holds"
    verdict = wb.faults.tolerates(faulty, settings, "stepwise")
    assert verdict.outcome == "fails"
    assert verdict.counterexample is not None
    assert len(verdict.counterexample.steps) == 1
    assert verdict.counterexample.replay == "confirmed by execution"


def test_the_number_of_states() -> None:
    """At most 2: 0, 1 or 2 are used up. Each of the inputs x (4 values, present or not) and the oracle is free."""
    for engine in ("explicit", "pynusmv"):
        settings = wb.Settings(engine=engine, count_states=True)
        verdict = wb.check(wb.faults.faulty(SAME, "lose y at most 2"), wb.properties.bounded_liveness(9), settings)
        assert verdict.outcome == "holds"
        assert verdict.reachable_states is not None
        assert verdict.reachable_states % 3 == 0


def test_latency_through_a_delay() -> None:
    found = wb.latency(wb.faults.faulty(SAME, "delay y by 3"), "x", "y", wb.Settings(n=2))
    assert found["steps"] == 3
    assert wb.latency(wb.faults.faulty(SAME, "delay y by 3 when y > 1"), "x", "y", wb.Settings(n=2))["steps"] == 0


def test_examined_verdicts() -> None:
    found = wb.examine(wb.check(SAME, wb.properties.bounded_liveness(1), faults=["lose y at most 1"]))
    assert {item.kind for item in found.examined} >= {"vacuity", "every N", "every Q"}
    assert all(item.finding == "confirmed" for item in found.examined)
