"""Numbers that leave their checked domain where nothing depends on them: the model knows what the executor computes."""

import pytest

import workbench as wb
from workbench.conformance.compare.models import Evaluated, Simulated
from workbench.core.domain import Integer, Overflowing
from workbench.core.ops import IMPLIES
from workbench.errors import Overflow
from workbench.executors.reference.executor import Reference
from workbench.ir.compose import compose
from workbench.verify.answer.verdict import Outcome
from workbench.verify.ask.properties import always

N = Integer(4, Overflowing.CHECKED)

QUANTIFIER = """
function neighbours(x) = (x, x + 1)
pipeline inner(v: int, x: int) -> bool { return v >= 0 }
pipeline p(x: int) -> bool {
    said = forall(x, neighbours, inner)
    low = x < 3
    return low
}
"""
"""What is said is true of all values, and the second one is not there for the largest event."""
ARRIVES_IN_A_WINDOW = """
pipeline inner(x: int) -> int {
    unused = x + 1
    return x
}
pipeline p(x: int) -> int { return window(x, 2, inner) }
"""
"""Whether an event leaves the domain matters from the moment the window is full."""
IN_A_SLICE = """
function parity(x) = even(x)
pipeline inner(x: int) -> bool {
    high = x + x
    return high >= 0
}
pipeline p(x: int) -> map(bool, bool) { return slice(x, parity, inner) }
"""
IN_A_BATCH = """
pipeline inner(x: int) -> bool {
    kept = filter(x, x > 1)
    more = kept * 2
    return more >= 0
}
pipeline p(x: int, b: bool) -> bool { return reset_last(x, b, inner) }
"""


def made(text: str) -> wb.Pipeline:
    return wb.parse(text).get("p").pipeline.resolve(N)


@pytest.mark.parametrize(
    ("text", "events", "step"),
    [
        (QUANTIFIER, [0, 2, 3, 1], 2),
        (ARRIVES_IN_A_WINDOW, [3], None),
        (ARRIVES_IN_A_WINDOW, [3, 0], 1),
        (ARRIVES_IN_A_WINDOW, [0, 0, 3], 2),
        (IN_A_SLICE, [0, 1, 1, 2], 3),
        (IN_A_BATCH, [(1, False), (0, True), (1, True), (2, False)], 3),
    ],
)
@pytest.mark.parametrize("make", [Reference, Evaluated, Simulated])
def test_every_executable_stops_at_the_step_at_which_it_is_computed(make, text, events, step):
    pipeline = made(text)
    steps = [dict(zip("xb", event if isinstance(event, tuple) else (event,), strict=False)) for event in events]
    executor = make(pipeline) if make is Reference else make(pipeline, 2)
    run = (executor.step(given) for given in steps) if make is Reference else iter(executor.trace(steps))
    seen = 0
    try:
        for _ in run:
            seen += 1
    except Overflow:
        assert seen == step
    else:
        assert step is None
        assert seen == len(steps)


def test_only_an_overflow_in_checked_numbers_is_looked_for():
    system = compose(wb.parse(QUANTIFIER).get("p").pipeline.resolve(Integer(4)), 2)
    assert system.strict == frozenset()
    assert compose(made(QUANTIFIER), 2).strict == {"said:inner_escape"}


def test_a_property_does_not_see_it_and_the_replay_says_where_it_stops():
    def holds(system):
        return IMPLIES(system.pipes["low"].present, system.pipes["low"].value)

    verdict = wb.check(made(QUANTIFIER), always(holds, "low is true"))
    assert verdict.outcome is Outcome.FAILS
    last = len(verdict.run.steps) - 1
    assert verdict.run.replay == (
        f"confirmed by execution up to step {last}, where a number the property does not see leaves its domain and"
        " execution stops"
    )
