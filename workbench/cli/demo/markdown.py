"""The report of a demo as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from workbench.cli.demo.results import DemoReport
from workbench.cli.output import short
from workbench.processors.held.group import flatten
from workbench.show.timeline import render_timeline
from workbench.verify.answer.verdict import Verdict

WIDTH = 110
"""Width of a run, in characters."""


def markdown(report: DemoReport) -> str:
    """Return the report as Markdown."""
    return "\n".join(_lines(report)).rstrip() + "\n"


def _lines(report: DemoReport) -> Iterator[str]:
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
            cell = v.property.replace("|", "\\|")
            yield f"| `{cell}` | {v.outcome.sign} {v.outcome} | {short(v)} | {v.engine} | {v.seconds:.2f} |"
        yield ""
        for text, verdicts in _runs(model.verdicts_with_runs).items():
            label = ", ".join(f"<code>{verdict.property}</code>" for verdict in verdicts)
            yield from (f"<details><summary>run for {label}</summary>", "", "```", text, "```", "")
            if (run := verdicts[0].run) and run.replay:
                yield from (f"{run.replay.capitalize()}. [Walk through it]({model.explorer}).", "")
            yield from ("</details>", "")


def _runs(verdicts: Sequence[Verdict]) -> Mapping[str, list[Verdict]]:
    """Return the runs to show, with their verdicts, by text: one run may show several properties."""
    runs: dict[str, list[Verdict]] = {}
    for verdict in verdicts:
        if verdict.run and verdict.run.pipeline:
            text = render_timeline(verdict.run, flatten(verdict.run.pipeline), WIDTH)
            runs.setdefault(text, []).append(verdict)
    return runs
