"""Search and loading of suites, the Python files of a folder with a line `suite = Suite(...)`.

The search parses files and does not run them; the folder may contain other scripts.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import traceback
from pathlib import Path

from workbench.errors import Location, SuiteError, WorkbenchError
from workbench.lab.suite import Suite

_LINE = re.compile(rb"^suite\b[^=\n]*=[\w. ]*\bSuite\(", re.MULTILINE)


def suite_files(folder: Path) -> dict[str, Path]:
    """Return the path of each file with a line `suite = Suite(...)`, by its name without `.py`.

    Raises
    ------
    SuiteError: there is no such folder.
    """
    if not folder.is_dir():
        raise SuiteError("there is no such folder", where=str(folder), hint="name the folder with --experiments")
    return {path.stem: path for path in sorted(folder.glob("*.py")) if is_suite(path)}


def suite_file(folder: Path, name: str) -> Path | None:
    """Return the file of a suite by name, without examining other files; None if there is none."""
    path = folder / f"{name}.py"
    return path if path.name == f"{name}.py" and is_suite(path) else None  # a name must not be a path


def is_suite(path: Path) -> bool:
    """Whether a file has a line `suite = Suite(...)`; with a syntax error, whether a line begins like that."""
    try:
        text = path.read_bytes()
        if b"Suite" not in text:  # parsing all other scripts takes long
            return False
        tree = ast.parse(text)
    except OSError:
        return False
    except (SyntaxError, ValueError):
        return _LINE.search(text) is not None
    return any(_is_suite(line) for line in tree.body)


def _is_suite(line: ast.stmt) -> bool:
    targets = line.targets if isinstance(line, ast.Assign) else [line.target] if isinstance(line, ast.AnnAssign) else []
    if not any(isinstance(target, ast.Name) and target.id == "suite" for target in targets):
        return False
    assert isinstance(line, ast.Assign | ast.AnnAssign)
    return isinstance(line.value, ast.Call) and ast.unparse(line.value.func).split(".")[-1] == "Suite"


def load_suite(path: Path) -> Suite:
    """Load the suite of a file; modules in the parent of its folder can be imported.

    Raises
    ------
    SuiteError: the file has an error; the message gives its line.
    """
    path = path.resolve()
    top = str(path.parent.parent)
    if top not in sys.path:
        sys.path.insert(0, top)
    name = f"workbench_suite_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SuiteError("this is not a Python file", where=str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        line = Location(error.filename or str(path), error.lineno or 0, error.offset or 1, (error.text or "").rstrip())
        raise SuiteError(f"the suite is not valid Python: {error.msg}", where=line) from error
    except Exception as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        what, hint = f"{type(error).__name__}: {error}", ""
        if isinstance(error, WorkbenchError):
            what, hint = error.what, error.hint
        where = f"{path}:{lines[-1]}" if lines else str(path)
        raise SuiteError(f"the suite cannot be loaded: {what}", where=where, hint=hint) from error
    suite = getattr(module, "suite", None)
    if not isinstance(suite, Suite):
        raise SuiteError("this file has no `suite = Suite(...)`", where=str(path))
    if suite.name != path.stem:
        raise SuiteError(f"the suite called '{suite.name}' must be in a file {suite.name}.py", where=str(path))
    return suite


def find_suite(folder: Path, name: str) -> Path:
    """Return the file of a suite, by the file's name.

    Raises
    ------
    SuiteError: there is no such suite; the message lists the existing ones.
    """
    if (file := suite_file(folder, name)) is None:
        known = ", ".join(suite_files(folder)) or "none"
        raise SuiteError(f"there is no suite '{name}' in {folder}", hint=f"there are: {known}")
    return file
