"""The engine `simulation`: random runs, with extreme and held inputs. It refutes, and proves nothing.

Invariants are refuted by runs of growing length, LTL formulas by lassos on which inputs are constant or repeat in the
same order. A run that is found is run again in Python, and steps that are not needed are removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any

from workbench.budget import report
from workbench.core.ops import NOT
from workbench.core.term import Term
from workbench.errors import EngineMissing, Refused, UnsupportedNode
from workbench.extras import install_extra
from workbench.interrupts import checkpoint
from workbench.smv.engines.engine import Answer, EngineLimits, Reached
from workbench.verify.ask.formula import evaluate_on_lasso
from workbench.verify.decide.part import Decision, Part
from workbench.verify.decide.runs import Runs, RunStep
from workbench.verify.decide.system_decider import Allowance, OutOfLimits, SystemDecider

ROWS = 256
"""The number of runs of a round."""
LENGTHS = (16, 64, 256, 16, 64, 256, 1024, 64, 256, 1024, 4096)
"""The lengths of runs, by round."""
LASSO_LENGTHS = (48, 384, 48, 384, 1536)
"""The lengths of runs in which a repeated state is looked for, by round."""
LASSOS = 64
"""Maximum number of lassos of a round that are examined."""
SHORTENING_SECONDS = 1.0
"""Maximum time to remove steps from a run."""


class SimulationDecider(SystemDecider):
    """A decider by random runs.

    Raises
    ------
    EngineMissing: numpy is not installed.
    """

    name, subject = "simulation", "simulation knows"

    def __init__(self) -> None:
        if find_spec("numpy") is None:
            raise EngineMissing("the Python package numpy is not installed", hint=install_extra("smt"))

    def answer(self, part: Part, limits: EngineLimits, *, count_states: bool) -> Decision:
        del count_states
        return Decision(_Simulation(part, limits).answers(), self.title)


class _Simulation:
    """The rounds of runs for one part."""

    def __init__(self, part: Part, limits: EngineLimits) -> None:
        self.part, self.allowance = part, Allowance(limits, "no memory for more runs")
        self.found: dict[str, Answer] = {}
        self.invariants = {
            role: NOT(question.invariant) for role, question in part.questions.items() if question.invariant is not None
        }
        self.formulas = {
            role: question
            for role, question in part.questions.items()
            if question.kind == "ltl" and role not in self.invariants
        }
        self.runs_made = self.longest = 0

    def answers(self) -> dict[str, Answer]:
        """Return the answers by role."""
        reason = "no random run shows it"
        try:
            self._refute_invariants()
            self._refute_formulas()
        except OutOfLimits as stop:
            reason = str(stop)
        except (Refused, UnsupportedNode) as error:
            reason = error.what
        text = f"{self.runs_made} random runs of up to {self.longest} steps"
        reached = (Reached("simulation", text),) if self.runs_made else ()
        open_ = {role: Answer(None, reason=reason, reached=reached) for role in (*self.invariants, *self.formulas)}
        other = dict.fromkeys(self.part.questions, Answer(None, reason="simulation refutes invariants and LTL only"))
        return {**other, **open_, **self.found}

    def _check_limits(self) -> None:
        checkpoint()
        self.allowance.check_limits()

    def _rounds(self, labels: Sequence[Term], lengths: Sequence[int], *, periodic: bool) -> Iterator[tuple[Any, int]]:
        """Yield columns that begin, with the length of their runs."""
        from workbench.verify.decide.columns import RunColumns

        self._check_limits()
        columns = RunColumns(self.part, labels, ROWS)
        for seed, length in enumerate(lengths):
            columns.begin(seed, periodic=periodic)
            self.runs_made, self.longest = self.runs_made + ROWS, max(self.longest, length)
            report(f"{self.runs_made} runs")
            yield columns, length

    def _refute_invariants(self) -> None:
        roles = list(self.invariants)
        if not roles:
            return
        for columns, length in self._rounds(list(self.invariants.values()), LENGTHS, periodic=False):
            for _ in range(length):
                self._check_limits()
                hits = columns.step()
                for role, hit in zip(roles, hits, strict=True):
                    if role not in self.found and hit.any():
                        self.found[role] = self._refute(role, columns.inputs(int(hit.argmax())))
                if self._is_done(roles):
                    return

    def _is_done(self, roles: Sequence[str]) -> bool:
        """Whether all questions are refuted, or enough of them that the others do not matter."""
        return all(role in self.found or self.part.questions[role].unless in self.found for role in roles)

    def _refute(self, role: str, inputs: list[Any]) -> Answer:
        """Return the answer that the run on these inputs refutes an invariant."""
        runs = Runs(self.part, [self.invariants[role]])
        run = runs.find(inputs, 0)
        assert run is not None, "columns and Python differ"
        run = runs.shorten(run, 0, min(SHORTENING_SECONDS, self.allowance.seconds_left / 4))
        return Answer(False, runs.show(run), shortest=len(run) == 1)

    # --- lassos

    def _refute_formulas(self) -> None:
        if not self.formulas:
            return
        atoms = list(dict.fromkeys(atom for question in self.formulas.values() for atom in question.formula.atoms()))
        runs = Runs(self.part, [*atoms, *self.part.fair])
        for columns, length in self._rounds((), LASSO_LENGTHS, periodic=True):
            for row in self._find_loops(columns, length):
                lasso = _first_loop(runs.follow(columns.inputs(row)), int(columns.periods[row]))
                if lasso is not None and self._is_fair(*lasso, len(atoms)):
                    self._examine(runs, atoms, *lasso)
                if self._is_done(list(self.formulas)):
                    return

    def _find_loops(self, columns: Any, length: int) -> Iterator[int]:
        """Yield runs that have come back to an earlier state, at the same step of the pattern of their inputs."""
        import numpy as np

        from workbench.verify.decide.columns import ROUND

        earlier, start, done = columns.state, 0, columns.periods == 0
        for step in range(1, length + 1):
            self._check_limits()
            columns.step()
            if step % ROUND:
                continue
            same = columns.legal & (columns.periods > 0) & ~done
            for old, new in zip(earlier, columns.state, strict=True):
                same = same & (old == new)
            yield from map(int, np.flatnonzero(same)[:LASSOS])
            done = done | same
            if step >= 2 * start + ROUND:
                earlier, start = columns.state, step

    def _is_fair(self, run: list[RunStep], loop: int, first: int) -> bool:
        return all(
            any(step.labels[label] for step in run[loop:]) for label in range(first, first + len(self.part.fair))
        )

    def _examine(self, runs: Runs, atoms: Sequence[Term], run: list[RunStep], loop: int) -> None:
        """Add the answers of the formulas that a lasso refutes."""
        values = {atom: [step.labels[number] for step in run] for number, atom in enumerate(atoms)}
        for role, question in self.formulas.items():
            truth = evaluate_on_lasso(question.formula, values, loop)
            if role not in self.found and truth is not None and not truth[0]:
                self.found[role] = Answer(False, runs.show(run, loop))


def _first_loop(run: list[RunStep], period: int) -> tuple[list[RunStep], int] | None:
    """Return the shortest lasso that a run with a periodic input begins with, and the step at which its loop begins."""
    first_numbers: dict[Any, int] = {}
    for number, step in enumerate(run):
        first = first_numbers.setdefault((step.state, number % period), number)
        if first < number:
            return run[:number], first
    return None
