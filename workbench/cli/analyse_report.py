"""The findings of analyses as text: a section for each analysis."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.cli.output import INDENT, colour, render_trace
from workbench.core.pipeline import Pipeline
from workbench.core.readable import shorten_sets
from workbench.verify.analysis import AnalysisRow
from workbench.verify.answer.verdict import Verdict
from workbench.verify.finding import Finding
from workbench.verify.rules.stream import list_confirming

LONG = 30
"""Number of lines above which only the beginning and the end of a stream are shown."""


@dataclass(frozen=True)
class Section:
    """The findings of one analysis.

    Attributes
    ----------
    lines: its findings, one per line.
    details: the text below them, such as runs; left out with `--quiet`, which shows the bounds instead.
    data: the data for `--json`.
    decided: whether no limit was met.
    verdicts: the verdicts that the findings rest on.
    """

    title: str
    lines: tuple[str, ...]
    details: tuple[str, ...]
    data: dict[str, Any]
    decided: bool
    verdicts: tuple[Verdict, ...] = ()

    @property
    def within_bounds(self) -> bool:
        """Whether some finding holds only within bounds."""
        return any(each.within_bounds for each in self.verdicts)

    @property
    def vacuous(self) -> bool:
        """Whether some finding is vacuous."""
        return any(each.vacuity is not None for each in self.verdicts)

    def text(self, bounds: str | None = None) -> str:
        """Return the section as text; with bounds, they follow the title, and details are left out."""
        title = f"{colour(self.title, '1', sys.stdout)}{f'  ({bounds})' if bounds else ''}"
        lines = [title, *(f"  {line}" for line in self.lines)]
        if bounds is None:
            lines += [part for detail in self.details for part in ("", textwrap.indent(detail, INDENT))]
        return "\n".join(lines)


def section(row: AnalysisRow, findings: Sequence[Finding], pipeline: Callable[[], Pipeline] | None = None) -> Section:
    """Return the section of an analysis; for a pipeline over finite domains, with its runs drawn."""
    lines = list(row.lines(findings)) or [f"  {row.nothing}"]
    if pipeline is None:
        details = [f"{each.about}: {each.says}\n{_indent(format_streams(each))}" for each in findings if each.runs]
    else:
        runs = [run for each in findings for run in each.runs.values()]
        details = [render_trace(run, flat) for flat in ([pipeline()] if runs else []) for run in runs]
    if row.grounds is not None and (grounds := list_grounds(findings)):
        details.append("\n".join([*filter(None, [row.grounds]), *grounds]))
    if pipeline is None and (others := list_unconfirmed(findings)):
        details.append(others)
    data = {row.key: [each.to_json() for each in findings]} if row.key else findings[0].to_json()
    verdicts = tuple(part.verdict for each in findings for part in each.parts() if part.verdict is not None)
    return Section(row.title, tuple(lines), tuple(details), data, all(each.decided for each in findings), verdicts)


def list_grounds(findings: Sequence[Finding]) -> list[str]:
    """List what the findings rest on; a ground that some do not share, with those that rest on it."""
    resting: dict[str, list[str]] = {}
    for each in findings:
        for ground in each.rests_on:
            resting.setdefault(ground, []).append(each.about)
    count = sum(bool(each.rests_on) for each in findings)
    return [
        f"- {shorten_sets(ground)}" + (f" ({'; '.join(about)})" if len(about) < count else "")
        for ground, about in resting.items()
    ]


def _indent(parts: Iterable[str]) -> str:
    return "\n".join(textwrap.indent(each, INDENT) for each in parts)


def list_unconfirmed(findings: Iterable[Finding]) -> str:
    """List the engines that do not confirm a stream, with the reasons, once for all streams."""
    streams = (stream for each in findings for stream in each.runs.values())
    lines = dict.fromkeys(f"- {who}: {why}" for stream in streams for who, why in stream.unconfirmed.items())
    return "\n".join(["not run by all:", *lines]) if lines else ""


def format_streams(finding: Finding) -> list[str]:
    """Return the streams that show a finding, and the engines that agree."""
    lines = []
    for name, stream in finding.runs.items():
        lines += [f"{name}:"] if name else []
        lines.append(textwrap.indent(_shorten(stream.text()) or "nothing happens", INDENT if name else ""))
    return [*lines, f"({list_confirming(finding.runs.values())} agree)"] if lines else []


def _shorten(stream: str) -> str:
    """Return the text of a stream; of a long one, its beginning and its end."""
    lines = stream.splitlines()
    if len(lines) > LONG:
        lines[LONG * 2 // 3 : -LONG // 3] = [f"... ({len(lines) - LONG} lines, which --json contains)"]
    return "\n".join(lines)
