"""Functions of Python files that a program names: `use "my_functions.py": risk`.

The rule of this module: no Python runs without the user's permission, and every function declares its types.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_type_hints

from workbench.core.domain import FLOAT, Domain
from workbench.core.function import Function
from workbench.core.mistakes import FollowUp, Mistakes
from workbench.core.term import python_value
from workbench.core.types import python_domain
from workbench.errors import did_you_mean
from workbench.language import syntax as s
from workbench.named_files import find_named
from workbench.python_files import execute_file, is_python_allowed


def load_functions(used: Sequence[s.UsedFunction], mistakes: Mistakes) -> dict[str, Function]:
    """Load the functions that a program names; raise FollowUp if one fails, and store the error."""
    allowed = used if is_python_allowed() else used[:1]
    functions = {each.name: each for each in mistakes.each(allowed, _load)}
    if len(functions) < len(used):
        raise FollowUp
    return functions


def _load(used: s.UsedFunction) -> Function:
    """Load one function that a program names.

    Raises
    ------
    LanguageError: Python is not allowed, there is no such file or function, or its types are not declared.
    InputError: the file cannot be run.
    """
    if not is_python_allowed():
        what = f"this program would run the Python file '{used.file}', which could do all that you can"
        raise used.error(what, "if you trust that file, add --allow-python (allow_python=True in Python)")
    path = find_named(used.file, Path(used.where.file).absolute().parent, used.where)
    if not path.is_file():
        hint = "name it relative to the folder of this file, or to one of --include"
        raise used.error(f"there is no file '{used.file}'", hint)
    namespace = _functions(str(path), path.stat().st_mtime_ns)
    if inspect.isclass(namespace.get(used.name)):
        hint = "use takes functions; a plugin adds processors (docs/reference/plugins.md)"
        raise used.error(f"{used.name} is a class", hint)
    if used.name not in namespace:
        own = [name for name, each in namespace.items() if inspect.isfunction(each) and each.__module__ == path.stem]
        hint = did_you_mean(used.name, own, "its functions are: ")
        raise used.error(f"'{used.file}' has no function '{used.name}'", hint)
    return _add_types(used, namespace[used.name])


@functools.lru_cache(64)
def _functions(path: str, changed: int) -> dict[str, Callable[..., Any]]:
    """Return the functions and classes of a file, run once per change; pickling a program writes them out by value."""
    del changed
    module = execute_file(path)
    if sys.modules.get(module.__name__) is module:
        del sys.modules[module.__name__]
    return {name: each for name, each in vars(module).items() if inspect.isfunction(each) or inspect.isclass(each)}


def _add_types(used: s.UsedFunction, call: Callable[..., Any]) -> Function:
    """Build a function of the language with the types of its annotations."""
    parameters = list(inspect.signature(call).parameters.values())
    try:
        hints = get_type_hints(call)
        domains = [_domain(name, hints.get(name)) for name in (*(p.name for p in parameters), "return")]
    except (NameError, TypeError) as error:
        signature = ", ".join(f"{p.name}: float" for p in parameters)
        raise used.error(
            f"'{used.name}' does not declare all of its types: {error}",
            f"write def {used.name}({signature}) -> float: types are bool, int, float, str, these | None, and "
            'Literal["a", "b"]',
        ) from error
    if any(p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters):
        raise used.error(f"'{used.name}' has arguments that are not positional", "leave out *")
    *takes, result = domains

    @functools.wraps(call)
    def run(*args: Any) -> Any:
        return python_value(call(*(float(a) if d == FLOAT else a for a, d in zip(args, takes, strict=True))))

    return Function(used.name, len(takes), run, opaque=True, result=result, takes=tuple(takes))


def _domain(name: str, hint: Any) -> Domain:
    """Return the domain of an annotation; raise TypeError for one that the language does not have."""
    if hint is None:
        raise TypeError(f"'{name}' has none")
    domain = python_domain(hint)
    if domain is not None:
        return domain
    raise TypeError(f"'{name}' is {getattr(hint, '__name__', hint)}, which the language does not have")
