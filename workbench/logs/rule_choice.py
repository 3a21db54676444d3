"""Which engine runs rules on a log, where that is left open.

The rule of this module: nothing of the log is read for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from workbench.errors import InputError, Refused
from workbench.events.files import ending, is_stream
from workbench.events.inputs import log_files, named_files
from workbench.events.packing import COMPRESSIONS
from workbench.events.table import USUAL, endings, format_row
from workbench.executors.run_options import AUTO
from workbench.executors.table import Start
from workbench.tesla.engines.engine import EngineSettings, RuleEngine
from workbench.tesla.rule_set import RuleSet

FEW, MANY = 4096, 4
"""Fewer events are not worth the start of machine code, of so many rules; the fewer rules, the more events it takes."""
PACKED = 4
"""How much larger a log is than what it takes compressed, about."""
EventsGiven = Literal["columns", "singly", "keyed"]
"""How events come: as columns where an engine takes these, one by one, or each to the engine of its key."""
MakesNamed = Callable[[str], RuleEngine]


@dataclass(frozen=True)
class EngineChoice:
    """What has been chosen, and why, in words."""

    engine: str
    why: str


def engine_name(start: Start) -> str:
    """The engine that is asked for; the usual one where the log cannot be asked."""
    name = start.options.engine or "cdp"
    return "cdp" if name == AUTO else name


def asks(start: Start) -> bool:
    """Whether the engine is to be chosen: that is asked for, or nothing is, and the log is a file of some length."""
    name = start.options.engine
    if name is None and (start.options.threads or 1) == 1:
        return (expected_events(start.options.input) or 0) >= FEW
    return name == AUTO


def chosen_engine(
    rules: RuleSet, settings: EngineSettings, expected: int | None, given: EventsGiven, make: MakesNamed
) -> EngineChoice:
    """The engine `compiled` if it has the rules and the log is worth its start, else `cdp`.

    Parameters
    ----------
    expected: about how many events there are; None: they come as somebody writes them, and nobody knows.
    given: how events come.
    make: starts an engine by its name.
    """
    if settings.threads > 1:
        return EngineChoice("compiled", "only machine code has several threads")
    if expected is not None and expected * min(MANY, len(rules.rules)) < MANY * FEW:
        return EngineChoice("cdp", f"there are few events, about {expected:,}")
    if why := _refusal(make, given):
        return EngineChoice("cdp", why)
    why = "it begins at once, and gets faster" if expected is None else f"there are about {expected:,} events"
    return EngineChoice("compiled", why)


def _refusal(make: MakesNamed, given: EventsGiven) -> str:
    """Why there can be no machine code; empty if there can."""
    if given == "keyed":
        return "an engine for each key is none for machine code"
    if find_spec("llvmlite") is None:
        return "llvmlite is not installed, which makes machine code"
    try:
        made = make("compiled")
    except Refused as error:
        return error.what
    return "tables are too large to be kept" if given == "singly" and getattr(made, "by_blocks", False) else ""


def expected_events(given: Any) -> int | None:
    """About how many rows files have, by their sizes; None where the end is not known."""
    found = 0
    names = [str(each).rpartition("=")[2] for each in named_files(given) or ()]
    try:
        files = log_files(names) if names else []
    except InputError:
        return None
    if not files or any(map(is_stream, files)):
        return None
    for file in map(Path, files):
        row = format_row(endings().get(ending(file), USUAL))
        found += file.stat().st_size * (PACKED if file.suffix in COMPRESSIONS else 1) // row.row_bytes
    return found
