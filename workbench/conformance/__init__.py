"""Random pipelines, executables that must agree on them, and tests written for disagreements.

The rule of this package: everything that written tests import from here can always be imported from here, wherever it
is defined, since users keep such tests. Everything listed in `__all__` is imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "builder": ("Builder",),
    "conformance.compare.contenders": ("Contender", "terms"),
    "conformance.compare.differential": ("agree", "check"),
    "conformance.compare.search": ("Search",),
    "conformance.compare.executables": (
        "Blocks", "CompiledRun", "Denoting", "OnGpu", "Pieces", "Pulled", "Running", "Seen", "Started", "Streams",
    ),
    "conformance.compare.models": ("Evaluated", "Simulated"),
    "conformance.compare.reduction": ("part",),
    "conformance.compare.rule_engines": ("compare_to_meaning",),
    "conformance.compare.state_guard": ("Watched",),
    "conformance.compare.threaded": ("Plan", "Scheduled", "ScheduledFlow"),
    "conformance.compare.user_files": ("subject",),
    "conformance.generate.functions": (
        "BESIDE", "CLASH", "COPY", "COUNT", "ENOUGH", "FIRST", "HALF", "ITEM", "ITSELF", "LOW", "MIX", "NEIGHBOURS",
        "NEVER", "NEXT", "PAIR", "REVERSED", "SECOND", "STEP", "SWAP", "TAKE", "TURN", "UP", "VARIABLE", "WIGGLE",
        "WRITE", "entry", "field", "fix_left", "fix_right", "of_event", "unknown",
    ),
    "conformance.generate.rule_cases": ("RuleCase",),
    "conformance.written_tests.disagreements": ("disagreement",),
    "core.domain": ("Anything", "Bool", "Enum", "Integer", "Integers", "Range", "Reals", "Texts"),
    "core.fault": ("Fault", "Kind"),
    "core.fields": ("FrozenMap", "Map", "Nullable", "Record", "Tuple", "IndexedTuple"),
    "core.function": ("LIBRARY",),
    "errors": ("Overflow",),
    "faults.loss_and_duplication": ("Duplicate", "Lose"),
    "faults.delay_processor": ("Delay",),
    "faults.unreliable": ("Strike",),
    "processors.moore": ("Transition", "Variable"),
    "tesla.check": ("parse_rules",),
    "tesla.occurrence": ("Occurrence",),
    "verify.analyses.certify": ("certify_nodes",),
}  # fmt: skip
_MODULE = {name: f"workbench.{home}" for home, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE)


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"workbench.conformance has no '{name}'")
    return getattr(import_module(_MODULE[name]), name)
