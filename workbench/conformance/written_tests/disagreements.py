"""Disagreements as pytest files: both executables on the trace on which they differed.

The rule of this module: a file fails as it is written, and passes once the two agree.
"""

from __future__ import annotations

import re
from importlib import import_module

from workbench.conformance.compare.differential import Disagreement
from workbench.conformance.written_tests.recipe import Recipe, identifier, written
from workbench.core.processor import END

HOMES = (
    "workbench.conformance.compare.executables",
    "workbench.conformance.compare.models",
    "workbench.conformance.compare.threaded",
    "workbench.conformance.compare.state_guard",
    "workbench.verify.analyses.certify",
    "workbench.conformance.compare.contenders",
    "workbench.conformance.compare.differential",
)
"""Where the names in the source of an executable come from."""


def disagreement(found: Disagreement, recipe: Recipe | None = None, command: str = "") -> str:
    """The text of a pytest file that compares two executables again: it fails for as long as they differ.

    One that cannot be made again gives way to the specification, or to the reference executor.

    Parameters
    ----------
    recipe: how the pipeline is built; None: by a Python program.
    command: the command that wrote the file.
    """
    recipe = recipe or Recipe.of_pipeline(found.pipeline)
    sides = _remade(found.made)
    steps = found.steps[: found.step + 1]
    call = f"check(pipeline, steps, {sides[0]}, {sides[1]}{', terms(pipeline)' if found.strict else ''})"
    function = recipe.function("SOURCE", identifier(found.pipeline.name))
    imports = {*_imports(call), *(line for line in found.imports if line.split()[-1] in call), *recipe.imports}
    if "wb." in function or any(events is END for events in steps):
        imports.add("import workbench as wb")
    shown = "\n".join(f"{name}: {value!r}" for name, value in (found.left, found.right))
    by = f"\n\nWritten by `{_plain(command)}`." if command else ""
    source = [f'SOURCE = """\n{_quoted(recipe.text)}\n"""\n\n'] if recipe.text else []
    lines = [
        f'"""Two ways to run a pipeline differed at step {found.step}, {found.what}.\n\n{_plain(shown)}{by}\n"""\n',
        *sorted(imports, key=_place),
        "" if source else "\n",
        *source,
        function,
        "\ndef test_they_agree():",
        f'    """{_plain(f"{found.left[0]} and {found.right[0]} show the same at every step")}."""',
        f"    pipeline = {identifier(found.pipeline.name)}()",
        "    steps = [",
        *(f"        {written(END if events is END else dict(events))}," for events in steps),
        "    ]",
        f"    {call}",
    ]
    return "\n".join(lines) + "\n"


def _imports(source: str) -> list[str]:
    """The imports of the names that are called in some source, where we know them."""
    names = set(re.findall(r"\b([A-Za-z_]\w*)\(", source))
    found = []
    for home in HOMES:
        module = import_module(home)
        used = sorted(name for name in names if getattr(getattr(module, name, None), "__module__", "") == home)
        if used:
            found.append(f"from {home} import {', '.join(used)}")
    return found


def _place(line: str) -> tuple[bool, bool, str]:
    ours = "workbench" in line
    return ours, line.startswith("from"), line


def _remade(made: tuple[str, str]) -> list[str]:
    """How both are made again; for one that is not known, the specification or the reference executor."""
    found = list(made)
    for side, other in ((0, 1), (1, 0)):
        if not found[side]:
            found[side] = "Denoting(pipeline)" if found[other].startswith("Running") else "Running(pipeline)"
    return found if found[0] != found[1] else ["Running(pipeline)", "Denoting(pipeline)"]


def _plain(text: str) -> str:
    """Text that may stand in a docstring."""
    return text.replace("\\", "\\\\").replace('"""', "'''")


def _quoted(text: str) -> str:
    return text.strip("\n").replace("\\", "\\\\").replace('"""', '""\\"')
