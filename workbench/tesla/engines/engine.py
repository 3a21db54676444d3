"""What every engine of rules offers.

The rule of this module: an engine is fed events in the order of their times, one at a time, and says at once what comes
of each. Two engines that are fed the same say the same, order included.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol, runtime_checkable

from workbench.errors import InputError, PipelineError, Refused, did_you_mean
from workbench.extensions import later
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet

if TYPE_CHECKING:
    from workbench.tesla.event_block import EventBlock


@dataclass(frozen=True)
class EngineSettings:
    """How an engine runs.

    Attributes
    ----------
    unit, dates: what times are, for the windows of rules that come later (`occurrence.in_units`).
    trex: windows and consumption as T-Rex has them, for comparisons with it.
    profiled: what each rule costs is counted.
    indexed: columns have indexes for equations, and know aggregates of any window; without them they are looked
        through, as in the papers, for comparisons with those. An engine that cannot do without them refuses.
    threads: most threads that work at a time, of engines that have several.
    plain: what would be compiled once it is worth while is run by Python from the first event on, for comparisons:
        short runs would not come to it.
    """

    unit: str | None = None
    dates: bool = False
    trex: bool = False
    profiled: bool = False
    indexed: bool = True
    threads: int = 1
    plain: bool = False


@dataclass
class RuleCost:
    """What a rule has cost. Costs are added and told here; only who counts one of them knows which there are.

    Attributes
    ----------
    events: that it looked at.
    partial: matches that were begun, the full ones among them.
    matches: full ones, before `where`.
    composites: that it emitted.
    seconds: of processor time.
    """

    rule: str
    events: int = 0
    partial: int = 0
    matches: int = 0
    composites: int = 0
    seconds: float = 0.0

    def __add__(self, other: RuleCost) -> RuleCost:
        """What the rule has cost in two places, or times."""
        counts = (each.name for each in fields(self)[1:])
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in counts})

    def __str__(self) -> str:
        """It as `--profile` tells it."""
        return (
            f"{self.rule}: {self.events:,} events, {self.partial:,} partial matches, {self.matches:,} matches,"
            f" {self.composites:,} composites, {self.seconds:.2f} s"
        )


class RuleEngine(Protocol):
    """A running rule set."""

    @property
    def rules(self) -> RuleSet:
        """What runs, windows in the unit of times."""

    def process(self, event: Occurrence) -> list[Occurrence]:
        """The composites that an event from outside causes, in the order of publication.

        Those that the clock causes before it come first: absences whose deadline lies before its time. The event is
        given its place in the total order; its values are of the types that are declared.

        Raises
        ------
        InputError: its time has passed, no such event is declared, or a chain of causes is longer than 1000.
        """

    def advance(self, time: int) -> list[Occurrence]:
        """The composites that the clock causes up to this time, the deadlines at it included."""

    def add(self, rules: RuleSet | str) -> Mapping[str, float]:
        """Add rules behind those there are, and the types that they declare; windows as they are written.

        Returns the time from which each of them is complete: from then on it fires as if it had been there always;
        -inf where nothing is missing, inf where that is never so, for a window is forever, NaN where it is not known,
        for a window counts events that have to come. A rule begins with the history that the engine has kept in
        columns for others.

        Raises
        ------
        LanguageError: the text has no meaning, or a name is taken.
        """

    def remove(self, name: str) -> None:
        """Take a rule away, with the absences that it waits for; PipelineError if there is none."""

    def replace(self, name: str, rules: RuleSet | str) -> float:
        """Put another rule in the place of one; the time from which it is complete."""

    def snapshot(self) -> bytes:
        """The state, for `restore`."""

    def restore(self, state: bytes) -> None:
        """Go on where another engine of the same rules was; StateError if it is no such state."""

    def profile(self) -> Sequence[RuleCost]:
        """What each rule has cost so far, in the order of the rules; nothing unless it is asked for when it starts."""


class FixedRules:
    """An engine whose rules are not changed or saved: it refuses all that has to do with its state as a whole.

    Attributes
    ----------
    runs_in: where its state is, in words.
    """

    runs_in: ClassVar[str]

    def add(self, rules: RuleSet | str) -> NoReturn:
        """Refused."""
        raise Refused(f"rules that run in {self.runs_in} are not changed or saved", hint="leave --threads out")

    remove = restore = add

    def replace(self, name: str, rules: RuleSet | str) -> NoReturn:
        """Refused."""
        self.add(rules)

    def snapshot(self) -> NoReturn:
        """Refused."""
        self.add("")


@runtime_checkable
class BlockEngine(RuleEngine, Protocol):
    """A running rule set that also takes events as columns."""

    @property
    def by_blocks(self) -> bool:
        """Whether each block queries databases once, so that single events take long."""

    def takes_block(self, events: int) -> bool:
        """Whether a block of so many events is taken at once; else they are given one by one."""

    def process_block(self, block: EventBlock, *, sources: bool = False) -> Iterable[EventBlock | list[Occurrence]]:
        """The composites of a block of events, in the order of publication, in one block or several.

        Parameters
        ----------
        sources: whether they name the events of their matches.

        Raises
        ------
        WorkbenchError: as `process`, behind the composites of the events before it.
        """


def block_engine(engine: RuleEngine) -> BlockEngine | None:
    """An engine that takes columns, as such; None if it does not."""
    return engine if isinstance(engine, BlockEngine) else None


class MakesEngine(Protocol):
    """Starts an engine."""

    def __call__(self, rules: RuleSet, facts: Facts, settings: EngineSettings) -> RuleEngine: ...


def rule_engine(
    rules: RuleSet, name: str = "cdp", facts: Facts | None = None, settings: EngineSettings | None = None
) -> RuleEngine:
    """Start the engine of that name, a row of the table of backends.

    Raises
    ------
    PipelineError: there is none. InputError: it has one thread, and more are wanted.
    """
    engines: Mapping[str, MakesEngine] = later("workbench.executors.table", "rule_engines")()
    if name not in engines:
        raise PipelineError(f"there is no engine '{name}'", hint=did_you_mean(name, engines))
    if settings is not None and settings.threads > 1:
        rows: Mapping[str, Any] = later("workbench.executors.table", "backend_rows")()
        threaded = [row.name for row in rows.values() if "--threads" in row.flags(rules.kind)]
        if name not in threaded:
            hint = f"leave --threads out, or add {' or '.join(f'--backend {each}' for each in threaded)}"
            raise InputError(f"the engine '{name}' has one thread", hint=hint)
    return engines[name](rules, facts or {}, settings or EngineSettings())
