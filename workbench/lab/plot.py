"""Plots: their descriptions, queries and points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.errors import SuiteError, check_kind
from workbench.lab import sql
from workbench.lab.experiment import Experiment
from workbench.lab.result import OF_GPUS
from workbench.lab.table import Chosen, Statistic, check_column, check_statistic, is_timing, own_unit, unit_of

KINDS = ("line", "scatter", "bar", "histogram")


@dataclass(frozen=True)
class Dot:
    """A point of a plot, and the results that it was computed from.

    It is `doubtful` if a result did not end with the status `ok` or was measured with other code, or if it is a timing
    from a loaded machine.
    """

    x: Any
    y: float
    ids: tuple[str, ...]
    doubtful: bool = False


@dataclass(frozen=True)
class Plot:
    """A plot of results.

    Parameters
    ----------
    y: the value to draw. A scatter plot and a histogram draw each result's own value, and ignore the statistic.
    x: an axis, or for a scatter plot also an output or a measure; None for a histogram.
    series: an axis; each of its values becomes a line, a colour or a group of bars.
    kind: line, scatter, bar or histogram.
    log: the axes with a logarithmic scale: "", "x", "y" or "xy".
    """

    name: str
    title: str
    experiment: Experiment
    y: Statistic
    x: str | None = None
    series: str | None = None
    kind: str = "line"
    log: str = ""
    where: Chosen = field(default_factory=dict)
    doc: str = ""

    def __post_init__(self) -> None:
        where = f"plot '{self.name}'"
        if self.kind not in KINDS:
            raise SuiteError(f"{where}: there is no kind '{self.kind}'", hint=f"there are {', '.join(KINDS)}")
        if (self.x is None) != (self.kind == "histogram"):
            raise SuiteError(f"{where}: {'a histogram has no x' if self.x else 'x is missing'}")
        if set(self.log) - set("xy"):
            raise SuiteError(f"{where}: `log` names the axes x and y, not '{self.log}'")
        for axis in filter(None, [self.series, None if self.kind == "scatter" else self.x, *self.where]):
            if axis not in self.experiment.region.axes:
                raise SuiteError(f"{where}: experiment '{self.experiment.name}' has no axis '{axis}'")
        if self.x is not None:
            check_column(self.experiment, self.x, where)
        check_kind(self.y, Statistic, f"write y=lab.median({str(self.y)!r})", where)
        if self.is_grouped and not self.y.word:
            raise SuiteError(f"{where}: `only` may find several values", hint="use median")
        check_statistic(self.experiment, replace(self.y, of_numbers=self.y.word != "number"), where)

    @property
    def labels(self) -> tuple[str, str]:
        """The labels of the axes."""
        y = " ".join(filter(None, [self.y.word if self.is_grouped else "", self.y.column.replace("_", " ")]))
        y = _with_unit(y, unit_of(self.experiment, self.y))
        if self.x is None:
            return y, "results"
        return _with_unit(self.x.replace("_", " "), own_unit(self.experiment, self.x)), y

    @property
    def is_grouped(self) -> bool:
        """Whether a drawn point summarises several results."""
        return self.kind in ("line", "bar")

    @property
    def of_gpus(self) -> bool:
        """Whether the plot shows a measurement that exists only with a GPU."""
        return {self.x, self.y.column} & {*OF_GPUS} != set()

    def query(self) -> str:
        """Return the query for the points, as SQL over the view of its experiment."""
        x = sql.name(self.x) if self.x else "0"
        series = sql.name(self.series) if self.series else "''"
        own = sql.name(self.y.column)
        if self.y.scale != 1:
            own += f" * {sql.literal(float(self.y.scale))}"
        view = f"FROM {sql.name(self.experiment.name)} WHERE {sql.condition(self.where)}"
        if self.is_grouped:
            grouped = ", ".join(filter(None, [x, series if self.series else ""]))
            y = f"{self.y.expression} AS y, array_agg(id) AS ids"
            y += ", bool_and(status = 'ok') AS well, bool_and(reliable) AS reliable"
            return f"SELECT {x} AS x, {series} AS s, {y} {view} GROUP BY {grouped}"
        return f"SELECT {x} AS x, {series} AS s, {own} AS y, id AS ids, status = 'ok' AS well, reliable {view}"

    def arrange(self, query_rows: Sequence[Mapping[str, Any]], other_code: Set[str]) -> dict[str, list[Dot]]:
        """Return the points by series, sorted by x: numbers ascending, other values in the order of the region."""
        axes = self.experiment.region.axes
        series = [str(value) for value in axes[self.series]] if self.series else [""]
        dots: dict[str, list[Dot]] = {name: [] for name in series}
        timing = is_timing(unit_of(self.experiment, self.y)) or is_timing(own_unit(self.experiment, self.x or ""))
        for row in query_rows:
            if not all(map(_drawable, (row["x"], row["y"]))):
                continue
            ids = row["ids"] if isinstance(row["ids"], list) else [row["ids"]]
            doubtful = not row["well"] or (timing and not row["reliable"]) or not other_code.isdisjoint(ids)
            dots.setdefault(str(row["s"]), []).append(Dot(row["x"], float(row["y"]), tuple(sorted(ids)), doubtful))
        order = list(axes.get(self.x or "", ()))
        indices = {value: i for i, value in enumerate(order)}
        numeric = all(isinstance(value, int | float) for value in order)
        for points in dots.values():
            points.sort(key=lambda dot: (dot.x if numeric else indices.get(dot.x, 0), dot.ids))
        return {name: points for name, points in dots.items() if points}


def _drawable(value: Any) -> bool:
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


def _with_unit(text: str, unit: str) -> str:
    return f"{text}, {unit}" if unit else text
