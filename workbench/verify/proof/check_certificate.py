"""Checking certificates.

The rule of this module: it trusts nothing in the file. It makes the question, the transition system and the
conditions from the program again, and takes the invariant only; an SMT solver decides the conditions, and random runs
on the reference executor show that the system, as it is written in the file, is that of the program.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from workbench.budget import phase, remaining, report
from workbench.core.readable import plural
from workbench.errors import InputError, Location, WorkbenchError
from workbench.named_files import read_text
from workbench.verify.answer.problem import Problem
from workbench.verify.decide.part import remaining_limits
from workbench.verify.proof.certificate import RESET
from workbench.verify.proof.question import list_obligations, read_question
from workbench.verify.proof.script import Obligation, Proof, list_conditions, write_script
from workbench.verify.proof.simulation import InvalidCertificate, Simulation
from workbench.verify.proof.smt_text import SExpression, read

RUNS = 50
"""The number of random runs for each obligation."""
MAX_DEPTH = 1000
"""Maximum number of steps of a proof by induction."""
WRITTEN_BY = "write one: workbench check FILE --certificate F.smt2"


class UndecidedCertificate(WorkbenchError):
    """The error for a condition that a solver does not decide."""

    exit_code = 3


@dataclass(frozen=True)
class Certified:
    """A certificate that was confirmed.

    Attributes
    ----------
    question: the property and its program.
    bounds: of the model.
    solver: the solver that found every condition unsatisfiable.
    conditions: their number.
    steps: of the random runs.
    """

    question: str
    bounds: str
    solver: str
    conditions: int
    steps: int

    def __str__(self) -> str:
        if not self.conditions:
            return f"{self.question}  ({self.bounds}): true by construction"
        summary = f"{plural(self.conditions, 'condition')} by {self.solver}"
        return f"{self.question}  ({self.bounds}): {summary}; {plural(self.steps, 'step')} of random runs agree"


def check_certificate(
    file: str | Path, problem: Problem | None = None, *, runs: int = RUNS, seed: int = 0, solver: str = ""
) -> Iterator[Certified]:
    """Check the certificates of a file; yield each that is confirmed, up to the first that is not.

    Parameters
    ----------
    problem: the question, if its program is in no file.
    runs, seed: of the random simulation.
    solver: the command of an SMT solver that takes the name of a script; empty: z3, as a library.

    Raises
    ------
    InvalidCertificate: one proves nothing. UndecidedCertificate: the solver does not decide a condition.
    InputError: the file, or a program, cannot be read. EngineMissing: z3 is not installed.
    """
    text, line = read_text(file, lambda: WRITTEN_BY), 1
    for part in text.split(RESET):
        yield _Certificate(part, Location(str(file), line), problem).check(runs, seed, solver)
        line += part.count("\n") + RESET.count("\n")


class _Certificate:
    """One certificate of a file.

    Parameters
    ----------
    where: the place of its first line.
    """

    def __init__(self, text: str, where: Location, problem: Problem | None) -> None:
        self.text, self.where = text, where._replace(column=1)
        self.definitions = self._read()
        self.source = self._read_source()
        self.problem, self.settings, surely = read_question(self.source, problem)
        self.obligations = list_obligations(self.problem, self.settings, surely=surely)
        self.pairs = [(each, self._read_proof(each)) for each in self.obligations]

    def check(self, runs: int, seed: int, solver: str) -> Certified:
        """Check it."""
        self._compare()
        with phase("comparing the system with random runs"):
            steps = sum(
                Simulation(each, self.problem, self.settings, Random(seed)).compare(runs) for each in self.obligations
            )
        with phase("deciding the conditions"):
            decided = self._decide_by_command(solver) if solver else self._decide_by_z3()
        count = sum(len(list(each.queries(proof))) for each, proof in self.pairs)
        settings = self.settings
        bounds = f"Q = {settings.q}, {settings.domain}, inputs {settings.environment.arrivals}"
        return Certified(f"{self.problem.text}  of {self.problem.name}", bounds, decided, count, steps)

    # --- the file

    def _read(self) -> dict[str, list[SExpression]]:
        """Return the definitions of functions, by name, and the information on the question."""
        definitions: dict[str, list[SExpression]] = {}
        for each in self._read_expressions():
            if isinstance(each, list) and len(each) > 2 and isinstance(each[1], str):
                definitions.setdefault(each[1], each)
        return definitions

    def _read_expressions(self) -> list[SExpression]:
        try:
            return read(self.text)
        except WorkbenchError as error:
            raise self._refuse(f"this is not a certificate: {error.what}", WRITTEN_BY) from error

    def _read_source(self) -> Mapping[str, Any]:
        """Return the question, as the file states it."""
        try:
            source = self.definitions[":question"][2]
            assert isinstance(source, str)
            question = json.loads(source[1:-1].replace('""', '"'))
            assert isinstance(question, dict)
        except (KeyError, ValueError, AssertionError) as error:
            raise self._refuse("this is not a certificate: it states no question", WRITTEN_BY) from error
        return question

    def _read_proof(self, obligation: Obligation) -> Proof:
        """Return the proof that the file adds to the question."""
        try:
            depth = int(self.source["depths"][obligation.number - 1])
            body = self.definitions[obligation.name("found")][-1]
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise self._refuse(f"obligation {obligation.number} has no invariant") from error
        if not 0 <= depth <= MAX_DEPTH:
            raise self._refuse(f"a proof has 0 to {MAX_DEPTH} steps, and not {depth}")
        return Proof(depth, list_conditions(body))

    def _compare(self) -> None:
        """Raise InvalidCertificate unless the file is the script of its question and its invariant."""
        source = json.dumps(self.source)
        expected, lines = write_script(source, self.pairs).splitlines(), self.text.splitlines()
        for number in range(max(len(expected), len(lines))):
            if expected[number : number + 1] != lines[number : number + 1]:
                where = self.where._replace(line=self.where.line + number)
                what = "this line differs from that of the program and the question"
                hint = "the program or the certificate has changed: check the property again with --certificate"
                raise InvalidCertificate(what, where=where, hint=hint)

    def _refuse(self, what: str, hint: str = "") -> InvalidCertificate:
        return InvalidCertificate(what, where=self.where, hint=hint)

    # --- the conditions

    def _decide_by_z3(self) -> str:
        """Have z3 decide the conditions, each by itself; return its name."""
        from workbench.verify.decide.smt.session import Z3Session, z3_version
        from workbench.verify.decide.system_decider import OutOfLimits

        version, session = z3_version(), Z3Session(remaining_limits())
        for obligation, proof in self.pairs:
            functions = "\n".join(obligation.functions(proof))
            for words, lines in obligation.queries(proof):
                report(words)
                solver = session.solver()
                try:
                    solver.from_string("\n".join([functions, *lines]))
                    satisfiable = session.is_sat(solver)
                except OutOfLimits as stop:
                    raise UndecidedCertificate(f"z3 did not decide whether {words}: {stop}") from stop
                except session.z3.Z3Exception as error:
                    raise self._refuse("an invariant is not valid SMT-LIB") from error
                self._judge(words, satisfiable)
        return version

    def _decide_by_command(self, command: str) -> str:
        """Have a command decide the conditions; return it."""
        words = [words for obligation, proof in self.pairs for words, _ in obligation.queries(proof)]
        with TemporaryDirectory() as folder:
            script = Path(folder, "certificate.smt2")
            script.write_text(self.text, "utf-8")
            try:
                output, errors = _run([*shlex.split(command), str(script)])
            except OSError as error:
                raise InputError(f"the solver '{command}' cannot be started: {error.strerror}") from error
            except subprocess.TimeoutExpired as error:
                raise UndecidedCertificate(f"'{command}' did not answer within the time limit") from error
        answers = output.split()
        if len(answers) != len(words):
            excerpt = (output + errors).strip()[:200]
            raise UndecidedCertificate(
                f"'{command}' answered {plural(len(answers), 'time')} of {len(words)}: {excerpt}"
            )
        for each, answer in zip(words, answers, strict=True):
            self._judge(each, {"unsat": False, "sat": True}.get(answer))
        return command

    def _judge(self, words: str, satisfiable: bool | None) -> None:
        if satisfiable is None:
            raise UndecidedCertificate(f"the solver did not decide whether {words}", where=self.where)
        if satisfiable:
            raise self._refuse(f"the solver refutes that {words}")


def _run(command: Sequence[str]) -> tuple[str, str]:
    """Run a command within the remaining time, and return its output; none of its processes goes on."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        return process.communicate(timeout=remaining().seconds)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # a solver may be started by a script
            process.communicate()
