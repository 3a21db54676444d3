"""The pipelines of a user's files: of a `.pipe` file, or of a Python file whose pipelines are module variables."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from workbench.core.domain import Value
from workbench.core.pipeline import Pipeline
from workbench.errors import InputError, WorkbenchError, did_you_mean
from workbench.language import Loaded, read_file


@dataclass(frozen=True)
class PythonPipeline:
    """A pipeline of a Python file, and the variable that holds it."""

    pipeline: Pipeline
    file: str
    name: str


def subject(file: str, name: str | None = None, /, **params: Value) -> Loaded | PythonPipeline:
    """One pipeline of a file: the one of this name, else `main`, else the last."""
    if not file.endswith(".py"):
        return read_file(file).get(name, **params)
    if params:
        raise InputError("the pipelines of a Python file have no parameters", where=file)
    found = python_pipelines(file)
    chosen = name or ("main" if "main" in found else list(found)[-1])
    if chosen not in found:
        raise InputError(f"there is no pipeline '{chosen}'", where=file, hint=did_you_mean(chosen, list(found)))
    return PythonPipeline(found[chosen], file, chosen)


def python_pipelines(file: str) -> dict[str, Pipeline]:
    """The pipelines that a Python file defines, by the names of its variables.

    Raises
    ------
    InputError: it cannot be run, or defines none.
    """
    found = {name: value for name, value in vars(_execute(file)).items() if isinstance(value, Pipeline)}
    if not found:
        raise InputError(
            "there is no pipeline in this file", where=file, hint="define one: @wb.pipeline(x=wb.INT) above def name(x)"
        )
    return found


def _execute(file: str) -> ModuleType:
    path = Path(file)
    if not path.is_file():
        raise InputError("there is no such file", where=file)
    name = path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = sys.modules.get(name)
    sys.modules[name] = module  # dataclasses look for their module there
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except WorkbenchError as error:
        error.where = error.where or _locate(file, error)
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f"it cannot be run: {_describe(error)}", where=_locate(file, error)) from error
    finally:
        sys.path.remove(str(path.parent))
        if before is not None:
            sys.modules[name] = before
    return module


def _describe(error: BaseException) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _locate(file: str, error: BaseException) -> str:
    """The line of the file in which an error was raised, or from which that place was called."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return f"{file}:{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f"{file}:{lines[-1]}" if lines else file
