"""The report of a demo as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from workbench.cli.demo.results import DemoModel, DemoReport
from workbench.cli.output import GAP, SHORTEST, gap, short
from workbench.show.draw import inline
from workbench.show.style import begin_page
from workbench.show.timeline import MARKS, NO_EVENT, Row, Timeline, timeline
from workbench.verify.answer.verdict import Outcome, Verdict

WORDS = {
    Outcome.HOLDS: "on every run of the model",
    Outcome.FAILS: "and a run shows it",
    Outcome.WITHIN_BOUNDS: "no counterexample before a queue overflows; an overflow is reachable",
    Outcome.UNKNOWN: "undecided: a limit was met",
}


def html(report: DemoReport) -> str:
    """Return the report as HTML."""
    parts = [
        begin_page(f"workbench demo, {report.date}", "demo"),
        *_head(report),
        "<main>",
        *_overview(report),
        *(part for model in report.models for part in _model(model)),
        "</main><footer><dl>",
        *(f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in report.facts.items()),
        f"<div><dt>command</dt><dd><code>{escape(report.command)}</code></dd></div>",
        "</dl></footer></body></html>",
        "",
    ]
    return "\n".join(parts)


def _head(report: DemoReport) -> Iterator[str]:
    confirmed, runs = report.confirmed
    yield "<header><h1>workbench <span>demo</span></h1>"
    yield (
        f"<p class=lead>{len(report.models)} pipelines, {len(report.verdicts)} verdicts, decided by a model "
        f"checker in {report.seconds:.1f} s. {confirmed} of the {runs} runs below were replayed on the "
        "running pipeline and confirmed.</p><ul class=tiles>"
    )
    for outcome, count in report.counts.items():
        if count or outcome is not Outcome.UNKNOWN:
            yield (
                f'<li class="{outcome}"><b>{count}</b><span>{outcome.sign} {outcome}</span>'
                f"<small>{WORDS[outcome]}</small></li>"
            )
    yield "</ul></header>"


# --- the overview -----------------------------------------------------------------------------------------


def _overview(report: DemoReport) -> Iterator[str]:
    """Yield a table of pipelines and properties; properties of only some files are in the last column."""
    property_sets = [{v.property for v in model.verdicts} for model in report.models]
    common = [v.property for v in report.models[0].verdicts if all(v.property in names for names in property_sets)]
    yield "<section class=overview><h2>All verdicts</h2><div class=scroll><table><thead><tr><th>pipeline</th>"
    yield from (f"<th>{escape(name)}</th>" for name in common)
    yield "<th>checks in the file</th></tr></thead><tbody>"
    for model in report.models:
        verdicts = {v.property: v for v in model.verdicts}
        yield f'<tr><th scope=row><a href="#{model.key}">{escape(model.name)}</a></th>'
        yield from (f"<td>{_mark(model, verdicts[name])}</td>" for name in common)
        others = [_mark(model, v, f" {escape(name)}") for name, v in verdicts.items() if name not in common]
        yield f"<td class=others>{' '.join(others)}</td></tr>"
    yield "</tbody></table></div></section>"


def _mark(model: DemoModel, v: Verdict, text: str = "") -> str:
    title = escape(f"{v.property}: {v.outcome}", quote=True)
    return f'<a class="mark {v.outcome}" title="{title}" href="#{_anchor(model, v)}">{v.outcome.sign}{text}</a>'


def _anchor(model: DemoModel, v: Verdict) -> str:
    return f"{model.key}.{model.verdicts.index(v)}"


# --- one pipeline -----------------------------------------------------------------------------------------


def _model(model: DemoModel) -> Iterator[str]:
    yield f'<section id="{model.key}"><h2>{escape(model.name)}</h2><p class=file>{escape(model.file)}</p>'
    if model.doc:
        yield f"<p class=doc>{'<br>'.join(map(escape, model.doc.splitlines()))}</p>"
    if model.drawing:
        yield f'<figure role=img aria-label="drawing of {escape(model.name)}">{inline(model.drawing)}</figure>'
    yield "<div class=verdicts>"
    for verdict in model.verdicts:
        yield from _verdict(model, verdict)
    yield "</div></section>"


def _verdict(model: DemoModel, v: Verdict) -> Iterator[str]:
    attribute = " open" if v.outcome is Outcome.UNKNOWN or gap(v) else ""
    yield f'<details class="{v.outcome}"{attribute}><summary>'
    yield f"<span class=word>{v.outcome.sign} {v.outcome}</span><code>{escape(v.property)}</code>"
    yield f"<span class=short>{escape(short(v))}</span><span class=time>{v.seconds:.2f} s</span></summary>"
    # the name is inside, so that a link to it opens the block
    yield f'<div class=body id="{_anchor(model, v)}">'
    if v.reason:
        yield f"<p class=reason>{escape(v.reason)}</p>"
    if v.rests_on:
        yield "<h3>rests on</h3><ul>" + "".join(f"<li>{escape(text)}</li>" for text in v.rests_on) + "</ul>"
    yield f"<p class=engine>{escape(v.engine)}, {v.cpu_seconds:.3f} CPU seconds</p>"
    yield from _run(model, v)
    yield "</div></details>"


def _run(model: DemoModel, v: Verdict) -> Iterator[str]:
    if v.run is None:
        return
    table = timeline(v.run, v.run.pipeline)
    yield f"<h3>{'counterexample' if v.counterexample else 'a run that meets the bound'}</h3>"
    yield from timeline_table(table)
    if v.run.gap:
        yield f"<p class=gap>{escape(GAP.format(v.run.replay))}</p>"
        return
    words = [v.run.replay] * bool(v.run.replay) + [SHORTEST[v.run.shortest]]
    walk = f"{model.explorer}#run={model.verdicts_with_runs.index(v) + 1}&amp;step={table.last}"
    yield f'<p class=replay>✓ {escape("; ".join(words))} · <a href="{walk}">walk through this run</a></p>'


# --- a run ------------------------------------------------------------------------------------------------


def timeline_table(table: Timeline) -> Iterator[str]:
    """Yield a run as a table; the text below the steps states what they show."""
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
    where = f"step {table.last}" if kind == "last" else f"steps {loop} to {table.last}, repeated for ever"
    where = f"step {loop}, repeated for ever" if kind == "loop" and loop == table.last else where
    yield f"<p class=shows><b>{where}:</b> {escape(table.shows)}</p>"


def _cell(row: Row, step: int, mark: str) -> str:
    text = row.cells[step]
    classes = [mark] * bool(mark)
    classes += ["none"] * (text == NO_EVENT or (row.kind == "queue" and text == "0"))
    if step in row.overflows:
        return f"<td{_class([*classes, 'over'])} title='an event arrives at a full queue'>{escape(text)}!</td>"
    return f"<td{_class(classes)}>{escape(text)}</td>"


def _class(names: list[str]) -> str:
    return f' class="{" ".join(names)}"' if names else ""
