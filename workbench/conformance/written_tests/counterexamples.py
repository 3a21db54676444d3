"""Counterexamples as pytest files: each run as a test that reproduces it on the reference executor.

The rule of this module: a file stands alone (it has the pipeline in it), can be read by a person, passes as it is
written and fails when what the pipeline shows changes. What is asserted is what the run shows: the outputs of every
step, then what breaks the property, in plain asserts. A loop is run three times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import indent

from workbench.conformance.written_tests.recipe import Recipe, identifier, import_order, in_docstring, source_constant
from workbench.conformance.written_tests.reproduce import comparison, single
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
    file = _File()
    tests = [file.test(verdict) for verdict in verdicts]
    by = f"\n\nWritten by `{in_docstring(command)}`." if command else ""
    head = f'"""Runs that a model checker found, as tests of the reference executor.{by}\n"""\n'
    parts = [head, "\n".join(file.imports()), *file.sources(), *file.functions(), *tests]
    return "\n".join(_spaced(parts))


def _spaced(parts: Sequence[str]) -> Iterator[str]:
    for number, part in enumerate(parts):
        function = part.startswith("def ")
        yield ("\n" if function else "") + part.rstrip() + ("\n" if number < len(parts) - 1 else "")
    yield ""


class _File:
    """What the tests of a file share: texts, functions that build pipelines, and names."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.built: dict[Recipe, str] = {}
        self.needs: dict[str, None] = {"import workbench as wb": None}
        self.taken: set[str] = set()

    def imports(self) -> list[str]:
        """The import lines: those of others, then those of workbench, with an empty line between."""
        groups = groupby(sorted(self.needs, key=import_order), lambda line: import_order(line)[0])
        return "\n\n".join("\n".join(group) for _, group in groups).splitlines()

    def sources(self) -> Iterator[str]:
        """The `.pipe` texts as constants."""
        yield from (source_constant(name, text) for text, name in self.texts.items())

    def functions(self) -> Iterator[str]:
        """The functions that build the pipelines."""
        for recipe, name in self.built.items():
            yield recipe.function(self.texts.get(recipe.text, ""), name)

    def pipeline(self, recipe: Recipe) -> str:
        """The name of the function that builds it."""
        if recipe.text and recipe.text not in self.texts:
            self.texts[recipe.text] = "SOURCE" if not self.texts else f"SOURCE_{len(self.texts) + 1}"
        if recipe not in self.built:
            self.built[recipe] = self.fresh(recipe.name)
            self.needs.update(dict.fromkeys(recipe.imports))
        return self.built[recipe]

    def fresh(self, name: str) -> str:
        """The name, with a number where it is taken."""
        names = (name if i == 1 else f"{name}_{i}" for i in range(1, len(self.taken) + 2))
        chosen = next(each for each in names if each not in self.taken)
        self.taken.add(chosen)
        return chosen

    def test(self, verdict: Verdict) -> str:
        """The test function of a verdict."""
        run, problem = verdict.run, verdict.problem
        if run is None or run.pipeline is None or problem is None:
            raise WorkbenchError(
                f"'{verdict.property}' of {verdict.pipeline} has no run to write a test of",
                hint="only verdicts with a counterexample or a witness can be written as tests",
            )
        names = [self.pipeline(Recipe.of(side, problem.fitting.domain)) for side in problem.sides]
        if isinstance(problem.prop, Equivalence):
            body = comparison(run, names[0], names[1], problem.prop.mode)
        else:
            body = single(run, names[0], verdict.property, problem.syntax)
        self.needs.update(dict.fromkeys(body.imports))
        word = "holds only within its bounds" if verdict.outcome is Outcome.WITHIN_BOUNDS else str(verdict.outcome)
        name = self.fresh(f"test_{identifier(verdict.property.partition('(')[0])}_of_{identifier(verdict.pipeline)}")
        shows = f": {run.shows}" if run.shows else ""
        doc = in_docstring(f"{verdict.property} {word}{shows}.")
        return f'def {name}():\n    """{doc}"""\n{indent(body.text, "    ")}\n'
