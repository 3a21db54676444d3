"""Displays for notebooks: drawn pipelines, verdicts with runs to step through, tables of buffers and outputs.

The rule of this module: everything works from the notebook's file alone, without a network; if scripts do not run, as
on pages that show notebooks, the same contents are available as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch
from html import escape
from itertools import islice

from workbench.core.pipeline import Pipeline
from workbench.core.readable import plural, show_value
from workbench.errors import WorkbenchError
from workbench.language.source import Loaded
from workbench.runner.answers import RunOutputs
from workbench.show.draw import inline, svg
from workbench.show.explorer import explorer
from workbench.show.rule_explanation import explanation_page, explanation_text
from workbench.show.timeline import render_timeline
from workbench.tesla.rule_explanation import RuleExplanation
from workbench.tesla.rule_set import RuleSet
from workbench.verify.answer.trace import Trace
from workbench.verify.answer.verdict import Verdict
from workbench.verify.buffers.buffers import Buffers

ROWS = 10
"""Maximum number of rows of a log that are shown."""
WIDTH, HEIGHT = 100, 560
"""Width of a timeline as text, in characters, and height of the frame of an explorer, in pixels."""


@singledispatch
def html(item: object) -> str:
    """Return the HTML of an object."""
    return f"<pre>{escape(repr(item))}</pre>"


@html.register
def _(pipeline: Pipeline) -> str:
    """Return the drawing; without graphviz the processors as text."""
    try:
        return inline(svg(pipeline))
    except WorkbenchError:
        lines = (f"{', '.join(n.outputs)} = {n.processor}({', '.join(n.inputs)})" for n in pipeline.nodes)
        outputs = ", ".join(f"{name} = {pipe}" for name, pipe in pipeline.outputs)
        return f"<pre>{escape(chr(10).join([repr(pipeline), *lines, f'outputs: {outputs}']))}</pre>"


@html.register
def _(rules: RuleSet) -> str:
    """Return the drawing, with the text below it; without graphviz the text."""
    text = f"<pre>{escape(str(rules))}</pre>"
    try:
        return f"{inline(svg(rules))}<details><summary>as text</summary>{text}</details>"
    except WorkbenchError:
        return text


@html.register
def _(program: Loaded) -> str:
    return html(program.pipeline)


@html.register
def _(verdict: Verdict) -> str:
    """Return the page of `--html` in a frame, with the run as text below it."""
    lines = "".join(f"<li>{escape(line)}</li>" for line in _list_grounds(verdict))
    summary = f"<p><b>{escape(repr(verdict).strip('<>'))}</b></p><ul>{lines}</ul>"
    if verdict.run is None:
        return summary
    return summary + _frame(explorer([verdict]), render_timeline(verdict.run, width=WIDTH))


def _list_grounds(verdict: Verdict) -> list[str]:
    """Return what the verdict rests on, and the number of states if it was counted."""
    return [*verdict.rests_on, *filter(None, [verdict.size])]


@html.register
def _(run: Trace) -> str:
    """Return the timeline below what the run shows."""
    return f"<p><b>{escape(repr(run).strip('<>'))}</b></p><pre>{escape(render_timeline(run, width=WIDTH))}</pre>"


def text(item: Verdict | Trace) -> str:
    """Return what `print` shows: what the verdict rests on, and the run as a timeline."""
    grounds = [f"- {line}" for line in _list_grounds(item)] if isinstance(item, Verdict) else []
    run = item.run if isinstance(item, Verdict) else item
    timeline = [] if run is None else ["", render_timeline(run, width=WIDTH)]
    return "\n".join([repr(item).strip("<>"), *grounds, *timeline]).rstrip()


@html.register
def _(buffers: Buffers) -> str:
    """Return a table with a row for each queue, or a sentence if there is none."""
    if not buffers.queues:
        return f"<p>{escape(buffers.pipeline)} has no queues</p>"
    rows = ((b.queue, b.answer, "" if b.bits is None else str(b.bits), "; ".join(b.rests_on)) for b in buffers.queues)
    title = ", ".join(filter(None, [f"buffers of {buffers.pipeline}", buffers.scope]))
    return table(("queue", "needs", "bits", "rests on"), rows, title)


@html.register
def _(outputs: RunOutputs) -> str:
    """Return a table of the first rows."""
    names = list(outputs.domains)
    rows = [
        [show_value(row[n], outputs.domains[n]) if n in row else "" for n in names] for row in islice(outputs, ROWS)
    ]
    more = plural(len(outputs), "row") + (f", of which the first {ROWS}" if len(outputs) > ROWS else "")
    return table(names, rows, more)


@html.register
def _(explanation: RuleExplanation) -> str:
    """Return the page of `workbench explain --html` in a frame, with the text below it."""
    return _frame(explanation_page(explanation), explanation_text(explanation, WIDTH))


def _frame(page: str, text: str) -> str:
    """Return a page in a frame, with its contents as text below it."""
    frame = f'<iframe srcdoc="{escape(page, quote=True)}" style="width:100%; height:{HEIGHT}px; border:0"></iframe>'
    return f"{frame}<details><summary>as text</summary><pre>{escape(text)}</pre></details>"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Return texts as a table."""
    left = 'style="text-align:left"'  # notebooks align cells to the right, which suits no sentence
    head = "".join(f"<th {left}>{escape(text)}</th>" for text in heads)
    body = "".join(f"<tr>{''.join(f'<td {left}>{escape(text)}</td>' for text in row)}</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption><tr>{head}</tr>{body}</table>"
