"""Figures 1 and 3 of Zimmerman and Chandy from a run: which vertex is at which phase, and in which set each pair is.

The rule of this module: what is shown has run. The vertices and the scheduler are those of the dataflow executor; a
seed says which of its threads goes on. In the terminal a row is a vertex, a column a moment, with a sign for each
phase; on the page a moment is a drawing of the graph for each phase, as in figure 3, and one with the phase at which
each vertex is, as in figure 1.
"""

from __future__ import annotations

import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from pathlib import Path
from typing import Any

from experiments.scheduler.interleaving import FlowChoice, Interleaving
from experiments.scheduler.scripted import ScriptedDataflow
from workbench.core.program import Program
from workbench.executors.dataflow.scheduler import Pair
from workbench.executors.dataflow.vertices import VertexGraph
from workbench.show.style import asset

PAGE = Path(__file__).with_name("page")
"""Beside it lie the style sheet and the script of the page."""
RADIUS, ACROSS, DOWN = 15, 62, 58
"""Of the drawings, in points."""


class PairPlace(StrEnum):
    """Where a pair is; the value is its sign."""

    NOWHERE = "·"
    PARTIAL = "◇"
    FULL = "⬡"
    READY = "□"
    RUNS = "■"
    DONE = "●"


SAID: Mapping[PairPlace, str] = {
    PairPlace.PARTIAL: "has some of its inputs (partial)",
    PairPlace.FULL: "has all of them (full), and waits for an earlier phase",
    PairPlace.READY: "full and ready",
    PairPlace.RUNS: "runs",
    PairPlace.DONE: "has run",
    PairPlace.NOWHERE: "in no set",
}


@dataclass(frozen=True)
class FlowMoment:
    """What there is after a choice.

    Parameters
    ----------
    did: what happened last.
    x: x_p of the phases that have begun.
    places: of each pair of a phase that has begun.
    """

    did: str
    x: tuple[int, ...]
    places: Mapping[Pair, PairPlace]

    def to_json(self, names: Sequence[str]) -> dict[str, Any]:
        """For `--json`: by phase, the places of the vertices that are somewhere."""
        found: dict[int, dict[str, str]] = {p: {} for p in range(1, len(self.x) + 1)}
        for (v, p), place in sorted(self.places.items()):
            if place is not PairPlace.NOWHERE:
                found[p][names[v - 1]] = place.name.lower()
        return {"did": self.did, "x": list(self.x), "phases": found}


@dataclass(frozen=True)
class FlowHistory:
    """A run, moment by moment.

    Parameters
    ----------
    name: of the program.
    outputs: what came out in each phase.
    """

    name: str
    vertices: VertexGraph
    phases: int
    moments: tuple[FlowMoment, ...]
    outputs: tuple[Mapping[str, Sequence[Any]], ...]

    def to_json(self) -> dict[str, Any]:
        """As `--json` prints it."""
        graph, names = self.vertices.graph, self.vertices.names
        return {
            "pipeline": self.name,
            "vertices": [
                {"number": v, "name": name, "after": sorted(before), "m": graph.m[v]}
                for v, (name, before) in enumerate(zip(names, graph.predecessors, strict=True), 1)
            ],
            "moments": [moment.to_json(names) for moment in self.moments],
            "outputs": [dict(each) for each in self.outputs],
        }


def flow_history(
    program: Program, steps: Sequence[Mapping[str, Any]], threads: int, seed: int, *, groups: bool = False
) -> FlowHistory:
    """Run some steps, each choice by the seed.

    Raises
    ------
    The error of a processor.
    """
    running = ScriptedDataflow(program, groups=groups)
    chance, moments = random.Random(seed), list[FlowMoment]()

    def choose(run: Interleaving) -> FlowChoice | None:
        choices = run.choices(threads, len(steps))
        moments.append(_moment(run, last[0], running.vertices))
        if not choices:
            return None
        last[0] = chance.choice(choices)
        return last[0]

    last: list[FlowChoice | None] = [None]
    found = running.interleaved(steps, choose)
    if found.failure.error is not None:
        raise found.failure.error
    return FlowHistory(program.name, running.vertices, len(steps), tuple(moments[1:]), tuple(found.outputs))


def _moment(run: Interleaving, choice: FlowChoice | None, vertices: VertexGraph) -> FlowMoment:
    sets, done = run.sets, {event.pair for event in run.log if event.what == "end"}
    running = {event.pair for event in run.log} - done
    places: dict[Pair, PairPlace] = {}
    partial, full, ready = sets.partial, sets.full, sets.ready
    for p in range(1, sets.begun + 1):
        for v in range(1, sets.graph.size + 1):
            pair = v, p
            places[pair] = (
                PairPlace.RUNS if pair in running
                else PairPlace.READY if pair in ready
                else PairPlace.FULL if pair in full
                else PairPlace.PARTIAL if pair in partial
                else PairPlace.DONE if pair in done
                else PairPlace.NOWHERE
            )  # fmt: skip
    return FlowMoment(_said(choice, sets.begun, vertices), tuple(sets.x(p) for p in range(1, sets.begun + 1)), places)


def _said(choice: FlowChoice | None, begun: int, vertices: VertexGraph) -> str:
    if choice is None:
        return ""
    if choice.what == "begin":
        return f"phase {begun} begins"
    (v, p), verb = choice.pair, "takes" if choice.what == "take" else "has run"
    return f"thread {choice.thread + 1} {verb} {vertices.names[v - 1]} in phase {p}"


# --- in the terminal ------------------------------------------------------------------------------------------------


def history_text(history: FlowHistory, width: int | None = None) -> str:
    """The run with characters: in each column the places after that choice, of the phases from the first on."""
    graph, names = history.vertices.graph, history.vertices.names
    heads = [f"{v:>{len(str(graph.size))}} {name}" for v, name in enumerate(names, 1)]
    left = max(map(len, [*heads, "x"]))
    cell = max(history.phases, len(str(len(history.moments))))
    room = max(1, ((width or shutil.get_terminal_size().columns) - left - 2) // (cell + 1))
    lines: list[str] = []
    for start in range(0, len(history.moments), room):
        part = history.moments[start : start + room]
        lines.append(_line("", left, [str(start + i) for i in range(1, len(part) + 1)], cell))
        for v, head in enumerate(heads, 1):
            shown = ("".join(m.places[v, p].value for p in range(1, len(m.x) + 1)) for m in part)
            lines.append(_line(head, left, shown, cell))
        lines.append("")
    digits = len(str(len(history.moments)))
    lines += [f"{i:>{digits}} {m.did}; x = {', '.join(map(str, m.x))}" for i, m in enumerate(history.moments, 1)]
    signs = ", ".join(f"{place.value} {said}" for place, said in SAID.items())
    lines += ["", f"In a column: phase 1, 2, ...  {signs}."]
    return "\n".join(lines) + "\n"


def _line(head: str, left: int, cells: Any, cell: int) -> str:
    return f"{head:<{left}}  {' '.join(f'{text:<{cell}}' for text in cells)}".rstrip()


# --- on a page ------------------------------------------------------------------------------------------------------


def history_page(history: FlowHistory) -> str:
    """The page: a moment at a time where there is JavaScript, else all below each other."""
    title = escape(history.name)
    figures = "\n".join(_figure(history, number, moment) for number, moment in enumerate(history.moments, 1))
    signs = "".join(f"<li>{_symbol(place)} {escape(said)}</li>" for place, said in SAID.items())
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title} - workbench</title>",
            f"<style>{asset('page.css')}{PAGE.with_suffix('.css').read_text()}</style></head><body><main>",
            f"<header><h1>{title} <span>in phases</span></h1></header>",
            '<div class="bar" hidden><button id="back" aria-label="back">◀</button>'
            f'<input id="slider" type="range" min="1" max="{len(history.moments)}" value="1" aria-label="moment">'
            '<button id="on" aria-label="on">▶</button><span id="where"></span></div>',
            f'<ul class="signs">{signs}</ul>',
            figures,
            f"</main><script>{PAGE.with_suffix('.js').read_text()}</script></body></html>",
            "",
        ]
    )


def _figure(history: FlowHistory, number: int, moment: FlowMoment) -> str:
    drawings = [_drawing(history, moment, None)]
    drawings += [_drawing(history, moment, p) for p in range(1, len(moment.x) + 1)]
    return (
        f'<figure id="moment-{number}"><figcaption><b>{number}</b> {escape(moment.did)}</figcaption>'
        f'<div class="scroll"><div class="drawings">{"".join(drawings)}</div></div></figure>'
    )


def _drawing(history: FlowHistory, moment: FlowMoment, phase: int | None) -> str:
    """The graph with the places in a phase; None: with the phase at which each vertex is."""
    spots = _layout(history.vertices)
    wide = max(x for x, _ in spots.values()) + ACROSS / 2
    high = max(y for _, y in spots.values()) + DOWN / 2
    parts = []
    for v, before in enumerate(history.vertices.graph.predecessors, 1):
        (x, y) = spots[v]
        parts += [f'<line x1="{spots[u][0]}" y1="{spots[u][1]}" x2="{x}" y2="{y}"/>' for u in before]
    for v, name in enumerate(history.vertices.names, 1):
        place, text = _shown(moment, v, phase)
        parts.append(
            f'<g class="{place.name.lower()}" transform="translate({spots[v][0]} {spots[v][1]})">'
            f"<title>{v} {escape(name)}</title>{_shape(place)}<text>{text}</text></g>"
        )
    caption = f"phase {phase}, x = {moment.x[phase - 1]}" if phase else "the phase of each vertex"
    return (
        f'<div><h3>{caption}</h3><svg viewBox="0 0 {wide} {high}" style="width:{wide}pt" role="img" '
        f'aria-label="{caption}">{"".join(parts)}</svg></div>'
    )


def _shown(moment: FlowMoment, v: int, phase: int | None) -> tuple[PairPlace, str]:
    """The shape of a vertex, and what is written in it."""
    if phase is not None:
        return moment.places[v, phase], str(v)
    phases = range(1, len(moment.x) + 1)
    runs = [p for p in phases if moment.places[v, p] is PairPlace.RUNS]
    done = [p for p in phases if moment.places[v, p] is PairPlace.DONE]
    return (PairPlace.RUNS, str(runs[0])) if runs else (PairPlace.NOWHERE, str(done[-1]) if done else "")


def _layout(vertices: VertexGraph) -> dict[int, tuple[float, float]]:
    """Vertices in rows by the longest path that leads to them, in the order of their numbers."""
    depth: dict[int, int] = {}
    rows: dict[int, list[int]] = {}
    for v, before in enumerate(vertices.graph.predecessors, 1):
        depth[v] = max((depth[u] + 1 for u in before), default=0)
        rows.setdefault(depth[v], []).append(v)
    widest = max(map(len, rows.values()))
    return {
        v: ((i + 0.5 + (widest - len(row)) / 2) * ACROSS, (d + 0.5) * DOWN)
        for d, row in rows.items()
        for i, v in enumerate(row)
    }


def _shape(place: PairPlace) -> str:
    """The paper's: a circle in no set, a diamond partial, an octagon full, a square ready."""
    r = RADIUS
    if place is PairPlace.PARTIAL:
        return f'<path d="M0 {-1.25 * r}L{1.25 * r} 0L0 {1.25 * r}L{-1.25 * r} 0Z"/>'
    if place is PairPlace.FULL:
        a = 0.414 * r
        corners = [(a, -r), (r, -a), (r, a), (a, r), (-a, r), (-r, a), (-r, -a), (-a, -r)]
        return f'<path d="M{"L".join(f"{x:g} {y:g}" for x, y in corners)}Z"/>'
    if place in (PairPlace.READY, PairPlace.RUNS):
        return f'<path d="M{-r} {-r}H{r}V{r}H{-r}Z"/>'
    return f'<circle r="{r}"/>'


def _symbol(place: PairPlace) -> str:
    return f'<svg viewBox="-20 -20 40 40" aria-hidden="true"><g class="{place.name.lower()}">{_shape(place)}</g></svg>'
