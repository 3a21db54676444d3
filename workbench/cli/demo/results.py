"""The results of a demo: the verdicts on each model, and their origin."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path

from workbench import __version__
from workbench.budget import cores
from workbench.errors import WorkbenchError
from workbench.language import Loaded
from workbench.show.draw import svg
from workbench.verify.answer.verdict import Outcome, Verdict


@dataclass(frozen=True)
class DemoModel:
    """A pipeline of the models, with its verdicts."""

    loaded: Loaded
    verdicts: tuple[Verdict, ...]

    @property
    def name(self) -> str:
        """The pipeline's name."""
        return self.loaded.name

    @property
    def file(self) -> str:
        """The path of its file."""
        return Path(self.loaded.source.file).as_posix()

    @property
    def doc(self) -> str:
        """The description of the pipeline in its file."""
        return self.loaded.pipeline.doc

    @property
    def key(self) -> str:
        """A unique name in the report, for links and files."""
        stem = Path(self.file).stem
        return self.name if stem == self.name else f"{stem}-{self.name}"

    @property
    def verdicts_with_runs(self) -> tuple[Verdict, ...]:
        """The verdicts that have a run, in the order of the tabs of their explorer."""
        return tuple(verdict for verdict in self.verdicts if verdict.run is not None)

    @property
    def explorer(self) -> str:
        """The path, relative to the report, of the page for stepping through its runs."""
        return f"runs/{self.key}.html"

    @cached_property
    def drawing(self) -> str:
        """The pipeline as SVG text; empty where graphviz is missing."""
        try:
            return svg(self.loaded.pipeline)
        except WorkbenchError:
            return ""

    @property
    def picture(self) -> str:
        """The path of the drawing, relative to the report; empty if there is none."""
        return f"pictures/{self.key}.svg" if self.drawing else ""


@dataclass(frozen=True)
class DemoReport:
    """The contents of the page and the Markdown: the verdicts, grouped by pipeline."""

    verdicts: Sequence[Verdict]
    seconds: float
    command: str
    date: str = field(default_factory=lambda: datetime.datetime.now(datetime.UTC).date().isoformat())

    @cached_property
    def models(self) -> tuple[DemoModel, ...]:
        """The pipelines."""
        groups = groupby(self.verdicts, lambda verdict: verdict.problem and verdict.problem.subject)
        return tuple(DemoModel(loaded, tuple(verdicts)) for loaded, verdicts in groups if isinstance(loaded, Loaded))

    @property
    def counts(self) -> dict[Outcome, int]:
        """The number of verdicts of each outcome."""
        return {outcome: sum(v.outcome is outcome for v in self.verdicts) for outcome in Outcome}

    @property
    def confirmed(self) -> tuple[int, int]:
        """The number of runs confirmed by execution, and the number of all runs."""
        runs = [verdict.run for verdict in self.verdicts if verdict.run]
        return sum(bool(run.replay) and not run.gap for run in runs), len(runs)

    @property
    def facts(self) -> dict[str, str]:
        """The origin of the report: versions, bounds, date, machine."""
        engines = dict.fromkeys(v.engine for v in self.verdicts if v.cpu_seconds)
        settings = {str(v.problem.settings.q): v.problem.settings for v in self.verdicts if v.problem}
        return {
            "workbench": __version__,
            "engine": ", ".join(engines) or "none",
            "bounds": "; ".join(f"Q = {s.q}, N = {s.n}, {s.integers} integers" for s in settings.values()),
            "date": self.date,
            "machine": f"{cores()} cores, {platform.system()}, Python {platform.python_version()}",
        }

    @property
    def summary(self) -> str:
        """A summary in one paragraph."""
        parts = ", ".join(f"{count} {outcome}" for outcome, count in self.counts.items() if count)
        confirmed, runs = self.confirmed
        return (
            f"{len(self.verdicts)} verdicts on {len(self.models)} pipelines in {self.seconds:.1f} s: {parts}. "
            f"{confirmed} of {runs} runs confirmed by execution."
        )
