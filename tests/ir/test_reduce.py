"""Cones of influence and the overflow flag."""

from __future__ import annotations

from workbench import INT, Integer, compose, pipeline
from workbench.core.ops import EQ
from workbench.core.term import FALSE
from workbench.functions import ADD
from workbench.ir.reduce import focus
from workbench.ir.simulate import Simulator
from workbench.processors import CountDecimate, Cumulate, Trim, TurnInto


@pipeline(x=INT)
def figure_2a(x):
    return CountDecimate(3)(x) + x


def test_control_is_free_of_data() -> None:
    system = compose(figure_2a.resolve(Integer(1000)), 5)
    model = focus(system, [q.overflow for q in system.queues.values()])
    assert {v.name for v in model.system.variables} == {
        "decimate:position",
        "add.queue:lead",
        "(overflow):happened",
    }
    assert model.integers == frozenset()


def test_a_question_about_values_keeps_the_data_and_says_so() -> None:
    system = compose(figure_2a.resolve(Integer(5)))
    model = focus(system, [EQ(system.pipes["add"].value, 1)])
    assert model.integers == {Integer(5)}
    assert model.wraps is not FALSE
    assert {q.name for q in model.queues} == {"add.left", "add.right"}


def test_a_queue_outside_the_cone_does_not_bound_the_verdict() -> None:
    @pipeline(x=INT)
    def two_parts(x):
        grows = CountDecimate(3)(x) + x
        return grows, Trim(1)(x)

    system = compose(two_parts.resolve(Integer(4)))
    model = focus(system, [system.pipes["trim"].present])
    assert model.queues == ()
    assert model.overflow is FALSE


def test_after_an_overflow_the_state_stays_at_its_initial_value() -> None:
    system = compose(figure_2a.resolve(Integer(4)), 1)
    guarded = focus(system, [pipe.value for pipe in system.pipes.values()])
    simulator = Simulator(guarded.system, [guarded.overflow])
    flags = [step.labels[0] for step in simulator.trace([{"x": 3}] * 8)]
    assert flags == [False, False, True, True, True, True, True, True]
    after = dict(zip((v.name for v in guarded.system.variables), simulator.state, strict=True))
    assert after.pop("(overflow):happened") is True
    assert after == {v.name: v.initial for v in system.variables}


def test_wrapping_counts_only_where_the_value_is_used() -> None:
    @pipeline(x=INT)
    def ones(x):
        return Cumulate(ADD)(TurnInto(1)(x))

    system = compose(ones.resolve(Integer(3)))
    model = focus(system, [system.pipes["cumulate"].value])
    wraps = [s.labels[0] for s in Simulator(system, [model.wraps]).trace([{"x": 0}, {"x": 0}, {}, {"x": 0}, {"x": 0}])]
    # 1, 2, (nothing), 3 = 0, 1
    assert wraps == [False, False, False, True, False]
