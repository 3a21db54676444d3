"""Find parts of workbench outside its own folders: in installed packages, and in folders of users.

The rule of this module: a package names its parts by entry points of the group `workbench.plugins`; each is a part (a
function, an aggregate, a processor, a format, a backend, ...), or a list of them, and its type determines its table.
Whether a package has any is found without loading one. Plugins are loaded only when a name is not among workbench's
own, or all parts are listed. A failing plugin is left out, with a warning that names its package and the reason.
`WORKBENCH_EXTENSIONS` names folders, separated as on PATH, in which a part is one file, in a folder named after its
kind: `processors`, `backends`, `formats`, ...
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any, TypeVar

from workbench.errors import WorkbenchError

VARIABLE = "WORKBENCH_EXTENSIONS"
GROUP = "workbench.plugins"
METADATA = (".dist-info", ".egg-info")
T = TypeVar("T")


def extension_folders(kind: str) -> list[str]:
    """Return the folders of this kind, for a package's `__path__`."""
    return [os.path.join(each, kind) for each in os.environ.get(VARIABLE, "").split(os.pathsep) if each]


def later(module: str, name: str, *args: Any) -> Callable[..., Any]:
    """Return a function that calls a module's function by name, and imports the module only then."""
    return lambda *more, **named: getattr(importlib.import_module(module), name)(*args, *more, **named)


class Plugin:
    """An entry point of an installed package.

    Attributes
    ----------
    name, package: the name of the entry point, and of the package that declares it, with its version.
    parts: the objects that it names.
    taken: the parts that a table has, in words, by their identities.
    error: the reason why it, or one of its parts, is left out; empty if none is.
    """

    def __init__(self, name: str, package: str) -> None:
        self.name, self.package = name, package
        self.parts: Sequence[Any] = ()
        self.taken: dict[int, str] = {}
        self.error = ""

    def load(self, load: Callable[[], Any]) -> None:
        """Load the parts, and catch any error of the package's import."""
        try:
            parts = load()
        except Exception as error:
            self.leave_out(f"{type(error).__name__}: {error}")
        else:
            self.parts = parts if isinstance(parts, list | tuple) else [parts]

    def leave_out(self, why: str) -> None:
        """Record, and report once, that a part of the plugin is left out."""
        if not self.error:
            import logging

            self.error = why
            message = f"plugin '{self.name}' of the package {self.package} is left out: {why}"
            logging.getLogger("workbench").warning(message)


class PartTable(Mapping[str, T]):
    """Parts by their names: those of workbench, and those of plugins.

    Parameters
    ----------
    own: those of workbench.
    kind: the class of which a plugin's part is an instance, or for processors a subclass, if it belongs here.
    name: returns the name of a part; one without a name is left to other tables.
    """

    def __init__(self, own: Mapping[str, T], kind: type, name: Callable[[Any], str] = attrgetter("name")) -> None:
        self._own, self._kind, self._name = own, kind, name

    def __getitem__(self, name: str) -> T:
        return self._own[name] if name in self._own else self._load_added()[name]

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._load_added()

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from self._load_added()

    def __len__(self) -> int:
        return len(self._own) + len(self._load_added())

    def _load_added(self) -> dict[str, T]:
        parts: dict[str, T] = {}
        for plugin in plugins():
            for part in plugin.parts:
                belongs = issubclass(part, self._kind) if isinstance(part, type) else isinstance(part, self._kind)
                name = self._name(part) if belongs else ""
                if name in self._own or name in parts:
                    plugin.leave_out(f"'{name}' exists already")
                elif name:
                    parts[name] = part
                    plugin.taken[id(part)] = f"{self._kind.__name__} {name}"
        return parts


_plugins: list[Plugin] | None = None


def plugins() -> Sequence[Plugin]:
    """Return the plugins of all installed packages, which are loaded on the first call."""
    global _plugins
    if _plugins is None:
        _plugins = []  # imports of a plugin may call this, too
        for folder in _declaring():
            _load(folder, _plugins)
    return _plugins


def _declaring() -> Iterator[str]:
    """Yield the metadata of packages that declare plugins, faster than importing importlib.metadata."""
    for entry in sys.path:
        with suppress(OSError):
            for name in sorted(os.listdir(entry or ".")):
                if name.endswith(METADATA):
                    folder = os.path.join(entry, name)
                    with suppress(OSError), open(os.path.join(folder, "entry_points.txt"), "rb") as file:
                        if GROUP.encode() in file.read():
                            yield folder


def _load(folder: str, into: list[Plugin]) -> None:
    from importlib.metadata import PathDistribution
    from pathlib import Path

    package = PathDistribution(Path(folder))
    label = f"{package.metadata['Name']} {package.version}"
    known = {(plugin.name, plugin.package.partition(" ")[0]) for plugin in into}
    for point in package.entry_points.select(group=GROUP):
        if (point.name, package.metadata["Name"]) not in known:  # the first on the path is the one imported
            into.append(plugin := Plugin(point.name, label))
            plugin.load(point.load)


def rows(package: str, own: Iterable[Any] = ()) -> PartTable[Any]:
    """Return the rows of a table by name: its own, then the `ROW` of each module of a package in the order of its rank.

    The package is given by its name, since modules that its rows import read the table. Rows of plugins come last.

    Raises
    ------
    WorkbenchError: a module has no `ROW`, or two rows have the same name.
    """
    listed = []
    for name, path in files(importlib.import_module(package).__path__).items():
        row = getattr(importlib.import_module(f"{package}.{name}"), "ROW", None)
        if row is None:
            raise WorkbenchError("the module defines no ROW", where=path)
        listed.append((row, path))
    rows_by_name: dict[str, Any] = {}
    others = sorted(listed, key=lambda each: (each[0].rank, each[0].name))
    for row, path in [*((row, package) for row in own), *others]:
        if row.name in rows_by_name:
            raise WorkbenchError(f"'{row.name}' exists already", where=path)
        rows_by_name[row.name] = row
    return PartTable(rows_by_name, type(next(iter(rows_by_name.values()))))


def files(folders: Iterable[str]) -> dict[str, str]:
    """Return the modules in these folders, name to path, in alphabetical order; the first of a name is imported."""
    paths = {
        name.removesuffix(".py"): os.path.join(folder, name)
        for folder in reversed(list(folders))
        if os.path.isdir(folder)
        for name in os.listdir(folder)
        if name.endswith(".py") and not name.startswith("_")
    }
    return dict(sorted(paths.items()))
