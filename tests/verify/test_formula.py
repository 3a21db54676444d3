"""Formulas: negation normal form and what overflow may conclude, against a brute-force evaluator."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.core.domain import BOOL
from workbench.core.evaluate import compile_terms
from workbench.core.term import FALSE, var
from workbench.errors import WorkbenchError
from workbench.verify.ask.formula import Formula, atom, build, nnf, to_smv, weaken

P, Q, OVERFLOW = var("p", BOOL), var("q", BOOL), var("o", BOOL)


def ctl(depth: int = 3) -> st.SearchStrategy[Formula]:
    leaves = st.sampled_from([atom(P), atom(Q)])
    unary = st.sampled_from(["AG", "AF", "AX", "EG", "EF", "EX", "not"])
    binary = st.sampled_from(["AU", "EU", "and", "or", "implies"])
    return st.recursive(
        leaves,
        lambda inner: st.builds(build, unary, inner) | st.builds(build, binary, inner, inner),
        max_leaves=4,
    )


@st.composite
def structures(draw: st.DrawFn) -> nx.DiGraph:
    """A small total Kripke structure; state 0 is initial."""
    size = draw(st.integers(1, 4))
    graph = nx.DiGraph()
    for state in range(size):
        graph.add_node(state, p=draw(st.booleans()), q=draw(st.booleans()), o=False)
        targets = draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=2))
        graph.add_edges_from((state, target) for target in targets)
    return graph


def satisfying(formula: Formula, graph: nx.DiGraph) -> set[int]:
    """The states at which a CTL formula is true, by the textbook fixpoints."""
    everything = set(graph)
    if formula.term is not None:
        run = compile_terms([formula.term], [P, Q, OVERFLOW])
        return {s for s, d in graph.nodes(data=True) if run(d["p"], d["q"], d["o"])[0]}
    parts = [satisfying(arg, graph) for arg in formula.args]
    a, b = parts[0], parts[-1]

    def some(target: set[int]) -> set[int]:
        return {s for s in everything if target & set(graph.successors(s))}

    def every(target: set[int]) -> set[int]:
        return {s for s in everything if set(graph.successors(s)) <= target}

    def least(step, keep: set[int], target: set[int]) -> set[int]:
        found: set[int] = set()
        while (grown := target | (keep & step(found))) != found:
            found = grown
        return found

    rules = {
        "not": lambda: everything - a,
        "and": lambda: a & b,
        "or": lambda: a | b,
        "implies": lambda: (everything - a) | b,
        "EX": lambda: some(a),
        "AX": lambda: every(a),
        "EF": lambda: least(some, everything, a),
        "AF": lambda: least(every, everything, a),
        "EG": lambda: everything - least(every, everything, everything - a),
        "AG": lambda: everything - least(some, everything, everything - a),
        "EU": lambda: least(some, a, b),
        "AU": lambda: least(every, a, b),
    }
    return rules[formula.op]()


@given(ctl(), structures())
def test_negation_normal_form_means_the_same(formula: Formula, graph: nx.DiGraph) -> None:
    assert satisfying(nnf(formula), graph) == satisfying(formula, graph)
    assert satisfying(nnf(formula, negated=True), graph) == set(graph) - satisfying(formula, graph)


@given(ctl(), structures(), st.lists(st.booleans(), min_size=4, max_size=4))
def test_overflow_never_decides(formula: Formula, graph: nx.DiGraph, cut: list[bool]) -> None:
    """Cut some states off behind a sink with the flag set: what is then decided is true of the whole."""
    cut_off = {s for s in graph if cut[s] and s != 0}
    bounded = nx.DiGraph()
    bounded.add_node("sink", p=False, q=False, o=True)
    bounded.add_edge("sink", "sink")
    for state, data in graph.nodes(data=True):
        if state not in cut_off:
            bounded.add_node(state, **data)
    for a, b in graph.edges:
        if a not in cut_off:
            bounded.add_edge(a, "sink" if b in cut_off else b)
    truth = 0 in satisfying(formula, graph)
    could = 0 in satisfying(weaken(formula, OVERFLOW), bounded)
    must = 0 in satisfying(weaken(formula, OVERFLOW, optimistic=False), bounded)
    assert must <= truth <= could


def test_without_overflow_nothing_changes() -> None:
    formula = build("AG", build("EF", atom(P)))
    assert weaken(formula, FALSE) is formula


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (build("AG", build("EF", atom(P))), "AG (EF (p))"),
        (build("implies", build("G", atom(P)), build("F", atom(Q))), "(G (p) -> F (q))"),
        (build("AU", atom(P), atom(Q)), "A [p U q]"),
        (build("V", atom(P), atom(Q)), "(p V q)"),
        (build("not", build("X", atom(P))), "!(X (p))"),
    ],
)
def test_printing(formula: Formula, text: str) -> None:
    assert to_smv(formula, lambda term: term.name) == text


def test_boolean_operators_over_states_stay_one_term() -> None:
    assert build("and", atom(P), build("not", atom(Q))).term is not None
    assert build("AG", build("or", atom(P), atom(Q))).args[0].term is not None


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("AG (out > 3)", "ctl(AG (out > 3))"),
        ("G F out.present", "ltl(G F out.present)"),
        ("G > 3", "always (G > 3)"),  # an input may have this name
    ],
)
def test_a_formula_without_its_logic_has_a_hint(text, hint):
    program = wb.parse("pipeline p(G: 0..7) -> 0..7 { return G }").get("p")
    with pytest.raises(WorkbenchError) as caught:
        wb.check(program, text)
    assert caught.value.hint.startswith(f"write {hint}")
    assert wb.check(program, hint).outcome is not None
