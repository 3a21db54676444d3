"""Registers that are always equal: what structure says is true on every run, and nothing else changes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench.conformance.generate.pipelines import pipelines, traces
from workbench.core.domain import BOOL, Integer
from workbench.core.ops import ADD, AND, EQ, ite, negate
from workbench.core.term import FALSE, TRUE, const, var
from workbench.ir.compose import compose
from workbench.ir.correspond import correspond
from workbench.ir.simulate import Simulator
from workbench.ir.system import StateVariable, System
from workbench.processors.held.group import flatten
from workbench.verify.ask.equivalence import side_by_side

FOUR = Integer(4)


def system_of(*variables: StateVariable, **free: Any) -> System:
    return System("two", (), variables, (), (), {}, (), free={f"{name}:value": d for name, d in free.items()})


def register(name: str, following: Any, initial: Any = 0) -> StateVariable:
    return StateVariable(f"s:{name}", FOUR, initial, following)


A, B, C = (var(f"s:{name}", FOUR) for name in "abc")
X = var("x:value", FOUR)


def test_two_copies_of_a_sum_are_one() -> None:
    found = correspond(system_of(register("a", ADD(A, X)), register("b", ADD(X, B)), x=FOUR))
    assert found.equal == {B: A}
    assert found.simplify(EQ(A, B)) is TRUE
    assert [v.name for v in found.reduce_system().variables] == ["s:a"]


def test_registers_that_start_apart_stay_apart() -> None:
    found = correspond(system_of(register("a", ADD(A, X)), register("b", ADD(B, X), 1), x=FOUR))
    assert not found.equal


def test_what_depends_on_different_registers_is_told_apart() -> None:
    """c counts what b holds, and b is not a, although each starts at 0."""
    following = [register("a", ADD(A, X)), register("b", ADD(B, ADD(X, 1))), register("c", ADD(C, B))]
    assert not correspond(system_of(*following, x=FOUR)).equal


def test_a_register_that_never_changes_is_a_constant() -> None:
    """a is added to itself from 0; b takes a when it is not 0."""
    found = correspond(system_of(register("a", ite(EQ(A, 0), A, ADD(A, X))), register("b", A), x=FOUR))
    zero = const(0, FOUR)
    assert found.equal == {A: zero, B: zero}


def test_registers_can_be_left_alone() -> None:
    found = correspond(system_of(register("a", ADD(A, X)), register("b", ADD(B, X)), x=FOUR), ["s:b"])
    assert not found.equal


def test_a_queue_between_two_that_keep_pace_is_empty() -> None:
    p, q = var("p:present", BOOL), var("s:level", BOOL)
    level = StateVariable("s:level", BOOL, False, AND(p, negate(p)))
    found = correspond(System("level", (), (level,), (), (), {}, (), free={"p:present": BOOL}))
    assert found.equal == {q: FALSE}


@given(data=st.data(), q=st.integers(0, 2), mode=st.sampled_from(["sequence", "stepwise"]))
@examples(60)
def test_on_every_run_equal_registers_are_equal_and_the_reduced_system_shows_the_same(
    data: st.DataObject, q: int, mode: Any
) -> None:
    """A random pipeline beside itself, also after overflows."""
    left = data.draw(pipelines(max_inputs=1, max_bits=16))
    both, prop = side_by_side(left, left, mode)
    system = prop.question(compose(flatten(both), q)).system
    found = correspond(system)
    reduced = found.reduce_system()
    simulator, smaller = Simulator(system), Simulator(reduced)
    names = [v.name for v in system.variables]
    for events in data.draw(traces(left)):
        one, two = simulator.step(events), smaller.step(events)
        assert (one.pipes, one.queues, one.overflows) == (two.pipes, two.queues, two.overflows)
        values = dict(zip(names, simulator.state, strict=True))
        for variable, other in found.equal.items():
            expected = other.payload if other.is_const else values[other.name]
            assert values[variable.name] == expected


@given(data=st.data(), q=st.integers(0, 2), mode=st.sampled_from(["sequence", "stepwise"]))
@examples(25)
def test_what_structure_proves_the_engines_confirm(data: st.DataObject, q: int, mode: Any) -> None:
    """With `all` an engine that refutes what structure proves is an error."""
    left = data.draw(pipelines(max_inputs=1, max_bits=8, most_events=1))
    found = wb.Settings(q=q, engine="all", grow=0.5)
    verdict = wb.equiv(left, left, mode, found)
    nothing = verdict.vacuity is not None and verdict.outcome is wb.Outcome.UNKNOWN  # no event is compared
    assert nothing or verdict.outcome in (wb.Outcome.HOLDS, wb.Outcome.WITHIN_BOUNDS)
    alone = wb.equiv(left, left, mode, wb.Settings(q=q, grow=0.5))
    assert alone.outcome is verdict.outcome
    assert any("structure" in said for said in alone.rests_on) or alone.engine == "none needed"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("engine", ["auto", "explicit", "all"])
def test_sums_that_nothing_shows_may_wrap(engine: str) -> None:
    """The value of the sum is looked at, and whether there is one is not: no event passes `prefix(..., 0)`."""
    left = wb.parse("pipeline p(x: int mod 2) -> int mod 2 { return prefix(x + x, 0) }").get()
    verdict = wb.equiv(left, left, "sequence", wb.Settings(q=0, engine=engine, grow=0.5))
    assert (verdict.outcome, verdict.vacuity is None) == (wb.Outcome.UNKNOWN, False)


@pytest.mark.slow
def test_large_domains_cost_nothing() -> None:
    source = "pipeline product(x: int) -> int { return window(x, 3, cumulate(*)) * cumulate(x, *) }"
    product = wb.parse(source).get().pipeline
    verdict = wb.equiv(product, product, "sequence", wb.Settings(n=2**32, q=64, seconds=20))
    assert verdict.outcome is wb.Outcome.HOLDS
    assert verdict.engine.startswith("structure")
