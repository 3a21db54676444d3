"""Disagreements as pytest files.

For a pipeline, both executables run on the trace on which they differed; for rules, all engines are compared with the
meaning of the rules on the events. The rule of this module: a file fails as written, and passes once all agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from workbench.conformance.compare.conformity import Conformity, RuleConformity
from workbench.conformance.compare.differential import Disagreement
from workbench.conformance.compare.rule_engines import RuleDisagreement
from workbench.conformance.compare.user_files import PythonPipeline
from workbench.conformance.generate.rule_cases import RuleCase
from workbench.conformance.written_tests.pytest_file import Recipe, WrittenFile, as_source, identifier
from workbench.core.processor import END
from workbench.language import Loaded


def write_test(
    outcome: Conformity | RuleConformity, subject: Loaded | PythonPipeline | None, folder: str, command: str
) -> tuple[str, str]:
    """Return the name and the text of a pytest file for a disagreement.

    Parameters
    ----------
    subject: the pipeline of a file that was compared; None: random pipelines, or rules.
    folder, command: the folder of the pytest file, and the command that wrote it.
    """
    assert outcome.failure is not None
    if isinstance(outcome, RuleConformity):
        name = f"{identifier(Path(outcome.rules).stem)}_on_{outcome.failure.engine}"
        return f"test_{name}.py", rule_disagreement(outcome.failure, command)
    recipe = None if subject is None else Recipe.of(subject, outcome.integers, folder)
    if recipe is not None and outcome.part:
        recipe = recipe.of_part(outcome.part)
    name = f"{identifier(outcome.pipeline)}_on_{identifier(outcome.failure.right[0])}"
    return f"test_{name}.py", disagreement(outcome.failure, recipe, command)


def disagreement(failure: Disagreement, recipe: Recipe | None = None, command: str = "") -> str:
    """Return the text of a pytest file that compares two executables again: it fails as long as they differ.

    An executable without source is replaced by the specification or the reference executor.

    Parameters
    ----------
    recipe: the recipe of the pipeline; None: a Python program builds it.
    command: the command that wrote the file.
    """
    sides = (failure.left, failure.right)
    summary = "\n".join(f"{name}: {value!r}" for name, value in sides)
    about = f"Two ways to run a pipeline differed at step {failure.step}, {failure.what}.\n\n{summary}"
    file = WrittenFile(about, command, failure.imports)
    executables = ", ".join(_rebuild(failure.sources))
    lines = [
        f"pipeline = {file.pipeline(recipe or Recipe.of_pipeline(failure.pipeline))}()",
        "steps = [",
        *(
            f"    {as_source(events if events is END else dict(events))},"
            for events in failure.steps[: failure.step + 1]
        ),
        "]",
        f"check(pipeline, steps, {executables}{', terms(pipeline)' if failure.strict else ''})",
    ]
    file.test("test_they_agree", f"{failure.left[0]} and {failure.right[0]} show the same at every step", lines)
    return str(file)


def _rebuild(sources: tuple[str, str]) -> list[str]:
    """Return the source of both executables; the specification or the reference executor stands for an unknown one."""
    executables = list(sources)
    for side, other in ((0, 1), (1, 0)):
        if not executables[side]:
            executables[side] = (
                "Denoting(pipeline)" if executables[other].startswith("Running") else "Running(pipeline)"
            )
    return executables if executables[0] != executables[1] else ["Running(pipeline)", "Denoting(pipeline)"]


def rule_disagreement(failure: RuleDisagreement, command: str = "") -> str:
    """Return the text of a pytest file that compares all engines with the meaning of these rules again.

    Parameters
    ----------
    command: the command that wrote the file.
    """
    file = WrittenFile(str(failure), command)
    file.texts[str(failure.case.rules)] = "SOURCE"
    lines = [
        "case = RuleCase(",
        "    parse_rules(SOURCE),",
        *_format_case(failure.case),
        ")",
        "assert compare_to_meaning(case) is None",
    ]
    file.test("test_engines_emit_what_the_rules_mean", "All engines emit what the formulas define", lines)
    return str(file)


def _format_case(case: RuleCase) -> Iterator[str]:
    """Yield the inputs of the rules, as arguments."""
    yield "    ["
    for event in case.events:
        yield f"        Occurrence({as_source(event.type)}, {event.time}, {as_source(event.values)}),"
    yield "    ],"
    if any(case.facts.values()):
        yield f"    facts={as_source({name: list(rows) for name, rows in case.facts.items() if rows})},"
    for name in ("until", "trex", "saved"):
        if getattr(case, name) not in (None, False):
            yield f"    {name}={getattr(case, name)},"
