"""Loading of files and their pipelines: the entry points of the language.

`FILE:NAME` names a pipeline of a file. Without a name it is the one called `main` if there is one, else the
last: the pipelines above it are usually its parts. The rule of this module: the modules for elaboration, with all
processors, are imported after the text has been parsed, so that a syntax error is reported at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from workbench.budget import phase
from workbench.errors import InputError
from workbench.language.parser import parse_expression, parse_file
from workbench.named_files import allow, describe_other, hide_text, read_text, suggest_program
from workbench.python_files import allow_python as python

if TYPE_CHECKING:
    from workbench.core.domain import Value
    from workbench.core.function import Function
    from workbench.core.program import Program
    from workbench.language.source import Loaded, Source

AnyProgram: TypeAlias = "Program | Source | str | Path"
"""A program, a parsed text, which stands for its default pipeline, or a reference to a file: `FILE` or `FILE:NAME`."""


def parse(
    text: str,
    file: str = "<text>",
    functions: Mapping[str, Function] | None = None,
    include: Iterable[str | Path] = (),
    *,
    allow_python: bool = False,
) -> Source:
    """Parse the pipelines of a text.

    Parameters
    ----------
    functions: Python functions that the text may use by name.
    include: folders that may contain files that the text names, besides the folder of `file`.
    allow_python: whether the text may run the Python files that it names with `use`.
    """
    with phase(f"reading {file}"), allow(Path(file).parent), allow(include) as folders, python(allow_python):
        tree = parse_file(text, file)
        from workbench.language.source import Source

        source = Source(file, text, tree, dict(functions or {}), folders=folders)
        source.check_definitions()
    return source


def read_file(
    path: str | Path,
    functions: Mapping[str, Function] | None = None,
    include: Iterable[str | Path] = (),
    *,
    allow_python: bool = False,
) -> Source:
    """Parse the pipelines of a `.pipe` file; see `parse`."""

    def hint() -> str:
        return describe_other(path) or suggest_program(Path(path), ".pipe")

    if str(path).endswith(".tesla"):
        whole = "a rule file is used as a whole: leave ':NAME' out; in Python wb.rules.load_rules reads it"
        raise InputError("these are rules, not a pipeline", where=str(path), hint=whole)
    text = read_text(path, hint)
    with hide_text(Path(path), describe_other(path)):
        return parse(text, str(path), functions, include, allow_python=allow_python)


def split_reference(reference: str) -> tuple[str, str | None]:
    """Split `FILE:NAME` into path and name; the name is None where none is given."""
    path, colon, name = reference.rpartition(":")
    if colon and path and name.isidentifier() and not Path(reference).exists():
        return path, name
    return reference, None


def load(
    reference: str | Path,
    /,
    *,
    faults: Iterable[str] = (),
    include: Iterable[str | Path] = (),
    allow_python: bool = False,
    **params: Value,
) -> Loaded:
    """Load the pipeline `FILE` or `FILE:NAME`: `load("p.pipe:late", k=3, faults=["lose y at most 2"])`.

    Parameters
    ----------
    faults: faults besides those that the file declares.
    include: folders that may contain files that the file names, besides its own.
    allow_python: whether the file may run the Python files that it names with `use`.
    params: values for the parameters of the pipeline.

    Raises
    ------
    InputError: the file cannot be read. LanguageError: it has a mistake, or no such pipeline or parameter.
    """
    path, name = split_reference(str(reference))
    if set(path) & {"{", "\n"} and not os.path.exists(path):  # Path.exists refuses long texts
        hint = "wb.parse(TEXT) reads pipelines, and wb.rules.parse_rules(TEXT) rules"
        raise InputError("this is the text of a program, not its file", hint=hint)
    return read_file(path, include=include, allow_python=allow_python).get(name, **params).faulty(*faults)


def program_of(program: AnyProgram) -> Program:
    """Return a program as it is, the default pipeline of a parsed text, or the program of a file.

    Raises
    ------
    PipelineError: it is none of these. InputError: the file cannot be read.
    """
    if isinstance(program, str | Path):
        return load(program)
    from workbench.core.pipeline import graph_of
    from workbench.language.source import Source

    if isinstance(program, Source):
        return program.get()
    graph_of(program)
    return program


def parameters(items: Iterable[str]) -> dict[str, Value]:
    """Parse parameters of a command line: `["k=3", "strict=true"]`."""
    values: dict[str, Value] = {}
    for item in items:
        name, equals, text = item.partition("=")
        if not equals or not name.strip().isidentifier():
            gives = item.strip().isidentifier()
            what = f"--param {item} gives no value" if gives else f"'{item}' is not a parameter"
            raise InputError(what, hint=f"write --param {item.strip() if gives else 'k'}=3")
        e = parse_expression(text, f"--param {name.strip()}")
        from workbench.language.properties import constant

        values[name.strip()] = constant(e)
    return values
