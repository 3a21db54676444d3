"""Dead paths: by hand, and random pipelines whose truncations are run beside them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workbench import BOOL, Integer, Outcome, Pipeline, Settings, parse, read_file
from workbench.conformance.generate.domains import values
from workbench.conformance.generate.pipelines import pipelines
from workbench.core.pipeline import Node
from workbench.errors import Overflow
from workbench.executors import Reference
from workbench.processors.held.group import flatten
from workbench.processors.passthrough import Passthrough
from workbench.verify.analyses import dead_paths
from workbench.verify.analyses.dead_paths import DeadPaths
from workbench.verify.analyses.truncate import BEHIND, FULLER, Truncated, truncations, without_unread
from workbench.verify.answer.verdict import BOUNDS_EARLY

from .brute import Explored

MODELS = Path(__file__).parents[3] / "models" / "time2021"


def of(text: str, **options: Any) -> DeadPaths:
    return dead_paths(parse(text).get().pipeline, Settings(**options))


def of_model(file: str, name: str | None = None, **options: Any) -> DeadPaths:
    return dead_paths(read_file(str(MODELS / f"{file}.pipe")).get(name).pipeline, Settings(**options))


def test_nothing_of_figure_5a_can_be_deleted() -> None:
    """Every one of its processors changes the squares; each has a counterexample that was executed."""
    found = of_model("sum_of_odds")
    assert found.deletable == ()
    assert found.reduced is None
    assert [item.node for item in found.needed] == ["turn", "count", "trim", "even", "kept", "cumulate"]
    for item in found.needed:
        assert item.decided
        assert item.verdict.counterexample is not None
        assert item.verdict.counterexample.replay == "confirmed by execution"


def test_a_passthrough_is_dead_stepwise() -> None:
    (dead,) = of_model("passthrough").dead
    assert (dead.truncation.node, dead.truncation.source, dead.mode) == ("passthrough", "x", "stepwise")
    assert dead.verdict.outcome is Outcome.HOLDS


def test_a_delay_is_dead_up_to_pace() -> None:
    """Without it the same events come one step earlier, never more than one ahead."""
    found = of_model("passthrough_against_delay", "delay")
    assert {dead.mode for dead in found.dead} == {"up to pace"}
    assert found.deletable == ("later", "turn", "filter")
    assert found.reduced is not None
    assert found.reduced.pipeline.nodes == ()


def test_the_first_events_of_a_stream_are_not_all_of_it() -> None:
    """Saturating, the filter stops after three events. Without it the count goes on: needed, though never behind."""
    found = of_model("output_if_smaller_than_k", "output_if_smaller_than_k_saturating")
    assert found.deletable == ()


def test_what_saturates_too_early_never_filters() -> None:
    """At N = 4 every count is at most 3, so the filter lets everything through: that says nothing of other N."""
    found = of_model("output_if_smaller_than_k", n=4)
    assert found.deletable == ()
    reasons = {item.node: item.reason for item in found.needed if not item.decided}
    assert set(reasons) == {"le", "filter"}
    assert all("count <= 3 is never false (N = 4 prevents it)" in reason for reason in reasons.values())
    assert all(item.decided for item in of_model("output_if_smaller_than_k").needed)


def test_processors_that_no_output_depends_on() -> None:
    found = of("pipeline p(x: int) -> int { y = x + 1\n z = y * 2\n return cumulate(x, +) }")
    assert found.unread == ("y", "z")
    assert found.reduced is not None
    assert found.reduced.removed == ("y", "z")
    assert found.reduced.verdict is None


def test_processors_that_feed_only_what_never_speaks() -> None:
    found = of("pipeline p(x: int) -> int, int { y = filter(x, x < x)\n return y + 1, cumulate(x, +) }")
    assert found.unheard == ("lt", "y", "add")
    assert list(found.silent) == ["out1"]


def test_a_path_can_be_dead_though_each_of_its_processors_is_needed() -> None:
    """not (not b) is b, and neither `not` can go alone."""
    found = of("pipeline p(b: bool) -> bool { return not (not b) }")
    (dead,) = found.dead
    assert dead.truncation.removed == ("negate", "negate2")
    assert dead.truncation.source == "b"


def test_either_of_two_equal_branches_is_dead_and_not_both() -> None:
    found = of("pipeline p(b: bool) -> bool { c = passthrough(b)\n d = passthrough(b)\n return c and d }")
    assert set(found.deletable) == {"c", "d", "both"}
    assert found.reduced is not None
    assert found.reduced.pipeline.nodes == ()


def test_a_join_can_be_dead_by_one_of_its_inputs() -> None:
    """Once x was true, c stays true; so x or c is c, and x is not."""
    found = of("pipeline p(x: bool) -> bool { c = cumulate(x, or, false)\n return x or c }")
    (dead,) = found.dead
    assert (dead.truncation.node, dead.truncation.source) == ("either", "c")
    assert [item.node for item in found.needed] == ["c"]


def test_no_conclusion_where_nothing_was_compared() -> None:
    """With Q = 1 the first events of x fill their queue before the fourth comes."""
    text = "pipeline p(x: int) -> int { return x + trim(x, 3) }"
    assert {item.node: item.reason for item in of(text, q=1).needed} == {"trim": BOUNDS_EARLY, "add": BOUNDS_EARLY}
    assert all(item.decided for item in of(text, q=3).needed)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize(
    "body",
    [
        "return prefix(stutter(x, 2), 2)",
        "return prefix(multiplex(x, x), 2)",
        "return prefix(stutter(x, 3), 3)",
        "y = stutter(x, 2)\n return filter(y, trim(y, 1))",
    ],
)
def test_an_overflow_of_what_is_left_hides_no_difference(body: str, q: int) -> None:
    """Each of these processors changes the output within three steps."""
    found = of(f"pipeline p(x: bool) -> bool {{ {body} }}", q=q)
    assert found.deletable == ()
    assert all(item.decided for item in found.needed)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("q", [1, 2, 3])
def test_no_conclusion_where_queues_overflow_before_a_difference(q: int) -> None:
    """The i-th output is x[i-1] and x[i div 2], from step 2 on neither side alone. One more y waits at each step."""
    found = of("pipeline p(x: bool) -> bool { y = multiplex(x, x)\n return yesterday(x) and y }", q=q)
    assert found.deletable == ()
    assert {item.node: item.reason for item in found.needed if not item.decided}["y"] == BOUNDS_EARLY


@pytest.mark.slow
def test_an_overflow_is_no_event_that_is_still_to_come() -> None:
    """One event comes out, and two of the first prefix: the queue of x that fills up brings no second one."""
    found = of("""pipeline p(x: bool) -> bool {
        c = turn(turn(x, 1) + turn(decimate(x, 2), 1), true)
        return prefix(turn(x, true), 2) and prefix(c, 1)
    }""", q=5)  # fmt: skip
    assert set(found.deletable) == {"turn", "decimate", "turn2", "add", "turn3", "prefix", "both"}
    assert {item.node: item.reason for item in found.needed} == {"c": BEHIND, "prefix2": BEHIND}


@pytest.mark.slow
def test_what_is_left_may_need_longer_queues() -> None:
    """Without one of the decimates the other stream of ones waits, more and more of it: the outputs are the same."""
    branches = "d = decimate(x, 2)\n e = decimate(x, 2)"
    found = of(f"pipeline p(x: bool) -> int {{ {branches}\n return turn(d, 1) + turn(e, 1) }}", n=2, q=1)
    assert found.deletable == ()
    assert {item.node: item.reason for item in found.needed if not item.decided} == {"d": FULLER, "e": FULLER}


def test_a_fork_is_deleted_with_all_its_branches() -> None:
    found = of("pipeline p(x: int) -> int { a, b = fork(x, 2)\n return a + b }")
    assert [dead.truncation.node for dead in found.dead] == ["fork"]


# --- random pipelines ---------------------------------------------------------------------------------------

small = pipelines(max_bits=8, max_nodes=4, depth=1, most_events=1, inputs=st.sampled_from([BOOL, Integer(2)]))


@given(st.data())
@examples(20)
def test_random_pipelines(data: st.DataObject) -> None:
    """What was proved without bounds is true of whole streams as the specifications define them."""
    pipeline = data.draw(small)
    found = dead_paths(pipeline, Settings(q=2))
    streams = [data.draw(st.lists(values(domain), max_size=6)) for _, domain in pipeline.inputs]
    try:
        whole = found.pipeline.denote(streams)
    except Overflow:  # a checked number leaves its domain: the model says nothing of what follows
        return
    smaller = [(dead.truncation.pipeline, dead.mode, dead.verdict.outcome) for dead in found.dead]
    if found.reduced is not None:
        outcome = found.reduced.verdict.outcome if found.reduced.verdict else Outcome.HOLDS
        smaller.append((found.reduced.pipeline, found.reduced.mode, outcome))
    for truncated, mode, outcome in smaller:
        if outcome is not Outcome.HOLDS:
            continue
        for ours, theirs in zip(whole, truncated.denote(streams), strict=True):
            assert ours == theirs if mode == "stepwise" else ours == theirs[: len(ours)]
    for item in found.needed:
        if item.decided:
            assert item.verdict.counterexample is not None
            assert item.verdict.counterexample.replay == "confirmed by execution"
    assert set(found.deletable) | {item.node for item in found.needed} == {node.name for node in found.pipeline.nodes}


@given(st.data())
@examples(40)
def test_what_is_proposed_can_be_deleted(data: st.DataObject) -> None:
    """Run on all short inputs, as far as the whole pipeline has room: also of wide pipes, and within bounds."""
    wide = pipelines(max_bits=8, max_nodes=4, depth=0, inputs=st.sampled_from([BOOL, Integer(2)]), max_inputs=1)
    drawn, q = without_unread(flatten(data.draw(wide))), data.draw(st.integers(1, 2))
    found = dead_paths(drawn, Settings(q=q, grow=0))
    proposed = [(dead.truncation.pipeline, dead.mode) for dead in found.dead]
    if found.reduced is not None:
        proposed.append((found.reduced.pipeline, found.reduced.mode))
    if not proposed:
        return
    ((name, domain),) = drawn.inputs
    for events in itertools.product(domain.values(), repeat=5):
        steps = [{name: event} for event in events]
        whole = _records(drawn, steps, dict.fromkeys(drawn.queues, q) | dict(drawn.capacities))
        for truncated, mode in proposed:
            for each in range(drawn.out_arity):
                _compare_runs(whole, _records(truncated, steps[: len(whole)], {}), each, mode, max(q, 1))


@given(st.data())
@examples(40)
def test_what_is_proposed_can_be_deleted_beyond_the_bounds(data: st.DataObject) -> None:
    """On all inputs of seven steps, whatever waits in queues: no claim rests on overflows that hide a difference."""
    wide = pipelines(max_bits=8, max_nodes=4, depth=0, inputs=st.sampled_from([BOOL, Integer(2)]), max_inputs=1)
    drawn, q = without_unread(flatten(data.draw(wide))), data.draw(st.integers(1, 3))
    _assert_claims(drawn, q)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("q", [1, pytest.param(2, marks=pytest.mark.slow), 3])
@pytest.mark.parametrize(
    "body",
    [
        "y = multiplex(x, x)\n return yesterday(x) and y",
        "y = stutter(x, 2)\n return y or trim(x, 1)",
        "y = decimate(x, 2)\n return y = x",
        "y = stutter(x, 3)\n return filter(y, trim(y, 2))",
        "return multiplex(x, x) or multiplex(x, not x) and x",
    ],
)
def test_claims_about_streams_of_unequal_pace(body: str, q: int) -> None:
    _assert_claims(flatten(parse(f"pipeline p(x: bool) -> bool {{ {body} }}").get().pipeline), q)


def _assert_claims(drawn: Pipeline, q: int) -> None:
    found = dead_paths(drawn, Settings(q=q, grow=0))
    proposed = [(dead.truncation.pipeline, dead.mode) for dead in found.dead]
    if found.reduced is not None:
        proposed.append((found.reduced.pipeline, found.reduced.mode))
    ((name, domain),) = drawn.inputs
    for events in itertools.product(domain.values(), repeat=7 if proposed else 0):
        steps = [{name: event} for event in events]
        whole = _records(found.pipeline, steps, {})
        for truncated, mode in proposed:
            cut = _records(truncated, steps[: len(whole)], {})
            for each in range(drawn.out_arity):
                _compare_runs(whole, cut, each, mode, max(q, 1))


def _records(pipeline: Pipeline, steps: list[dict[str, Any]], room: dict[str, int]) -> list[list[list[Any]]]:
    """What each output carries at each step, up to the first overflow."""
    running, found = Reference(pipeline, room), list[list[list[Any]]]()
    for step in steps:
        try:
            outputs = running.step(step).outputs
        except Overflow:
            break
        found.append([outputs.get(name, []) for name, _ in pipeline.outputs])
    return found


def _compare_runs(whole: list[Any], cut: list[Any], output: int, mode: str, lead: int) -> None:
    ours, theirs = ([step[output] for step in run] for run in (whole, cut))
    assert len(theirs) == len(ours)
    if mode == "stepwise":
        assert ours == theirs
        return
    emitted, wanted = list[Any](), list[Any]()
    for more, other in zip(theirs, ours, strict=True):
        emitted += more
        wanted += other
        assert emitted[: len(wanted)] == wanted
        assert len(emitted) <= len(wanted) + lead


@given(st.data())
@examples(20)
def test_stepwise_short_cuts_are_found(data: st.DataObject) -> None:
    """None is missed: where exploring both pipelines finds no difference, the verdict does not fail, and conversely."""
    flat = without_unread(flatten(data.draw(small)))
    cuts = list(truncations(flat))
    if not cuts:
        return
    cut = data.draw(st.sampled_from(cuts))
    verdict = Truncated(flat, cut.pipeline, Settings(q=2)).compare("stepwise")
    both = Explored(_beside(flat, cut.pipeline), 2)
    names = [name for name, _ in flat.outputs]
    differs = any(
        edge.pipes.get(f"{name}_whole") != edge.pipes.get(f"{name}_cut") for edge in both.edges for name in names
    )
    if verdict.outcome is Outcome.HOLDS:
        assert not differs
    if differs:
        assert verdict.outcome is Outcome.FAILS


def _beside(whole: Pipeline, cut: Pipeline) -> Pipeline:
    """Both pipelines as one, put together by hand."""
    nodes = []
    inputs = {name for name, _ in whole.inputs}
    for suffix, part in (("whole", whole), ("cut", cut)):

        def named(pipe: str, suffix: str = suffix) -> str:
            return pipe if pipe in inputs else f"{pipe}_{suffix}!"

        for node in part.nodes:
            read, made = tuple(map(named, node.inputs)), tuple(map(named, node.outputs))
            nodes.append(Node(f"{node.name}_{suffix}!", node.processor, read, made))
        for name, pipe in part.outputs:
            nodes.append(Node(f"{name}_{suffix}", Passthrough(), (named(pipe),), (f"{name}_{suffix}",)))
    outputs = tuple((f"{name}_{suffix}",) * 2 for name, _ in whole.outputs for suffix in ("whole", "cut"))
    return Pipeline("beside", whole.inputs, tuple(nodes), outputs)
