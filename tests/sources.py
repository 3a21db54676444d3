"""What the tests of the structure know of a file of `workbench`: its imports, its functions, and its public names.

A file is parsed once, and its tree is not retained: those of all files are some million objects.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import workbench

ROOT = Path(workbench.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))


class Import(NamedTuple):
    """One module that a file imports."""

    module: str
    line: int
    at_load: bool
    """Outside of functions, and not for types only."""
    types_only: bool


class Source(NamedTuple):
    """A file.

    Attributes
    ----------
    deferred: modules that it imports by their names as texts, when they are first used (`later`, `import_module`).
    taken: how many names it imports of each module, modules apart.
    parameters: each function, and how many parameters it has beside `self`.
    names: the public classes and aliases of types that it defines.
    """

    imports: list[Import]
    deferred: list[Import]
    taken: Counter[str]
    parameters: list[tuple[str, int]]
    names: set[str]


@cache
def read_source(path: Path) -> Source:
    """A file, as its statements say."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = Source([], list(_deferred(tree)), Counter(), [], set(_public_names(tree)))
    for node, top, types in _statements(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.imports.extend(Import(each, node.lineno, top and not types, types) for each in _named(path, node))
        if isinstance(node, ast.ImportFrom):
            source = _absolute(path, node)
            found.taken[source] += sum(not _is_module(f"{source}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            found.parameters.append((node.name, sum(each.arg not in ("self", "cls") for each in given)))
    return found


def _statements(node: ast.AST, top: bool = True, types: bool = False) -> Iterator[tuple[ast.AST, bool, bool]]:
    """All statements below one, each with whether it is outside of functions, and whether it is for types only."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.expr):
            yield child, top, types
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from _statements(child, top and not inside, types or _is_for_types(child))


def _deferred(tree: ast.Module) -> Iterator[Import]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("later", "import_module"):
                yield Import(str(node.args[0].value), node.lineno, at_load=False, types_only=False)


def _is_for_types(node: ast.AST) -> bool:
    """Whether it is `if TYPE_CHECKING:`."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _public_names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        name = node.name if isinstance(node, ast.ClassDef) else ""
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
        if name[:1].isupper() and (isinstance(node, ast.ClassDef) or not name.isupper()):
            yield name


def _named(path: Path, statement: ast.Import | ast.ImportFrom) -> list[str]:
    """The modules that a statement names: a member that is a module, or the module that it is a member of."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    source = _absolute(path, statement)
    members = [f"{source}.{alias.name}" for alias in statement.names]
    return list(dict.fromkeys(member if _is_module(member) else source for member in members))


def _absolute(path: Path, statement: ast.ImportFrom) -> str:
    """The module that a `from` names, relative ones from the file's own package."""
    if not statement.level:
        return statement.module or ""
    package = ["workbench", *path.relative_to(ROOT).parent.parts]
    return ".".join([*package[: len(package) - statement.level + 1], *([statement.module] if statement.module else [])])


@cache
def _is_module(dotted: str) -> bool:
    if not dotted.startswith("workbench."):
        return False
    place = ROOT.joinpath(*dotted.split(".")[1:])
    return place.is_dir() or place.with_suffix(".py").is_file()
