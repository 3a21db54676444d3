"""The architecture is the import graph: what may import what."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import networkx as nx
import pytest

from tests.sources import MODULES, ROOT, read_source

PACKAGES = sorted(path.parent.relative_to(ROOT).as_posix().strip(".") for path in ROOT.rglob("__init__.py"))

LAYERS = [
    "errors", "core", "faults", "processors", "language", "ir", "events", "executors", "smv", "verify", "show",
    "conformance", "lab", "cli",
]  # fmt: skip
"""From the bottom up; a module imports only from its own layer and those below."""

PLACES = {
    "__main__": "cli",
    "budget": "errors",
    "interrupts": "errors",
    "child_processes": "errors",
    "framed_process": "errors",
    "frames": "errors",
    "process_memory": "errors",
    "stored": "errors",
    "extensions": "errors",
    "named_files": "errors",
    "python_files": "errors",
    "display": "errors",
    "extras": "errors",
    "lazy_names": "errors",
    "builder": "processors",
    "runner": "verify",
    "tesla": "language",
}
"""Modules and packages that belong to a layer without being called like it."""

BELOW: dict[str, dict[str, set[str]]] = {
    "processors": {"held": set(), "slices": {"held"}},
    "executors": {
        "reference": set(), "processes": {"reference"}, "threaded": {"reference", "processes"},
        "compiled": {"threaded"}, "spark": {"reference", "compiled"},
        "dataflow": {"reference", "threaded", "compiled"},
        "backends": {"reference", "processes", "threaded", "compiled", "spark", "dataflow"},
    },
    "executors/compiled": {
        "lower": set(), "code": {"lower"}, "execute": {"lower", "code"}, "parallel": {"lower", "code", "execute"},
        "keyed": {"lower", "code", "execute"}, "gpu": {"lower", "code", "execute", "parallel"},
        "rules": {"code", "execute", "gpu"},
    },
    "verify": {
        "ask": set(), "decide": {"ask"}, "answer": {"ask", "decide"}, "monitor": {"ask", "decide", "answer"},
        "buffers": {"ask", "decide", "answer"}, "analyses": {"ask", "answer"},
        "rules": {"ask", "decide", "answer"}, "proof": {"ask", "decide", "answer"},
    },
    "verify/decide": {"algebra": set(), "explicit": set(), "engines": set(), "smt": set()},
    "tesla": {
        "aggregates": set(), "caches": set(), "engines": {"caches"}, "explain": set(), "model": set(),
        "rewriting": set(),
    },
    "tesla/engines": {"facts": set(), "aip": set(), "cdp": set()},
    "cli": {"demo": set(), "commands": {"demo"}, "lab": set(), "rules": set()},
    "lab": {"measure": set(), "web": {"measure"}},
    "conformance": {"generate": set(), "compare": {"generate"}, "written_tests": {"generate", "compare"}},
}  # fmt: skip
"""Where a package has several sub-packages, those that each of them may use; what lies beside them is for all."""

OPTIONAL = {"pynusmv", "pynusmv_lower_interface", "numba", "llvmlite", "cupy", "pyspark", "matplotlib", "numpy",
            "pandas", "pyarrow", "hypothesis", "pytest", "duckdb", "starlette", "uvicorn", "jinja2", "z3"}  # fmt: skip
AT_MODULE_LEVEL = {
    ("events/csv_tables.py", "pyarrow"),
    ("events/input_columns.py", "numpy"),
    ("events/output_columns.py", "numpy"),
    ("events/buffers.py", "numpy"),
    ("events/buffers.py", "pyarrow"),
    ("events/text_column.py", "numpy"),
    ("events/times.py", "numpy"),
    ("events/times.py", "pyarrow"),
    ("events/input_columns.py", "pyarrow"),
    ("events/output_columns.py", "pyarrow"),
    ("events/texts.py", "pyarrow"),
    ("executors/compiled/gpu/parallel.py", "numpy"),
    ("executors/compiled/parallel/block_threads.py", "numpy"),
    ("executors/compiled/execute/columns.py", "numpy"),
    *((f"executors/compiled/keyed/{name}.py", "numpy") for name in ("executor", "keys", "session", "states", "tables")),
    ("executors/compiled/execute/state.py", "numpy"),
    ("executors/compiled/execute/input_maps.py", "numpy"),
    ("executors/compiled/execute/text_codes.py", "numpy"),
    ("executors/compiled/gpu/cuda.py", "numba"),
    ("executors/compiled/gpu/cuda.py", "numpy"),
    ("executors/compiled/code/link_time.py", "llvmlite"),
    ("executors/compiled/code/link_time.py", "numba"),
    ("executors/compiled/code/table_references.py", "llvmlite"),
    ("executors/compiled/code/table_references.py", "numba"),
    ("executors/compiled/rules/cuda_device.py", "numba"),
    ("executors/compiled/rules/machine_code.py", "numba"),
    *(
        (f"executors/compiled/rules/{name}.py", "numpy")
        for name in (
            "blocks",
            "by_key",
            "by_time",
            "compiling",
            "constants",
            "cuda_device",
            "engine",
            "expressions",
            "facts",
            "lookups",
            "matches",
            "memory",
            "numbering",
            "plan",
            "records",
            "threads",
            "transfer",
            "trigger_batches",
        )
    ),
    ("executors/compiled/code/kernels.py", "numba"),
    ("executors/compiled/code/kernels.py", "llvmlite"),
    ("executors/compiled/code/objects.py", "llvmlite"),
    ("executors/compiled/code/hashing_loops.py", "numba"),
    ("executors/compiled/code/hashing_loops.py", "numpy"),
    ("executors/compiled/code/hashing.py", "numpy"),
    ("executors/compiled/code/code_table.py", "numpy"),
    ("executors/compiled/code/text_loops.py", "numba"),
    ("executors/compiled/code/text_loops.py", "numpy"),
    ("executors/compiled/code/kernels.py", "numpy"),
    *((f"executors/dataflow/machine/{name}.py", "numpy") for name in ("run", "set_loops", "sets", "tables")),
    *(
        (f"executors/dataflow/machine/{name}.py", package)
        for name in ("set_loops", "run_loops")
        for package in ("numba", "llvmlite")
    ),
    ("tesla/engines/key_buckets.py", "numpy"),
    ("conformance/compare/conform.py", "hypothesis"),
    ("conformance/generate/domains.py", "hypothesis"),
    ("conformance/generate/construction.py", "hypothesis"),
    ("conformance/generate/single.py", "hypothesis"),
    ("conformance/compare/shrinking.py", "hypothesis"),
    ("conformance/generate/pipelines.py", "hypothesis"),
    ("lab/web/connection.py", "uvicorn"),
    ("lab/web/pages.py", "starlette"),
    ("smv/engines/bindings.py", "pynusmv"),
    ("smv/engines/bindings.py", "pynusmv_lower_interface"),
    ("verify/decide/columns.py", "numpy"),
    ("verify/decide/smt/candidates.py", "numpy"),
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


def test_imports_point_downwards():
    wrong = []
    for path, own in _modules():
        for module, line, *_ in read_source(path).imports:
            target = layer(module)
            if target is not None and target > (layer(own) or 0):
                wrong.append(f"{name(path)}:{line}: imports {module}, which lies above it")
    assert wrong == []


DEFERRED = {
    ("display", "show"): "what people see of an object in a notebook",
    ("executors", "show"): "the page of a refuted claim about an order",
    ("tesla", "conformance"): "a rule set has methods for what is done with one",
    ("tesla", "verify"): "a rule set has methods for what is done with one",
    ("tesla", "runner"): "a rule set has methods for what is done with one",
    ("tesla", "show"): "an explanation prints itself",
    ("tesla", "executors"): "a rule set runs on a backend by its name",
}
"""The packages that call others above them, whose modules they name as texts, with the reasons."""


def test_calls_of_what_lies_above_are_known():
    upwards = {
        (own.split(".")[1], each.module.split(".")[1])
        for path, own in _modules()
        for each in read_source(path).deferred
        if (target := layer(each.module)) is not None and target > (layer(own) or 0)
    }
    assert upwards == DEFERRED.keys()


@pytest.mark.parametrize("package", BELOW)
def test_sub_packages_use_those_below_them(package):
    assert _sub_packages(package) == BELOW[package].keys()
    wrong = []
    for path, module in _modules():
        own = _child(package, module)
        for target, line, *_ in read_source(path).imports:
            other = _child(package, target)
            if own != other and {own, other} <= BELOW[package].keys() and other not in BELOW[package][own]:
                wrong.append(f"{name(path)}:{line}: {own} imports {target}")
    assert wrong == []


def test_where_there_are_several_sub_packages_their_direction_is_said():
    several = [package for package in PACKAGES if len(_sub_packages(package)) > 1]
    assert sorted(BELOW) == [package for package in several if package]


def test_no_module_imports_itself_through_others():
    """Neither when it is loaded nor later, in a function."""
    graph = {
        own: {each.module for each in read_source(path).imports if not each.types_only} - {own}
        for path, own in _modules()
    }
    assert _circle(graph) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_what_lies_in_a_package_has_a_direction(package):
    """Modules and sub-packages: what is for types only counts too, but between two modules beside each other."""
    graph: dict[str, set[str]] = {}
    for path, module in _modules():
        own = _child(package, module)
        for target in read_source(path).imports if own else ():
            other = _child(package, target.module)
            beside = target.types_only and not {own, other} & _sub_packages(package)
            if other and other != own and not beside:
                graph.setdefault(own, set()).add(other)
    assert _circle(graph) == []


MAX_NAMES, MAX_PARAMETERS = 25, 8
"""How many names a module may import of another one, and how many parameters a function may have."""

MANY_PARAMETERS = {
    ("lab/suite.py", "experiment"): "a declaration of a user: what it names are the fields of an `Experiment`",
}
"""Functions that have more parameters, with the reason."""

WIDE_CYCLES = {
    frozenset({"tesla", "tesla/engines", "tesla/engines/facts", "tesla/explain"}):
        "the class of rule sets has methods for what is done with one, whose modules name its type",
}  # fmt: skip
"""The most folders of modules that import each other, with the reason: a cycle should lie in one."""


def test_no_module_needs_much_of_another():
    """One that imports more names than `MAX_NAMES` of another is a part of it, or lacks a record."""
    many = [
        (name(path), source)
        for path, _ in _modules()
        for source, count in read_source(path).taken.items()
        if count > MAX_NAMES
    ]
    assert many == []


def test_functions_have_few_parameters():
    """Those that have more than `MAX_PARAMETERS` are known."""
    many = {
        (name(path), function)
        for path in MODULES
        for function, count in read_source(path).parameters
        if count > MAX_PARAMETERS
    }
    assert many == MANY_PARAMETERS.keys()


def test_cycles_of_imports_stay_in_a_folder():
    """Those for types only count too: who reads one of the modules has to read all."""
    graph = nx.DiGraph((own, each.module) for path, own in _modules() for each in read_source(path).imports)
    folders = {module: path.parent.relative_to(ROOT).as_posix() for path, module in _modules()}
    cycles = [frozenset(map(folders.__getitem__, cycle)) for cycle in nx.strongly_connected_components(graph)
              if len(cycle) > 1]  # fmt: skip
    wide = [cycle for cycle in cycles if len(cycle) > 1]
    assert [cycle for cycle in wide if not any(cycle <= known for known in WIDE_CYCLES)] == []
    assert [known for known in WIDE_CYCLES if not any(cycle <= known for cycle in wide)] == []


OFFERING = {"__init__.py", "functions.py", "properties.py", "rules.py", "executors/__init__.py", "faults/__init__.py"}
"""The modules that offer users names from everywhere, and have none of their own; the package does not use them."""


def _modules() -> Iterator[tuple[Path, str]]:
    """The files, with their modules' names; but for those that offer names."""
    for path in MODULES:
        if name(path) not in OFFERING:
            parts = path.relative_to(ROOT).with_suffix("").parts
            yield path, ".".join(["workbench", *(parts[:-1] if parts[-1] == "__init__" else parts)])


def _child(package: str, module: str) -> str:
    """The module or sub-package of a package that a module is, or lies in; "" if it lies elsewhere."""
    inside = ".".join(["workbench", *filter(None, package.split("/")), ""])
    return module.removeprefix(inside).split(".")[0] if module.startswith(inside) else ""


@cache
def _sub_packages(package: str) -> frozenset[str]:
    return frozenset(path.parent.name for path in (ROOT / package).glob("*/__init__.py"))


def _circle(graph: Mapping[str, set[str]]) -> list[str]:
    """Modules that import each other, one after the other; none where there is no circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_optional_packages_are_imported_where_they_are_used():
    wrong = []
    for path in MODULES:
        for module, line, at_load, _ in read_source(path).imports:
            package = module.split(".")[0]
            if at_load and package in OPTIONAL and (name(path), package) not in AT_MODULE_LEVEL:
                wrong.append(f"{name(path)}:{line}: import {package} inside the function that needs it")
    assert wrong == []


@pytest.mark.parametrize("module", ["workbench", "workbench.conformance", "workbench.executors.reference.executor"])
def test_importing_is_light(module):
    code = f"import sys, {module}; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {entry.split(".")[0] for entry in done.stdout.split()}
    assert not loaded & OPTIONAL


def test_the_core_names_no_processor():
    """The core and what consumes transition systems never name a processor."""
    for path in MODULES:
        if name(path).startswith(("core/", "errors")):
            assert not any(module.startswith("workbench.processors") for module, *_ in read_source(path).imports)
        if name(path).startswith("smv/"):
            named = {m for m, *_ in read_source(path).imports if m.startswith("workbench.processors")}
            assert named <= {"workbench.processors.held.group"}, f"{name(path)} names {named}"
