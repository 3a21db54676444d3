"""A report as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.lab.claim import Macro, MacroValue
from workbench.lab.experiment import Experiment
from workbench.lab.report import Report
from workbench.lab.report_text import rerun
from workbench.lab.table import Grid, shown


def markdown(report: Report) -> str:
    """The report as Markdown."""
    suite = report.suite
    lines = [f"# {suite.title}", ""]
    if suite.doc:
        lines += [suite.doc.strip(), ""]
    lines += [f"- {name}: {value}" for name, value in report.facts.items()]
    lines += ["", "[index.html](index.html) is this report with the way back from every cell and point.", ""]
    claims = [f"| {_md(c.text)} | {j.standing} | {_md(j.why)} |" for c, j in report.claims]
    lines += _section("Claims", "| claim | stands | why |", claims)
    for grid in report.grids:
        lines += _grid(grid)
    for plot, _ in report.dots:
        lines += [f"## {plot.title}", "", *([plot.doc, ""] if plot.doc else [])]
        lines += [f"![{plot.title}](plots/{plot.name}.svg)", ""]
        lines += [f"Behind each point: [plots/{plot.name}.json](plots/{plot.name}.json).", ""]
    macros = [f"| {m.name} | {_value(m, c)} | {_md(m.description)} |" for m, c in report.macros]
    lines += _section("Numbers", "| name | value | what |", macros)
    heads = "| experiment | what | points | results | cost | data |"
    lines += _section("Experiments", heads, [_experiment(report, e) for e in suite.experiments.values()], always=True)
    again, shown = rerun(suite.name, "KEY", report.options), " ".join(filter(None, [report.options, "ID"]))
    lines += [f"To measure a point again: `{again}`; all about a result: `workbench lab show {shown}`.", ""]
    return "\n".join(lines)


def _section(title: str, heads: str, rows: Sequence[str], *, always: bool = False) -> Iterator[str]:
    """A table under a title, if it has rows or is there always."""
    if rows or always:
        yield from [f"## {title}", "", heads, "|" + "---|" * (heads.count("|") - 1), *rows, ""]


def _experiment(report: Report, e: Experiment) -> str:
    counts = ", ".join(f"{n} {status}" for status, n in sorted(report.numbers[e.name].items())) or "none"
    points = f"{len(e.region)}" + (f" x {e.repeat}" if e.repeat > 1 else "")
    doc = _md(" ".join(e.doc.split()))
    return f"| {e.name} | {doc} | {points} | {counts} | {report.costs[e.name]} | [csv](data/{e.name}.csv) |"


def _grid(grid: Grid) -> Iterator[str]:
    yield from [f"## {grid.title}", ""]
    if grid.doc:
        yield from [grid.doc, ""]
    if not grid.rows:
        yield from ["no results yet", ""]
        return
    yield f"| {' | '.join(map(_md, grid.heads))} |"
    yield "|" + "---|" * len(grid.heads)
    for key, cells in grid.rows:
        yield f"| {' | '.join([*(_md(shown(k)) for k in key), *(_md(cell.text) for cell in cells)])} |"
    yield ""
    for note in grid.notes:
        yield from [note, ""]
    place = f"tables/{grid.name}"
    yield f"[csv]({place}.csv) · [LaTeX]({place}.tex) · [behind each cell]({place}.json)"
    yield ""


def _md(value: str) -> str:
    return value.replace("|", "\\|").replace("\n", " ")


def _value(macro: Macro, computed: MacroValue) -> str:
    if computed.value is None:
        return f"none: {_md(computed.why)}"
    return " ".join(filter(None, [shown(computed.value), macro.unit]))
