"""Counterexamples as pytest files: each run becomes a test that reproduces it.

The rule of this module: a file passes as written and fails when the behaviour of the pipeline changes. It asserts what
the run shows: the outputs of every step, then the violation of the property, in plain asserts. A loop is run three
times. For rules, the events are rows, and the meaning of the rules determines the expected composites.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from workbench.conformance.written_tests.pytest_file import Recipe, WrittenFile, identifier
from workbench.conformance.written_tests.reproduce import comparison, single
from workbench.conformance.written_tests.rule_runs import (
    has_ticks,
    rule_difference,
    rule_run,
    rules_in,
    running_rules,
    write_timed_run,
)
from workbench.errors import WorkbenchError
from workbench.verify.answer.trace import Trace
from workbench.verify.answer.verdict import Outcome, Verdict, verdicts_of
from workbench.verify.ask.equivalence import Equivalence


def to_test(verdicts: Sequence[Verdict] | Verdict, command: str = "", folder: str | Path = ".") -> str:
    """Return the text of a pytest file with a test for each verdict, all of which must have runs.

    A pipeline of a file is built from its text, any other by a Python program.

    Parameters
    ----------
    command: the command that wrote the file.
    folder: the folder of the file, relative to which it reads rules of a pipeline.

    Raises
    ------
    WorkbenchError: a verdict has no run, or a run without its pipeline; or a function of a pipeline has no source.
    """
    file = WrittenFile("Runs that a model checker found, as tests.", command)
    for verdict in verdicts_of(verdicts):
        _add(file, verdict, folder)
    return str(file)


def _add(file: WrittenFile, verdict: Verdict, folder: str | Path) -> None:
    """Add the test of a verdict to the file."""
    run, problem = verdict.run, verdict.problem
    if run is None or run.pipeline is None or problem is None:
        raise WorkbenchError(
            f"'{verdict.property}' of {verdict.pipeline} has no run to write a test of",
            hint="only verdicts with a counterexample or a witness can be written as tests",
        )
    models = [model for side in problem.sides if (model := rules_in(side.pipeline)) is not None]
    if models:
        functions = [file.pipeline(running_rules(model)) for model in models]
        lines = rule_run(run, functions[0], models[0]) if len(models) == 1 else rule_difference(run, functions, models)
    else:
        lines = _of_pipelines(file, run, verdict, folder)
    word = "holds only within its bounds" if verdict.outcome is Outcome.WITHIN_BOUNDS else str(verdict.outcome)
    words = (verdict.property.partition("(")[0], "of", verdict.pipeline, verdict.outcome)
    name = f"test_shows_that_{'_'.join(map(identifier, words))}"
    shows = f": {run.shows}" if run.shows else ""
    file.test(name, f"{verdict.property} {word}{shows}; this test passes until that changes", lines)


def _of_pipelines(file: WrittenFile, run: Trace, verdict: Verdict, folder: str | Path) -> Iterator[str]:
    """Yield the lines of a test of a run of a pipeline, or of two that are compared."""
    problem = verdict.problem
    assert problem is not None
    names = [file.pipeline(Recipe.of(side, problem.fitting.domain, folder)) for side in problem.sides]
    if has_ticks(run):
        over = problem.fitting.domain
        sides = zip(names, problem.sides, strict=True)
        return itertools.chain(*(write_timed_run(run, name, side.pipeline.resolve(over)) for name, side in sides))
    if isinstance(problem.prop, Equivalence):
        return comparison(run, names[0], names[1], problem.prop.mode)
    return single(run, names[0], verdict.property, problem.syntax)
