"""What `wb.run` is told beside a program and data."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from workbench.core.domain import Integer, Value
from workbench.core.program import Program
from workbench.errors import InputError
from workbench.events.reading import Tally
from workbench.executors.run_options import RunOptions
from workbench.executors.table import Start, run_options
from workbench.logs.pipeline_facts import fact_types

Place = str | Path
LOG = logging.getLogger("workbench")


class RunKeywords(TypedDict, total=False):
    """The options of `wb.run`, which `RunOptions` tells; `include` has folders with files that programs name."""

    backend: str
    include: Sequence[str] | Sequence[Path]
    columns: Mapping[str, str] | Sequence[str]
    strict: bool
    null: str
    bad_rows: str
    head: int
    format: str
    header: str | Sequence[str]
    pattern: str
    xml: str
    steps: bool
    integers: Integer
    fault: Sequence[str]
    seed: int
    rate: float
    threads: int
    processes: int
    why: int
    phases: int
    groups: bool
    compiled: bool
    seconds: float
    memory_mb: int
    reassociate: bool
    key: str
    with_row: bool
    order: str
    master: str
    stream: bool
    checkpoint: str
    once: bool
    files: int
    engine: str
    time: str
    time_unit: str
    late: str
    late_output: str
    until: str | int
    facts: Mapping[str, Iterable[Mapping[str, Value]]] | Sequence[str] | Place
    facts_fixed: bool
    facts_timeout: float
    on_facts_failure: str
    facts_cache: str
    facts_cache_rows: int
    facts_cache_shared: bool
    rules_control: Sequence[Mapping[str, Value]] | Place
    with_sources: bool
    compat: str
    profile: bool
    matches: str
    first: int


RULE_OPTIONS = (
    "engine", "time", "time-unit", "late", "late-output", "infer", "infer-rows", "until", "facts", "facts-fixed",
    "facts-timeout", "on-facts-failure", "facts-cache", "facts-cache-rows", "facts-cache-shared",
    "rules-control", "with-sources", "compat", "profile", "matches", "first",
)  # fmt: skip
"""Those of rules, as the command line spells them."""


CLOCK_OPTIONS = ("time", "time-unit")
"""Those of them that are for pipelines with a clock, too."""
FACT_OPTIONS = tuple(name for name in RULE_OPTIONS if "facts" in name)
"""Those that are for pipelines with rules that look at facts, too."""


def refuse_rule_options(options: RunOptions, program: Program) -> None:
    """InputError where an option of rules is given for a pipeline, and it has no use for it."""
    taken: tuple[str, ...] = CLOCK_OPTIONS if any(port.clock for port in program.ports.inputs) else ()
    taken += FACT_OPTIONS if any(fact_types(program)) else ()
    if foreign := options.given(*(f"--{name}" for name in RULE_OPTIONS if name not in taken)):
        raise InputError(f"for rules only: {foreign}", hint="leave it out, or name a .tesla file")


def started(data: Any, output: Place | None, options: Mapping[str, Any]) -> Start:
    """What a program is started with that runs on data, with the options of `wb.run`."""
    own = {"input": data, "output": None if output is None else str(output)}
    return Start(run_options({**options, **own}), say=LOG.info, tally=Tally(LOG.info))
