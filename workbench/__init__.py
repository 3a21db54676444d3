"""workbench: formal verification and simulation of event-stream pipelines.

    import workbench as wb

    source = wb.read_file("models/time2021/sum_of_odds.pipe")
    verdict = wb.check(source.get().pipeline, wb.liveness())
    print(verdict.outcome, verdict.rests_on)

Everything listed in `__all__` is imported on first use, so `import workbench` is cheap.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "workbench.core.domain": (
        "ANY", "BOOL", "FLOAT", "INT", "STR", "Enum", "Integer", "Overflowing", "Range",
    ),
    "workbench.core.fields": ("FrozenMap", "Map", "Record", "Tuple"),
    "workbench.core.fault": ("Fault", "delay", "duplicate", "lose"),
    "workbench.core.function": (
        "ABS", "ADD", "ALL_VALUES", "AND", "ANY_VALUE", "DIV", "EQ", "EVEN", "GE", "GET", "GT", "HAS", "IF", "IMPLIES",
        "LE", "LT", "MAX", "MIN", "MOD", "MUL", "NE", "NEG", "NOT", "ODD", "OR", "SIZE", "SUB", "SUM_VALUES",
        "Function", "user_function",
    ),
    "workbench.core.pipeline": ("Node", "Pipeline"),
    "workbench.core.processor": ("END", "Processor"),
    "workbench.processors": (
        "ApplyFunction", "Cast", "CountDecimate", "Cumulate", "Eventually", "Eventually3", "EventuallyOf", "Exists",
        "Filter", "ForAll", "Fork", "Freeze", "Globally", "Globally3", "GloballyOf", "Group", "Historically", "History",
        "Insert",
        "KeepLast", "Moore", "Multiplex", "Next", "Next3", "Once", "Pack", "Passthrough", "Prefix", "Release",
        "Release3", "ResetLast", "Since", "Slice", "SliceLast", "Stutter", "StutterBy", "Trim", "TurnInto", "Unpack",
        "Until", "Until3", "Window", "Yesterday",
    ),
    "workbench.processors.moore": ("Transition", "Variable"),
    "workbench.builder": ("Builder", "pipeline"),
    "workbench.language": ("parse", "parse_property", "read_file"),
    "workbench.language.faults": ("faultless", "faulty"),
    "workbench.ir.compose": ("compose",),
    "workbench.show.explorer": ("explorer",),
    "workbench.show.timeline": ("render_timeline",),
    "workbench.executors.compiled.gpu.batch": ("Batch",),
    "workbench.executors.compiled.gpu.parallel": ("ParallelGpu",),
    "workbench.executors.compiled.parallel.executor": ("Parallel",),
    "workbench.executors.compiled.execute.executor": ("Compiled",),
    "workbench.executors.reference.executor": ("Reference",),
    "workbench.executors.spark.keyed": ("run_keyed",),
    "workbench.executors.threaded.certificate": ("Certificate",),
    "workbench.executors.threaded.executor": ("Threaded",),
    "workbench.executors.threaded.manager": ("ThreadManager",),
    "workbench.executors.threaded.pipelined": ("Pipelined", "vouch"),
    "workbench.executors.threaded.placement": ("Placement",),
    "workbench.executors.threaded.pull_group": ("PullGroup",),
    "workbench.executors.reference.random_faults": ("RandomFaults",),
    "workbench.conformance.compare.conform": ("conform", "conform_random"),
    "workbench.logs.run": ("run_log",),
    "workbench.conformance.written_tests.counterexamples": ("to_test",),
    "workbench.verify.buffers.buffers": ("Buffers", "buffers"),
    "workbench.verify.analyses.certify": ("certify", "certify_nodes"),
    "workbench.verify.answer.check": ("Settings",),
    "workbench.verify.answer.check_all": ("check_all",),
    "workbench.verify.answer.examine": ("examine",),
    "workbench.verify.answer.problem": (
        "Problem", "check", "comparison", "equivalent", "problem", "problems", "tolerates",
    ),
    "workbench.verify.monitor.monitor": ("monitor",),
    "workbench.verify.analyses": ("constants", "dead_paths", "latencies", "latency", "longest_silence", "order"),
    "workbench.verify.ask.environment": ("Environment",),
    "workbench.verify.ask.equivalence": ("equivalent_to", "side_by_side", "tolerating"),
    "workbench.verify.ask.from_syntax": ("property_from",),
    "workbench.verify.ask.properties": (
        "always", "bounded_liveness", "liveness", "never_false", "no_full_queues", "no_overflow", "often_true",
        "response", "temporal",
    ),
    "workbench.verify.answer.verdict": ("Outcome", "Verdict"),
}  # fmt: skip
_MODULE = {name: module for module, names in _HOME.items() for name in names}

__all__ = sorted(_MODULE)


def __getattr__(name: str) -> Any:
    if name not in _MODULE:
        raise AttributeError(f"workbench has no '{name}'")
    found = getattr(importlib.import_module(_MODULE[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*globals(), *__all__]
