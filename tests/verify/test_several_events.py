"""Pipes that carry several events in a step, and the end of the stream: verdicts that follow from the definitions."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.core.processor import END
from workbench.errors import PipelineError, Refused
from workbench.show.timeline import render_timeline
from workbench.verify.ask.equivalence import EquivalenceMode

SOURCE = wb.parse("""
pipeline same(x: int) -> int { return x }
pipeline twice(x: int) -> int { return stutter(x, 2) }
pipeline pair(x: int) -> int { return unpack((x, x)) }
pipeline both(x: int) -> int { return multiplex(x, x) }
pipeline counted(x: int) -> int { return stutter_by(x, turn(x, 2)) }
pipeline back(x: int) -> int { return decimate(stutter(x, 2), 2) }
pipeline padded(x: int) -> int { return trim(insert(x, 1), 1) }
pipeline zero_first(x: int) -> int { return insert(x, 0) }
pipeline doubled(x: int) -> int { return cumulate(x, +) * 2 }
pipeline every_other(x: int) -> int { return decimate(trim(cumulate(stutter(x, 2), +), 1), 2) }
pipeline ahead(x: int) -> int { return x + stutter(x, 2) }
pipeline last(x: int) -> int { return keep_last(x) }
pipeline last_of_both(x: int) -> int { return keep_last(stutter(x, 2)) }
pipeline thirds(x: int) -> int { return decimate(x, 3) }
pipeline thirds_and_last(x: int) -> int { return decimate(x, 3, last = true) }
pipeline last_sum(x: int) -> int { return keep_last(cumulate(x, +)) }
pipeline sum_of_lasts(x: int) -> int { return cumulate(keep_last(x), +) }
pipeline start(x: int) -> int { return prefix(freeze(x), 1) }
pipeline first(x: int) -> int { return prefix(x, 1) }
pipeline in_window(x: int) -> int { return window(x, 2, last) }
pipeline trimmed(x: int) -> int { return trim(x, 1) }
pipeline sum_twice(x: int) -> int { return window(x, 2, sums) }
pipeline sums(x: int) -> int { return cumulate(stutter(x, 2), +) }
pipeline sum_then_double(x: int) -> int { return window(x, 2, cumulate(+)) * 2 }
pipeline switched(x: int) -> int { return multiplex(trim(x, 1), x) }
pipeline merged(x: int, y: int) -> int { return multiplex(x, y) }
pipeline merged_back(x: int, y: int) -> int { return multiplex(y, x) }
""")


def pipe(name: str) -> wb.Pipeline:
    return SOURCE.get(name).pipeline


HOLD = [
    ("twice", "pair"),
    ("twice", "both"),
    ("twice", "counted"),
    ("back", "same"),
    ("padded", "same"),
    ("every_other", "doubled"),
    ("last_of_both", "last"),
    ("start", "first"),
    ("in_window", "trimmed"),  # the last event of a window is the stream without its first event
    ("sum_twice", "sum_then_double"),
]
FAIL = [
    ("twice", "same", 1),  # two events against one
    ("zero_first", "same", 1),
    ("thirds_and_last", "thirds", 3),  # two events, and the end: the second is the last, and no third
    ("last", "same", 1),
    ("last_sum", "sum_of_lasts", 3),  # two events that are not 0, and the end
    ("merged", "merged_back", 1),  # different events at the same step
    ("switched", "both", 1),
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("left", "right"), HOLD)
@pytest.mark.parametrize("mode", ["stepwise", "sequence"])
def test_equivalent(left: str, right: str, mode: EquivalenceMode) -> None:
    assert wb.equiv(pipe(left), pipe(right), mode).outcome == "holds"


@pytest.mark.parametrize(("left", "right", "steps"), FAIL)
def test_not_equivalent(left: str, right: str, steps: int) -> None:
    verdict = wb.equiv(pipe(left), pipe(right), "stepwise")
    assert verdict.outcome == "fails"
    assert verdict.counterexample is not None
    assert len(verdict.counterexample.steps) == steps
    assert verdict.counterexample.replay == "confirmed by execution"


def test_streams_that_have_ended_have_the_same_length() -> None:
    verdict = wb.equiv(pipe("thirds_and_last"), pipe("thirds"), "sequence")
    assert verdict.outcome == "fails"
    assert verdict.counterexample is not None
    assert [step.ends for step in verdict.counterexample.steps] == [False, False, True]
    assert verdict.to_json()["trace"]["steps"][-1]["ends"] is True
    assert "end of streams" in render_timeline(verdict.counterexample)


def test_a_queue_behind_a_wide_pipe() -> None:
    """Each step two events come on the right and one on the left: after n steps n wait."""
    for q in (0, 1, 3):
        verdict = wb.check(pipe("ahead"), wb.properties.no_overflow(), wb.Settings(q=q))
        assert verdict.outcome == "fails"
        assert verdict.counterexample is not None
        assert len(verdict.counterexample.steps) == q + 1
        assert verdict.counterexample.replay == "confirmed by execution"


def test_liveness_is_about_streams_that_go_on() -> None:
    assert wb.check(pipe("last"), wb.properties.liveness()).outcome == "fails"
    verdict = wb.check(pipe("thirds_and_last"), wb.properties.liveness())
    assert verdict.outcome == "holds"
    assert "the input streams do not end" in verdict.rests_on


def test_always_means_each_event_of_a_wide_pipe() -> None:
    source = wb.parse("pipeline p(x: 0..3) -> 0..3 { return insert(x, 2) }")
    holds, fails = (
        wb.check(source.get().pipeline, wb.properties.property_from(wb.properties.parse_property(text)))
        for text in ("always (out <= 3)", "always (out = 2)")
    )
    assert holds.outcome == "holds"
    assert fails.outcome == "fails"
    assert fails.counterexample is not None
    (step,) = fails.counterexample.steps
    carried = step.pipes["insert"]
    assert carried is not None
    assert carried[0] == 2
    assert (
        wb.check(
            source.get().pipeline, wb.properties.property_from(wb.properties.parse_property("ctl(EX out = 2)"))
        ).outcome
        == "holds"
    )


def test_the_end_as_a_step() -> None:
    running = wb.executors.Reference(pipe("thirds_and_last"))
    shown = [running.step(events).outputs["out"] for events in ({"x": 5}, {"x": 6}, END)]
    assert shown == [[5], [], [6]]
    with pytest.raises(PipelineError, match="ended"):
        running.step({"x": 1})


def test_what_depends_on_steps_has_no_pull_mode() -> None:

    with pytest.raises(Refused, match="pull mode has none"):
        wb.executors.Reference(pipe("merged")).connect(x=[1], y=[2])
