"""Where parts of workbench are found beside its own folders: in those that `WORKBENCH_EXTENSIONS` names.

The rule of this module: a part is one file, found in a folder that is called like what it is. A folder of extensions
has `processors`, `backends`, `engines`, `commands`, `formats`; several are separated as on PATH.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable
from typing import Any

from workbench.errors import WorkbenchError

VARIABLE = "WORKBENCH_EXTENSIONS"


def extended(kind: str) -> list[str]:
    """The folders of this kind, to be put on a package's `__path__`."""
    return [os.path.join(each, kind) for each in os.environ.get(VARIABLE, "").split(os.pathsep) if each]


def later(module: str, name: str, *given: Any) -> Callable[..., Any]:
    """Calls what a module has by that name; the module is imported then, and not before."""
    return lambda *more, **named: getattr(importlib.import_module(module), name)(*given, *more, **named)


def rows(package: str, own: Iterable[Any] = ()) -> dict[str, Any]:
    """The rows of a table by their names: its own, then the `ROW` of each module of a package in the order of its rank.

    The package is given by its name: what its rows start reads the table of them.

    Raises
    ------
    WorkbenchError: a module has no `ROW`, or two have one of the same name.
    """
    listed = []
    for name, path in files(importlib.import_module(package).__path__).items():
        row = getattr(importlib.import_module(f"{package}.{name}"), "ROW", None)
        if row is None:
            raise WorkbenchError("there is no ROW that says what it is", where=path)
        listed.append((row, path))
    found: dict[str, Any] = {}
    others = sorted(listed, key=lambda each: (each[0].rank, each[0].name))
    for row, path in [*((row, package) for row in own), *others]:
        if row.name in found:
            raise WorkbenchError(f"'{row.name}' is there already", where=path)
        found[row.name] = row
    return found


def files(places: Iterable[str]) -> dict[str, str]:
    """The modules in these folders, name to path, in alphabetical order; the first of a name is the one imported."""
    found = {
        name.removesuffix(".py"): os.path.join(place, name)
        for place in reversed(list(places))
        if os.path.isdir(place)
        for name in os.listdir(place)
        if name.endswith(".py") and not name.startswith("_")
    }
    return dict(sorted(found.items()))
