"""Choose the backend of a run with `--backend auto`: the one with the shortest estimated time.

The rule of this module: the log is not read for the choice. The row of a backend estimates its time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from workbench.errors import Refused
from workbench.events.inputs import estimate_rows
from workbench.executors.run_options import AUTO, RunOptions
from workbench.executors.table import RULE_SET, BackendRow, RunSize, backend_row, backend_rows, refuse_missing
from workbench.tesla.engines.engine import RuleEngine, block_engine

IN_MEMORY = 1 << 40
"""The row count assumed for data in memory: many short runs of a program share its compiled code."""


def rank_rows(kind: str, size: RunSize | None = None) -> Sequence[BackendRow]:
    """Return the backends that `auto` chooses from for a kind of program, the fastest first.

    Parameters
    ----------
    size: the size of the run; None puts the backend first that starts fastest.
    """
    size = size or RunSize()
    estimates = [(row.estimate(size), row) for row in backend_rows().values() if row.estimate and kind in row.kinds]
    return [row for _, row in sorted(estimates, key=lambda each: each[0])]


def default_row(kind: str, options: RunOptions) -> BackendRow:
    """Return the backend of the options; for `auto`, the one that starts fastest."""
    return rank_rows(kind)[0] if options.backend == AUTO else backend_row(options.backend)


def run_size(options: RunOptions, rules: int = 0) -> RunSize:
    """Estimate the size of a run, of that number of rules or of a pipeline, before it begins."""
    rows = None if options.follow else estimate_rows(options.input)
    return RunSize(rows or 0, rules, options.threads or 1, options.key is not None)


def choose_engine(size: RunSize, make: Callable[[str], RuleEngine], *, singly: bool = False) -> BackendRow:
    """Choose the fastest backend that runs the rules.

    Parameters
    ----------
    make: starts the engine of a backend.
    singly: whether events come one by one, and not in blocks.
    """
    default = rank_rows(RULE_SET)[0]
    return next(row for row in rank_rows(RULE_SET, size) if row is default or _runs(row, make, singly=singly))


def _runs(row: BackendRow, make: Callable[[str], RuleEngine], *, singly: bool) -> bool:
    """Whether the engine of a backend runs the rules, and no slower than its row says."""
    try:
        refuse_missing(row)
        engine = block_engine(make(row.name))
    except Refused:
        return False
    return engine is None or not (singly and engine.by_blocks)


def report_choice(row: BackendRow, kind: str, size: RunSize, say: Callable[[str], object]) -> None:
    """Report which backend `auto` has chosen and for what size, unless it is the default."""
    if row is not rank_rows(kind)[0]:
        many = "data in memory" if size.rows == IN_MEMORY else f"about {size.rows:,} rows"
        what = f"{size.threads} threads" if size.threads > 1 else many
        say(f"chose backend {row.name}, the fastest for {what}")
