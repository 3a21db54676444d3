"""Defective and meaningless models, limits, crashes: what the caller sees of them."""

import time

import pytest

from workbench.errors import DeadlockError, EngineError, Location
from workbench.smv.engines.embedded import PynusmvEngine
from workbench.smv.engines.ending import out_of_memory
from workbench.smv.engines.engine import Engine, EngineLimits, Query, Task

from .models import COUNTER, HARD, LASSO

TRUE = (Query("invar", "TRUE"),)


def refuse(engine: Engine, model: str, *queries: Query) -> EngineError:
    with pytest.raises(EngineError) as caught:
        engine.check(Task(model, queries or TRUE))
    # The engine is as good as new afterwards.
    assert engine.check(Task(LASSO, TRUE)).answers[0].truth is True
    return caught.value


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("good", "bad", "words"),
    [
        ("twice := n * 2;", "twice := n * ;", "syntax error"),
        ("twice := n * 2;", "twice := n $ 2;", "illegal character"),
        (
            "next(light) := case light = red : green;",
            "next(light) := case light = red : blue;",
            '"blue" undefined',
        ),
        ("next(z) := z;", "next(z) := n;", "type"),
        ("go & n < 7 : n + 1;", "go : n + 1;", "cannot assign value 8 to variable n"),
        ("light = green : 5; TRUE : red;", "light = green : 5;", "not exhaustive"),
        ("full := n = 7;", "full := !full;", "recursive"),
    ],
    ids=["syntax", "character", "undefined", "type", "range", "case", "circular"],
)
def test_defective_model(engine: Engine, good: str, bad: str, words: str) -> None:
    assert good in COUNTER
    error = refuse(engine, COUNTER.replace(good, bad))
    assert words in error.what
    assert isinstance(error.where, Location) or "recursive" in words


def test_the_line_of_a_defect(engine: Engine) -> None:
    where = refuse(engine, COUNTER.replace("next(z) := z;", "next(z) := zz;")).where
    assert isinstance(where, Location)
    assert "zz" in where.text
    assert COUNTER.splitlines()[where.line - 1].replace(":= z;", ":= zz;").strip() == where.text


def test_no_main(engine: Engine) -> None:
    assert "main" in refuse(engine, "MODULE other\nVAR b : boolean;").what


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    ("kind", "formula", "words"),
    [
        ("invar", "nobody = 3", "undefined identifier 'nobody'"),
        ("ctl", "AG nobody", "undefined identifier 'nobody'"),
        ("ltl", "G nobody", "undefined identifier 'nobody'"),
        ("invar", "n + 1", "integer"),
        ("invar", "w = 3", "illegal operand types"),
        ("ctl", "AG (n = ", ""),
        ("ltl", "n $ 3", "illegal character"),
    ],
)
def test_defective_formula(engine: Engine, kind: str, formula: str, words: str) -> None:
    # The first query would be decided: nothing is, so that a caller sees the mistake first.
    error = refuse(engine, COUNTER, Query("invar", "TRUE"), Query(kind, formula))  # type: ignore[arg-type]
    assert words in error.what
    assert error.where == formula


def test_next_in_an_invariant(pynusmv: PynusmvEngine) -> None:
    assert "next" in refuse(pynusmv, COUNTER, Query("invar", "next(n) = n")).what


@pytest.mark.sampled(9)
@pytest.mark.parametrize("kind", ["invar", "ctl", "ltl"])
@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("INIT n = 2", "no initial state"),
        ("INVAR n != 0", "no initial state"),
        ("TRANS n = 3 -> next(n) = 0", "deadlocks"),
    ],
)
def test_vacuous_model(engine: Engine, kind: str, more: str, words: str) -> None:
    model = LASSO.replace("ASSIGN", f"{more}\nASSIGN")
    error = refuse(engine, model, Query(kind, "TRUE"))  # type: ignore[arg-type]
    assert words in error.what
    assert ("n = 3" in error.what) == isinstance(error, DeadlockError) == (words == "deadlocks")


def test_unreachable_deadlock_is_none(engine: Engine) -> None:
    model = "MODULE main\nVAR n : 0..3; ASSIGN init(n) := 0; TRANS case n = 0 : next(n) = 0; TRUE : FALSE; esac"
    assert engine.check(Task(model, (Query("ctl", "AG n = 0"),))).answers[0].truth is True


def test_unfair_model(engine: Engine) -> None:
    model = LASSO + "FAIRNESS n = 1\n"
    assert "no fair path" in refuse(engine, model, Query("ltl", "TRUE")).what
    # Invariants do not look at fairness.
    assert engine.check(Task(model, (Query("invar", "n != 4"),))).answers[0].truth is False


def test_time_limit_keeps_what_was_decided(engine: Engine) -> None:
    begin = time.monotonic()
    # The transition relation is small; the second formula is a multiplication.
    model = "MODULE main\nVAR easy : boolean; a : unsigned word[24]; b : unsigned word[24];"
    task = Task(model, (Query("invar", "easy | !easy"), Query("invar", "a * b != 0ud24_77")))
    result = engine.check(task, EngineLimits(seconds=0.8))
    assert time.monotonic() - begin < 5
    assert result.answers[0].truth is True
    assert result.answers[1].truth is None
    assert result.answers[1].reason == "time limit of 0.8 s"
    assert engine.check(Task(LASSO, TRUE)).answers[0].truth is True


def test_time_limit(engine: Engine) -> None:
    begin = time.monotonic()
    result = engine.check(Task(HARD, TRUE), EngineLimits(seconds=0.5))
    assert 0.4 < time.monotonic() - begin < 5
    assert result.answers[0].truth is None
    assert result.answers[0].reason == "time limit of 0.5 s"
    assert result.wall_seconds >= 0.4
    assert result.cpu_seconds > 0.01  # of half a second another process may have had most


@pytest.mark.slow
def test_memory_limit(pynusmv: PynusmvEngine) -> None:
    task = Task(HARD, TRUE, order=("a.0", "b.0", "c.0"))
    result = pynusmv.check(task, EngineLimits(memory_mb=32, seconds=60))
    assert result.answers[0].truth is None
    assert "memory limit of 32 MB" in result.answers[0].reason
    # The limit is that job's own.
    assert pynusmv.check(Task(LASSO, TRUE), EngineLimits(memory_mb=2000)).answers[0].truth is True
    assert pynusmv.check(Task(LASSO, TRUE)).answers[0].truth is True


def test_memory_limit_that_nothing_fits_in(engine: Engine) -> None:
    answer = engine.check(Task(HARD, TRUE), EngineLimits(memory_mb=12, seconds=60)).answers[0]
    assert answer.truth is None
    assert "memory limit of 12 MB" in answer.reason


def test_want_of_memory_is_recognised() -> None:
    """NuSMV's own words, and Python's; they decide that a model was not at fault."""
    assert out_of_memory("### Out of memory allocating 40920 bytes\n")
    assert out_of_memory("out of memory\n")
    assert not out_of_memory("undefined identifier 'memory'")
