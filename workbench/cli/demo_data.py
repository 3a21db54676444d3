"""The results of a demo, as both its reports show them."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.cli.about import version
from workbench.cli.pool import PoolTask, source
from workbench.cli.problem import Problem
from workbench.core.pipeline import Pipeline
from workbench.errors import InputError
from workbench.show.timeline import Timeline, timeline
from workbench.verify.answer.check import Settings
from workbench.verify.answer.verdict import Outcome, Trace, Verdict

RUNS = "runs"
_ROOM = 4
"""The default N, where no constant of the models needs more."""


@dataclass(frozen=True)
class Entry:
    """One verdict and what is needed to show it."""

    task: PoolTask
    problem: Problem
    verdict: Verdict

    @property
    def run(self) -> Trace | None:
        """The run that shows it, if there is one: a counterexample, or a witness of the bound."""
        return self.verdict.run

    @property
    def timeline(self) -> Timeline | None:
        """That run, arranged."""
        if self.run is None:
            return None
        return timeline(self.run, self.problem.pipeline)


@dataclass(frozen=True)
class DemoModel:
    """A pipeline of the models with its verdicts."""

    name: str
    file: str
    doc: str
    pipeline: Pipeline
    entries: tuple[Entry, ...]

    @property
    def key(self) -> str:
        """A name that is its own in the report, for links and files."""
        stem = Path(self.file).stem
        return self.name if stem == self.name else f"{stem}-{self.name}"

    @property
    def shown(self) -> tuple[Entry, ...]:
        """The entries that have a run, in the order of the tabs of their explorer."""
        return tuple(entry for entry in self.entries if entry.run is not None)

    @property
    def explorer(self) -> str:
        """Where the page is, seen from the report, on which these runs can be walked through."""
        return f"{RUNS}/{self.key}.html"


@dataclass(frozen=True)
class DemoReport:
    """Everything both reports say."""

    models: tuple[DemoModel, ...]
    seconds: float
    command: str
    date: str
    workbench: str
    machine: str

    @classmethod
    def of(cls, entries: Sequence[Entry], seconds: float, command: str) -> DemoReport:
        """The report on these entries, with its provenance."""
        groups: dict[tuple[str, str], list[Entry]] = {}
        for entry in entries:
            groups.setdefault((entry.task.path, entry.task.pipeline), []).append(entry)
        models = tuple(
            DemoModel(name, Path(path).as_posix(), pipeline.doc, pipeline, tuple(found))
            for (path, name), found in groups.items()
            for pipeline in [source(path).get(name).pipeline]
        )
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        machine = f"{cores} cores, {platform.system()}, Python {platform.python_version()}"
        return cls(models, seconds, command, today, version(), machine)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries."""
        return tuple(entry for model in self.models for entry in model.entries)

    @property
    def engines(self) -> str:
        """The engines that decided."""
        used = (e.verdict.engine for e in self.entries if e.verdict.cpu_seconds)
        return ", ".join(dict.fromkeys(used)) or "none"

    @property
    def counts(self) -> dict[Outcome, int]:
        """How many verdicts of each outcome."""
        return {outcome: sum(e.verdict.outcome is outcome for e in self.entries) for outcome in Outcome}

    @property
    def confirmed(self) -> tuple[int, int]:
        """Of how many runs, how many were confirmed by execution."""
        runs = [entry.run for entry in self.entries if entry.run]
        return sum(bool(run.replay) and not run.gap for run in runs), len(runs)

    @property
    def settings(self) -> str:
        """Q and N."""
        given = {(e.task.settings.q, e.task.settings.n, str(e.task.settings.integers)) for e in self.entries}
        return "; ".join(f"Q = {q}, N = {n}, {kind} integers" for q, n, kind in sorted(given, key=str))

    @property
    def summary(self) -> str:
        """One paragraph."""
        parts = ", ".join(f"{count} {outcome}" for outcome, count in self.counts.items() if count)
        confirmed, runs = self.confirmed
        return (
            f"{len(self.entries)} verdicts on {len(self.models)} pipelines in {self.seconds:.1f} s: {parts}. "
            f"{confirmed} of {runs} runs confirmed by execution."
        )


def tasks_of(folder: str, standard: Sequence[str], seconds: float) -> list[PoolTask]:
    """What to decide about the models of a folder: the standard properties, then those in the files.

    A pipeline that occurs in several files, as small parts do, is taken once.
    """
    files = sorted(Path(folder).glob("**/*.pipe"))
    if not files:
        raise InputError(f"there is no .pipe file in '{folder}'", hint="give a folder of models with --models")
    settings = Settings(n=_ROOM, seconds=seconds)
    tasks, seen = [], []
    for file in files:
        found = source(str(file))
        for syntax in found.tree.pipelines:
            if any(parameter.default is None for parameter in syntax.parameters):
                continue  # a part that only other pipelines can use
            name = syntax.name
            loaded = found.get(name)
            if loaded.pipeline in seen:
                continue
            seen.append(loaded.pipeline)
            asked: list[str | int] = list(standard)
            asked += [i for i, check in enumerate(loaded.checks) if str(check) not in standard]
            tasks += [PoolTask(str(file), name, item, settings) for item in asked]
    return tasks


def short(verdict: Verdict) -> str:
    """What a verdict rests on, in a few words."""
    grounds = verdict.grounds
    if grounds is None:
        return ""
    if grounds.trivial:
        return "by construction"
    found = []
    if grounds.queues:
        found.append(f"Q={verdict.q}" if isinstance(verdict.q, int) else "given queues")
    if grounds.overflow and not (grounds.asked and verdict.outcome is Outcome.FAILS):
        found.append("overflow" if found else "domain left")
    if grounds.overflow is None:
        found.append("overflow undecided")
    found.append("every N" if grounds.for_every_n else f"N={verdict.n}")
    found += ["wraps"] * bool(grounds.wraps)
    found += ["saturates"] * bool(grounds.clamps)
    return ", ".join(found)
