"""The pipelines of a user's files: of a `.pipe` file, or of a Python file whose pipelines are module variables."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.core.domain import Value
from workbench.core.pipeline import Pipeline
from workbench.errors import InputError, did_you_mean
from workbench.language import Loaded, read_file
from workbench.python_files import execute_file


@dataclass(frozen=True)
class PythonPipeline:
    """A pipeline of a Python file, and the variable that holds it."""

    pipeline: Pipeline
    file: str
    name: str


def subject(file: str, name: str | None = None, /, **params: Value) -> Loaded | PythonPipeline:
    """Return one pipeline of a file: the one of this name, else `main`, else the last."""
    if not file.endswith(".py"):
        return read_file(file).get(name, **params)
    if params:
        raise InputError("the pipelines of a Python file have no parameters", where=file)
    pipelines = python_pipelines(file)
    choice = name or ("main" if "main" in pipelines else list(pipelines)[-1])
    if choice not in pipelines:
        raise InputError(f"there is no pipeline '{choice}'", where=file, hint=did_you_mean(choice, list(pipelines)))
    return PythonPipeline(pipelines[choice], file, choice)


def python_pipelines(file: str) -> dict[str, Pipeline]:
    """Return the pipelines that a Python file defines, by the names of its variables.

    Raises
    ------
    InputError: the file cannot be run, or defines no pipeline.
    """
    pipelines = {name: value for name, value in vars(execute_file(file)).items() if isinstance(value, Pipeline)}
    if not pipelines:
        raise InputError(
            "there is no pipeline in this file", where=file, hint="define one: @wb.pipeline(x=wb.INT) above def name(x)"
        )
    return pipelines
