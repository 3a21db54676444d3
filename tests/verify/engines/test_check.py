"""Verdicts and traces, with answers known independently of any engine."""

import itertools
import random
import resource

import pytest

from tests.examples import scaled
from workbench.smv.engines.engine import Answer, Engine, EngineLimits, Query, RawTrace, Task
from workbench.smv.engines.executable import ExecutableEngine, find_executable

from .conftest import engine_or_skip
from .models import BROKEN_PETERSON, COUNTER, LASSO, PETERSON


def ask(engine: Engine, model: str, kind: str, formula: str, order: tuple[str, ...] = ()) -> Answer:
    return engine.check(Task(model, (Query(kind, formula),), order)).answers[0]  # type: ignore[arg-type]


def test_invariant_holds(engine: Engine) -> None:
    assert ask(engine, COUNTER, "invar", "n = 0 | w != 0ud3_5 | inner.seen") == Answer(True)


@pytest.mark.parametrize("target", [1, 4, 7])
def test_invariant_trace_is_shortest(engine: Engine, target: int) -> None:
    answer = ask(engine, COUNTER, "invar", f"n != {target}")
    assert answer.truth is False
    assert answer.trace is not None
    assert [step["n"] for step in answer.trace.steps] == [str(k) for k in range(target + 1)]
    assert answer.trace.loop is None


def test_trace_has_every_variable_and_every_type(engine: Engine) -> None:
    trace = ask(engine, COUNTER, "invar", "w != 0ud3_7").trace
    assert trace is not None
    assert [step["w"] for step in trace.steps] == ["0ud3_5", "0ud3_6", "0ud3_7"]
    assert [step["light"] for step in trace.steps] == ["red", "green", "5"]
    assert [step["z"] for step in trace.steps] == ["-0sd3_1"] * 3
    assert [step["box[0]"] for step in trace.steps] == ["FALSE", "TRUE", "FALSE"]
    names = {"go", "n", "w", "z", "light", "half", "box[0]", "box[1]", "inner.seen"}
    assert all(set(step) == names for step in trace.steps)


def test_always_eventually_trace_is_shortest() -> None:
    # NuSMV's own explanation has one state more than it needs.
    answer = ask(engine_or_skip("pynusmv"), COUNTER, "ctl", "AG EF n = 0")
    assert answer.trace is not None
    assert [step["n"] for step in answer.trace.steps] == ["0", "1"]


def test_ctl_without_a_path(engine: Engine) -> None:
    assert ask(engine, COUNTER, "ctl", "EG n = 3") == Answer(False, None)


def test_ctl_of_the_initial_state_only(engine: Engine) -> None:
    trace = ask(engine, COUNTER, "ctl", "n = 3").trace
    assert trace is not None
    assert len(trace.steps) == 1


def test_lasso(engine: Engine) -> None:
    answer = ask(engine, LASSO, "ltl", "F n = 1 & G n < 4")
    assert answer.truth is False
    answer = ask(engine, LASSO, "ltl", "G F n = 1")
    assert answer.truth is False
    assert answer.trace is not None
    assert answer.trace.loop is not None
    steps = [int(step["n"]) for step in answer.trace.steps]
    follow = [*steps, steps[answer.trace.loop]]
    assert steps[0] == 0
    assert all(after == (before + 1 if before < 4 else 2) for before, after in itertools.pairwise(follow))
    assert 1 not in steps[answer.trace.loop :]


def test_several_steps_that_look_like_the_last_one(engine: Engine) -> None:
    # p is free: a printed lasso may pass the state of its end several times before the loop.
    model = "MODULE main\nVAR p : boolean; q : boolean; ASSIGN next(q) := case p : TRUE; TRUE : q; esac;"
    trace = ask(engine, model, "ltl", "F p -> G F p").trace
    assert trace is not None
    assert trace.loop is not None
    assert all(step["p"] == "FALSE" for step in trace.steps[trace.loop :])
    assert any(step["p"] == "TRUE" for step in trace.steps)
    trace = ask(engine, model, "ltl", "(p & X p & X X p & X X X !p) -> F G p").trace
    assert trace is not None
    assert trace.loop is not None
    assert [step["p"] for step in trace.steps[:4]] == ["TRUE", "TRUE", "TRUE", "FALSE"]
    assert any(step["p"] == "FALSE" for step in trace.steps[trace.loop :])


def test_of_several_loops_the_one_that_violates_is_chosen() -> None:
    executable = ExecutableEngine("nusmv") if find_executable("nusmv") else None
    if executable is None:
        pytest.skip("no NuSMV executable")
    model = "MODULE main\nVAR p : boolean;"
    states = ({"p": "FALSE"}, {"p": "TRUE"}, {"p": "FALSE"}, {"p": "TRUE"}, {"p": "FALSE"}, {"p": "FALSE"})
    answer = Answer(False, RawTrace(states, 0))
    query = Query("ltl", "F p -> G F p")
    settled = executable.with_path(Task(model), query, answer, (0, 2, 4, 5), EngineLimits())
    assert settled.trace is not None
    assert settled.trace.loop == 4


def test_peterson(engine: Engine) -> None:
    both = "p.at = critical & q.at = critical"
    task = Task(
        PETERSON,
        (
            Query("invar", f"!({both})"),
            Query("ltl", "G (p.at = asked -> F p.at = critical)"),
            Query("ctl", "AG (p.at = asked -> AF p.at = critical)"),
            Query("ctl", "AG EF p.at = critical"),
            Query("ltl", "G F p.at = critical"),  # nobody need wish it
        ),
    )
    assert [answer.truth for answer in engine.check(task).answers] == [True, True, True, True, False]
    broken = ask(engine, BROKEN_PETERSON, "invar", f"!({both})").trace
    assert broken is not None
    assert len(broken.steps) == 7  # each of the two must ask, wait and enter
    assert (broken.steps[-1]["p.at"], broken.steps[-1]["q.at"]) == ("critical", "critical")


def test_reachable_states(engine: Engine) -> None:
    assert engine.check(Task(LASSO, count_states=True)).reachable_states == 5
    assert engine.check(Task(LASSO)).reachable_states is None


def test_what_a_check_costs(engine: Engine) -> None:
    result = engine.check(Task(COUNTER, (Query("invar", "n < 9"),)))
    assert 0 <= result.cpu_seconds < 5
    assert 0 < result.wall_seconds < 5
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # the system counts a child from what began it
    assert 5 < result.peak_mb < max(500, 2 * own)
    assert "NuSMV 2" in result.engine


def test_comments_in_a_formula(engine: Engine) -> None:
    assert ask(engine, COUNTER, "invar", "n < 3 -- not more\n | n >= 3 -- or more").truth is True


def test_input_variables_are_under_the_step_they_lead_to(engine: Engine) -> None:
    model = "MODULE main\nIVAR i : 0..2; VAR n : 0..2; ASSIGN init(n) := 0; next(n) := i;"
    trace = ask(engine, model, "invar", "n != 2").trace
    assert trace is not None
    assert "i" not in trace.steps[0]
    assert trace.steps[1] == {"n": "2", "i": "2"}


@pytest.mark.parametrize(
    "order",
    [
        ("w.2", "n.2", "w.1", "n.1", "w.0", "n.0", "go"),
        ("box[0]", "inner.seen"),
        ("n", "w"),
        ("nobody", "n.0"),
    ],
    ids=["bits", "arrays and modules", "whole variables", "unknown names are ignored"],
)
def test_order(engine: Engine, order: tuple[str, ...]) -> None:
    trace = ask(engine, COUNTER, "invar", "n != 3", order).trace
    assert trace is not None
    assert len(trace.steps) == 4


def random_model(seed: int) -> tuple[str, tuple[Query, ...]]:
    """A small random machine, total by construction, and queries about it."""
    pick = random.Random(seed)
    names = ["a", "b", "c"]

    def term(depth: int) -> str:
        if depth == 0:
            return f"{pick.choice(names)} {pick.choice(['=', '!=', '<'])} {pick.randrange(4)}"
        return f"({term(depth - 1)} {pick.choice(['&', '|', '->', 'xor'])} !{term(0).join('()')})"

    lines = ["MODULE main", "VAR a : 0..3; b : 0..3; c : 0..3; i : boolean;", "ASSIGN"]
    for name in names:
        lines.append(f"  init({name}) := {pick.randrange(4)};")
        other = pick.choice(names)
        lines.append(
            f"  next({name}) := case i & {term(1)} : ({name} + {other}) mod 4; {term(1)} : {other}; "
            f"TRUE : {pick.choice(names)}; esac;"
        )
    p, q = term(1), term(2)
    formulas = [("invar", q), ("ctl", f"AG EF {p.join('()')}"), ("ctl", f"AF {p.join('()')}")]
    formulas += [("ltl", f"G F {p.join('()')} -> G F {q.join('()')}"), ("ltl", f"F G {q.join('()')}")]
    return "\n".join(lines), tuple(Query(kind, text) for kind, text in formulas)  # type: ignore[arg-type]


def test_engines_agree() -> None:
    embedded, executable = engine_or_skip("pynusmv"), engine_or_skip("nusmv")
    seen = set()
    for seed in range(scaled(8, 25)):
        model, queries = random_model(seed)
        task = Task(model, queries, count_states=True)
        one, other = embedded.check(task), executable.check(task)
        truths = [answer.truth for answer in one.answers]
        assert truths == [answer.truth for answer in other.answers], (seed, model)
        assert one.reachable_states == other.reachable_states
        first = [a.trace and len(a.trace.steps) for a in (one.answers[0], other.answers[0])]
        assert first[0] == first[1], "NuSMV's traces of invariants are shortest too"
        seen |= set(enumerate(truths))
    assert len(seen) >= scaled(6, 8), "the machines are too uniform to compare anything"


def test_watched_definitions_are_in_traces_and_others_are_not(engine: Engine) -> None:
    model = """
MODULE cell
  VAR n : 0..3;
  DEFINE twice := n * 2; big := n > 1;
  ASSIGN init(n) := 0; next(n) := case n < 3 : n + 1; TRUE : 3; esac;
MODULE main
  VAR c : cell;
  DEFINE other := c.n = 1;
"""
    queries = (Query("invar", "c.n < 2"), Query("ctl", "AG c.n < 2"), Query("ltl", "G c.n < 2"))
    answers = engine.check(Task(model, queries, watch=("c.twice", "c.big"))).answers
    for answer in answers:
        assert answer.trace is not None
        assert [(step["c.n"], step["c.twice"], step["c.big"]) for step in answer.trace.steps[:3]] == [
            ("0", "0", "FALSE"), ("1", "2", "FALSE"), ("2", "4", "TRUE"),
        ]  # fmt: skip
        assert all(set(step) == {"c.n", "c.twice", "c.big"} for step in answer.trace.steps)
