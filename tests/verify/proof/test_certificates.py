"""Certificates: what holds has one, nothing else has, and what is forged is refused."""

from __future__ import annotations

import json
import random
import re
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples, scaled
from tests.verify.smt.test_translate import SYMBOLS, grow, meaning, valuations
from workbench.budget import Budget
from workbench.cli.main import main
from workbench.conformance.generate.pipelines import pipelines
from workbench.core.domain import BOOL
from workbench.core.encoding import decode, encode
from workbench.core.term import var
from workbench.errors import InputError, LimitMet, Refused, WorkbenchError
from workbench.verify.ask.environment import Arrivals
from workbench.verify.proof.certificate import certificate
from workbench.verify.proof.check_certificate import UndecidedCertificate, check_certificate
from workbench.verify.proof.question import list_obligations, read_question
from workbench.verify.proof.script import Proof, list_conditions, write_script
from workbench.verify.proof.simulation import InvalidCertificate, Simulation
from workbench.verify.proof.smt_text import SmtText, compile_body, constant, read, show, symbol
from workbench.verify.rules.problems import rule_problem

MODELS = Path(__file__).resolve().parents[3] / "models"
pytestmark = pytest.mark.skipif(find_spec("z3") is None, reason="z3 is not installed")

SOURCE = """
machine tank(open: bool) -> 0..9 {
    var level: 0..9 = 3
    state only: level
    only -> only when open and level > 0 / level := level - 1
    only -> only when not open and level < 8 / level := level + 1
}
machine tank_faulty(open: bool) -> 0..9 {   # the bound is one too large
    var level: 0..9 = 3
    state only: level
    only -> only when open and level > 0 / level := level - 1
    only -> only when not open and level < 9 / level := level + 1
}
pipeline safe(open: bool) -> bool { return tank(open) < 9 }
pipeline safe_faulty(open: bool) -> bool { return tank_faulty(open) < 9 }
pipeline running(x: 0..7) -> 0..7 { return max(cumulate(x, max), 0) }
pipeline greatest(x: 0..7) -> 0..7 { return cumulate(max(x, 0), max) }
pipeline late(x: 0..3) -> bool { return trim(x, 1) >= x }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tanks.pipe"
    path.write_text(SOURCE)
    return path


def written(tmp_path: Path, verdict: wb.Verdict) -> Path:
    path = tmp_path / "certificate.smt2"
    path.write_text(certificate(verdict))
    return path


# --- text


@pytest.mark.parametrize("seed", range(scaled(4, 40)))
def test_text_means_what_operators_define(seed: int) -> None:
    chosen, done = random.Random(seed), 0
    rows = valuations(chosen, 12)
    for term in grow(chosen, 150):
        writer = SmtText("$")
        try:
            text = writer(term)
        except Refused:
            continue
        done += 1
        lets = "".join(f"(let (({name} {bound})) " for name, bound in writer.bindings)
        (body,) = read(f"{lets}(and {text} true){')' * len(writer.bindings)}")
        evaluate = compile_body(body)
        for row in rows:
            values = {symbol(one.name): encode(one.domain, row[one]) for one in SYMBOLS}
            assert decode(term.domain, evaluate(values)[0]) == meaning(term, row), term
    assert done > 100


def test_z3_reads_the_same_text_in_the_same_way() -> None:
    import z3

    chosen, done = random.Random(0), 0
    sorts = {each: z3.Bool if each.domain == BOOL else z3.Int for each in SYMBOLS}
    declared = "".join(f"(declare-const {symbol(each.name)} {sort(each.name).sort()})" for each, sort in sorts.items())
    for term in grow(chosen, 60):
        writer = SmtText("$")
        try:
            text = writer(term)
        except Refused:
            continue
        lets = "".join(f"(let (({name} {bound})) " for name, bound in writer.bindings)
        for row in valuations(chosen, 3):
            equations = [f"(assert (= {symbol(one.name)} {constant(one.domain, row[one])}))" for one in SYMBOLS]
            right = constant(term.domain, meaning(term, row))
            wrong = f"(assert {lets}(distinct {text} {right}){')' * len(writer.bindings)})"
            solver = z3.Solver()
            solver.from_string("\n".join([declared, *equations, wrong]))
            assert solver.check() == z3.unsat, term
            done += 1
    assert done > 60


def test_expressions_are_read_as_they_are_shown() -> None:
    text = '(and (= |a (b| 1) (not |x;y|) (f "a ""(""") (- 3))'
    (found,) = read(f"{text} ; a comment )")
    assert show(found) == text
    for wrong in ("(", "())", ")("):
        with pytest.raises(WorkbenchError, match="bracket"):
            read(wrong)
    with pytest.raises(Refused, match="no symbol for"):
        SmtText("$")(var("a|b", BOOL))


# --- what holds


@pytest.mark.parametrize(("name", "prop"), [("safe", "never-false"), ("safe", "always (out)"), ("late", "no-overflow")])
def test_what_holds_is_confirmed(file: Path, tmp_path: Path, name: str, prop: str) -> None:
    verdict = wb.check(f"{file}:{name}", prop)
    assert verdict.outcome is wb.Outcome.HOLDS
    (found,) = check_certificate(written(tmp_path, verdict), runs=5)
    assert found.conditions >= 3
    assert found.steps > 100
    assert str(found).startswith(f"{prop}  of {name}  (Q = 2, ")


def test_an_equivalence_that_structure_does_not_show_is_confirmed(file: Path, tmp_path: Path) -> None:
    verdict = wb.equiv(f"{file}:running", f"{file}:greatest", "stepwise")
    (found,) = check_certificate(written(tmp_path, verdict), runs=5)
    assert "stepwise-equivalent  of running, greatest" in str(found)


def test_another_solver_reads_the_script(file: Path, tmp_path: Path) -> None:
    """A command that answers what it likes is believed, and one that answers too little is not."""
    path = written(tmp_path, wb.check(f"{file}:safe", "never-false"))
    queries = path.read_text().count("(check-sat)")
    for answers, error in (
        (["unsat"] * queries, None),
        (["unsat", "sat", *["unsat"] * (queries - 2)], InvalidCertificate),
        (["unknown"] * queries, UndecidedCertificate),
        (["unsat"], UndecidedCertificate),
    ):
        solver = tmp_path / "solver.sh"
        solver.write_text(f"printf '{' '.join(answers)}'")
        asked = check_certificate(path, runs=1, solver=f"sh {solver}")
        if error is None:
            assert next(asked).solver == f"sh {solver}"
        else:
            with pytest.raises(error):
                next(asked)
    with pytest.raises(InputError, match="cannot be started"):
        next(check_certificate(path, runs=1, solver=str(tmp_path / "none")))


def test_a_solver_that_takes_too_long_leaves_no_process(file: Path, tmp_path: Path) -> None:
    path, pid = written(tmp_path, wb.check(f"{file}:safe", "never-false")), tmp_path / "pid"
    solver = tmp_path / "solver.sh"
    solver.write_text(f"sleep 60 & echo $! > {pid}; wait")
    with Budget(2, None), pytest.raises((UndecidedCertificate, LimitMet)):
        next(check_certificate(path, runs=1, solver=f"sh {solver}"))
    until, left = time.monotonic() + 5, Path("/proc", pid.read_text().strip(), "cmdline")
    while left.exists() and left.read_bytes() and time.monotonic() < until:  # the system reaps it
        time.sleep(0.05)
    assert not left.exists() or not left.read_bytes()


def test_what_does_not_hold_has_none(file: Path) -> None:
    with pytest.raises(Refused, match="'fails'"):
        certificate(wb.check(f"{file}:safe_faulty", "never-false"))
    with pytest.raises(Refused, match="not about rules"):
        certificate(rule_problem(wb.rules.load_rules(MODELS / "tesla" / "silence.tesla"), "can(Silent)").decide())
    with pytest.raises(Refused, match="infinite runs"):
        certificate(wb.check(f"{file}:safe", "response"))
    with pytest.raises(Refused, match="a run shows"):
        certificate(wb.check(f"{file}:safe", "can(out)"))


@given(
    data=st.data(),
    q=st.integers(1, 2),
    prop=st.sampled_from(["no-overflow", "bounded-liveness(1)", "no-full-queues"]),
    arrivals=st.sampled_from(["free", "synchronised", "always"]),
)
@examples(25)
def test_random_pipelines(data: st.DataObject, q: int, prop: str, arrivals: Arrivals, tmp_path: Path) -> None:
    """Where a certificate is found, it is confirmed, random runs included."""
    pipeline = data.draw(pipelines(max_bits=8))
    asked = wb.problem(
        pipeline, prop, wb.Settings(q=q, environment=wb.Environment(arrivals), grow=0, engine="explicit")
    )
    verdict = asked.decide()
    assume(verdict.outcome is wb.Outcome.HOLDS)
    try:
        with Budget(3, None):
            path = written(tmp_path, verdict)
    except (Refused, LimitMet):
        return
    (found,) = check_certificate(path, asked, runs=5)
    assert found.question == f"{prop}  of {pipeline.name}"


# --- forgeries

COUNT = scaled(25, 100)
"""The number of forgeries of a seed."""


def forge(chosen: random.Random, conditions: list[str]) -> Proof:
    """A proof that someone makes up from another one."""
    found = list(conditions)
    for _ in range(chosen.randint(0, 3)):
        kind = chosen.randrange(5)
        if kind == 0 and found:
            found.pop(chosen.randrange(len(found)))
        elif kind == 1 and found:
            found.append(f"(not {chosen.choice(found)})")
        elif kind == 2 and found:
            at = chosen.randrange(len(found))
            found[at] = re.sub(r"\b\d+\b", lambda number: str(int(number[0]) + chosen.choice([-1, 1])), found[at])
        elif kind == 3 and len(found) > 1:
            found[0] = f"(or {' '.join(chosen.sample(found, 2))})"
        else:
            found.append(f"(<= {chosen.choice(['|tank.machine:level|', '3'])} {chosen.randint(0, 9)})")
    found = [each.replace("tank.machine", "tank_faulty.machine") for each in found]
    return Proof(chosen.choice([0, 1, 2, 5]), found)


@pytest.mark.parametrize("seed", range(scaled(1, 10)))
def test_no_forged_proof_of_what_fails_is_confirmed(file: Path, tmp_path: Path, seed: int) -> None:
    """Proofs that someone makes up of the right one, for the faulty tank."""
    right = certificate(wb.check(f"{file}:safe", "never-false"))
    (found,) = [each for each in read(right) if each[1:2] == ["found-1"]]
    faulty = wb.problem(f"{file}:safe_faulty", "never-false")
    obligations = list_obligations(faulty, faulty.fitting)
    chosen, path = random.Random(seed), tmp_path / "forged.smt2"
    for _ in range(COUNT):
        proof = forge(chosen, list_conditions(found[-1]))
        source = re.sub(r'"depths": \[\d+\]', f'"depths": [{proof.depth}]', question_of(right))
        source = source.replace('"name": "safe"', '"name": "safe_faulty"')
        path.write_text(write_script(source, [(each, proof) for each in obligations]))
        with pytest.raises(InvalidCertificate):
            next(check_certificate(path, runs=1))


def question_of(text: str) -> str:
    match = re.search(r':question "((?:[^"]|"")*)"', text)
    assert match
    return match[1].replace('""', '"')


@pytest.mark.parametrize("seed", range(scaled(1, 10)))
def test_a_changed_file_is_refused(file: Path, tmp_path: Path, seed: int) -> None:
    """Whatever differs from the script that the question makes, but the invariant, is found without a solver."""
    text = certificate(wb.check(f"{file}:safe", "never-false"))
    chosen, path, refused = random.Random(seed), tmp_path / "changed.smt2", 0
    for _ in range(COUNT):
        at, more = chosen.randrange(len(text)), chosen.randint(0, 3)
        inserted = "".join(chosen.choice(text) for _ in range(chosen.randint(0, 2)))
        path.write_text(text[:at] + inserted + text[at + more :])
        if path.read_text().splitlines() == text.splitlines():  # the end of the last line says nothing
            continue
        try:
            (found,) = check_certificate(path, runs=1)
        except WorkbenchError:
            refused += 1
        else:
            assert "found-1" in text[text.rfind("define-fun", 0, at) :][:40], found
    assert refused > 0.7 * COUNT  # an invariant that differs may be one, too


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("(set-logic ALL)", "(set-logic LIA)", "differs from that of the program"),
        ("(check-sat)", "", "differs from that of the program"),
        ('""n"": 4', '""n"": ""four""', "cannot be read"),
        ('""format"": 1', '""format"": 7', "this is format 7"),
        ('""beyond_overflow""', '""beyond""', "cannot be read"),
        ('""name"": ""safe""', '""name"": ""unsafe""', "no pipeline 'unsafe'"),
        (":question", ":answer", "states no question"),
        ("found-1 (", "found-2 (", "has no invariant"),
        ('""depths"": [', '""depths"": [7000', "0 to 1000 steps"),
    ],
)
def test_what_is_wrong_is_said(file: Path, tmp_path: Path, old: str, new: str, message: str) -> None:
    path = written(tmp_path, wb.check(f"{file}:safe", "never-false"))
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    with pytest.raises(WorkbenchError, match=message):
        next(check_certificate(path, runs=1))


def test_a_program_that_has_changed_is_not_confirmed(file: Path, tmp_path: Path) -> None:
    path = written(tmp_path, wb.check(f"{file}:safe", "never-false"))
    file.write_text(SOURCE.replace("level < 8", "level < 7"))
    with pytest.raises(InvalidCertificate, match="the program or the certificate has changed"):
        next(check_certificate(path))


def test_a_system_of_another_program_is_found_by_random_runs(file: Path) -> None:
    """The system of the right tank beside the faulty one."""
    right, faulty = (wb.problem(f"{file}:{name}", "never-false") for name in ("safe", "safe_faulty"))
    (obligation,) = list_obligations(right, right.fitting)
    assert Simulation(obligation, right, right.fitting, random.Random(0)).compare(20) > 500
    source = SOURCE.replace("tank_faulty", "other").replace("machine tank(", "machine unused(")
    file.write_text(source.replace("machine other(", "machine tank(").replace("other(open) < 9", "tank(open) < 9"))
    faulty = wb.problem(f"{file}:safe_faulty", "never-false")
    with pytest.raises(InvalidCertificate, match=r"at step \d+ of a run"):
        Simulation(obligation, faulty, faulty.fitting, random.Random(0)).compare(20)


def test_a_defect_of_the_text_is_found_by_random_runs(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SmtText, "on_sub", lambda _, term, a, b: f"(+ {a} {b})")
    (obligation,) = list_obligations(asked := wb.problem(f"{file}:safe", "never-false"), asked.fitting)
    with pytest.raises(InvalidCertificate, match="the system is not that of"):
        Simulation(obligation, asked, asked.fitting, random.Random(0)).compare(20)


def test_a_program_of_python_is_given(tmp_path: Path) -> None:
    @wb.pipeline(x=wb.Range(0, 7))
    def bounded(x: wb.BuiltStream) -> wb.BuiltStream:
        return wb.functions.MAX(x, 3)

    asked = wb.problem(bounded, "always (out >= 3)")
    path = written(tmp_path, asked.decide())
    with pytest.raises(InputError, match="built in Python"):
        next(check_certificate(path))
    assert next(check_certificate(path, asked, runs=3)).conditions


def test_a_question_is_read_as_it_was_asked(file: Path) -> None:
    text = certificate(
        wb.check(f"{file}:late", "no-overflow", wb.Settings(q={"ge.right": 3}, environment=wb.Environment("always")))
    )
    problem, settings, _ = read_question(json.loads(question_of(text)), None)
    assert problem.text == "no-overflow"
    assert settings.q == {"ge.right": 3}
    assert settings.environment.arrivals == "always"


# --- commands


def test_commands(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    into = tmp_path / "c.smt2"
    asked = ["check", f"{file}:safe", "-p", "never-false", "-p", "response", "-p", "no-overflow", "--quiet"]
    assert main([*asked, "--certificate", str(into)]) == 0
    printed = capsys.readouterr().out
    assert "no certificate of response: it is about infinite runs" in printed
    assert f"{into}: 2 certificates" in printed
    assert main(["certify", str(into), "--runs", "3"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("✓ certified  never-false  of safe")
    assert "by construction" in second
    into.write_text(into.read_text().replace("(assert (legal-1", "(assert (good-1", 1))
    assert main(["certify", str(into)]) == 1
    assert "differs from that of the program" in capsys.readouterr().err
    assert main(["check", f"{file}:safe", "--html", str(into), "--certificate", str(into)]) == 2
    assert "would overwrite --" in capsys.readouterr().err


def test_what_is_missing_is_said_before_anything_is_decided(
    file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("workbench.cli.run_files.find_spec", lambda _: None)
    assert main(["check", f"{file}:safe", "--certificate", "c.smt2"]) == 2
    said = capsys.readouterr()
    assert not said.out
    assert "certificates need the Python package z3" in said.err
