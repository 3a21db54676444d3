"""Disagreements as pytest files: both executables on the trace on which they differed.

The rule of this module: a file fails as it is written, and passes once the two agree.
"""

from __future__ import annotations

from workbench.conformance.compare.differential import Disagreement
from workbench.conformance.written_tests.recipe import Recipe, written
from workbench.conformance.written_tests.written_file import WrittenFile
from workbench.core.processor import END


def disagreement(found: Disagreement, recipe: Recipe | None = None, command: str = "") -> str:
    """The text of a pytest file that compares two executables again: it fails for as long as they differ.

    One that cannot be made again gives way to the specification, or to the reference executor.

    Parameters
    ----------
    recipe: how the pipeline is built; None: by a Python program.
    command: the command that wrote the file.
    """
    sides = (found.left, found.right)
    shown = "\n".join(f"{name}: {value!r}" for name, value in sides)
    about = f"Two ways to run a pipeline differed at step {found.step}, {found.what}.\n\n{shown}"
    file = WrittenFile(about, command, found.imports)
    lines = [
        f"pipeline = {file.pipeline(recipe or Recipe.of_pipeline(found.pipeline))}()",
        "steps = [",
        *(f"    {written(events if events is END else dict(events))}," for events in found.steps[: found.step + 1]),
        "]",
        f"check(pipeline, steps, {', '.join(_remade(found.made))}{', terms(pipeline)' if found.strict else ''})",
    ]
    file.test("test_they_agree", f"{found.left[0]} and {found.right[0]} show the same at every step", lines)
    return str(file)


def _remade(made: tuple[str, str]) -> list[str]:
    """How both are made again; for one that is not known, the specification or the reference executor."""
    found = list(made)
    for side, other in ((0, 1), (1, 0)):
        if not found[side]:
            found[side] = "Denoting(pipeline)" if found[other].startswith("Running") else "Running(pipeline)"
    return found if found[0] != found[1] else ["Running(pipeline)", "Denoting(pipeline)"]
