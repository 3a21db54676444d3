"""Explorers: HTML pages for stepping through the runs of verdicts.

The page is self-contained (the verdicts as `--json` prints them, the drawings, a script), so it works from a
file and without a network. Graphviz makes the drawings, with space on every pipe for the widest value of the
run; without graphviz the page has only the tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from workbench.core.kinds import Keeping
from workbench.core.pipeline import Pipeline
from workbench.core.readable import show_value
from workbench.errors import WorkbenchError
from workbench.processors.held.group import flatten
from workbench.show.draw import inline, svg
from workbench.show.style import asset, begin_page
from workbench.verify.answer.trace import MAX_WAITING, Trace
from workbench.verify.answer.verdict import Outcome, Verdict, verdicts_of

WIDEST = 14
"""Maximum number of characters of a value in a drawing."""
MAX_SLOTS = 6
"""Maximum capacity of queues that are drawn slot by slot."""
_CHARACTER, _LEAST, _MAXIMUM = 6, 30, 132
"""Width of a character, and minimum and maximum width of a queue, in points."""


def explorer(verdicts: Sequence[Verdict] | Verdict) -> str:
    """Return the page: a tab for each verdict, with its run; the first that fails, or else has a run, is open."""
    verdicts = verdicts_of(verdicts)
    drawn: list[tuple[Pipeline, list[Trace]]] = []
    objects = [{**_describe(v), "sign": v.outcome.sign, "drawing": _find_drawing(v.run, drawn)} for v in verdicts]
    title = ", ".join(dict.fromkeys(verdict.pipeline for verdict in verdicts))
    return "\n".join(
        [
            begin_page(f"{title} - workbench", "explorer"),
            *(f'<template id="drawing-{i}">{_draw(*each)}</template>' for i, each in enumerate(drawn)),
            f'<script type="application/json" id="verdicts">{_embed(objects)}</script>',
            f'<main id="page" data-first="{_first(verdicts)}">',
            "<noscript>This page needs JavaScript to walk through the runs.</noscript></main>",
            f"<script>{asset('explorer.js')}</script></body></html>",
            "",
        ]
    )


def _describe(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict as data, with the values that grow inside processors on its run."""
    growing = _growing(verdict.run) if verdict.run else {}
    return {**verdict.to_json(), **({"growing": growing} if growing else {})}


def _growing(run: Trace) -> dict[str, Sequence[str]]:
    """Return the values that grow inside processors, step by step, by node and name."""
    rows = dict[str, Sequence[str]]()
    for node in flatten(run.pipeline).nodes if run.pipeline else ():
        if isinstance(node.processor, Keeping):
            ports = list(zip(node.processor.ports, node.inputs, strict=True))
            came = [
                {port: value for port, pipe in ports if (value := step.pipes.get(pipe)) is not None}
                for step in run.steps
            ]
            rows |= {f"{node.name}.{name}": cells for name, cells in node.processor.growing(came).items()}
    return rows


def _first(verdicts: Sequence[Verdict]) -> int:
    """Return the number, from 1, of the verdict to show first."""
    ranks = [(verdict.outcome is not Outcome.FAILS, verdict.run is None) for verdict in verdicts]
    return 1 + min(range(len(ranks)), key=ranks.__getitem__, default=0)


def _embed(data: object) -> str:
    """Return JSON that can be embedded in a script element."""
    return json.dumps(data, ensure_ascii=False).replace("<", "\\u003c").replace("\u2028", "\\u2028")


def _find_drawing(run: Trace | None, drawn: list[tuple[Pipeline, list[Trace]]]) -> int | None:
    """Return the number of the drawing of a run's pipeline, shared by its runs; None if the pipeline is unknown."""
    if run is None or run.pipeline is None:
        return None
    index = next((number for number, (pipeline, _) in enumerate(drawn) if pipeline == run.pipeline), len(drawn))
    drawn += [(run.pipeline, [])] if index == len(drawn) else []
    drawn[index][1].append(run)
    return index


def _draw(pipeline: Pipeline, runs: Sequence[Trace]) -> str:
    """Return the drawing of a pipeline with space for the values of these runs; empty without graphviz."""
    try:
        return inline(_name_parts(svg(pipeline, _measure_pipes(runs), _measure_queues(pipeline, runs))))
    except WorkbenchError:
        return ""


def _name_parts(text: str) -> str:
    """Replace ids, which must be unique on the whole page, by attributes with names."""
    text = re.sub(r'<g id="pipe:([^"]*):\d+"', r'<g data-pipe="\1"', text)
    text = re.sub(r'<g id="node:([^"]*)"', r'<g data-node="\1"', text)
    text = re.sub(r'<g id="a_queue:([^"]*)"><a [^>]*>(.*?)</a>', r'<g data-queue="\1">\2', text, flags=re.DOTALL)
    return re.sub(r'\n<polygon fill="white" stroke="transparent"[^>]*>', "", text, count=1)


def _measure_pipes(runs: Sequence[Trace]) -> dict[str, str]:
    """Return a text as wide as the widest value of each pipe."""
    widths: dict[str, int] = {}
    for run in runs:
        for step in run.steps:
            for name, value in step.pipes.items():
                length = 1 if value is None else len(show_value(value, run.domains.get(name)))
                widths[name] = min(max(length, widths.get(name, 1)), WIDEST)
    return {name: "0" * width for name, width in widths.items()}


def _measure_queues(pipeline: Pipeline, runs: Sequence[Trace]) -> dict[str, int]:
    """Return the width that the contents of each queue need, in points."""
    widths: dict[str, int] = {}
    for queue, pipe in flatten(pipeline).sources.items():
        values = 1
        slots = 1
        for run in runs:
            held = [step.contents.get(queue, ()) for step in run.steps]
            lengths = (len(show_value(v, run.domains.get(pipe))) for events in held for v in events[:MAX_WAITING])
            values = max(values, *lengths, 1)
            slots = max(slots, min(run.capacities.get(queue, MAX_SLOTS), MAX_SLOTS))
        widths[queue] = min(max(slots * (values * _CHARACTER + 8), _LEAST), _MAXIMUM)
    return widths
