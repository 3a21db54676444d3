"""The report of a demo as one HTML page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

from workbench.cli.demo_data import DemoModel, DemoReport, Entry, short
from workbench.cli.output import GAP, SHORTEST, SIGNS, gap
from workbench.show.draw import inline
from workbench.show.style import STYLE
from workbench.show.timeline import MARKS, NO_EVENT, Row, Timeline
from workbench.verify.answer.verdict import Outcome

WORDS = {
    Outcome.HOLDS: "on every run of the model",
    Outcome.FAILS: "and a run shows it",
    Outcome.WITHIN_BOUNDS: "no counterexample before a queue overflows; an overflow is reachable",
    Outcome.UNKNOWN: "undecided: a limit was met",
}


def html(report: DemoReport, drawings: Mapping[str, str]) -> str:
    """The page; `drawings` has the SVG text of each model."""
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>workbench demo, {report.date}</title>",
        f"<style>{STYLE}</style></head><body>",
        *_head(report),
        "<main>",
        *_overview(report),
    ]
    for model in report.models:
        parts += _model(model, drawings.get(model.key, ""))
    parts += ["</main>", *_foot(report), "</body></html>", ""]
    return "\n".join(parts)


def _head(report: DemoReport) -> Iterator[str]:
    confirmed, runs = report.confirmed
    yield "<header><h1>workbench <span>demo</span></h1>"
    yield (
        f"<p class=lead>{len(report.models)} pipelines, {len(report.entries)} verdicts, decided by a model "
        f"checker in {report.seconds:.1f} s. {confirmed} of the {runs} runs below were replayed on the "
        "running pipeline and confirmed.</p>"
    )
    yield "<ul class=tiles>"
    for outcome, count in report.counts.items():
        if count or outcome is not Outcome.UNKNOWN:
            yield (
                f'<li class="{outcome}"><b>{count}</b><span>{SIGNS[outcome][0]} {outcome}</span>'
                f"<small>{WORDS[outcome]}</small></li>"
            )
    yield "</ul></header>"


def _foot(report: DemoReport) -> Iterator[str]:
    facts = {
        "workbench": report.workbench,
        "engine": report.engines,
        "bounds": report.settings,
        "date": report.date,
        "machine": report.machine,
        "command": f"<code>{escape(report.command)}</code>",
    }
    yield "<footer><dl>"
    for name, text in facts.items():
        yield f"<div><dt>{name}</dt><dd>{text if name == 'command' else escape(text)}</dd></div>"
    yield "</dl></footer>"


# --- the overview -----------------------------------------------------------------------------------------


def _overview(report: DemoReport) -> Iterator[str]:
    """Pipelines against properties; the properties that only some files ask stand in a last column."""
    asked = [{e.verdict.property for e in model.entries} for model in report.models]
    common = [e.verdict.property for e in report.models[0].entries if all(e.verdict.property in a for a in asked)]
    yield "<section class=overview><h2>All verdicts</h2><div class=scroll><table><thead><tr><th>pipeline</th>"
    yield from (f"<th>{escape(name)}</th>" for name in common)
    yield "<th>checks in the file</th></tr></thead><tbody>"
    for model in report.models:
        found = {e.verdict.property: e for e in model.entries}
        yield f'<tr><th scope=row><a href="#{model.key}">{escape(model.name)}</a></th>'
        yield from (f"<td>{_mark(model, found[name])}</td>" for name in common)
        others = [e for name, e in found.items() if name not in common]
        yield "<td class=others>" + " ".join(_mark(model, e, name=True) for e in others) + "</td></tr>"
    yield "</tbody></table></div></section>"


def _mark(model: DemoModel, entry: Entry, *, name: bool = False) -> str:
    outcome = entry.verdict.outcome
    text = f" {escape(entry.verdict.property)}" if name else ""
    title = escape(f"{entry.verdict.property}: {outcome}", quote=True)
    target = _anchor(model, entry)
    return f'<a class="mark {outcome}" title="{title}" href="#{target}">{SIGNS[outcome][0]}{text}</a>'


def _anchor(model: DemoModel, entry: Entry) -> str:
    return f"{model.key}.{model.entries.index(entry)}"


# --- one pipeline -----------------------------------------------------------------------------------------


def _model(model: DemoModel, drawing: str) -> Iterator[str]:
    yield f'<section id="{model.key}"><h2>{escape(model.name)}</h2><p class=file>{escape(model.file)}</p>'
    if model.doc:
        yield f"<p class=doc>{'<br>'.join(map(escape, model.doc.splitlines()))}</p>"
    if drawing:
        yield f'<figure role=img aria-label="drawing of {escape(model.name)}">{inline(drawing)}</figure>'
    yield "<div class=verdicts>"
    for entry in model.entries:
        yield from _entry(model, entry)
    yield "</div></section>"


def _entry(model: DemoModel, entry: Entry) -> Iterator[str]:
    v = entry.verdict
    shown = " open" if v.outcome is Outcome.UNKNOWN or gap(v) else ""
    yield f'<details class="{v.outcome}"{shown}><summary>'
    yield f"<span class=word>{SIGNS[v.outcome][0]} {v.outcome}</span><code>{escape(v.property)}</code>"
    yield f"<span class=short>{escape(short(v))}</span><span class=time>{v.seconds:.2f} s</span></summary>"
    # the name is inside, so that a link to it opens the block
    yield f'<div class=body id="{_anchor(model, entry)}">'
    if v.reason:
        yield f"<p class=reason>{escape(v.reason)}</p>"
    if v.rests_on:
        yield "<h3>rests on</h3><ul>" + "".join(f"<li>{escape(text)}</li>" for text in v.rests_on) + "</ul>"
    yield f"<p class=engine>{escape(v.engine)}, {v.cpu_seconds:.3f} CPU seconds</p>"
    yield from _run(model, entry)
    yield "</div></details>"


def _run(model: DemoModel, entry: Entry) -> Iterator[str]:
    table, run = entry.timeline, entry.run
    if table is None or run is None:
        return
    yield f"<h3>{'counterexample' if entry.verdict.counterexample else 'a run that meets the bound'}</h3>"
    yield from timeline_table(table)
    if run.gap:
        yield f"<p class=gap>{escape(GAP.format(run.replay))}</p>"
        return
    words = [run.replay] * bool(run.replay) + [SHORTEST[run.shortest]]
    walk = f"{model.explorer}#run={model.shown.index(entry) + 1}&amp;step={table.last}"
    yield f'<p class=replay>✓ {escape("; ".join(words))} · <a href="{walk}">walk through this run</a></p>'


# --- a run ------------------------------------------------------------------------------------------------


def timeline_table(table: Timeline) -> Iterator[str]:
    """A run as a table; what it shows stands under the steps that show it."""
    loop = table.last if table.loop is None else table.loop
    kind = "last" if table.loop is None else "loop"
    marked = range(loop, table.length)
    yield "<div class=scroll><table class=timeline><thead><tr><th scope=row colspan=2>step</th>"
    yield from (f"<th{_class([kind] if step in marked else [])}>{step}</th>" for step in range(table.length))
    yield "<th></th></tr></thead><tbody>"
    before = ""
    for row in table.rows:
        divides = ["first"] if row.kind == "queue" and before not in ("queue", "held") else []
        before = row.kind
        kind_word = MARKS[row.kind]
        yield f"<tr{_class([row.kind, *divides])}><td class=kind>{kind_word}</td>"
        yield f"<th scope=row>{escape(row.name)}</th>"
        yield "".join(_cell(row, step, kind if step in marked else "") for step in range(table.length))
        yield f"<td class=of>{'' if row.capacity is None else f'of {row.capacity}'}</td></tr>"
    yield "</tbody><tfoot><tr>"
    yield f"<td colspan={2 + loop}></td><td class={kind} colspan={len(marked)}>"
    yield f"{'▲' if kind == 'last' else '↻'}</td><td></td></tr></tfoot></table></div>"
    where = f"step {table.last}" if kind == "last" else f"steps {loop} to {table.last}, again and again"
    where = f"step {loop}, again and again" if kind == "loop" and loop == table.last else where
    yield f"<p class=shows><b>{where}:</b> {escape(table.shows)}</p>"


def _cell(row: Row, step: int, mark: str) -> str:
    text = row.cells[step]
    classes = [mark] * bool(mark)
    classes += ["none"] * (text == NO_EVENT or (row.kind == "queue" and text == "0"))
    if step in row.overflows:
        return f"<td{_class([*classes, 'over'])} title='an event arrives and finds no room'>{escape(text)}!</td>"
    return f"<td{_class(classes)}>{escape(text)}</td>"


def _class(names: list[str]) -> str:
    return f' class="{" ".join(names)}"' if names else ""
