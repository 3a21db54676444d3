"""The options of `wb.run`."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict

from workbench.core.domain import Integer, Value
from workbench.events.account import Reporter
from workbench.events.inputs import see_apart
from workbench.executors.table import Start, run_options

Place = str | Path
LOG = logging.getLogger("workbench")


class RunKeywords(TypedDict, total=False):
    """The options of `wb.run`, which `RunOptions` describes; `include` has folders with files that programs name.

    With `allow_python` programs may run the Python files that they name.
    """

    backend: str
    include: Sequence[str] | Sequence[Path]
    allow_python: bool
    columns: Mapping[str, str] | Sequence[str]
    strict: bool
    null: str | Sequence[str]
    bad_rows: str
    head: int
    format: str
    output_format: str
    output_delimiter: str
    output_decimal: str
    header: str | Sequence[str]
    pattern: str
    xml: str
    delimiter: str
    quote: str
    decimal: str
    thousands: str
    encoding: str
    skip_lines: int
    comment: str
    follow: bool
    steps: bool
    integers: Integer
    check_contracts: bool
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
    worker_backend: str
    key: str
    with_row: bool
    carry: str | Sequence[str]
    only_true: bool
    state: Place
    order: str
    master: str
    stream: bool
    checkpoint: str
    once: bool
    files: int
    engine: str
    time: str
    time_unit: str
    time_format: str
    year: int
    late: str | int | float
    late_output: str
    until: str | int
    facts: Mapping[str, Any] | Sequence[str] | Place
    facts_fixed: bool
    facts_timeout: float
    on_facts_failure: str
    facts_cache: str
    facts_cache_rows: int
    facts_cache_shared: bool
    rules_control: Sequence[Mapping[str, Value]] | Place
    with_sources: bool
    passed: Sequence[str]
    compat: str
    profile: bool
    matches: str
    first: int


def make_start(
    data: Any, output: Place | Mapping[str, Place] | None, options: Mapping[str, Any], program: object = None
) -> Start:
    """Build the `Start` of a program, or of the file that it is in, on data, with the options of `wb.run`.

    Raises
    ------
    InputError: an option is invalid, or a file would overwrite another one.
    """
    # None, not falsy: the data may be an empty list
    all_options = replace(run_options({**options, "output": output}, LOG.warning), input=data)
    facts = all_options.facts.values() if isinstance(all_options.facts, Mapping) else [all_options.facts]
    see_apart([data, all_options.rules_control, *facts], all_options.written, [program])
    start = Start(all_options, report=LOG.info, warn=LOG.warning, reporter=Reporter(LOG.info))
    account = start.reporter.account
    start.closing.callback(lambda: account.first_bad and start.warn(account.describe_bad()))
    return start
