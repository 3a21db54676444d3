"""State machines against runs worked out by hand, and against a Python class that does the same."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.processors.common import machined, stepped, typed
from workbench.conformance.compare.differential import check
from workbench.conformance.compare.executables import Denoting, Running
from workbench.conformance.compare.models import Evaluated, Simulated
from workbench.core import function as f
from workbench.core.domain import BOOL, INT, Enum, Integer, Range
from workbench.core.function import Function
from workbench.errors import DomainError, LanguageError, PipelineError, TypingError
from workbench.language import parse
from workbench.processors.moore import Moore, Transition, Variable
from workbench.show.draw import draw
from workbench.verify.answer.problem import check as verify
from workbench.verify.answer.settings import Settings
from workbench.verify.ask.labels import property_from

T, F = True, False


def of(name, arity=1, *, body):
    return Function(name, arity, body)


ODD = Moore((("even", of("no", body=lambda x: F)), ("odd", of("yes", body=lambda x: T))),
            (Transition("even", "odd", of("x", body=lambda x: x)),
             Transition("odd", "even", of("x", body=lambda x: x))))  # fmt: skip


def test_parity():
    """The start state's output is not emitted; without a transition the machine stays, and emits again."""
    ready = typed(ODD, BOOL)
    expected = (["odd", "odd", "even"], [T, T, F])
    assert ready.denote(([T, F, T],)) == stepped(ready, [[T, F, T]]) == expected
    assert machined(ready, [BOOL], [[T, F, T]]) == expected
    assert ready.results((BOOL,)) == (Enum(("even", "odd")), BOOL)
    assert ready.denote(([],)) == ([], [])


def test_the_first_guard_that_is_true_is_taken():
    positive = of("x > 0", body=lambda x: f.GT.build(x, 0))
    machine = Moore(
        (("a", None), ("b", None), ("c", None), ("d", None)),
        (Transition("a", "b", positive), Transition("a", "c", f.ODD), Transition("a", "d"), Transition("b", "a")),
    )
    ready = typed(machine, Range(-2, 2))
    for value, target in ((1, "b"), (-1, "c"), (-2, "d"), (0, "d")):
        assert stepped(ready, [[value]]) == machined(ready, [Range(-2, 2)], [[value]]) == ([target],)
    assert ready.denote(([2, 0, -1],)) == (["b", "a", "c"],)


def test_updates_are_made_all_at_once_and_before_the_output():
    swap = (("m", of("n", 3, body=lambda x, m, n: n)), ("n", of("m", 3, body=lambda x, m, n: m)))
    machine = Moore(
        (("s", of("m", 3, body=lambda x, m, n: m)),),
        (Transition("s", "s", None, swap),),
        (Variable("m", Range(0, 3), 1), Variable("n", Range(0, 3), 2)),
    )
    ready = typed(machine, BOOL)
    assert stepped(ready, [[T, T, T]]) == ready.denote(([T, T, T],)) == (["s"] * 3, [2, 1, 2])
    assert machined(ready, [BOOL], [[T, T, T]]) == (["s"] * 3, [2, 1, 2])


def test_states_may_be_silent():
    machine = Moore((("a", None), ("b", of("x", body=lambda x: x))), (Transition("a", "b"), Transition("b", "a")))
    ready = typed(machine, Integer(4))
    assert stepped(ready, [[1, 2, 3]]) == machined(ready, [Integer(4)], [[1, 2, 3]]) == (["b", "a", "b"], [1, 3])


def test_several_inputs():
    machine = Moore((("a", of("x + y", 2, body=f.ADD.build)),), (), ways=2)
    ready = typed(machine, Integer(4), Integer(4))
    assert stepped(ready, [[1, 2], [3, 3, 1]]) == (["a", "a"], [0, 1])
    assert ready.joins


TURNSTILE = """
# Lets one pass for each coin, `most` at all.
machine turnstile<most = 3>(e: {coin, push}) -> bool {
    var passed: 0..5 = 0
    state locked: false
    state open: true
    state full: passed < most
    locked -> full when passed = most
    locked -> open when e = coin
    open -> locked when e = push / passed := min(passed + 1, 5)
    check ctl(not e.present -> EF state = full)
    check ctl(AG (state = full -> AG (state.present -> state = full)))
    check always (out -> not state = locked)
    check always (state = locked -> e = coin)
}

machine phase(e: bool) { state a  state b  a -> b when e  b -> a when not e }

pipeline twice(e: {coin, push}) -> bool, {a, b} {
    t = turnstile<2>(e)
    return t, phase(t)
}
"""


class Turnstile:
    """The same in Python."""

    def __init__(self, most):
        self.most, self.passed, self.state = most, 0, "locked"

    def step(self, e):
        if self.state == "locked" and self.passed == self.most:
            self.state = "full"
        elif self.state == "locked" and e == "coin":
            self.state = "open"
        elif self.state == "open" and e == "push":
            self.state, self.passed = "locked", min(self.passed + 1, 5)
        return self.state, {"locked": False, "open": True, "full": self.passed < self.most}[self.state]


@examples(40)
@given(st.integers(0, 3), st.lists(st.sampled_from(["coin", "push"]), max_size=10))
def test_the_language(most, events):
    pipeline = parse(TURNSTILE).get("turnstile", most=most).pipeline
    python = Turnstile(most)
    expected = [python.step(e) for e in events]
    steps = [{"e": e} for e in events]
    for executable in (Running(pipeline), Denoting(pipeline), Evaluated(pipeline)):
        assert [(o.pipes["state"], o.pipes["out"]) for o in executable.trace(steps)] == expected


@pytest.mark.parametrize("other", [Denoting, Evaluated, Simulated])
def test_in_a_pipeline(other):
    pipeline = parse(TURNSTILE).get("twice").pipeline
    steps = [{"e": e} for e in ("coin", "coin", "push", "push", "coin", "push", "coin")]
    check(pipeline, steps, Running(pipeline), other(pipeline))
    assert pipeline.denote([[s["e"] for s in steps]])[1] == ["b", "b", "a", "a", "b", "a", "a"]


def test_they_are_checked():
    """What may follow what, and that no state is dead."""
    loaded = parse(TURNSTILE).get("turnstile")
    found = [verify(loaded.pipeline, property_from(c), Settings(n=2)) for c in loaded.checks]
    assert [str(v.outcome) for v in found] == ["holds", "holds", "holds", "fails"]


def test_records_have_their_field_names():
    text = """
    machine last(e: {kind: {a, b}, at: {x: int, y: int}}) -> int {
        var y: int = 0
        state s: y
        s -> s when e.kind = a and e.at.x > 1 / y := e.at.y
    }"""
    assert parse(text).get().pipeline.denote([[("a", (2, 7)), ("b", (2, 9)), ("a", (1, 5))]]) == ([7, 7, 7],)
    small = parse(text).get().pipeline.resolve(Integer(4))
    steps = [{"e": ("a", (2, 3))}, {"e": ("b", (2, 1))}]
    check(small, steps, Running(small), Evaluated(small))


def test_capacities_and_drawing():
    text = "machine both(x: bool, y: bool) { state a capacity queue(machine.right) = 1 a -> a when x and y }"
    assert parse(text).get().pipeline.capacities == {"machine.right": 1}
    picture = draw(parse(TURNSTILE).get("turnstile").pipeline)
    assert re.search(r"peripheries=2.*\n.*<B>open</B>", picture)
    assert "passed := min(passed + 1, 5)" in picture
    assert picture.count("ellipse") == 3


MISTAKES = {
    "never taken": ("state a: x\na -> a\n§a -> a when x > 1", "is never taken"),
    "no condition": ("state a: x\n§a -> a when x", "'x' is not a condition: it gives int"),
    "unknown name": ("state a: §y", "there is no 'y' here"),
    "unknown variable": ("state a: x\na -> a / §n := 1", "there is no variable 'n'"),
    "unknown field": ("state a: x\na -> a when r.§k = 1", "has no field 'k'"),
    "unknown function": ("state a: §g(x)", "there is no function 'g'"),
    "no such target": ("state a: x\na -> §b", "no state 'b'"),
    "no such source": ("state a: x\n§b -> a", "no state 'b'"),
    "two states": ("state a: x\nstate §a: x", "two states called 'a'"),
    "two values": ("var n: int = 0\nstate a: x\n§a -> a / n := 1, n := 2", "gives 'n' two values"),
    "taken": ("var §x: int = 0\nstate a: x", "the name 'x' is taken"),
    "too wide": ("var n: 0..3 = 0\nstate a: x\na -> a / §n := n + 4", "'n' of 0..3 gets 4..7"),
    "no range": ("var n: int mod 4 = 0\nstate a: x\na -> a / §n := 4", "'n' of int mod 4 gets 4"),
    "too wide, to no state": (
        "var n: 0..3 = 0\nstate a: x\na -> §bb / n := 5\nstate b: x",
        "the transition a -> bb: 'n' of 0..3 gets 5",
    ),
    "start": ("var n: 0..3 = 7\nstate a: x", "begins with 7"),
    "silent": ("state a", "no state of machine m emits anything"),
    "wrong output": ("state a: true", "state a emits bool, not int"),
    "no state": ("", "has no state"),
    "no colon": ("state a §true", "expected ':'"),
    "no colon before a label": ("state a p\n§state b q", "expected '->'"),
    "no :=": ("var n: int = 0\nstate a: x\na -> a when x = 1 / n §= 2", "expected"),
    "no := and no guard": ("var n: int = 0\nstate a: x\na -> a §/ n = 2", "expected"),
    "if": ("state a: x\na -> a §if x > 1", "expected"),
}


@pytest.mark.parametrize(("body", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(body, message):
    text = "machine m(x: int, r: {p: int}) -> int {\n" + body + "\n}"
    before, marker, _ = text.partition("§")
    with pytest.raises((LanguageError, PipelineError, TypingError, DomainError), match=re.escape(message)) as caught:
        parse(text.replace("§", "")).get()
    if marker:
        where = caught.value.where
        assert (where.line, where.column) == (before.count("\n") + 1, len(before) - before.rfind("\n"))


@pytest.mark.parametrize(
    ("type", "update", "hint", "followed"),
    [
        ("0..3", "n + 7", "bound it, e.g. min(n + 7, 3), or declare n: int", ("0..3", "min(n + 7, 3)")),
        ("2..3", "n - 3", "bound it, e.g. max(n - 3, 2), or declare n: int", ("int", "n - 3")),
        ("2..3", "1", "write a value of 2..3, or declare var n: 1..3", ("1..3", "1")),
        ("0..3", "5", "write a value of 0..3, or declare var n: 0..5", ("0..5", "5")),
        ("0..3", '"a"', "write a number of 0..3", ("0..3", "3")),
        ("0..3", "e", "e is a label, and n a number: write if e = p then 1 else 0", ("0..3", "if e = p then 1 else 0")),
        ("0..3", "p", "n is a number, and p a label: write one of 0..3", ("0..3", "2")),
        ("0..3", "b", "b is a condition, and n a number: write if b then 1 else 0", ("0..3", "if b then 1 else 0")),
        ("int mod 4", "6", "declare int mod 7, or use -N 7 where int is declared", ("int mod 7", "6")),
        ("int mod 4", "n + 7", "declare int mod 8 where the type is written, else -N 8", ("int mod 8", "n + 7")),
    ],
)
def test_hints_about_updates_out_of_range(type, update, hint, followed):
    def read(type, update):
        start = type[0] if type[0].isdigit() else 0
        parse(f"machine m(e: {{p, q}}, b: bool) {{ var n: {type} = {start} state a a -> a / n := {update} }}").get()

    with pytest.raises((TypingError, DomainError)) as caught:
        read(type, update)
    assert caught.value.hint.endswith(hint)
    read(*followed)


def test_mistakes_in_python():
    with pytest.raises(PipelineError, match="at least one state"):
        Moore((), ())
    with pytest.raises(PipelineError, match="a function of 1, not of the 2"):
        Moore((("a", of("x", body=lambda x: x)),), (), (Variable("n", INT, 0),))
    with pytest.raises(PipelineError, match="there is no variable 'k'"):
        Moore((("a", None),), (Transition("a", "a", None, (("k", of("x", body=lambda x: x)),)),))
    with pytest.raises(TypingError, match="states emit bool and int"):
        typed(Moore((("a", of("t", body=lambda x: f.GT.build(x, 0))), ("b", of("x", body=lambda x: x))), ()), INT)
    with pytest.raises(LanguageError, match="does not declare the type"):
        parse("machine m(x: int) { state a: x }").get()
    with pytest.raises(LanguageError, match="machine's own state"):
        parse("machine m(state: int) { state a }").get()
