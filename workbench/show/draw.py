"""Pictures of pipelines, drawn by graphviz.

Events flow from left to right. Attributes determine the drawing, never the class of a processor: a processor
that holds a pipeline is a cluster around it, one that holds another processor (a window) a dashed cluster,
one that holds a function has round corners; a join shows its queues as striped buffers at its inputs, a pipe
with several readers forks at a dot, and a faulty pipe is marked with a ⚡.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Any

from workbench.core.domain import Domain
from workbench.core.function import Function, TypedFunction
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Processor
from workbench.core.program import Program
from workbench.core.readable import show_value
from workbench.errors import InputError
from workbench.events.files import replacing
from workbench.processors.held.lags import uneven_joins
from workbench.show.dot import FAINT, FILL, PALE, digraph, quote, run_graphviz
from workbench.show.rule_graph import draw_rules
from workbench.show.rule_set_plan import draw_plan
from workbench.tesla.engines.set_plan import SetPlan
from workbench.tesla.rule_set import RuleSet

Drawn = Program | RuleSet | SetPlan
"""The types that can be drawn."""
FORMATS = {".svg": "svg", ".png": "png", ".pdf": "pdf"}

QUEUE, VALUE = "#e9b44c", "#b3261e"
PORT = " PORT"
"""The placeholder for a queue's port."""
LAYOUT = "rankdir=LR; nodesep=0.35; ranksep=0.55; bgcolor=white; compound=true;"


def draw(pipeline: Drawn, values: Mapping[str, str] | None = None, slots: Mapping[str, int] | None = None) -> str:
    """Return the pipeline, the rules, or their plan, as DOT text.

    In a pipeline, an edge has the id `pipe:NAME:k`, where k numbers the edges of that pipe, a processor `node:NAME`.

    Parameters
    ----------
    values: texts to write beside pipes, by name (inside groups `group.pipe`).
    slots: widths of queues by name, in points: an empty box of this width replaces the stripes, with the id
        `a_queue:NAME`.
    """
    if isinstance(pipeline, RuleSet):
        return draw_rules(pipeline)
    if isinstance(pipeline, SetPlan):
        return draw_plan(pipeline)
    picture = _Picture(dict(values or {}), pipeline.pipeline.capacities, dict(slots or {}))
    picture.whole(pipeline.pipeline)
    return digraph(pipeline.name, picture.lines + picture.edges, LAYOUT, 13)


def svg(pipeline: Drawn, values: Mapping[str, str] | None = None, slots: Mapping[str, int] | None = None) -> str:
    """Return the picture as SVG text, drawn by graphviz; the parameters are those of `draw`."""
    return run_graphviz(pipeline.name, draw(pipeline, values, slots), "svg").decode()


def inline(svg: str) -> str:
    """Convert SVG text for embedding in a page: no prolog, no ids (they would clash), no fixed size in points."""
    text = re.sub(r"<!--.*?-->", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    text = re.sub(r'(<(?:g|a)) id="[^"]*"', r"\1", text)
    text = re.sub(r"<title>.*?</title>", "", text, flags=re.DOTALL)
    return re.sub(r'width="([\d.]+)pt" height="[\d.]+pt"', r'style="width:\1pt"', text, count=1).strip()


def write_picture(drawn: Drawn, path: str | Path) -> None:
    """Write the picture to a file: `.svg`, `.png` or `.pdf` by graphviz, `.dot` as text."""
    with replacing(Path(os.path.realpath(path))) as aside:
        text, suffix = draw(drawn), aside.suffix
        if suffix in (".dot", ".gv"):
            aside.write_text(text, encoding="utf-8")
        elif suffix in FORMATS:
            aside.write_bytes(run_graphviz(drawn.name, text, FORMATS[suffix]))
        else:
            raise InputError(f"drawings have no format '{suffix}'", hint="use .svg, .png, .pdf or .dot")


@dataclasses.dataclass(frozen=True)
class _Tap:
    """A point at which a pipe can be read: a node of the picture, and the label of the edge from it."""

    source: str
    label: str
    pipe: str
    """The name of the pipe in the whole pipeline."""


class _Picture:
    """The lines of a DOT text under construction."""

    def __init__(self, values: dict[str, str], capacities: Mapping[str, int], slots: Mapping[str, int]) -> None:
        self.values = values
        self.capacities = capacities
        self.slots = slots
        self.edges_of: Counter[str] = Counter()
        self.lines: list[str] = []
        self.edges: list[str] = []
        """Edges, kept apart because an edge inside a cluster would pull both its ends into it."""
        self.faults: dict[str, list[str]] = {}
        """The possible faults of each pipe."""
        self.lags: dict[str, Fraction] = {}
        """The lag, in events, of the inputs of joins that pair events of different times, by queue."""
        self._depth = 1
        self._count = 0

    def line(self, text: str) -> None:
        """Add a line of text."""
        self.lines.append("    " * self._depth + text)

    def fresh(self) -> str:
        """Return a new identifier."""
        self._count += 1
        return f"n{self._count}"

    @contextmanager
    def cluster(self, title: str, style: str) -> Iterator[None]:
        """Frame all lines that are added in this context."""
        self.line(f"subgraph cluster_{self.fresh()} {{")
        self._depth += 1
        self.line(f'label="{quote(title)}"; style="{style}"; color="{FAINT}"; margin=10;')
        yield
        self._depth -= 1
        self.line("}")

    # --- pipelines ---

    def whole(self, pipeline: Pipeline) -> None:
        """Draw inputs, processors, and outputs."""
        names = {pipe: pipe for pipe in pipeline.domains}
        self.plan(pipeline, names, "")
        for join in uneven_joins(pipeline):
            self.lags.update((f"{join.name}.{port}", lag) for port, lag in join.lags.items())
        taps = {}
        for name, domain in pipeline.inputs:
            source = self.terminal(name, domain)
            value = self.values.get(name)
            label = self.troubles(name) + (_value(value) if value is not None else "")
            taps[name] = _Tap(source, label, name)
        carried = self.inside(pipeline, taps, names, "")
        for (name, pipe), tap in zip(pipeline.outputs, carried, strict=True):
            target = self.terminal(name, pipeline.domains[pipe])
            self.edge(tap, target)

    def plan(self, pipeline: Pipeline, names: Mapping[str, str], prefix: str) -> None:
        """Record the faults of a pipeline; the names are as for `inside`."""
        for fault in pipeline.faults:
            pipe = dict(pipeline.outputs).get(fault.pipe, fault.pipe)
            self.faults.setdefault(names.get(pipe, f"{prefix}{pipe}"), []).append(f"{fault.kind}")

    def troubles(self, pipe: str) -> str:
        """Return the label of the faults of a pipe."""
        return _small(f"⚡ {', '.join(self.faults[pipe])}") + "<BR/>" if pipe in self.faults else ""

    def inside(self, pipeline: Pipeline, taps: dict[str, _Tap], names: dict[str, str], prefix: str) -> list[_Tap]:
        """Draw the processors of a pipeline with inputs at `taps`, and return the taps of its outputs.

        `names` are the pipes' names in the whole pipeline, `prefix` is the prefix of the processors' names.
        """
        taps = dict(taps)
        for pipe, _ in pipeline.inputs:
            taps[pipe] = self.fork(pipeline, pipe, taps[pipe])
        for node in pipeline.nodes:
            reads = [taps[p] for p in node.inputs]
            sources = self.processor(
                node.processor, node.name, f"{prefix}{node.name}", reads, [names[p] for p in node.outputs]
            )
            for pipe, source in zip(node.outputs, sources, strict=True):
                label = self.label(names[pipe], pipe, pipeline.domains[pipe])
                taps[pipe] = self.fork(pipeline, pipe, _Tap(source, label, names[pipe]))
        return [taps[pipe] for _, pipe in pipeline.outputs]

    def fork(self, pipeline: Pipeline, pipe: str, tap: _Tap) -> _Tap:
        """Draw a dot at the end of a pipe with several readers."""
        readers = sum(n.inputs.count(pipe) for n in pipeline.nodes)
        readers += [output_pipe for _, output_pipe in pipeline.outputs].count(pipe)
        if readers < 2:
            return tap
        dot = self.fresh()
        self.line(f"{dot} [shape=point, width=0.07];")
        self.edge(tap, dot, arrow=False)
        return _Tap(dot, "", tap.pipe)

    # --- processors ---

    def processor(self, processor: Processor, title: str, name: str, reads: list[_Tap], names: list[str]) -> list[str]:
        """Draw a processor, and return the nodes of its outputs; `names` are those of its output pipes."""
        body, inner = _find_held(processor, Pipeline), _find_held(processor, Processor)
        if isinstance(body, Pipeline):
            with self.cluster(_title(title, processor.label), "rounded"):
                return self.body(body, name, reads, names)
        queues = list[str]()
        if title and len(reads) > 1:
            queues = self.queues(name, processor.ports) if processor.joins else _inputs(processor.ports)
        if isinstance(inner, Processor):
            with self.cluster(_title(title, processor.label), "rounded,dashed"):
                if queues:
                    reads = self.buffers(queues, reads)
                while len(reads) < inner.in_arity:  # a quantifier passes a value besides the events
                    reads = [self.draw_input(processor.symbol), *reads]
                body = _find_held(inner, Pipeline)  # a group has no frame around its contents
                if isinstance(body, Pipeline):
                    return self.body(body, name, reads, names)
                return self.processor(inner, "", name, reads, names)
        if hasattr(processor, "transitions"):
            self.states(processor)
        source = self.fresh()
        self.line(f'{source} [id="{quote(f"node:{name}")}", label=<{_box(processor, title, queues)}>];')
        for i, tap in enumerate(reads):
            self.edge(tap, f"{source}:q{i}:w" if queues else source)
        return [source] * processor.out_arity

    def states(self, machine: Any) -> None:
        """Draw the states of a machine, with their outputs, and its transitions.

        The first state has a double line, and if there are variables, an edge with their initial values.
        """
        with self.cluster("", "rounded,dotted"):
            nodes = {name: self.fresh() for name in machine.names}
            for name, output in machine.states:
                output_label = f"<BR/>{_small(escape(output.name))}" if output is not None else ""
                start = ", peripheries=2" if name == machine.names[0] else ""
                self.line(
                    f"{nodes[name]} [shape=ellipse, margin=0.05, label=<<B>{escape(name)}</B>{output_label}>{start}];"
                )
            labels: dict[tuple[str, str], list[str]] = {}  # one edge per pair: labels of loops would overlap
            for t in machine.transitions:
                guard = [escape(t.guard.name)] if t.guard is not None else ["<I>otherwise</I>"]
                changes = [escape(f"/ {name} := {update.name}") for name, update in t.updates]
                labels.setdefault((t.source, t.target), []).append("<BR/>".join([*guard, *changes]))
            if machine.variables:
                begin = self.fresh()
                values = (f"/ {v.name} := {show_value(v.start, v.domain)}" for v in machine.variables)
                start_label = "<BR/>".join(map(escape, values))
                self.line(f"{begin} [shape=point, width=0.07];")
                self.line(f"{begin} -> {nodes[machine.names[0]]} [label=<{start_label}>];")
            for (source, target), label in labels.items():
                self.line(f"{nodes[source]} -> {nodes[target]} [label=<{'<BR/>'.join(label)}>];")

    def body(self, body: Pipeline, name: str, reads: list[_Tap], names: list[str]) -> list[str]:
        """Draw the contents of a pipeline that is used as a processor; pipes are named as in `flatten`."""
        inner = {pipe: f"{name}.{pipe}" for pipe in body.domains}
        inner.update((pipe, outer) for (_, pipe), outer in zip(body.outputs, names, strict=True))
        self.plan(body, inner, f"{name}.")
        taps = dict(zip((pipe for pipe, _ in body.inputs), reads, strict=True))
        return [tap.source for tap in self.inside(body, taps, inner, f"{name}.")]

    def buffers(self, queues: list[str], reads: list[_Tap]) -> list[_Tap]:
        """Draw separate queues, in front of a cluster."""
        source = self.fresh()
        self.line(f"{source} [label=<{_table(_queue_rows(queues))}>];")
        for i, tap in enumerate(reads):
            self.edge(tap, f"{source}:q{i}:w")
        return [dataclasses.replace(tap, source=f"{source}:q{i}:e", label="") for i, tap in enumerate(reads)]

    def queues(self, name: str, ports: tuple[str, ...]) -> list[str]:
        """Return the rows of each queue of a join."""
        names = [f"{name}.{port}" for port in ports]
        capacities = [self.capacities.get(queue) for queue in names]
        texts = [port if size is None else f"{port} ≤{size}" for port, size in zip(ports, capacities, strict=True)]
        for i, queue in enumerate(names):
            texts[i] += f" ⚠ lag {self.lags[queue]}" if queue in self.lags else ""
        # one width for all: graphviz misplaces a table that is narrower than its neighbours above and below
        width = max(*(self.slots.get(queue, 0) for queue in names), *(6 * len(text) for text in texts))
        return [self.queue(queue, text, width) for queue, text in zip(names, texts, strict=True)]

    def queue(self, name: str, text: str, width: int) -> str:
        """Return the rows of one queue: its name and capacity, then stripes for its slots or a box of that width."""
        cell = '<TD FIXEDSIZE="TRUE" WIDTH="5" HEIGHT="13" BGCOLOR="{}"></TD>'
        cells = "".join(cell.format(PALE if i % 2 else QUEUE) for i in range(5))
        size = 'CELLBORDER="0" CELLSPACING="0" CELLPADDING="0" FIXEDSIZE="TRUE" WIDTH="27" HEIGHT="15"'
        glyph = f'<TABLE{PORT} ALIGN="RIGHT" BORDER="1" {size}><TR>{cells}</TR></TABLE>'
        if name in self.slots:
            # graphviz keeps the id of a table only if it is a link
            link = f'ID="queue:{escape(name)}" HREF="#queue" FIXEDSIZE="TRUE" WIDTH="{width}" HEIGHT="17"'
            glyph = f'<TABLE{PORT} ALIGN="RIGHT" BORDER="1" CELLBORDER="0" {link}><TR><TD></TD></TR></TABLE>'
        return f'<TR><TD ALIGN="RIGHT">{_small(escape(text))}</TD></TR><TR><TD ALIGN="RIGHT">{glyph}</TD></TR>'

    # --- edges and ends ---

    def terminal(self, name: str, domain: Domain) -> str:
        """Draw an open input or an output."""
        source = self.fresh()
        label = f"<B>{escape(name)}</B><BR/>{_small(escape(str(domain)))}"
        self.line(f"{source} [label=<{label}>, shape=plaintext, margin=0.05];")
        return source

    def draw_input(self, sign: str) -> _Tap:
        """Draw the value that a processor passes to the one inside it."""
        source = self.fresh()
        self.line(f"{source} [label=<{escape(sign)}>, shape=plaintext, margin=0.05];")
        return _Tap(source, "", source)

    def label(self, name: str, pipe: str, domain: Domain) -> str:
        """Return the label of a pipe: its name, its domain, and its value if there is one."""
        text = f"{self.troubles(name)}{escape(pipe)}<BR/>{_small(escape(str(domain)))}"
        return text + (f"<BR/>{_value(self.values[name])}" if name in self.values else "")

    def edge(self, tap: _Tap, target: str, *, arrow: bool = True) -> None:
        """Draw an edge from a tap to a reader."""
        options = [f'id="{quote(f"pipe:{tap.pipe}:{self.edges_of[tap.pipe]}")}"']
        self.edges_of[tap.pipe] += 1
        options += [f"label=<{tap.label}>"] if tap.label else []
        options += [] if arrow else ["arrowhead=none"]
        self.edges.append(f"    {tap.source} -> {target} [{', '.join(options)}];")


# --- labels ---------------------------------------------------------------------------------------------


def _find_held(processor: Processor, kind: type) -> object:
    """Return the first parameter of a processor that has this type, or None."""
    values = (getattr(processor, item.name) for item in dataclasses.fields(processor))
    return next((value for value in values if isinstance(value, kind)), None)


def _box(processor: Processor, title: str, queues: list[str]) -> str:
    """Return the table of a processor: its queues, its symbol in a box, and its name below."""
    rounded = ' STYLE="ROUNDED"' if _find_held(processor, Function) or _find_held(processor, TypedFunction) else ""
    box = (
        f'<TABLE BORDER="1" CELLBORDER="0" CELLPADDING="6" BGCOLOR="{FILL}"{rounded}>'
        f"<TR><TD> {escape(processor.label)} </TD></TR></TABLE>"
    )
    buffers = f"<TD>{_table(_queue_rows(queues))}</TD>" if queues else ""
    below = f'<TD CELLPADDING="3">{_small(escape(title))}</TD>'
    name = f"<TR>{'<TD></TD>' if queues else ''}{below}</TR>" if title else ""
    return _table(f"<TR>{buffers}<TD>{box}</TD></TR>{name}")


def _inputs(ports: tuple[str, ...]) -> list[str]:
    """Return the rows of inputs without queues: their names."""
    return [f'<TR><TD{PORT} ALIGN="RIGHT">{_small(escape(port))}</TD></TR>' for port in ports]


def _queue_rows(queues: list[str]) -> str:
    """Return the rows of all queues of a join; edges end at the ports `q<i>`."""
    return "".join(rows.replace(PORT, f' PORT="q{i}"') for i, rows in enumerate(queues))


def _table(rows: str) -> str:
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0">{rows}</TABLE>'


def _small(html: str) -> str:
    return f'<FONT POINT-SIZE="9" COLOR="{FAINT}">{html}</FONT>'


def _value(text: str) -> str:
    return f'<FONT POINT-SIZE="11" COLOR="{VALUE}"><B>{escape(text)}</B></FONT>'


def _title(name: str, label: str) -> str:
    return f"{name}: {label}" if name and name != label else label
