"""The engines that use a SAT solver: answers known independently, proofs, and what is left undecided."""

from __future__ import annotations

import itertools
import os
import stat
from pathlib import Path

import pytest

from workbench.errors import EngineError, EngineMissing
from workbench.smv.engines.engine import Answer, EngineLimits, Query, Task
from workbench.smv.engines.sat import COMMANDS, SatEngine, script

from .models import BROKEN_PETERSON, COUNTER, HARD, LASSO, PETERSON

EXCLUSION = "!(p.at = critical & q.at = critical)"


@pytest.fixture(scope="module")
def bmc() -> SatEngine:
    try:
        return SatEngine("bmc")
    except EngineMissing as error:
        pytest.skip(error.what)


def ask(engine: SatEngine, model: str, kind: str, formula: str, limits: EngineLimits = EngineLimits()) -> Answer:  # noqa: B008
    return engine.check(Task(model, (Query(kind, formula),)), limits).answers[0]  # type: ignore[arg-type]


@pytest.mark.parametrize("target", [1, 4, 7])
def test_a_run_to_a_bad_state_is_shortest(bmc: SatEngine, target: int) -> None:
    answer = ask(bmc, COUNTER, "invar", f"n != {target}")
    assert answer.truth is False
    assert [step["n"] for step in answer.trace.steps] == [str(k) for k in range(target + 1)]


def test_an_invariant_is_proved_by_induction(bmc: SatEngine) -> None:
    assert ask(bmc, COUNTER, "invar", "n = 0 | w != 0ud3_5 | inner.seen") == Answer(True)
    assert ask(bmc, PETERSON, "invar", EXCLUSION) == Answer(True)
    assert ask(bmc, BROKEN_PETERSON, "invar", EXCLUSION).truth is False


def test_a_lasso_is_found_and_its_absence_proved(bmc: SatEngine) -> None:
    """0 1 2 3 4, then for ever 2 3 4: 1 comes once, 3 again and again."""
    answer = ask(bmc, LASSO, "ltl", "G F n = 1")
    assert answer.trace is not None
    assert answer.trace.loop is not None
    steps = [int(step["n"]) for step in answer.trace.steps]
    follow = [*steps, steps[answer.trace.loop]]
    assert steps[0] == 0
    assert all(after == (before + 1 if before < 4 else 2) for before, after in itertools.pairwise(follow))
    assert 1 not in steps[answer.trace.loop :]
    assert ask(bmc, LASSO, "ltl", "G F n = 3") == Answer(True)


@pytest.mark.slow
def test_fairness_is_respected(bmc: SatEngine) -> None:
    """With a fair scheduler nobody starves (which takes long to prove); without one a process need never run."""
    starvation = "G (p.at = asked -> F p.at = critical)"
    assert ask(bmc, PETERSON, "ltl", starvation, EngineLimits(seconds=2)).truth is not False
    assert ask(bmc, PETERSON.replace("FAIRNESS runs", ""), "ltl", starvation).truth is False


def test_branching_time_is_left_undecided(bmc: SatEngine) -> None:
    answer = ask(bmc, COUNTER, "ctl", "AG EF n = 0")
    assert answer.truth is None
    assert answer.reason == "it does not decide CTL formulas"


def test_limits(bmc: SatEngine) -> None:
    answer = ask(bmc, HARD, "invar", "a * b = b * a", EngineLimits(seconds=0.5))
    assert answer.truth is None
    assert answer.reason.startswith("time limit of 0.")


@pytest.mark.parametrize(
    ("model", "formula"), [("MODULE main\nVAR n : 0..;", "TRUE"), (COUNTER, "n = "), (COUNTER, "m = 1")]
)
def test_defects_are_errors(bmc: SatEngine, model: str, formula: str) -> None:
    with pytest.raises(EngineError):
        ask(bmc, model, "invar", formula)


def test_several_questions_are_answered_in_order(bmc: SatEngine) -> None:
    queries = (
        Query("invar", "n != 2"),
        Query("ctl", "AG n < 8"),
        Query("invar", "n < 8"),
        Query("invar", "n = 9", True),
    )
    truths = [answer.truth for answer in bmc.check(Task(COUNTER, queries)).answers]
    assert truths == [False, None, True, False]


def test_the_script_of_ic3() -> None:
    """The commands of nuXmv's manual for finite models, in its order."""
    lines = script(COMMANDS["ic3"].by_kind["invar"], "n < 8").splitlines()
    assert lines[3:8] == [
        "read_model -i model.smv",
        "flatten_hierarchy",
        "encode_variables",
        "build_boolean_model",
        'check_invar_ic3 -p "n < 8"',
    ]


def test_ic3_uses_nuxmv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORKBENCH_NUXMV", str(tmp_path / "none"))
    with pytest.raises(EngineMissing):
        SatEngine("ic3")
    fake = tmp_path / "nuXmv"
    fake.write_text(
        "#!/bin/sh\necho '*** This is nuXmv 2.0.0'\n"
        "if grep -q 'check_invar_ic3 -p \"n < 8\"' script; then echo '-- invariant n < 8  is true'; fi\n"
    )
    fake.chmod(os.stat(fake).st_mode | stat.S_IEXEC)
    monkeypatch.setenv("WORKBENCH_NUXMV", str(fake))
    engine = SatEngine("ic3")
    assert engine.version() == "nuXmv 2.0.0 (ic3)"
    assert ask(engine, COUNTER, "invar", "n < 8") == Answer(True)
    assert ask(engine, COUNTER, "ltl", "G n < 8").reason == "it does not decide LTL formulas"
