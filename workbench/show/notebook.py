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
from workbench.core.readable import show_value
from workbench.errors import WorkbenchError
from workbench.language.source import Loaded
from workbench.runner.answers import RunOutputs
from workbench.show.draw import inline, svg
from workbench.show.explorer import explorer
from workbench.show.rule_explanation import explanation_page, explanation_text
from workbench.show.timeline import render_timeline
from workbench.tesla.rule_explanation import RuleExplanation
from workbench.tesla.rule_set import RuleSet
from workbench.verify.answer.verdict import Verdict
from workbench.verify.buffers.buffers import Buffers

ROWS = 10
"""Maximum number of rows of a log that are shown."""
WIDTH, HEIGHT = 100, 560
"""Width of a timeline as text, in characters, and height of the frame of an explorer, in pixels."""


@singledispatch
def html(shown: object) -> str:
    """Return the HTML of an object."""
    return f"<pre>{escape(repr(shown))}</pre>"


@html.register
def _(shown: Pipeline) -> str:
    """Return the drawing; without graphviz the processors as text."""
    try:
        return inline(svg(shown))
    except WorkbenchError:
        lines = (f"{', '.join(n.outputs)} = {n.processor}({', '.join(n.inputs)})" for n in shown.nodes)
        outputs = ", ".join(f"{name} = {pipe}" for name, pipe in shown.outputs)
        return f"<pre>{escape(chr(10).join([repr(shown), *lines, f'outputs: {outputs}']))}</pre>"


@html.register
def _(shown: RuleSet) -> str:
    """Return the drawing, with the text below it; without graphviz the text."""
    text = f"<pre>{escape(str(shown))}</pre>"
    try:
        return f"{inline(svg(shown))}<details><summary>as text</summary>{text}</details>"
    except WorkbenchError:
        return text


@html.register
def _(shown: Loaded) -> str:
    return html(shown.pipeline)


@html.register
def _(shown: Verdict) -> str:
    """Return the page of `--html` in a frame, with the run as text below it."""
    lines = "".join(f"<li>{escape(line)}</li>" for line in shown.rests_on)
    said = f"<p><b>{escape(repr(shown).strip('<>'))}</b></p><ul>{lines}</ul>"
    if shown.run is None:
        return said
    return said + _frame(explorer([shown]), render_timeline(shown.run, shown.run.pipeline, WIDTH))


@html.register
def _(shown: Buffers) -> str:
    """Return a table with a row for each queue."""
    rows = ((b.queue, b.answer, "" if b.bits is None else str(b.bits), "; ".join(b.rests_on)) for b in shown.queues)
    return table(("queue", "needs", "bits", "rests on"), rows, f"buffers of {shown.pipeline}, N = {shown.n}")


@html.register
def _(shown: RunOutputs) -> str:
    """Return a table of the first rows."""
    names = list(shown.domains)
    rows = [[show_value(row[n], shown.domains[n]) if n in row else "" for n in names] for row in islice(shown, ROWS)]
    more = f"{len(shown)} rows" + (f", of which the first {ROWS}" if len(shown) > ROWS else "")
    return table(names, rows, more)


@html.register
def _(shown: RuleExplanation) -> str:
    """Return the page of `workbench explain --html` in a frame, with the text below it."""
    return _frame(explanation_page(shown), explanation_text(shown, WIDTH))


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
