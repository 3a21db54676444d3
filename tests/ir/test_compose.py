"""The crawl: pipelines as transition systems, evaluated directly."""

from __future__ import annotations

from typing import Any

import pytest

from workbench import BOOL, INT, Builder, Enum, Integer, Range, compose, pipeline
from workbench.core.domain import Overflowing
from workbench.core.processor import END
from workbench.errors import DomainError, PipelineError, Refused
from workbench.functions import ADD, user_function
from workbench.ir.simulate import Simulator
from workbench.ir.system import System
from workbench.processors import CountDecimate, Cumulate, Filter, Trim, TurnInto, Window  # fmt: skip


@pipeline(x=INT)
def figure_2a(x):
    return CountDecimate(3)(x) + x


@pipeline(x=INT)
def delayed_sum(x):
    return x + Trim(1)(x)


def run(system: System, values: list[int]) -> list[int | None]:
    (_, pipe), *_ = system.outputs
    simulator, found = Simulator(system), []
    for step in simulator.trace([{"x": v} for v in values]):
        found.append(step.pipes[pipe])
        for variable, value in zip(system.variables, simulator.state, strict=True):
            assert value in variable.domain or step.overflows
    return found


def test_figure_2a_emits_x3j_plus_xj_and_its_lower_queue_grows() -> None:
    system = compose(figure_2a.resolve(Integer(100)), 10)
    steps = list(Simulator(system).trace([{"x": i} for i in range(10)]))
    assert [s.pipes["add"] for s in steps] == [0, None, None, 4, None, None, 8, None, None, 12]
    assert [s.queues["add.right"] for s in steps] == [0, 1, 2, 2, 3, 4, 4, 5, 6, 6]
    assert all(s.queues["add.left"] == 0 for s in steps)


def test_one_store_per_binary_join() -> None:
    """Queues of one domain share their slots: at most one of them holds anything."""
    names = [v.name for v in compose(figure_2a.resolve(Integer(5)), 3).variables]
    assert names == ["decimate:position", *(f"add.queue:{n}" for n in ("lead", "slot0", "slot1", "slot2"))]


def test_overflow_is_reported_at_the_step_at_which_the_event_finds_no_room() -> None:
    steps = Simulator(compose(figure_2a.resolve(Integer(5)), 1)).trace_to_overflow([{"x": 0}] * 9)
    assert [s.overflows for s in steps] == [(), (), ("add.right",)]


def test_an_event_that_is_consumed_at_once_needs_no_slot() -> None:
    system = compose(delayed_sum.resolve(Integer(50)), {"add.left": 1, "add.right": 0})
    assert run(system, [1, 2, 3, 4]) == [None, 3, 5, 7]
    assert not any(step.overflows for step in Simulator(system).trace([{"x": 1}] * 20))


def test_steps_without_input_change_nothing() -> None:
    simulator = Simulator(compose(figure_2a.resolve(Integer(5))))
    for event in ({"x": 1}, {"x": 2}):
        simulator.step(event)
    before = simulator.state
    quiet = simulator.step({})
    assert simulator.state == before
    assert set(quiet.pipes.values()) == {None}


def test_saturating_and_modular_sums() -> None:
    @pipeline(x=INT)
    def total(x):
        return Cumulate(ADD)(x)

    assert run(compose(total.resolve(Integer(4))), [3, 3, 3]) == [3, 2, 1]
    assert run(compose(total.resolve(Integer(4, Overflowing.SATURATING))), [2, 3, 3]) == [2, 3, 3]


def test_an_enumeration_through_a_filter() -> None:
    colour = Enum(("red", "green"))
    builder = Builder("only_red")
    x, b = builder.input("x", colour), builder.input("keep", BOOL)
    system = compose(builder.build(Filter()(x, b)))
    steps = list(Simulator(system).trace([{"x": "green"}, {"keep": True}, {"x": "red", "keep": False}]))
    assert [s.pipes["filter"] for s in steps] == [None, "green", None]


def test_a_user_function_is_tabulated_when_it_can_be() -> None:
    square = user_function(lambda v: v * v, result=Range(0, 9), name="square")

    @pipeline(x=Range(0, 3))
    def squares(x):
        return square(x)

    assert run(compose(squares), [0, 1, 2, 3]) == [0, 1, 4, 9]


def test_a_user_function_on_a_large_domain_is_refused_with_its_name() -> None:
    @pipeline(x=Range(0, 100_000))
    def squares(x):
        return user_function(lambda v: v % 7, result=Range(0, 6), name="weekday")(x)

    with pytest.raises(Refused, match="'weekday' has no translation and more than 4096 argument values"):
        compose(squares)


def test_infinite_domains_are_refused_by_name() -> None:
    with pytest.raises(Refused, match="input 'x' carries int, which is not finite"):
        compose(figure_2a)


def test_a_constant_that_is_not_in_the_domain() -> None:
    @pipeline(x=INT)
    def sevens(x):
        return TurnInto(7)(x)

    with pytest.raises(DomainError, match=r"'turn'.*the constant 7 is not in the domain int mod 4"):
        sevens.resolve(Integer(4))


def test_an_unknown_queue_and_a_negative_capacity() -> None:
    finite = figure_2a.resolve(Integer(4))
    with pytest.raises(PipelineError, match=r"no queue 'add.lower'"):
        compose(finite, {"add.lower": 2})
    with pytest.raises(DomainError, match="cannot be negative"):
        compose(finite, -1)


def test_the_end_of_the_stream_is_an_input() -> None:
    @pipeline(x=Range(0, 3))
    def last(x):
        return CountDecimate(3, last=True)(x)

    simulator = Simulator(compose(last))
    steps = [simulator.step(events) for events in ({"x": 0}, {"x": 1}, {"x": 2}, END)]
    assert [step.pipes["decimate"] for step in steps] == [0, None, None, 2]


@pytest.mark.parametrize("encoding", ["events", "copies"])
def test_both_encodings_of_a_window_of_windows(encoding: Any) -> None:
    @pipeline(x=Range(0, 3))
    def nested(x):
        return Window(2, Window(2, _sum(), encoding), encoding)(x)

    # the inner window's last (only) output over two events is their sum; a window of 2 holds one such pair
    assert run(compose(nested), [1, 2, 3, 1]) == [None, 3, 5, 4]


def _sum() -> Cumulate:
    from workbench.core.function import Function

    return Cumulate(Function("capped", 2, lambda a, b: (a + b) % 16, start=0), domain=Range(0, 15))


def test_groups_are_transparent_and_keep_their_names() -> None:
    outer = Builder("outer")
    x = outer.input("x", INT)
    y = outer.add(delayed_sum, [x], name="pair")
    system = compose(outer.build(y + 1).resolve(Integer(50)))
    assert "pair.add.left" in system.queues
    assert "pair.trim" in system.pipes
    assert run(system, [1, 2, 3]) == [None, 4, 6]
