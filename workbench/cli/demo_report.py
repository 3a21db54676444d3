"""The report of a demo: `index.html`, `README.md`, the drawings and the explorers of runs, each written atomically."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from pathlib import Path

from workbench import __version__
from workbench.cli.demo_page import html
from workbench.cli.output import short
from workbench.errors import InputError, WorkbenchError
from workbench.events.files import write_atomically
from workbench.language import Loaded
from workbench.processors.held.group import flatten
from workbench.show.draw import svg
from workbench.show.explorer import explorer
from workbench.show.timeline import render_timeline
from workbench.verify.answer.verdict import Outcome, Verdict

_WIDTH = 110


@dataclass(frozen=True)
class DemoModel:
    """A pipeline of the models with its verdicts."""

    loaded: Loaded
    verdicts: tuple[Verdict, ...]

    @property
    def name(self) -> str:
        """The pipeline's name."""
        return self.loaded.name

    @property
    def file(self) -> str:
        """Where it is written."""
        return Path(self.loaded.source.file).as_posix()

    @property
    def doc(self) -> str:
        """What the file says of it."""
        return self.loaded.pipeline.doc

    @property
    def key(self) -> str:
        """A name that is its own in the report, for links and files."""
        stem = Path(self.file).stem
        return self.name if stem == self.name else f"{stem}-{self.name}"

    @property
    def shown(self) -> tuple[Verdict, ...]:
        """The verdicts that have a run, in the order of the tabs of their explorer."""
        return tuple(verdict for verdict in self.verdicts if verdict.run is not None)

    @property
    def explorer(self) -> str:
        """Where the page is, seen from the report, on which these runs can be walked through."""
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
        """Where the drawing is, seen from the report; empty where there is none."""
        return f"pictures/{self.key}.svg" if self.drawing else ""


@dataclass(frozen=True)
class DemoReport:
    """Everything that both reports say: the verdicts, those on one pipeline together, and where they come from."""

    verdicts: Sequence[Verdict]
    seconds: float
    command: str
    date: str = field(default_factory=lambda: datetime.datetime.now(datetime.UTC).date().isoformat())

    @cached_property
    def models(self) -> tuple[DemoModel, ...]:
        """The pipelines."""
        groups = groupby(self.verdicts, lambda verdict: verdict.problem and verdict.problem.subject)
        return tuple(DemoModel(loaded, tuple(found)) for loaded, found in groups if isinstance(loaded, Loaded))

    @property
    def counts(self) -> dict[Outcome, int]:
        """How many verdicts of each outcome."""
        return {outcome: sum(v.outcome is outcome for v in self.verdicts) for outcome in Outcome}

    @property
    def confirmed(self) -> tuple[int, int]:
        """Of how many runs, how many were confirmed by execution."""
        runs = [verdict.run for verdict in self.verdicts if verdict.run]
        return sum(bool(run.replay) and not run.gap for run in runs), len(runs)

    @property
    def facts(self) -> dict[str, str]:
        """Where it comes from."""
        engines = dict.fromkeys(v.engine for v in self.verdicts if v.cpu_seconds)
        given = {str(v.problem.settings.q): v.problem.settings for v in self.verdicts if v.problem}
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return {
            "workbench": __version__,
            "engine": ", ".join(engines) or "none",
            "bounds": "; ".join(f"Q = {s.q}, N = {s.n}, {s.integers} integers" for s in given.values()),
            "date": self.date,
            "machine": f"{cores} cores, {platform.system()}, Python {platform.python_version()}",
        }

    @property
    def summary(self) -> str:
        """One paragraph."""
        parts = ", ".join(f"{count} {outcome}" for outcome, count in self.counts.items() if count)
        confirmed, runs = self.confirmed
        return (
            f"{len(self.verdicts)} verdicts on {len(self.models)} pipelines in {self.seconds:.1f} s: {parts}. "
            f"{confirmed} of {runs} runs confirmed by execution."
        )

    def write(self, folder: Path) -> Path:
        """Write the report into a folder; the path of its page. Nothing is written before all of it is made."""
        files = {model.picture: model.drawing for model in self.models if model.picture}
        files |= {"README.md": "\n".join(_markdown(self)).rstrip() + "\n", "index.html": html(self)}
        files |= {model.explorer: explorer(model.shown) for model in self.models if model.shown}
        try:
            for place in {(folder / name).parent for name in files}:
                place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write there: {error.strerror}", where=str(folder)) from error
        for name, text in files.items():
            write_atomically(folder / name, text)
        return folder / "index.html"


# --- Markdown ---------------------------------------------------------------------------------------------


def _markdown(report: DemoReport) -> Iterator[str]:
    yield from ("# Demo", "")
    yield from (f"Written by `{report.command}`, not by hand. The same as a page: [index.html](index.html).", "")
    yield from (report.summary, "")
    yield from (f"- {name}: {text}" for name, text in report.facts.items())
    yield from ("", "`holds-within-bounds`: no counterexample before a queue overflows, and an overflow is reachable.")
    yield from ("Properties that fail are results, not defects.", "")
    for model in report.models:
        yield from (f"## {model.name}", "", f"`{model.file}`", "")
        if model.doc:
            yield from (*(f"> {line}".rstrip() for line in model.doc.splitlines()), "")
        if model.picture:
            yield from (f"![{model.name}]({model.picture})", "")
        yield from ("| property | verdict | rests on | engine | seconds |", "|---|---|---|---|---:|")
        for v in model.verdicts:
            asked = v.property.replace("|", "\\|")
            yield f"| `{asked}` | {v.outcome.sign} {v.outcome} | {short(v)} | {v.engine} | {v.seconds:.2f} |"
        yield ""
        for text, verdicts in _runs(model.shown).items():
            asked = ", ".join(f"<code>{verdict.property}</code>" for verdict in verdicts)
            yield from (f"<details><summary>run for {asked}</summary>", "", "```", text, "```", "")
            if (run := verdicts[0].run) and run.replay:
                yield from (f"{run.replay.capitalize()}. [Walk through it]({model.explorer}).", "")
            yield from ("</details>", "")


def _runs(verdicts: Sequence[Verdict]) -> Mapping[str, list[Verdict]]:
    """The runs to show, by their text: several properties may be shown by one run."""
    found: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.run and verdict.run.pipeline:
            text = render_timeline(verdict.run, flatten(verdict.run.pipeline), _WIDTH)
            found.setdefault(text, []).append(verdict)
    return found
