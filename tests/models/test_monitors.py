"""The systems of smv/systems and the monitors of models/monitors: what holds, what fails, and for which reason."""

from __future__ import annotations

from pathlib import Path

import pytest

import workbench as wb
from experiments.monitors import FORMULAS, MONITORS, SYSTEMS, Case, ask_formula, cases, decide
from workbench.smv.engines.engine import Query, Task
from workbench.verify.answer.trace import Trace
from workbench.verify.decide.table import get_engine

CASES = cases()
FAILING = {
    "peterson:mutual_exclusion",
    "traffic_light:yellow_lasts",
    "elevator:patience",
    "elevator:answered",
    "token_ring:one_token",
    "alternating_bit:in_order",
    "alternating_bit:one_at_a_time",
    "alternating_bit:progress",
    "producer_consumer:first_in_first_out",
    "producer_consumer:at_most_three",
    "request_counter:counts_right",
}
"""The monitors that the bug in the faulty variant of their system shows to; all hold of the correct one."""


@pytest.mark.sampled(12)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.monitor}-{case.system}")
def test_verdict(case: Case) -> None:
    verdict = decide(case)
    assert verdict.outcome == ("fails" if case.faulty and case.monitor in FAILING else "holds")
    if verdict.counterexample:
        assert verdict.counterexample.replay == "confirmed by execution, and a run of the system alone"
    elif verdict.property == "never-false":
        assert any("the monitor emits events" in line for line in verdict.rests_on)
    if case.formula:
        assert ask_formula(case) is (verdict.outcome == "holds")


def test_every_system_is_watched_and_every_monitor_watches_both_variants() -> None:
    assert {case.system for case in CASES} == {path.stem for path in SYSTEMS.glob("*.smv")}
    for monitor in {case.monitor for case in CASES}:
        assert sorted(case.faulty for case in CASES if case.monitor == monitor) == [False, True]
    assert {case.monitor for case in CASES} >= FORMULAS.keys() | FAILING
    assert len({case.system for case in CASES if not case.faulty}) >= 6


@pytest.mark.slow
def test_the_nusmv_executable_agrees() -> None:
    for name in ("peterson:mutual_exclusion", "elevator:answered", "alternating_bit:in_order"):
        for case in (case for case in CASES if case.monitor == name):
            verdict = decide(case, "nusmv")
            assert verdict.outcome == ("fails" if case.faulty and name in FAILING else "holds")
            assert verdict.counterexample is None or "a run of the system alone" in verdict.counterexample.replay


# --- the systems do something, and the faulty ones what their header says --------------------------------------------


@pytest.mark.parametrize(
    ("system", "happens"),
    [
        ("peterson", "p_critical"),
        ("peterson", "p_waits & q_critical"),
        ("traffic_light", "side_road = green"),
        ("elevator", "floor = 3 & door = open & direction = up"),
        ("token_ring", "tokens = 0 & losses = 2"),
        ("alternating_bit", "delivers & delivered = 3"),
        ("alternating_bit", "forward.loses"),
        ("alternating_bit", "backward.out & !acknowledged"),
        ("producer_consumer", "full"),
        ("producer_consumer", "produces & consumes"),
        ("request_counter", "recent = 16"),
    ],
)
def test_what_can_happen(system: str, happens: str) -> None:
    text = (SYSTEMS / f"{system}.smv").read_text()
    answers = get_engine().check(Task(text, (Query("ctl", f"EF ({happens})"),))).answers
    assert answers[0].truth is True


def test_each_faulty_variant_differs_in_what_its_header_says() -> None:
    changed = {
        "peterson_reordered": 9, "traffic_light_short_yellow": 2, "elevator_unfair": 2, "token_ring_impatient": 1,
        "alternating_bit_any_ack": 1, "producer_consumer_off_by_one": 1, "request_counter_no_overlap": 1,
    }  # fmt: skip
    for path in SYSTEMS.glob("*.smv"):
        if path.stem in changed:
            correct = next(c for c in SYSTEMS.glob("*.smv") if path.stem.startswith(f"{c.stem}_"))
            assert len(code(correct) ^ code(path)) <= 2 * changed[path.stem]
            assert f"see {correct.name}" in path.read_text()
    assert len(changed) * 2 == len(list(SYSTEMS.glob("*.smv")))


def code(path: Path) -> set[str]:
    return {line.partition("--")[0].strip() for line in path.read_text().splitlines()}


def shown(monitor: str, system: str) -> Trace:
    trace = decide(Case(monitor, system)).counterexample
    assert trace is not None
    return trace


def column(trace: Trace, name: str) -> list[str]:
    return [step.outside[name] for step in trace.steps]


def test_peterson_reordered() -> None:
    """Both give the turn away before either raises its flag."""
    trace = shown("peterson:mutual_exclusion", "peterson_reordered")
    assert column(trace, "p.state")[-1] == column(trace, "q.state")[-1] == "critical"
    assert ("given", "given") in zip(column(trace, "p.state"), column(trace, "q.state"), strict=True)


def test_the_short_yellow() -> None:
    trace = shown("traffic_light:yellow_lasts", "traffic_light_short_yellow")
    assert column(trace, "phase")[-3:] == ["main_go", "main_stops", "clear_main"]
    assert column(trace, "timer")[-2] == "3"


def test_the_unfair_elevator() -> None:
    """In the loop floor 3 is called all the time, never reached, and there is always a call from below."""
    trace = shown("elevator:answered", "elevator_unfair")
    loop = [step.outside for step in trace.steps[trace.loop :]]
    assert all(state["call3"] == "TRUE" and state["floor"] != "3" for state in loop)
    assert any(state["call0"] == "TRUE" or state["call1"] == "TRUE" for state in loop)


def test_the_impatient_station() -> None:
    trace = shown("token_ring:one_token", "token_ring_impatient")
    holders = [name for name in ("s0", "s1", "s2", "s3") if column(trace, f"{name}.token")[-1] == "TRUE"]
    assert holders[0] == "s0"
    assert len(holders) == 2
    assert column(trace, "misses")[-2] == "5"
    assert set(column(trace, "losses")) == {"0"}


def test_any_acknowledgement() -> None:
    """An acknowledgement with the other bit has ended the sending of a message that was not delivered."""
    trace = shown("alternating_bit:one_at_a_time", "alternating_bit_any_ack")
    late = [
        s for s in (step.outside for step in trace.steps)
        if s["backward.full"] == s["backward.arrives"] == s["sending"] == "TRUE" and s["backward.held_bit"] != s["bit"]
    ]  # fmt: skip
    assert late


def test_off_by_one() -> None:
    trace = shown("producer_consumer:at_most_three", "producer_consumer_off_by_one")
    assert column(trace, "filled")[-1] == "3"
    assert trace.steps[-1].pipes["event"] == 1


def test_the_forgotten_overlap() -> None:
    """Requests in all of the first 17 steps: then one comes as one falls out, and the counter goes down."""
    trace = shown("request_counter:counts_right", "request_counter_no_overlap")
    assert column(trace, "request")[:17] == ["TRUE"] * 17
    assert column(trace, "recent")[16:] == ["16", "15"]
    assert trace.shortest


# --- bounds, by other means -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("monitor", "k"), [("elevator:patience", 17), ("traffic_light:patience", 10), ("token_ring:soon_replaced", 7)]
)
def test_bounds_are_the_smallest(monitor: str, k: int) -> None:
    file, _, name = monitor.partition(":")
    source = wb.read_file(MONITORS / f"{file}.pipe")
    assert source.parameters(name) == {"k": k}
    tight = source.get(name, k=k - 1)
    assert wb.monitor(str(SYSTEMS / f"{file}.smv"), tight.pipeline).outcome == "fails"


def test_the_longest_wait_for_the_elevator() -> None:
    """The elevator once more, written in Python from its description, and explored: the bound of `patience`."""
    longest, todo = 0, [(0, False, True, frozenset[int](), 0)]
    seen = set(todo)
    while todo:
        floor, opened, up, calls, waited = todo.pop()
        assert waited < 50
        longest = max(longest, waited)
        ahead = {c for c in calls if (c > floor if up else c < floor)}
        rest = calls
        nxt, door = floor, False
        if opened:
            rest = calls - {floor}
        elif floor in calls:
            door = True
        elif calls:
            up = up if ahead else not up
            nxt = floor + (1 if up else -1)
        for press in range(5):
            pressed = rest if press == 4 or (opened and press == floor) else rest | {press}
            state = (nxt, door, up, pressed, waited + 1 if 3 in pressed else 0)
            if state not in seen:
                seen.add(state)
                todo.append(state)
    assert longest == 17
