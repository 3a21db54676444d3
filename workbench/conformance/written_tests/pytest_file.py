"""A pytest file: pipelines as constants and functions, and tests that use them.

The rule of this module: a file is self-contained and readable, and imports only what it uses.
"""

from __future__ import annotations

import json
import keyword
import math
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import indent
from typing import Any

import workbench.conformance
from workbench.conformance.compare.user_files import PythonPipeline
from workbench.conformance.generate.python_source import body, imports
from workbench.core.domain import Integer
from workbench.core.kinds import FileProcessor
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END
from workbench.core.program import Program
from workbench.errors import WorkbenchError
from workbench.language import Loaded
from workbench.processors.held.group import flatten


@dataclass(frozen=True)
class Recipe:
    """A function of a test file that builds a pipeline, or starts rules.

    Parameters
    ----------
    name: the name from which the function's name is made.
    result: statements that end in `return`; `SOURCE` stands for the text.
    text: the `.pipe` text it reads, or an empty text.
    """

    name: str
    result: str
    text: str = ""
    doc: str = field(default="", compare=False)
    kind: str = field(default="pipeline", compare=False)

    @classmethod
    def of(cls, subject: Program | PythonPipeline, integers: Integer | None, folder: str | Path = ".") -> Recipe:
        """Return the recipe of a pipeline, for a test file in this folder, with `int` resolved.

        A pipeline of a `.pipe` file is built from its text. A Python file is read again, so that it can be fixed.
        """
        if not isinstance(subject, Loaded | PythonPipeline):
            return cls.of_pipeline(subject.pipeline if integers is None else subject.pipeline.resolve(integers))
        domain = "" if integers is None else f"wb.Integer({integers.n}, wb.Overflowing.{integers.overflow.name})"
        resolved = domain and f".resolve({domain})"
        if isinstance(subject, Loaded):
            arguments = "".join(f", {key}={as_source(value)}" for key, value in subject.params.items())
            path_argument = ""
            if any(isinstance(each, FileProcessor) for each in flatten(subject).typed.values()):  # files beside it
                path_argument = f", str(Path(__file__).parent / {as_source(_from(folder, subject.source.file))})"
            expression = f"wb.parse(SOURCE{path_argument}).get({as_source(subject.name)}{arguments}).pipeline"
            if subject.added:
                expression = f"wb.faults.faulty({expression}, {', '.join(map(as_source, subject.added))})"
            expression = f"wb.faults.faultless({expression})" if subject.sound else expression
            name = f"{subject.name} without faults" if subject.sound else subject.name
            doc = "" if integers is None else f"`int` is 0..{integers.n - 1}, {integers.overflow}."
            return cls(identifier(name), f"return {expression}{resolved}", subject.source.text, doc)
        path = as_source(_from(folder, subject.file))
        expression = f"subject(str(Path(__file__).parent / {path}), {as_source(subject.name)}).pipeline"
        return cls(identifier(subject.name), f"return {expression}{resolved}")

    @classmethod
    def of_pipeline(cls, pipeline: Pipeline) -> Recipe:
        """Return the recipe of any pipeline: a Python program; raise WorkbenchError if a function has no source."""
        text = body(pipeline)
        if unsourced := re.search(r"unknown\('([^']*)'\)", text):
            raise WorkbenchError(
                f"{pipeline.ports.of} cannot be written as a program: its function '{unsourced[1]}' has no source",
                hint="check the pipeline of a file, read_file(path).get(name): then its text is written",
            )
        *lines, last = text.splitlines()
        result = "\n".join([*lines, last.replace("pipeline =", "return", 1)])
        return cls(identifier(pipeline.name), result)

    def of_part(self, names: Sequence[str]) -> Recipe:
        """Return the recipe of the part of the pipeline with these processors (`reduction.part`)."""
        *lines, last = self.result.splitlines()
        statement = f"return part({last.removeprefix('return ')}, {as_source(tuple(names))})"
        return replace(self, result="\n".join([*lines, statement]))

    def function(self, source: str, name: str) -> str:
        """Return the source of the function; `source` is the constant that holds the text."""
        doc = f'    """The {self.kind} {self.name}{": " + self.doc if self.doc else "."}"""'
        return f"def {name}():\n{doc}\n{indent(self.result.replace('SOURCE', source), '    ')}"


def _from(folder: str | Path, file: str) -> str:
    """Return the path of a file relative to a folder."""
    return os.path.relpath(os.path.realpath(file), os.path.realpath(folder))


def as_source(value: Any) -> str:
    """Return a value, or the inputs of a step, as Python source, with strings in double quotes."""
    if value is END:
        return "wb.END"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{as_source(k)}: {as_source(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_source, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(as_source, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def identifier(text: str) -> str:
    """Convert a text into a Python name."""
    name = re.sub(r"\W+", "_", text).strip("_").lower() or "it"
    return f"{name}_" if keyword.iskeyword(name) else f"_{name}" if name[0].isdigit() else name


LOCAL = "capacities", "running", "both", "left", "right", "steps", "seen", "events", "event", "ours", "theirs", "now"
"""Names of local variables in tests."""


class WrittenFile:
    """A pytest file under construction: texts, functions that build pipelines, tests, and the names in use.

    Parameters
    ----------
    about: the description of the file.
    command: the command that writes it.
    own: import lines for a user's own names.
    """

    def __init__(self, about: str, command: str = "", own: Iterable[str] = ()) -> None:
        self.about = about + (f"\n\nWritten by `{command}`." if command else "")
        self.own = own
        self.texts: dict[str, str] = {}
        self.built: dict[Recipe, str] = {}
        self.tests: list[str] = []
        self.taken = {"wb", *LOCAL, *workbench.conformance.__all__}

    def pipeline(self, recipe: Recipe) -> str:
        """Return the name of the function that builds a pipeline, adding the function if it is new."""
        if recipe.text and recipe.text not in self.texts:
            self.texts[recipe.text] = "SOURCE" if not self.texts else f"SOURCE_{len(self.texts) + 1}"
        if recipe not in self.built:
            self.built[recipe] = self._fresh(recipe.name)
        return self.built[recipe]

    def test(self, name: str, doc: str, lines: Iterable[str]) -> None:
        """Add a test."""
        body = indent("\n".join(lines), "    ")
        self.tests.append(f'def {self._fresh(name)}():\n    """{_plain(doc)}."""\n{body}')

    def __str__(self) -> str:
        quoted = (
            (name, text.strip("\n").replace("\\", "\\\\").replace('"""', '""\\"')) for text, name in self.texts.items()
        )
        constants = [f'{name} = """\n{text}\n"""' for name, text in quoted]
        functions = [recipe.function(self.texts.get(recipe.text, ""), name) for recipe, name in self.built.items()]
        uses = imports("\n".join([*functions, *self.tests]), self.own)
        head = "\n\n".join([f'"""{_plain(self.about)}\n"""', uses, *constants])
        return "\n\n\n".join([head, *functions, *self.tests]) + "\n"

    def _fresh(self, name: str) -> str:
        """Return the name, with a number if it is taken."""
        names = (name if i == 1 else f"{name}_{i}" for i in range(1, len(self.taken) + 2))
        free_name = next(each for each in names if each not in self.taken)
        self.taken.add(free_name)
        return free_name


def _plain(text: str) -> str:
    """Escape a text for a docstring."""
    return text.replace("\\", "\\\\").replace('"""', "'''")
