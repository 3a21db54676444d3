"""Run Python files of users, and locate errors in them.

The rule of this module: a file is run only if the user requests it: as an argument, or with `allow_python`.
"""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import ModuleType

from workbench.errors import InputError, WorkbenchError

_ALLOWED: ContextVar[bool] = ContextVar("python", default=False)


@contextmanager
def allow_python(allowed: bool = True) -> Iterator[None]:
    """Let programs that are read in this block run the Python files that they name."""
    token = _ALLOWED.set(allowed or _ALLOWED.get())
    try:
        yield
    finally:
        _ALLOWED.reset(token)


def is_python_allowed() -> bool:
    """Whether programs may run the Python files that they name."""
    return _ALLOWED.get()


def execute_file(file: str) -> ModuleType:
    """Execute a Python file, and return its module; InputError, with its line, if it cannot be run."""
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
        error.where = error.where or locate(file, error)
        raise
    except (Exception, SystemExit) as error:
        raise InputError(f"it cannot be run: {describe(error)}", where=locate(file, error)) from error
    finally:
        sys.path.remove(str(path.parent))
        if before is not None:
            sys.modules[name] = before
    return module


def describe(error: BaseException) -> str:
    """Return the class of an error and its message."""
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def locate(file: str, error: BaseException) -> str:
    """Return the line of the file in which an error was raised, or from which that place was called."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return f"{file}:{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f"{file}:{lines[-1]}" if lines else file
