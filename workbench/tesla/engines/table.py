"""The table of the engines of rules.

The rule of this module: an engine is one file in `tesla/engines/backends`, or in the folder `rule_engines` of an
extension, with a `ROW`. Rows are read to show help, so a row imports what it runs when it runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workbench.errors import InputError, PipelineError, did_you_mean
from workbench.extensions import rows
from workbench.tesla.engines.engine import EngineSettings, MakesEngine, RuleEngine
from workbench.tesla.occurrence import Facts
from workbench.tesla.rule_set import RuleSet


@dataclass(frozen=True)
class RuleEngineRow:
    """One engine.

    Attributes
    ----------
    name, what: what it is called, and what it does, in a line.
    rank: its place among the others.
    threads: whether it has several where it is asked for them.
    missing: what it needs that is not on this machine; nothing where it runs.
    """

    name: str
    what: str
    make: MakesEngine
    rank: int = 100
    threads: bool = False
    missing: Callable[[], str] = str


@functools.cache
def rule_engines() -> Mapping[str, RuleEngineRow]:
    """The engines by name, in the order in which they are shown."""
    return rows("workbench.tesla.engines.backends")


def engines_here() -> Mapping[str, RuleEngineRow]:
    """Those that run on this machine."""
    return {name: row for name, row in rule_engines().items() if not row.missing()}


def rule_engine(
    rules: RuleSet, name: str = "cdp", facts: Facts | None = None, settings: EngineSettings | None = None
) -> RuleEngine:
    """Start the engine of that name; PipelineError with a suggestion if there is none."""
    try:
        row = rule_engines()[name]
    except KeyError:
        raise PipelineError(f"there is no engine '{name}'", hint=did_you_mean(name, rule_engines())) from None
    if settings is not None and settings.threads > 1 and not row.threads:
        others = " or ".join(f"--engine {each.name}" for each in rule_engines().values() if each.threads)
        raise InputError(f"the engine '{name}' has one thread", hint=f"leave --threads out, or add {others}")
    return row.make(rules, facts or {}, settings or EngineSettings())
