"""Which engine runs rules on a log, where that is left open.

The rule of this module: nothing is read for it but the first block, which is processed as the others are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workbench.errors import InputError
from workbench.events.files import is_stream
from workbench.events.inputs import log_files, named_files
from workbench.executors.table import Start
from workbench.logs.rule_order import EventPiece
from workbench.tesla.engines.choice import AUTO, FEW, SAMPLE, EngineChoice, EventsGiven, MakesNamed, chosen_engine
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.event_block import EventBlock
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet

ROW_BYTES = {
    ".csv": 25,
    ".tsv": 25,
    ".jsonl": 70,
    ".ndjson": 70,
    ".json": 70,
    ".arrow": 25,
    ".feather": 12,
    ".parquet": 8,
}
"""About what a row takes, by the end of a file's name; where it is packed, a quarter of it."""


@dataclass(frozen=True)
class EngineTrial:
    """What engines are tried on.

    Attributes
    ----------
    rules: those that run at first.
    known: rules whose types the events have.
    given: how events come.
    make: starts an engine by its name.
    """

    rules: RuleSet
    known: RuleSet
    facts: Facts
    settings: EngineSettings
    given: EventsGiven = "columns"
    make: MakesNamed | None = None

    def chosen(self, sample: Sequence[Occurrence], events: int | None) -> EngineChoice:
        """What is chosen by the first events of so many."""
        declared = self.known if self.make is not None else self.rules
        some = [each for each in sample if each.type in declared.declarations]
        return chosen_engine(self.rules, self.facts, self.settings, some, events, self.given, self.make)


def engine_name(start: Start) -> str:
    """The engine that is asked for; the usual one where the log cannot be asked."""
    name: str = start.option("engine", "cdp")
    return "cdp" if name == AUTO else name


def asks(start: Start) -> bool:
    """Whether the engine is to be chosen: that is asked for, or nothing is, and the log is a file of some length."""
    name = start.option("engine")
    if name is None and start.option("threads", 1) == 1:
        return (expected_events(start.option("input")) or 0) >= FEW
    return bool(name == AUTO)


def engine_for(
    trial: EngineTrial, start: Start, pieces: Iterator[EventPiece]
) -> tuple[EngineChoice, Iterator[EventPiece]]:
    """What is chosen for the events of a log, and the same events."""
    expected = expected_events(start.option("input"))
    first = next(pieces, None)
    if first is None:
        return EngineChoice("cdp", "there are no events"), iter(())
    if isinstance(first, EventBlock):
        expected = None if expected is None else max(expected, len(first))
        sample = [] if (expected or 0) < FEW else first.part(0, SAMPLE).occurrences(trial.known)
        again: EventPiece = first
    else:
        sample = [] if expected is None else list(itertools.islice(first, SAMPLE))
        again, trial = itertools.chain(sample, first), replace(trial, given=_singly(trial.given))
        if expected is not None and len(sample) < SAMPLE:
            expected = len(sample)
    return trial.chosen(sample, expected), itertools.chain([again], pieces)


def _singly(given: EventsGiven) -> EventsGiven:
    return "singly" if given == "columns" else given


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
        ends = [each.lower() for each in file.suffixes]
        size = next((ROW_BYTES[each] for each in reversed(ends) if each in ROW_BYTES), 25)
        packed = bool(ends) and ends[-1] not in ROW_BYTES
        found += file.stat().st_size * (4 if packed else 1) // size
    return found
