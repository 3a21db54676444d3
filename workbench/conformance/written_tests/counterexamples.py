"""Counterexamples as pytest files: each run as a test that reproduces it on the reference executor.

The rule of this module: a file stands alone (it has the pipeline in it), can be read by a person, passes as it is
written and fails when what the pipeline shows changes. What is asserted is what the run shows: the outputs of every
step, then what breaks the property, in plain asserts. A loop is run three times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent

from workbench.conformance.written_tests.recipe import Recipe, identifier
from workbench.conformance.written_tests.reproduce import comparison, single
from workbench.errors import WorkbenchError
from workbench.language.syntax import PropertySyntax
from workbench.processors.held.group import Group
from workbench.verify.answer.equivalence import NAMES, EquivalenceMode
from workbench.verify.answer.from_syntax import EQUIVALENCES
from workbench.verify.answer.tolerance import TOLERATES
from workbench.verify.answer.verdict import Outcome, Trace, Verdict

MODES: Mapping[str, EquivalenceMode] = {
    **{name: mode for mode, name in NAMES.items()}, **EQUIVALENCES, TOLERATES: "sequence",
}  # fmt: skip

"""How a verdict on two pipelines calls what was asked."""


@dataclass(frozen=True)
class Case:
    """A verdict with a run, and how its pipelines are built (two, where it compares them).

    Parameters
    ----------
    asked: the property as it was understood, where it was written as text.
    """

    verdict: Verdict
    recipes: tuple[Recipe, ...] = ()
    asked: PropertySyntax | None = None

    @property
    def run(self) -> Trace:
        """The counterexample or witness."""
        run = self.verdict.run
        if run is None or run.pipeline is None:
            raise WorkbenchError(
                f"'{self.verdict.property}' of {self.verdict.pipeline} has no run to write a test of",
                hint="only verdicts with a counterexample or a witness can be written as tests",
            )
        return run

    @property
    def mode(self) -> EquivalenceMode | None:
        """How two pipelines are compared; None for a property of one."""
        return MODES.get(self.verdict.property.partition("(")[0].strip())

    @property
    def built(self) -> tuple[Recipe, ...]:
        """The recipes given, else those of the run's pipeline, or of the two that it compares."""
        if self.recipes:
            return self.recipes
        assert self.run.pipeline is not None
        if self.mode is None:
            return (Recipe.of_pipeline(self.run.pipeline),)
        groups = [node.processor for node in self.run.pipeline.nodes if isinstance(node.processor, Group)]
        return tuple(Recipe.of_pipeline(group.body) for group in groups[:2])


def to_test(cases: Sequence[Case | Verdict], command: str = "") -> str:
    """The text of a pytest file with a test for each verdict that has a run.

    Parameters
    ----------
    cases: verdicts, with recipes where their pipelines should be built from `.pipe` text.
    command: the command that wrote the file.

    Raises
    ------
    WorkbenchError: a verdict has no run, or one without its pipeline.
    """
    found = [case if isinstance(case, Case) else Case(case) for case in cases]
    file = _File()
    tests = [file.test(case) for case in found]
    by = f"\n\nWritten by `{_plain(command)}`." if command else ""
    head = f'"""Runs that a model checker found, as tests of the reference executor.{by}\n"""\n'
    parts = [head, "\n".join(file.imports()), *file.sources(), *file.functions(), *tests]
    return "\n".join(_spaced(parts))


def _plain(text: str) -> str:
    """Text that may stand in a docstring."""
    return text.replace("\\", "\\\\").replace('"""', "'''")


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
        """The import lines: plain ones of others, then those of workbench."""
        ours = [line for line in self.needs if "workbench" in line]
        others = sorted(line for line in self.needs if line not in ours)
        plain = [line for line in others if line != "import pytest"]
        ours = sorted(ours, key=lambda line: (line.startswith("from"), line))
        groups = [plain, [line for line in others if line not in plain], ours]
        return "\n\n".join("\n".join(group) for group in groups if group).splitlines()

    def sources(self) -> Iterator[str]:
        """The `.pipe` texts as constants."""
        for text, name in self.texts.items():
            quoted = text.strip("\n").replace("\\", "\\\\").replace('"""', '""\\"')
            yield f'{name} = """\n{quoted}\n"""\n'

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

    def test(self, case: Case) -> str:
        """The test function of a case."""
        verdict, run = case.verdict, case.run
        names = [self.pipeline(recipe) for recipe in case.built]
        if case.mode is None:
            body = single(run, names[0], verdict.property, case.asked)
        else:
            body = comparison(run, names[0], names[1], case.mode)
        self.needs.update(dict.fromkeys(body.imports))
        word = "holds only within its bounds" if verdict.outcome is Outcome.WITHIN_BOUNDS else str(verdict.outcome)
        name = self.fresh(f"test_{identifier(verdict.property.partition('(')[0])}_of_{identifier(verdict.pipeline)}")
        shows = f": {run.shows}" if run.shows else ""
        doc = _plain(f"{verdict.property} {word}{shows}.")
        return f'def {name}():\n    """{doc}"""\n{indent(body.text, "    ")}\n'
