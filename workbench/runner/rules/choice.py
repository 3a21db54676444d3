"""Which engine runs rules on a log, where that is left open.

The rule of this module: nothing of the log is read for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Literal

from workbench.errors import Refused
from workbench.executors.run_options import AUTO, RunOptions
from workbench.tesla.engines.engine import EngineSettings, RuleEngine
from workbench.tesla.rule_set import RuleSet

USUAL, MACHINE_CODE = "cdp", "compiled"
"""What runs rules on a log: what begins at once, and what is faster on a long one."""
FEW, MANY = 4096, 4
"""Fewer events are not worth the start of machine code, of so many rules; the fewer rules, the more events it takes."""
EventsGiven = Literal["columns", "singly", "keyed"]
"""How events come: as columns where an engine takes these, one by one, or each to the engine of its key."""
MakesNamed = Callable[[str], RuleEngine]


@dataclass(frozen=True)
class EngineChoice:
    """What has been chosen, and why, in words."""

    engine: str
    why: str

    def tell(self, say: Callable[[str], object]) -> None:
        """Say it, where it is not what rules run with usually."""
        if self.engine != USUAL:
            say(f"backend {self.engine}: {self.why}")


def engine_name(options: RunOptions) -> str:
    """The backend of the options; for `auto`, the usual one."""
    return USUAL if options.backend == AUTO else options.backend


def chosen_engine(
    rules: RuleSet, settings: EngineSettings, expected: int | None, given: EventsGiven, make: MakesNamed
) -> EngineChoice:
    """The backend `compiled` if it has the rules and the log is worth its start, else `cdp`.

    Parameters
    ----------
    expected: about how many events there are; None: nobody knows, and what begins at once runs them.
    given: how events come.
    make: starts an engine by its name.
    """
    if settings.threads > 1:
        why = _refusal(make, given)
        return EngineChoice(USUAL, why) if why else EngineChoice(MACHINE_CODE, "several threads are asked for")
    if expected is None:
        return EngineChoice(USUAL, "nobody knows how many events come")
    if expected * min(MANY, len(rules.rules)) < MANY * FEW:
        return EngineChoice(USUAL, f"there are few events, about {expected:,}")
    if why := _refusal(make, given):
        return EngineChoice(USUAL, why)
    return EngineChoice(MACHINE_CODE, f"there are about {expected:,} events")


def _refusal(make: MakesNamed, given: EventsGiven) -> str:
    """Why there can be no machine code; empty if there can."""
    if given == "keyed":
        return "an engine for each key is none for machine code"
    if find_spec("numba") is None:
        return "numba is not installed, which makes machine code"
    try:
        made = make(MACHINE_CODE)
    except Refused as error:
        return error.what
    return "tables are too large to be kept" if given == "singly" and getattr(made, "by_blocks", False) else ""
