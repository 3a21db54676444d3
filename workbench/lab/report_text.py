"""The parts of a report that are texts for other programs (CSV, LaTeX, JSON), and phrases that all parts share."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.lab.claim import Macro, MacroValue
from workbench.lab.experiment import Experiment
from workbench.lab.plot import Dot
from workbench.lab.result import OF_GPUS, Result
from workbench.lab.table import Grid, format_value

if TYPE_CHECKING:
    from workbench.lab.suite import Suite

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip
_DIGITS = "Zero One Two Three Four Five Six Seven Eight Nine".split()
_MEASURES = ("cpu_seconds", "wall_seconds", "peak_mb", "load", "steal", "reliable", "limited_by")
MAX_LOG_CHARS = 1500
_PATH = re.compile(r"(?<![\w.:/~*>-])/[\w.@+=-]+(?:/[\w.@+=-]+)+")
"""An absolute path with at least two parts; not a URL, and nothing relative."""


def without_paths(text: str, top: Path) -> str:
    """Make paths below the top folder relative to it, and shorten all other paths to their last part."""

    def shorten(match: re.Match[str]) -> str:
        path = Path(match[0])
        return str(path.relative_to(top)) if path.is_relative_to(top) and path != top else f".../{path.name}"

    return _PATH.sub(shorten, text)


def rerun(suite: str, key: str, options: str = "") -> str:
    """Return the command that measures a point again."""
    return f"workbench lab run {' '.join(filter(None, [suite, options]))} --id {key} --again"


def on_gpus(peak_mb: float | None, seconds: float | None) -> str:
    """Return the known use of GPUs as text; empty if nothing is known."""
    parts = ["" if peak_mb is None else f"{peak_mb:.0f} MB", "" if seconds is None else f"{seconds:.2f} s"]
    return f"{', '.join(filter(None, parts))} on GPUs" if any(parts) else ""


def cost(results: Iterable[Result]) -> str:
    """Return the total CPU time of results, the peak memory of one, and their use of GPUs; empty without results."""
    measured = [result.measured for result in results]
    if not measured:
        return ""
    of_gpus = [[v for m in measured if (v := getattr(m, name)) is not None] for name in ("gpu_peak_mb", "gpu_seconds")]
    seconds, peak = sum(m.cpu_seconds for m in measured), max(m.peak_mb for m in measured)
    gpus = on_gpus(max(of_gpus[0], default=None), sum(of_gpus[1]) if of_gpus[1] else None)
    return ", ".join(filter(None, [f"{format_value(seconds)} CPU s", f"at most {peak:.0f} MB", gpus]))


def brief(suite: Suite, result: Result) -> dict[str, Any]:
    """Return a result in the form that a page embeds: axes and outputs in the suite's order."""
    m, experiment = result.measured, suite.experiments[result.experiment]
    point = {axis: result.point[axis] for axis in experiment.region.axes}
    outputs = {name: m.outputs[name] for name in experiment.outputs if name in m.outputs}
    return {
        "id": result.id, "experiment": result.experiment, "point": point, "status": str(m.status),
        "outputs": outputs, "reason": m.reason[-MAX_LOG_CHARS:], "log": m.log[-MAX_LOG_CHARS:],
        "cpu": round(m.cpu_seconds, 6), "wall": round(m.wall_seconds, 6), "peak": round(m.peak_mb, 1),
        "gpus": on_gpus(m.gpu_peak_mb, m.gpu_seconds),
        "limits": m.limited_by, "load": round(m.load, 2), "steal": round(m.steal, 4), "reliable": m.reliable,
        "started": result.started, "run": result.run, "code": result.code, "commit": result.commit, "seed": result.seed,
        "page": experiment.page is not None,
    }  # fmt: skip


# --- data -----------------------------------------------------------------------------------------------------


def grid_csv(grid: Grid) -> str:
    """Return the values of a table as CSV, unrounded."""
    rows = [[*key, *("" if cell.value is None else cell.value for cell in cells)] for key, cells in grid.rows]
    return _csv([list(grid.heads), *rows])


def grid_json(grid: Grid) -> str:
    """Return a table as JSON, with the ids behind each cell."""
    cells = [
        {
            "row": dict(zip(grid.corner, key, strict=True)),
            "column": list(head),
            "value": cell.value,
            "ids": list(cell.ids),
            "reliable": cell.reliable,
        }
        for key, row_cells in grid.rows
        for head, cell in zip(grid.columns, row_cells, strict=True)
    ]
    return json.dumps({"table": grid.name, "title": grid.title, "cells": cells}, indent=1) + "\n"


def plot_json(dots: Mapping[str, Sequence[Dot]]) -> str:
    """Return the points of a plot as JSON, with the ids behind each."""
    records = [{"series": name, **vars(dot)} for name, points in dots.items() for dot in points]
    return json.dumps(records, indent=1) + "\n"


def experiment_csv(experiment: Experiment, results: Iterable[Result]) -> str:
    """Return the results of an experiment as CSV, one per line."""
    axes, outputs = list(experiment.region.axes), list(experiment.outputs)
    own = [r for r in results if r.experiment == experiment.name]
    of_gpus = [name for name in OF_GPUS if any(getattr(r.measured, name) is not None for r in own)]
    measured = [*_MEASURES, *of_gpus]
    rows: list[list[Any]] = [["id", *axes, "status", *outputs, *measured, "started", "run", "code", "commit", "seed"]]
    for r in own:
        m = r.measured
        measures = [getattr(m, name) for name in measured]
        values = [m.outputs.get(name) for name in outputs]
        points = [r.point[name] for name in axes]
        rows.append([r.id, *points, m.status, *values, *measures, r.started, r.run, r.code, r.commit, r.seed])
    return _csv(rows)


def _csv(rows: Iterable[Sequence[Any]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


# --- LaTeX ----------------------------------------------------------------------------------------------------


def latex(value: str) -> str:
    """Escape the special characters of LaTeX, and join lines."""
    return "".join(_LATEX.get(c, c) for c in " ".join(value.splitlines()))


def grid_latex(grid: Grid) -> str:
    """Return a table as LaTeX, which needs the package booktabs."""
    lines = [
        f"% {grid.title}",
        rf"\begin{{tabular}}{{{'l' * len(grid.corner)}{'r' * len(grid.columns)}}}",
        r"\toprule",
        " & ".join(map(latex, grid.heads)) + r" \\",
        r"\midrule",
    ]
    for key, cells in grid.rows:
        lines.append(" & ".join([latex(format_value(k)) for k in key] + [latex(cell.text) for cell in cells]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def macro_name(name: str) -> str:
    """Convert a name to letters only, as LaTeX requires."""
    words = re.split(r"[_-]+", re.sub(r"\d", lambda d: f"_{_DIGITS[int(d[0])]}_", name))
    return words[0] + "".join(word[:1].upper() + word[1:] for word in words[1:])


def macros_latex(macros: Iterable[tuple[Macro, MacroValue]]) -> str:
    """Return a LaTeX command for each macro, or a comment with the reason if the macro has no value."""
    lines = []
    for macro, computed in macros:
        comment = f"% {' '.join(macro.description.split())}" + (f", {macro.unit}" if macro.unit else "")
        if computed.value is None:
            lines.append(f"{comment}: no value ({' '.join(computed.why.split())})")
        else:
            lines += [comment, rf"\newcommand{{\{macro_name(macro.name)}}}{{{latex(format_value(computed.value))}}}"]
    return "\n".join([*lines, ""])
