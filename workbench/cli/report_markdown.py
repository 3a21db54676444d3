"""The report of a demo as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from workbench.cli.demo_data import DemoModel, DemoReport, Entry, short
from workbench.cli.output import SIGNS
from workbench.show.timeline import render_timeline

_WIDTH = 110


def markdown(report: DemoReport, pictures: Mapping[str, str]) -> str:
    """The text; `pictures` has the path of each model's drawing."""
    lines = [
        "# Demo",
        "",
        f"Written by `{report.command}`, not by hand. The same as a page: [index.html](index.html).",
        "",
        report.summary,
        "",
        f"- workbench {report.workbench}, {report.engines}",
        f"- {report.settings}",
        f"- {report.date}, {report.machine}",
        "",
        "`holds-within-bounds`: no counterexample before a queue overflows, and an overflow is reachable.",
        "Properties that fail are results, not defects.",
        "",
    ]
    for model in report.models:
        lines += _model(model, pictures.get(model.key, ""))
    return "\n".join(lines).rstrip() + "\n"


def _model(model: DemoModel, picture: str) -> Iterator[str]:
    yield from (f"## {model.name}", "", f"`{model.file}`", "")
    if model.doc:
        yield from (*(f"> {line}".rstrip() for line in model.doc.splitlines()), "")
    if picture:
        yield from (f"![{model.name}]({picture})", "")
    yield "| property | verdict | rests on | engine | seconds |"
    yield "|---|---|---|---|---:|"
    for entry in model.entries:
        v = entry.verdict
        asked = v.property.replace("|", "\\|")
        word = f"{SIGNS[v.outcome][0]} {v.outcome}"
        yield f"| `{asked}` | {word} | {short(v)} | {v.engine} | {v.seconds:.2f} |"
    yield ""
    for title, entries in _runs(model).items():
        yield from _run(model, title, entries)


def _runs(model: DemoModel) -> dict[str, list[Entry]]:
    """The runs to show, by their text: several properties may be shown by one run."""
    found: dict[str, list[Entry]] = {}
    for entry in model.entries:
        if entry.run is not None:
            text = render_timeline(entry.run, entry.problem.pipeline, _WIDTH)
            found.setdefault(text, []).append(entry)
    return found


def _run(model: DemoModel, text: str, entries: list[Entry]) -> Iterator[str]:
    asked = ", ".join(f"<code>{entry.verdict.property}</code>" for entry in entries)
    run = entries[0].run
    yield f"<details><summary>run for {asked}</summary>"
    yield from ("", "```", text, "```", "")
    if run is not None and run.replay:
        yield from (f"{run.replay.capitalize()}. [Walk through it]({model.explorer}).", "")
    yield from ("</details>", "")
