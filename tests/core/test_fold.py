import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.core import ops
from workbench.core.domain import BOOL, Integer, Range
from workbench.core.evaluate import PythonSource, compile_terms
from workbench.core.fields import Tuple
from workbench.core.fold import Fold, postorder, substitute, variables
from workbench.core.term import const, var
from workbench.errors import UnsupportedNode

X, Y, P = var("x", Integer(5)), var("y", Integer(5)), var("p", BOOL)


class Names(Fold[str]):
    def on_var(self, term):
        return term.name

    def on_add(self, term, a, b):
        return f"{a} plus {b}"


def test_an_unknown_operator_is_refused_by_name():
    assert Names()(X + Y) == "x plus y"
    with pytest.raises(UnsupportedNode, match=r"Names has no rule for mul in mul\(x, y\)"):
        Names()(X * Y + X)
    with pytest.raises(UnsupportedNode, match="no rule for constant"):
        Names()(X + 1)
    with pytest.raises(UnsupportedNode, match="no rule for variable"):
        PythonSource({}, {})(X)


def test_shared_terms_are_visited_once():
    seen = []

    class Count(Names):
        def on_add(self, term, a, b):
            seen.append(term)
            return ""

    twice = X + Y
    Count()(twice + twice)
    assert len(seen) == 2


def test_postorder_of_many_roots():
    order = list(postorder([X + Y, X, (X + Y) * X]))
    assert order == [X, Y, X + Y, (X + Y) * X]
    assert list(postorder([(X + Y) * X], {X + Y})) == [X, (X + Y) * X]


def test_variables_in_order_of_appearance():
    assert variables([(Y + 1, P), X + Y]) == {"y": Integer(5), "p": BOOL, "x": Integer(5)}


@given(st.integers(0, 4), st.integers(0, 4), st.booleans())
def test_substitution_commutes_with_evaluation(x, y, p):
    value = (ops.ite(P, X + Y, X * Y), ops.both(P, X < Y))
    replaced = substitute(value, {X: Y + 1, P: ops.negate(P)})
    assert compile_terms([replaced], [X, Y, P])(x, y, p) == compile_terms([value], [X, Y, P])((y + 1) % 5, y, not p)


def test_substituting_constants_simplifies():
    assert substitute(ops.ite(P, X, Y), {P: const(True, BOOL)}) is X
    assert substitute(X + Y, {Y: const(0, Integer(5))}) is X


def test_casts_survive_substitution():
    wide = ops.Conversion.to(X, Range(0, 9))
    assert substitute(wide, {X: Y}) is ops.Conversion.to(Y, Range(0, 9))


@pytest.mark.parametrize("depth", [10, 1000])
def test_deep_terms_compile(depth):
    """Python's parser gives up at 200 nested parentheses."""
    term, choice = X, X
    for i in range(depth):
        term = term + Y
        choice = ops.ite(ops.EQ(Y, i % 5), (i + 1) % 5, choice * X)
    assert compile_terms([term], [X, Y])(1, 2) == ((1 + 2 * depth) % 5,)
    assert compile_terms([choice], [X, Y])(1, 4) == (0,)


def test_compiled_functions_take_and_give_leaves():
    pair = var("t", Tuple((Integer(3), BOOL)))
    swapped = (pair[1], (pair[0], pair[0] + 1))
    assert compile_terms([swapped], [pair])(2, True) == (True, 2, 0)
    assert compile_terms([], [pair])(2, True) == ()
