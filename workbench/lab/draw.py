"""Plots as SVG, drawn by matplotlib; a point, a bar or a bin is a link to the results behind it."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from workbench.lab.plot import Dot, Plot
from workbench.lab.rows import package

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000", "#999999")
"""The palette of Okabe and Ito, which people with colour blindness can distinguish."""
MARKERS = "osD^vP*X"
MAX_LINKS = 5000
"""Maximum number of points of a series that are links (with more, none is), and of results that a bin links to."""
DOUBTFUL = "hollow: did not end ok, was timed on a loaded machine, or was measured with other code"
Link = Callable[[Sequence[str]], str]


@dataclass(frozen=True)
class DrawnPlot:
    """The title of a plot, and its picture, which notebooks display."""

    title: str
    svg: str = field(repr=False)

    def _repr_svg_(self) -> str:
        return self.svg


def svg(plot: Plot, dots: Mapping[str, Sequence[Dot]], link: Link) -> str:
    """Return the plot as SVG text; `link` returns the address of the results with some ids.

    Raises
    ------
    LabError: matplotlib is not installed.
    """
    library = package("plots are drawn by matplotlib", "matplotlib", "backends.backend_svg", "figure")
    style = {"svg.fonttype": "none", "svg.hashsalt": plot.name, "font.size": 10, "axes.spines.top": False,
             "axes.spines.right": False, "font.family": "sans-serif"}  # fmt: skip
    with library.rc_context(style):
        figure = library.figure.Figure(figsize=(7, 4), layout="constrained")
        library.backends.backend_svg.FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        draw = {"line": _lines, "scatter": _lines, "bar": _bars, "histogram": _histogram}[plot.kind]
        hollow = draw(plot, dots, axes, link)
        if plot.log and any(dots.values()):
            if "x" in plot.log and plot.kind != "bar":
                axes.set_xscale("log")
            if "y" in plot.log:
                axes.set_yscale("log")
        ys = [dot.y for points in dots.values() for dot in points]
        if "y" not in plot.log and plot.kind != "histogram" and all(float(y).is_integer() for y in ys):
            axes.locator_params(axis="y", integer=True)
        x, y = plot.labels
        axes.set_xlabel(x)
        axes.set_ylabel(y)
        axes.grid(visible=True, axis="y", linewidth=0.4, alpha=0.5)
        if len(dots) > 1:
            axes.legend(title=plot.series, frameon=False)
        if hollow:
            figure.supxlabel(DOUBTFUL, fontsize=8, color="#555555")
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Title": plot.title})
    text = out.getvalue().replace(' target="_blank"', "")  # the links lead to places on the same page
    return text[text.index("<svg") :]


def _colour(i: int) -> str:
    return COLOURS[i % len(COLOURS)]


def _lines(plot: Plot, dots: Mapping[str, Sequence[Dot]], axes: Any, link: Link) -> bool:
    """Draw lines or a scatter plot; return whether any mark is hollow."""
    for i, (name, points) in enumerate(dots.items()):
        xs, ys = [dot.x for dot in points], [dot.y for dot in points]
        if plot.kind == "line":
            axes.plot(xs, ys, color=_colour(i), linewidth=1.3)
        style = {"s": 22, "color": _colour(i), "marker": MARKERS[i % len(MARKERS)]}
        axes.scatter([], [], label=name, **style)  # for the legend, where all marks are filled
        marks = axes.scatter(xs, ys, zorder=3, **style)
        if len(points) <= MAX_LINKS:
            marks.set_urls([link(dot.ids) for dot in points])
        marks.set_facecolors(["white" if dot.doubtful else _colour(i) for dot in points])
    values = [dot.x for points in dots.values() for dot in points]
    if values and all(isinstance(x, int) for x in values) and len(set(values)) <= 12:
        axes.set_xticks(sorted(set(values)))
    return any(dot.doubtful for points in dots.values() for dot in points)


def _bars(_: Plot, dots: Mapping[str, Sequence[Dot]], axes: Any, link: Link) -> bool:
    names = list(dict.fromkeys(str(dot.x) for points in dots.values() for dot in points))
    width, hollow = 0.8 / max(len(dots), 1), False
    for i, (name, points) in enumerate(dots.items()):
        positions = [names.index(str(dot.x)) + (i - (len(dots) - 1) / 2) * width for dot in points]
        bars = axes.bar(positions, [dot.y for dot in points], width, color=_colour(i), label=name)
        for bar, dot in zip(bars, points, strict=True):
            bar.set_url(link(dot.ids))
            hollow |= _hollow(bar, i, dot.doubtful)
    axes.set_xticks(range(len(names)), names, rotation=30 if sum(map(len, names)) > 50 else 0,
                    ha="right" if sum(map(len, names)) > 50 else "center")  # fmt: skip
    return hollow


def _histogram(plot: Plot, dots: Mapping[str, Sequence[Dot]], axes: Any, link: Link) -> bool:
    import numpy as np

    values = [dot.y for points in dots.values() for dot in points]
    if not values:
        return False
    hollow = False
    logarithmic = "x" in plot.log and min(values) > 0
    edges = np.histogram_bin_edges(np.log10(values) if logarithmic else values, bins="auto" if len(values) > 1 else 1)
    edges = edges[:: max(1, len(edges) // 60)] if len(edges) > 60 else edges
    edges = 10**edges if logarithmic else edges
    edges[0], edges[-1] = min(values), max(max(values), edges[0] + 1e-12)
    for i, (name, points) in enumerate(dots.items()):
        bins = [[dot for dot in points if a <= dot.y < b or dot.y == b == edges[-1]] for a, b in pairwise(edges)]
        widths = [b - a for a, b in pairwise(edges)]
        bars = axes.bar(edges[:-1], list(map(len, bins)), widths, align="edge", color=_colour(i), alpha=0.7, label=name,
                        edgecolor="white", linewidth=0.5)  # fmt: skip
        for bar, inside in zip(bars, bins, strict=True):
            bar.set_url(link([key for dot in inside for key in dot.ids][:MAX_LINKS]))
            # a bin is doubtful if most of its results are
            hollow |= _hollow(bar, i, 2 * sum(dot.doubtful for dot in inside) > len(inside))
    return hollow


def _hollow(bar: Any, series: int, doubtful: bool) -> bool:
    if doubtful:
        # not "none": a shape without filling cannot be clicked
        bar.set(alpha=None, facecolor=(1, 1, 1, 0.5), edgecolor=_colour(series), linewidth=1.2)
    return doubtful
