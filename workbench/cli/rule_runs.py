"""Options of `workbench run` for rules, and their values."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.core.program import Ports
    from workbench.executors.run_options import RunOptions
    from workbench.tesla.rule_set import RuleSet
    from workbench.tesla.tree import Declaration

INFER_ROWS = 50_000
"""Default number of rows of each file of a log from which types are inferred."""


def rule_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `workbench run` for rules."""
    group = add_explain_options(parser)
    group.add_argument("--rules-control", metavar="FILE", help="the times at which to add, replace or remove rules")
    group.add_argument("--with-sources", action="store_true", help="write the events of each match, and its id")
    group.add_argument(
        "--pass",
        action="append",
        metavar="TYPE",
        help="also write the events of this type, before their effects (repeatable)",
    )
    group.add_argument(
        "--matches", choices=("count", "rows"),
        help="instead of composite events: the number of matches of each rule, or the rows of each match",
    )  # fmt: skip
    group.add_argument("--first", type="positive", metavar="K", help="with --matches rows: only the first K")
    group.add_argument("--profile", action="store_true", help="report the cost of each rule")


def add_explain_options(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """Add the options for rules that `workbench explain` has, too."""
    group = parser.add_argument_group(
        "rules (.tesla files), and times of pipelines", "for rules, --input TYPE=FILE reads events of one type"
    )
    group.add_argument(
        "--time", metavar="COLUMN",
        help="the column of times: numbers, or dates (default: time); they may not go back without --late",
    )  # fmt: skip
    group.add_argument("--time-unit", metavar="UNIT", help="unit of the numbers in it: us, ms, s, min, h or d")
    group.add_argument(
        "--time-format", metavar="auto|FORMAT",
        help="the format of dates, as for strptime: '%%d/%%b/%%Y:%%H:%%M:%%S %%z' (default: auto); where given, "
        "inputs of numbers take dates as seconds since 1970",
    )  # fmt: skip
    group.add_argument(
        "--year", type=int, metavar="YEAR", help="year of the first date without one (default: the newest possible)"
    )
    group.add_argument("--late", metavar="DURATION", help="allowed lateness, for which events are held back: 10s")
    group.add_argument("--late-output", metavar="FILE", help="a file for events later than --late (default: an error)")
    group.add_argument("--infer", action="store_true", help="infer undeclared types from the log")
    group.add_argument(
        "--infer-rows", type="positive", metavar="N", help=f"number of rows to infer from (default: {INFER_ROWS:,})"
    )
    group.add_argument("--until", metavar="TIME", help="advance the clock to this time at the end of the log")
    group.add_argument("--compat", choices=("trex",), help="windows and consumption with the semantics of T-Rex")
    return group


def all_fact_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for facts that rules query."""
    group = parser.add_argument_group("facts, which rules query")
    fact_options(group)
    fact_cache_options(group)


def fact_files(group: argparse._ActionsContainer) -> None:
    """Add the option for the files of facts."""
    help = "a SQLite database with a table for each type of facts, or TYPE=FILE: the rows of one type (repeatable)"
    group.add_argument("--facts", action="append", default=[], metavar="FILE", help=help)


def fact_timeout(group: argparse._ActionsContainer) -> None:
    """Add the option for the time limit of a database query."""
    group.add_argument("--facts-timeout", type=float, metavar="SECONDS", help="time limit of a query for facts")


def fact_options(group: argparse._ActionsContainer) -> None:
    """Add the options for the files of facts, and for their queries."""
    fact_files(group)
    group.add_argument("--facts-fixed", action="store_true", help="no database of facts changes during the run")
    fact_timeout(group)
    group.add_argument(
        "--on-facts-failure", choices=("error", "drop", "retry"),
        help="when a query for facts fails: end the run (default), drop the matches that need it, or retry a few times",
    )  # fmt: skip


def fact_cache_options(group: argparse._ArgumentGroup) -> None:
    """Add the options for the cache of answers of databases."""
    from workbench.tesla.caches.table import ROWS, cache_policy_names

    group.add_argument(
        "--facts-cache", metavar="POLICY", help=f"cache answers in memory, by: {', '.join(cache_policy_names())}"
    )
    group.add_argument(
        "--facts-cache-rows", type="positive", metavar="N",
        help=f"maximum number of rows that are cached for a predicate (default: {ROWS:,})",
    )  # fmt: skip
    group.add_argument("--facts-cache-shared", action="store_true", help="one cache for all predicates")


def types_of_log(options: RunOptions, say: Callable[[str], object]) -> Mapping[str, Declaration] | None:
    """Infer the types of the log, if that is requested."""
    if not options.infer:
        return None
    from workbench.runner.rules.log import infer_types

    rows, column = options.infer_rows or INFER_ROWS, options.clock().column
    return infer_types(options.input, column, options.reading(), rows, say)


def logs_of_rules(rules: RuleSet, options: RunOptions) -> list[tuple[list[Any], Ports]]:
    """Return the files of each type of events, or of all types, with the ports of their columns."""
    from workbench.events.account import Reporter
    from workbench.runner.rules.log import RuleLog, log_ports

    log = RuleLog(rules, options.clock("0"), options.reading(), Reporter())
    return [([path], log_ports(rules, log.clock, declared)) for declared, path in map(log.named, options.input)]
