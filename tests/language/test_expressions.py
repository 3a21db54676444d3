"""Precedence, and text that reads back as the same tree."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.language import parse_expression, parse_property
from workbench.language.syntax import (
    Call,
    Expression,
    Field,
    Identifier,
    Index,
    Instantiation,
    Literal,
    Operation,
    ParameterArgument,
    Temporal,
    TupleOf,
)

PRECEDENCE = {
    "a + b * c": "a + (b * c)",
    "a - b - c": "(a - b) - c",
    "a * b div c mod d": "((a * b) div c) mod d",
    "-a * b": "(-a) * b",
    "- - a": "-(-a)",
    "a + -b": "a + (-b)",
    "a + b < c * d": "(a + b) < (c * d)",
    "not a = b": "not (a = b)",
    "not a and b": "(not a) and b",
    "a or b and c": "a or (b and c)",
    "a and b -> c or d": "(a and b) -> (c or d)",
    "a -> b -> c": "a -> (b -> c)",
    "if a then b else c + 1": "if a then b else (c + 1)",
    "if a then b else if c then d else e": "if a then b else (if c then d else e)",
    "a & b | !c": "(a and b) or (not c)",
    "G F x.present -> G F y.present": "(G (F (x.present))) -> (G (F (y.present)))",
    "AG EF x.present and y = 1": "(AG (EF (x.present))) and (y = 1)",
    "G x = 1": "G (x = 1)",
    "p U q and r": "(p U q) and r",
    "p U q U r": "p U (q U r)",
    "x.a.b": "(x.a).b",
    "x.0.1": "(x.0).1",
    "-t[i + 1].0 * a": "(-((t[(i + 1)]).0)) * a",
    "t[u[i]] = F[1]": "(t[(u[i])]) = (F[1])",
}


@pytest.mark.parametrize(("short", "long"), PRECEDENCE.items())
def test_precedence(short, long):
    assert parse_expression(short) == parse_expression(long)


def test_the_tree_of_every_atom():
    assert parse_expression("3") == Literal(3)
    assert parse_expression("2.5") == Literal(2.5)
    assert parse_expression("true") == Literal(True)
    assert parse_expression('"a # b"') == Literal("a # b")
    assert parse_expression("queue(add.left).length") == Field(
        Call("queue", (Field(Identifier("add"), "left"),)), "length"
    )
    assert parse_expression("E[p U q]") == Temporal("EU", (Identifier("p"), Identifier("q")))
    assert parse_expression("(a, 1)") == TupleOf((Identifier("a"), Literal(1)))
    assert parse_expression("sum<3, k = 2>") == Instantiation(
        "sum", (ParameterArgument(None, Literal(3)), ParameterArgument("k", Literal(2)))
    )


def test_a_comparison_is_not_taken_for_parameters():
    assert parse_expression("(a<b and c>d)") == parse_expression("(a < b) and (c > d)")
    assert parse_expression("a < b") == Operation("<", (Identifier("a"), Identifier("b")))


UNARY = ("G", "F", "X", "AG", "AF", "AX", "EG", "EF", "EX")


@pytest.mark.parametrize("word", ["A", "E", "U", "R", *UNARY])
def test_temporal_words_are_names_where_no_operand_follows(word):
    """Rules may emit an `E`, which is asked about as any other; before an operand it is the operator."""
    for text in ("{}", "not {}", "{}.x = 1", "{} -> {}", "{} and {}", "if {} then {} else {}", "1 < {}", "G {}"):
        one, other = (text.replace("{}", name) for name in (word, "yy"))
        assert str(parse_expression(one)) == str(parse_expression(other)).replace("yy", word)
        assert str(parse_property(f"ltl({one})").argument) == str(parse_expression(one))
    assert parse_property(f"never({word})").argument == Identifier(word)
    if word in UNARY:
        assert parse_expression(f"{word} p") == Temporal(word, (Identifier("p"),))
        assert str(parse_expression(f"{word} (-1 < p)")).startswith(f"{word} ")
    else:
        assert parse_expression(f"{word} U p") == Temporal("U", (Identifier(word), Identifier("p")))


def test_temporal_words_are_names_where_there_are_no_properties():
    from workbench.language import parse

    made = parse("pipeline p(G: int, U: int) -> int { X = G + U\n return X }").get().pipeline
    assert made.denote([[1, 2], [3, 4]]) == ([4, 6],)


def test_places_are_those_of_operators_and_names():
    e = parse_expression("ab + f(cd)")
    assert isinstance(e, Operation)
    assert [(e.where.line, e.where.column)] + [(o.where.line, o.where.column) for o in e.operands] == [
        (1, 4), (1, 1), (1, 6),
    ]  # fmt: skip


NAMES = st.sampled_from(["a", "b", "count", "x1"]).map(Identifier)
LITERALS = st.one_of(st.integers(0, 99), st.booleans(), st.sampled_from(["red", ""])).map(Literal)


def operation(*names: str, operands: int = 2):
    return lambda inner: st.builds(Operation, st.sampled_from(names), st.tuples(*[inner] * operands))


def extend(inner):
    binary = ["+", "-", "*", "div", "mod", "=", "!=", "<", "<=", ">", ">=", "and", "or", "->"]
    return st.one_of(
        operation(*binary)(inner),
        operation("neg", "not", operands=1)(inner),
        operation("if", operands=3)(inner),
        st.builds(Temporal, st.sampled_from(["AG", "EX", "G", "F", "X"]), st.tuples(inner)),
        st.builds(Temporal, st.sampled_from(["U", "R", "AU", "EU"]), st.tuples(inner, inner)),
        st.builds(Field, inner, st.sampled_from(["present", "0"])),
        st.builds(Call, st.just("max"), st.tuples(inner, inner)),
        st.builds(Index, inner, inner),
        st.builds(TupleOf, st.tuples(inner, inner)),
    )


EXPRESSIONS: st.SearchStrategy[Expression] = st.recursive(NAMES | LITERALS, extend, max_leaves=12)


@given(EXPRESSIONS)
def test_text_reads_back(e):
    assert parse_expression(str(e)) == e
