"""The interface of all engines of rules.

The rule of this module: an engine receives events in the order of their times, one at a time, and returns at once what
each of them causes. Two engines with the same input return the same, in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
    """The settings of an engine.

    Attributes
    ----------
    unit, dates: the unit of times, for the windows of rules that are added later (`occurrence.in_units`).
    trex: whether windows and consumption are as in T-Rex, for comparisons with it.
    profiled: whether to count the costs of each rule.
    indexed: whether columns have indexes for equations, and running aggregates; without them columns are scanned,
            as in the papers, for comparisons with these. An engine that needs them refuses to run without.
    threads: maximum number of threads that work at a time, for engines with several.
    plain: whether Python runs from the first event on the code that would be compiled once it pays off, for
            comparisons: short runs would not get there.
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
    """The costs of a rule. They are added and printed here; the code that counts a cost defines its meaning.

    Attributes
    ----------
    events: the number of events that it examined.
    partial: the number of partial matches, including complete ones.
    matches: the number of complete matches, before `where`.
    composites: the number of composites that it emitted.
    seconds: processor time.
    """

    rule: str
    events: int = 0
    partial: int = 0
    matches: int = 0
    composites: int = 0
    seconds: float = 0.0

    def count_partial(self, _: object) -> None:
        """Count a partial match."""
        self.partial += 1

    def __add__(self, other: RuleCost) -> RuleCost:
        """Return the sum of the costs of a rule in two places, or at two times."""
        counts = (each.name for each in fields(self)[1:])
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in counts})

    def __str__(self) -> str:
        """Format the costs as `--profile` prints them."""
        return (
            f"{self.rule}: {self.events:,} events, {self.partial:,} partial matches, {self.matches:,} matches,"
            f" {self.composites:,} composites, {self.seconds:.2f} s"
        )


class RuleEngine(Protocol):
    """A running rule set."""

    @property
    def rules(self) -> RuleSet:
        """The running rules, with windows in the unit of times."""

    def process(self, event: Occurrence) -> list[Occurrence]:
        """Process an external event, and return the composites that it causes, in the order of publication.

        Absences whose deadline lies before its time come first. The event is
        given its position in the total order; its values have the declared types.

        Raises
        ------
        InputError: its time has passed, its type is not declared, or a chain of causes is longer than 1000.
        """

    def advance(self, time: int) -> list[Occurrence]:
        """Move the clock, and return the composites of deadlines up to this time, inclusive."""

    def add(self, rules: RuleSet | str) -> Mapping[str, float]:
        """Add rules after the existing ones, and the types that they declare; windows have their written units.

        Returns the time from which each rule is complete: from then on it fires as if it had always been there;
        -inf if nothing is missing, inf if it is never complete, because a window is forever, NaN if the time is
        unknown, because a window counts events to come. A rule begins with the history that the columns of other
        rules hold.

        Raises
        ------
        LanguageError: the text has no meaning, or a name is taken.
        """

    def remove(self, name: str) -> None:
        """Remove a rule, with its pending deadlines; PipelineError if it does not exist."""

    def replace(self, name: str, rules: RuleSet | str) -> float:
        """Replace a rule by another one; return the time from which that is complete."""

    def snapshot(self) -> bytes:
        """Return the state, for `restore`."""

    def restore(self, state: bytes) -> None:
        """Continue from the state of another engine of the same rules; StateError if it is not such a state."""

    def profile(self) -> Sequence[RuleCost]:
        """Return the costs of each rule so far, in the order of the rules; nothing unless the engine is profiled."""


class FixedRules:
    """An engine whose rules cannot be changed, nor its state saved: it refuses these operations.

    Attributes
    ----------
    runs_in: the location of its state, in words.
    """

    runs_in: ClassVar[str]

    def add(self, *_: object) -> NoReturn:
        """Raise Refused."""
        raise Refused(f"rules that run in {self.runs_in} are not changed or saved", hint="leave out --threads")

    remove = replace = snapshot = restore = add


@runtime_checkable
class BlockEngine(RuleEngine, Protocol):
    """A running rule set that also processes blocks of events as columns."""

    @property
    def by_blocks(self) -> bool:
        """Whether each block queries databases once, so that single events are slow."""

    def takes_block(self, events: int) -> bool:
        """Whether a block of this number of events is processed at once; otherwise events are passed one by one."""

    def process_block(self, block: EventBlock, *, sources: bool = False) -> Iterable[EventBlock | list[Occurrence]]:
        """Yield the composites of a block of events, in the order of publication, in one block or several.

        Parameters
        ----------
        sources: whether composites have the numbers of their sources.

        Raises
        ------
        WorkbenchError: as for `process`, after the composites of the events before it.
        """


def block_engine(engine: RuleEngine) -> BlockEngine | None:
    """Return an engine that processes blocks, as such; None if it does not."""
    return engine if isinstance(engine, BlockEngine) else None


MakesEngine = Callable[[RuleSet, Facts, EngineSettings], RuleEngine]
"""A function that starts an engine."""


def rule_engine(
    rules: RuleSet, name: str = "cdp", facts: Facts | None = None, settings: EngineSettings | None = None
) -> RuleEngine:
    """Start the engine with a name from the table of backends.

    Raises
    ------
    PipelineError: it does not exist. InputError: it has one thread, and more are requested.
    """
    engines: Mapping[str, MakesEngine] = later("workbench.executors.table", "rule_engines")()
    if name not in engines:
        raise PipelineError(f"there is no engine '{name}'", hint=did_you_mean(name, engines))
    if settings is not None and settings.threads > 1:
        rows: Mapping[str, Any] = later("workbench.executors.table", "backend_rows")()
        threaded = [row.name for row in rows.values() if "--threads" in row.flags(rules.kind)]
        if name not in threaded:
            hint = f"leave out --threads, or add {' or '.join(f'--backend {each}' for each in threaded)}"
            raise InputError(f"the engine '{name}' has one thread", hint=hint)
    return engines[name](rules, facts or {}, settings or EngineSettings())
