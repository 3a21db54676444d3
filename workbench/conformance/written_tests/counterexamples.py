"""Counterexamples as pytest files: each run as a test that reproduces it on the reference executor.

The rule of this module: a file passes as it is written and fails when what the pipeline shows changes. What is asserted
is what the run shows: the outputs of every step, then what breaks the property, in plain asserts. A loop is run three
times.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.conformance.written_tests.recipe import Recipe, identifier
from workbench.conformance.written_tests.reproduce import comparison, single
from workbench.conformance.written_tests.written_file import WrittenFile
from workbench.errors import WorkbenchError
from workbench.verify.answer.verdict import Outcome, Verdict
from workbench.verify.ask.equivalence import Equivalence


def to_test(verdicts: Sequence[Verdict], command: str = "") -> str:
    """The text of a pytest file with a test for each verdict, all of which have runs.

    A pipeline of a file is built from its text, any other by the Python program that makes it.

    Parameters
    ----------
    command: the command that wrote the file.

    Raises
    ------
    WorkbenchError: a verdict has no run, or one without its pipeline; or a function of a pipeline has no source.
    """
    file = WrittenFile("Runs that a model checker found, as tests of the reference executor.", command)
    for verdict in verdicts:
        _add(file, verdict)
    return str(file)


def _add(file: WrittenFile, verdict: Verdict) -> None:
    """The test of a verdict."""
    run, problem = verdict.run, verdict.problem
    if run is None or run.pipeline is None or problem is None:
        raise WorkbenchError(
            f"'{verdict.property}' of {verdict.pipeline} has no run to write a test of",
            hint="only verdicts with a counterexample or a witness can be written as tests",
        )
    names = [file.pipeline(Recipe.of(side, problem.fitting.domain)) for side in problem.sides]
    if isinstance(problem.prop, Equivalence):
        lines = comparison(run, names[0], names[1], problem.prop.mode)
    else:
        lines = single(run, names[0], verdict.property, problem.syntax)
    word = "holds only within its bounds" if verdict.outcome is Outcome.WITHIN_BOUNDS else str(verdict.outcome)
    name = f"test_{identifier(verdict.property.partition('(')[0])}_of_{identifier(verdict.pipeline)}"
    file.test(name, f"{verdict.property} {word}{f': {run.shows}' if run.shows else ''}", lines)
