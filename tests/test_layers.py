"""The architecture is the import graph: what may import what (design section 4)."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import workbench

ROOT = Path(workbench.__file__).parent
MODULES = sorted(path for path in ROOT.rglob("*.py"))

LAYERS = [
    "errors", "core", "faults", "processors", "language", "ir", "events", "run", "smv", "verify", "conformance",
    "lab", "cli",
]  # fmt: skip
"""From the bottom up; a module imports only from its own layer and those below."""

PLACES = {
    "budget": "errors",
    "stored": "errors",
    "extensions": "errors",
    "builder": "processors",
    "show": "verify",
    "tesla": "language",
}
"""Modules and packages that belong to a layer without being called like it."""

BACKENDS = {"reference": set(), "compiled": {"threaded"}, "threaded": {"reference"}, "spark": {"reference", "compiled"}}
"""The folders of `run`, and which others each may use; what lies beside them is for all, and the table knows all."""

OPTIONAL = {"pynusmv", "pynusmv_lower_interface", "numba", "llvmlite", "cupy", "pyspark", "matplotlib", "numpy",
            "pandas", "pyarrow", "hypothesis", "pytest", "duckdb", "starlette", "uvicorn", "jinja2"}  # fmt: skip
AT_MODULE_LEVEL = {
    ("run/compiled/gpu/parallel.py", "numpy"),
    ("run/compiled/execute/columns.py", "numpy"),
    ("run/compiled/gpu/cuda.py", "numba"),
    ("run/compiled/gpu/cuda.py", "numpy"),
    ("run/compiled/code/kernels.py", "numba"),
    ("run/compiled/code/kernels.py", "numpy"),
    ("conformance/compare/conform.py", "hypothesis"),
    ("conformance/generate/domains.py", "hypothesis"),
    ("conformance/generate/construction.py", "hypothesis"),
    ("conformance/compare/shrinking.py", "hypothesis"),
    ("conformance/generate/pipelines.py", "hypothesis"),
    ("conformance/generate/unbounded.py", "hypothesis"),
    ("smv/engines/bindings.py", "pynusmv"),
    ("smv/engines/bindings.py", "pynusmv_lower_interface"),
    ("run/compiled/code/llvm.py", "llvmlite"),
    ("verify/decide/explicit/kernels.py", "llvmlite"),
    ("verify/decide/explicit/kernels.py", "numba"),
    ("verify/decide/explicit/kernels.py", "numpy"),
    ("verify/decide/explicit/native.py", "llvmlite"),
}
"""The one module that needs an optional package; nothing imports it before it is used (`test_importing_is_light`)."""


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def layer(module: str) -> int | None:
    """The layer of a dotted module name; None for the package itself, which gathers from everywhere."""
    parts = module.split(".")
    if parts[0] != "workbench" or len(parts) == 1:
        return None
    first = PLACES.get(parts[1], parts[1])
    assert first in LAYERS, f"{module} belongs to no layer: add it to tests/test_layers.py"
    return LAYERS.index(first)


@cache
def imports(path: Path, module_level: bool = False) -> list[tuple[str, int]]:
    """The modules that a file imports, with line numbers; those under TYPE_CHECKING are types only."""
    found = []

    def visit(node: ast.AST, top: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                continue
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            if isinstance(child, ast.Import) and (top or not module_level):
                found.extend((alias.name, child.lineno) for alias in child.names)
            elif isinstance(child, ast.ImportFrom) and (top or not module_level):
                source = _absolute(path, child)
                found.append((source, child.lineno))
                members = (f"{source}.{alias.name}" for alias in child.names)
                found.extend((member, child.lineno) for member in members if _is_module(member))
            visit(child, top and not inside)

    visit(ast.parse(path.read_text(encoding="utf-8")), True)
    return found


def _absolute(path: Path, statement: ast.ImportFrom) -> str:
    """The module that a `from` names, relative ones from the file's own package."""
    if not statement.level:
        return statement.module or ""
    package = ["workbench", *path.relative_to(ROOT).parent.parts]
    return ".".join([*package[: len(package) - statement.level + 1], *([statement.module] if statement.module else [])])


def _is_module(dotted: str) -> bool:
    if not dotted.startswith("workbench."):
        return False
    place = ROOT.joinpath(*dotted.split(".")[1:])
    return place.is_dir() or place.with_suffix(".py").is_file()


def test_imports_point_downwards():
    wrong = []
    for path in MODULES:
        if path == ROOT / "__init__.py":
            continue  # it gathers the names that users import, from everywhere
        own = layer(".".join(["workbench", *path.relative_to(ROOT).with_suffix("").parts]))
        assert own is not None
        for module, line in imports(path):
            target = layer(module)
            if target is not None and target > own:
                wrong.append(f"{name(path)}:{line}: {LAYERS[own]} imports {module}, which lies above it")
    assert wrong == []


def test_backends_do_not_know_each_other():
    wrong = []
    for path in MODULES:
        parts = path.relative_to(ROOT).parts
        if parts[0] != "run":
            continue
        for module, line in imports(path):
            other = module.split(".")[2] if module.startswith("workbench.run.") else ""
            if other in BACKENDS and parts[1] != "backends" and other not in {parts[1], *BACKENDS.get(parts[1], ())}:
                wrong.append(f"{name(path)}:{line}: imports {module}")
    assert wrong == []


def test_optional_packages_are_imported_where_they_are_used():
    wrong = []
    for path in MODULES:
        for module, line in imports(path, module_level=True):
            package = module.split(".")[0]
            if package in OPTIONAL and (name(path), package) not in AT_MODULE_LEVEL:
                wrong.append(f"{name(path)}:{line}: import {package} inside the function that needs it")
    assert wrong == []


@pytest.mark.parametrize("module", ["workbench", "workbench.conformance", "workbench.run.reference.executor"])
def test_importing_is_light(module):
    code = f"import sys, {module}; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {entry.split(".")[0] for entry in done.stdout.split()}
    assert not loaded & OPTIONAL


def test_the_core_names_no_processor():
    """The core and what consumes transition systems never name a processor (design section 4)."""
    for path in MODULES:
        if name(path).startswith(("core/", "errors")):
            assert not any(module.startswith("workbench.processors") for module, _ in imports(path))
        if name(path).startswith("smv/"):
            named = {m for m, _ in imports(path) if m.startswith("workbench.processors")}
            assert named <= {"workbench.processors.held.group"}, f"{name(path)} names {named}"
