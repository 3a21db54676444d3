"""Proofs by algebra: identities that hold, look-alikes that do not, and random systems run step by step."""

import math
from collections.abc import Mapping

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench.conformance.generate.pipelines import pipelines, traces
from workbench.core.domain import Range
from workbench.core.encoding import encode
from workbench.core.ops import EQ, GE, GT, LE, LT, NE, Operator
from workbench.core.term import var
from workbench.ir.compose import compose
from workbench.ir.simulate import Simulator
from workbench.ir.system import System
from workbench.processors.held.group import flatten
from workbench.smv.engines.engine import EngineLimits
from workbench.verify.answer.prepare import prepare
from workbench.verify.answer.settings import Settings
from workbench.verify.ask.environment import Arrivals
from workbench.verify.ask.equivalence import EquivalenceMode
from workbench.verify.ask.properties import Property, bounded_liveness, liveness, no_overflow
from workbench.verify.decide.algebra.polynomial import Generators, Polynomial, Rules
from workbench.verify.decide.algebra.relations import AlgebraDecider, MonomialKind, Relations
from workbench.verify.decide.algebra.translate import Translation
from workbench.verify.decide.explicit.decider import ExplicitDecider
from workbench.verify.decide.system_decider import OutOfLimits

SOURCE = wb.parse("""
pipeline sum_of_products(x: int, y: int) -> int { return x * x + x * y }
pipeline product_with_sum(x: int, y: int) -> int { return x * (x + y) }
pipeline summed_together(x: int, y: int) -> int { return cumulate(x + y, +) }
pipeline summed_apart(x: int, y: int) -> int { return cumulate(x, +) + cumulate(y, +) }
pipeline square(x: int, y: int) -> int { return cumulate(x + y, +) * cumulate(x + y, +) }
pipeline binomial(x: int, y: int) -> int {
    a = cumulate(x, +)
    b = cumulate(y, +)
    return a * a + a * b * 2 + b * b
}
pipeline without_the_middle(x: int, y: int) -> int {
    a = cumulate(x, +)
    b = cumulate(y, +)
    return a * a + b * b
}
pipeline window_sum(x: int) -> int { return window(x, 3, cumulate(+)) }
pipeline trim_sum(x: int) -> int { return x + trim(x, 1) + trim(x, 2) }
pipeline once(x: int) -> int { return cumulate(x, +) }
pipeline thrice(x: int) -> int { return cumulate(x * 3, +) }
pipeline shifted(x: int) -> int { return cumulate(x + 1, +) - cumulate(turn(x, 1), +) }
pipeline from_below(x: int) -> bool { return x + 1 > x }
pipeline parity(x: int) -> bool { return even(x * 3 + 3) }
pipeline other_parity(x: int) -> bool { return odd(x + 2) }
""")


def pipeline(name: str) -> wb.Pipeline:
    return SOURCE.get(name).pipeline


# --- identities -----------------------------------------------------------------------------------------------------


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "n", [3, pytest.param(256, marks=pytest.mark.slow), pytest.param(10**6, marks=pytest.mark.slow), 2**32]
)
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("sum_of_products", "product_with_sum"),
        ("summed_together", "summed_apart"),
        ("square", "binomial"),
        ("once", "shifted"),
        ("window_sum", "trim_sum"),  # what waits is equal only while the window is full
    ],
)
def test_identities_hold_for_numbers_of_any_size(left: str, right: str, n: int) -> None:
    """x(x + y) = xx + xy and its like hold in every ring; each side has its own queues, which run ahead by turns."""
    verdict = wb.equiv(pipeline(left), pipeline(right), "stepwise", Settings(n=n, q=2, engine="algebra"))
    assert verdict.outcome in ("holds", "holds-within-bounds")
    assert "algebra" in verdict.engine


def test_parities_of_polynomials() -> None:
    """3x + 3 is even just where x + 2 is odd, modulo an even number; modulo 5 it is not: x = 3 gives 2 and 0."""
    for n, holds in ((4, True), (2**32, True), (5, False)):
        verdict = wb.equiv(pipeline("parity"), pipeline("other_parity"), "stepwise", Settings(n=n, engine="algebra"))
        assert (verdict.outcome == "holds") is holds


@pytest.mark.sampled(3)
@pytest.mark.parametrize("n", [4, 256, 2**32])
@pytest.mark.parametrize(
    ("left", "right"),
    [("square", "without_the_middle"), ("once", "thrice"), ("sum_of_products", "summed_apart")],
)
def test_what_is_not_so_is_not_proved(left: str, right: str, n: int) -> None:
    verdict = wb.equiv(pipeline(left), pipeline(right), "stepwise", Settings(n=n, engine="algebra"))
    assert verdict.outcome == "unknown"
    assert "no relation that was found proves it" in verdict.reason


def test_numbers_are_compared_by_their_representatives() -> None:
    """x + 1 > x is false where it wraps, so it must not be proved from x + 1 - x = 1 > 0."""
    prop = wb.properties.property_from(wb.properties.parse_property("always (out)"))
    verdict = wb.check(pipeline("from_below"), prop, Settings(n=256, engine="algebra"))
    assert verdict.outcome == "unknown"


@pytest.mark.parametrize("op", [EQ, NE, LT, LE, GT, GE], ids=lambda op: op.name)
def test_comparisons_case_by_case_are_those_of_the_operators(op: Operator) -> None:
    """A range of three values, whose bits say which one it is, compared with a constant: the operator says the same."""
    generators, domain = Generators(10**4), Range(0, 2)
    found = Translation(generators, {None: Rules(generators, {})}).truth(op(var("x", domain), 1))
    for value in domain.values():
        bits = {generators.bit(code, "x"): int(code == value) for code in (1, 2)}
        total = sum(factor * math.prod(bits[g] for g in monomial) for monomial, factor in found.items())
        assert total == int(op.exact(value, 1))


def test_nothing_is_divided_by_two_modulo_an_even_number() -> None:
    """128 of 256: twice the difference of these is 0 at every step, and the difference is not."""
    source = """
pipeline lower(x: int) -> int { return cumulate(x, +) }
pipeline upper(x: int) -> int { return cumulate(x + 128, +) }
pipeline twice_lower(x: int) -> int { return cumulate(x, +) * 2 }
pipeline twice_upper(x: int) -> int { return cumulate(x + 128, +) * 2 }
"""
    parsed = wb.parse(source)
    found = Settings(n=256, engine="algebra")
    apart = wb.equiv(parsed.get("lower").pipeline, parsed.get("upper").pipeline, "stepwise", found)
    assert apart.outcome == "unknown"
    explicit = Settings(n=256, engine="pynusmv")
    apart = wb.equiv(parsed.get("lower").pipeline, parsed.get("upper").pipeline, "stepwise", explicit)
    assert apart.outcome == "fails"


@pytest.mark.slow
def test_auto_asks_it() -> None:
    """BDDs do not multiply words of 32 bits in 3 seconds."""
    left, right = pipeline("square"), pipeline("binomial")
    verdict = wb.equiv(left, right, "stepwise", Settings(n=2**32, q=2, seconds=60))
    assert verdict.outcome == "holds-within-bounds"
    assert "algebra" in verdict.engine


# --- random systems -------------------------------------------------------------------------------------------------


@given(data=st.data(), q=st.integers(0, 2), kind=st.sampled_from(MonomialKind))
@examples(60)
def test_relations_hold_at_every_step_of_random_runs(data: st.DataObject, q: int, kind: MonomialKind) -> None:
    drawn = data.draw(pipelines(max_bits=16))
    relations = found_for(compose(drawn, q), kind)
    simulator = Simulator(compose(drawn, q))
    for events in data.draw(traces(drawn)):
        state = simulator.step(events).state
        for over, rules in relations.rules.items():
            for monomial, by in rules.items():
                difference = value(relations, {monomial: 1}, state) - value(relations, by, state)
                assert difference == 0 if over is None else difference % over.n == 0


def found_for(system: System, kind: MonomialKind) -> Relations:
    """The relations of a kind, or those of the kinds before where these are too many."""
    generators, found = Generators(100_000), None
    for each in MonomialKind:
        if each <= kind:
            try:
                found = Relations(system, (), generators, each, found)
            except OutOfLimits:
                break
    assume(found is not None)
    assert found is not None
    return found


def value(relations: Relations, polynomial: Polynomial, state: Mapping[str, object]) -> int:
    """What a polynomial is in a state."""

    def number(generator: int) -> int:
        variable, code, _ = relations.aspects[generator]
        known = int(encode(variable.domain, state[variable.name]))
        return known if code is None else int(known == code)

    return sum(factor * math.prod(number(g) for g in monomial) for monomial, factor in polynomial.items())


@given(
    data=st.data(),
    q=st.integers(0, 2),
    prop=st.sampled_from([no_overflow(), bounded_liveness(1), bounded_liveness(3)]),
    arrivals=st.sampled_from(["free", "synchronised", "always"]),
)
@examples(60)
def test_what_it_proves_of_random_pipelines_is_so(
    data: st.DataObject, q: int, prop: Property, arrivals: Arrivals
) -> None:
    """The explicit engine, which shares nothing with it but the crawl, finds no state to the contrary."""
    found = Settings(q=q, environment=wb.Environment(arrivals))
    prepared = prepare(flatten(data.draw(pipelines(max_bits=10))), prop, found)
    for part in () if prepared.trivial else filter(None, (prepared.main, prepared.bound)):
        proved = AlgebraDecider().decide(part, EngineLimits()).answers
        searched = ExplicitDecider(plain_seconds=None).decide(part, EngineLimits()).answers
        for role, answer in proved.items():
            assert answer.truth is None or searched[role].truth is True, role


@given(data=st.data(), mode=st.sampled_from(["stepwise", "sequence"]), n=st.sampled_from([2, 3, 4]))
@examples(25)
def test_what_it_proves_equivalent_is_so(data: st.DataObject, mode: EquivalenceMode, n: int) -> None:
    """Two sums of products, written at random over the same streams."""
    texts = [f"pipeline {name}(x: int, y: int) -> int {{ return {data.draw(SUMS)} + x * y }}" for name in ("l", "r")]
    parsed = wb.parse("\n".join(texts))
    pair = parsed.get("l").pipeline, parsed.get("r").pipeline
    if wb.equiv(*pair, mode, Settings(n=n, q=1, engine="algebra", seconds=1)).outcome != "unknown":
        assert wb.equiv(*pair, mode, Settings(n=n, q=1, engine="pynusmv")).outcome != "fails"


SUMS = st.recursive(
    st.sampled_from(["x", "y", "x * y"]),
    lambda inner: (
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "*"]), inner)
        | inner.map("cumulate({}, +)".format)
        | inner.map("trim({}, 1)".format)
    ),
    max_leaves=4,
)


# --- bad input and limits -------------------------------------------------------------------------------------------


def test_what_it_does_not_decide_says_why() -> None:
    verdict = wb.check(pipeline("once"), liveness(), Settings(engine="algebra"))
    assert verdict.outcome == "unknown"
    assert verdict.reason == "it proves invariants only"


def test_it_keeps_to_its_time() -> None:
    joined = wb.parse("pipeline p(x: int) -> int { return x + trim(x, 1) }").get().pipeline
    part = prepare(joined.resolve(Settings().domain), no_overflow(), Settings()).main
    role = next(role for role, asked in part.questions.items() if asked.kind == "invar")
    answer = AlgebraDecider().decide(part, EngineLimits(seconds=0.0)).answers[role]
    assert (answer.truth, answer.reason) == (None, "the time was used up")
