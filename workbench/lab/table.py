"""Tables: results selected, grouped, spread over columns, joined with known figures, and summarised.

A table is a description; `query` returns it as SQL, `arrange` puts the rows that any engine returns into a `Grid`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.errors import SuiteError, check_kind
from workbench.lab import sql
from workbench.lab.experiment import Experiment
from workbench.lab.region import Scalar
from workbench.lab.result import OF_GPUS

MEASURES = {
    "wall_seconds": "s", "cpu_seconds": "s", "peak_mb": "MB", "load": "", "steal": "", "status": "",
    "gpu_seconds": "s", "gpu_peak_mb": "MB",
}  # fmt: skip
"""The measurements of every point, with their units."""
TIMES = frozenset("ns us µs ms s min h".split())

Chosen = Mapping[str, Scalar | Iterable[Scalar]]


@dataclass(frozen=True)
class Statistic:
    """A summary of the values of an output or a measure, multiplied by `scale` to give `unit`."""

    column: str
    form: str
    word: str
    scale: float = 1.0
    unit: str = ""
    of_numbers: bool = True
    """Whether the statistic requires numbers."""

    @property
    def expression(self) -> str:
        """The statistic as SQL."""
        text = self.form.format(sql.name(self.column))
        return text if self.scale == 1 else f"{text} * {sql.literal(float(self.scale))}"

    def knows(self, value: Any) -> bool:
        """Whether a value summarises at least one result."""
        return bool(value) if self.word == "number" else value is not None

    def as_(self, unit: str, scale: float) -> Statistic:
        """Return the statistic in another unit: `median("cpu").as_("ms", 1000)`."""
        return replace(self, scale=scale, unit=unit, of_numbers=True)


def _statistic(form: str, word: str, *, of_numbers: bool = True) -> Callable[[str], Statistic]:
    """Return the function from a column to one of its statistics."""
    return lambda column: Statistic(column, form, word, of_numbers=of_numbers)


median = _statistic("median({})", "median")
mean = _statistic("avg({})", "mean")
total = _statistic("sum({})", "total")
minimum = _statistic("min({})", "minimum", of_numbers=False)
maximum = _statistic("max({})", "maximum", of_numbers=False)
deviation = _statistic("stddev_samp({})", "standard deviation")
"""The standard deviation of a sample; empty for a single value."""
spread = _statistic("(max({0}) - min({0}))", "spread")
"""The difference between the maximum and the minimum."""
only = _statistic(
    "CASE WHEN min({0}) <> max({0}) THEN 'varies' ELSE CAST(min({0}) AS STRING) END", "", of_numbers=False
)
"""The common value of all results, `varies` if they differ."""


def number(column: str = "id") -> Statistic:
    """Return the statistic for the number of results."""
    return Statistic(column, "count({})", "number", of_numbers=False)


@dataclass(frozen=True)
class TableCell:
    """A cell of a table: its value, and the results that it was computed from."""

    value: Any = None
    text: str = ""
    ids: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    """The statuses of those results other than `ok`."""
    reliable: bool = True
    """Whether it is no timing from a loaded machine, and no result of other code; otherwise `text` ends in ~."""


@dataclass(frozen=True)
class Beside:
    """Known figures to show beside ours, joined on the axes `by`, such as those of a paper or another tool.

    `figures` has a number for each combination of values of these axes; None is shown as `missing`.
    """

    label: str
    by: tuple[str, ...]
    figures: Mapping[tuple[Scalar, ...], float | None]
    unit: str = ""
    missing: str = ""
    source: str = ""

    @property
    def head(self) -> str:
        """The head of its column: the label, with the unit if there is one."""
        return ", ".join(filter(None, [self.label, self.unit]))

    def cell(self, key: tuple[Scalar, ...]) -> TableCell:
        """Return the figure for these values of the axes; empty if there is none."""
        figure = self.figures.get(key)
        text = "" if key not in self.figures else self.missing if figure is None else format_value(figure)
        return TableCell(figure, text)


@dataclass(frozen=True)
class Grid:
    """A table with its contents: for each of the `rows`, the values that identify it, then its cells."""

    name: str
    title: str
    corner: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    """The two heads of each column: the value of the spread axis ("" if there is none), and the head of the cell."""
    rows: tuple[tuple[tuple[Scalar, ...], tuple[TableCell, ...]], ...]
    doc: str = ""
    notes: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        from workbench.show.notebook import table

        named = (
            [*map(format_value, key), *(cell.text or format_value(cell.value) for cell in cells)]
            for key, cells in self.rows
        )
        return table(self.heads, named, self.title)

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads in one line, for formats that have only one."""
        return (*self.corner, *(", ".join(filter(None, pair)) for pair in self.columns))


@dataclass(frozen=True)
class Table:
    """A table of results of an experiment, with a row for each combination of the axes `rows`.

    Parameters
    ----------
    cells: the statistics in a row, by their heads (repeated for each value of the axis `columns`, if there is one).
    where: the selection of points, by values of axes.
    beside: known figures to join.
    """

    name: str
    title: str
    experiment: Experiment
    rows: tuple[str, ...]
    cells: Mapping[str, Statistic]
    columns: str | None = None
    where: Chosen = field(default_factory=dict)
    beside: tuple[Beside, ...] = ()
    doc: str = ""

    def __post_init__(self) -> None:
        axes = self.experiment.region.axes
        for axis in (*self.groups, *self.where, *(name for b in self.beside for name in b.by)):
            if axis not in axes:
                raise SuiteError(
                    f"table '{self.name}': experiment '{self.experiment.name}' has no axis '{axis}'",
                    hint=f"it has {', '.join(axes)}",
                )
        for statistic in self.cells.values():
            check_statistic(self.experiment, statistic, f"table '{self.name}'")
        for beside in self.beside:
            if not set(beside.by) <= set(self.groups):
                raise SuiteError(f"table '{self.name}' lacks an axis of '{beside.label}': {', '.join(beside.by)}")

    @property
    def groups(self) -> tuple[str, ...]:
        """The axes that identify a cell."""
        return (*self.rows, *([self.columns] if self.columns else []))

    def query(self) -> str:
        """Return the table as SQL over the view of its experiment."""
        own = [f"t.{sql.name(axis)} AS g{i}" for i, axis in enumerate(self.groups)]
        own += [f"{statistic.expression} AS v{i}" for i, statistic in enumerate(self.cells.values())]
        # "bool_and" ignores nulls, and no result has one there
        own += ["array_agg(id) AS ids", "array_agg(status) AS statuses", "bool_and(reliable) AS reliable"]
        grouped = ", ".join(f"t.{sql.name(axis)}" for axis in self.groups)
        return "\n".join([
            f"SELECT {', '.join(own)}", f"FROM {sql.name(self.experiment.name)} AS t",
            f"WHERE {sql.condition(self.where)}", f"GROUP BY {grouped}",
        ])  # fmt: skip

    def arrange(self, query_rows: Sequence[Mapping[str, Any]], other_code: Set[str]) -> Grid:
        """Arrange the rows of the query as a grid, in the order of the region; mark the results `other_code`."""
        axes = self.experiment.region.axes
        at = {tuple(row[f"g{i}"] for i in range(len(self.groups))): row for row in query_rows}
        indices = [{value: index for index, value in enumerate(axes[axis])} for axis in self.rows]
        keys = sorted(
            {key[: len(self.rows)] for key in at},
            key=lambda key: [indices[i].get(value, 0) for i, value in enumerate(key)],
        )
        across: list[tuple[Scalar, ...]] = [()]
        if self.columns:
            across = [(value,) for value in axes[self.columns] if any(key[-1] == value for key in at)]
        known = self._list_columns(query_rows)
        heads = [*known, *(b.head for b in self.beside)]
        columns = [("".join(map(self._over, extra)), head) for extra in across for head in heads]
        rows = [
            (key, tuple(c for extra in across for c in self._cells((*key, *extra), at, known, other_code)))
            for key in keys
        ]
        notes = [f"{b.label}: {b.source}" for b in self.beside if b.source]
        return Grid(self.name, self.title, self.rows, tuple(columns), tuple(rows), self.doc, tuple(notes))

    def _list_columns(self, query_rows: Sequence[Mapping[str, Any]]) -> dict[str, tuple[str, Statistic]]:
        """Return the query's column and the statistic of each head, without measurements of GPUs that are unknown."""
        named = {head: (f"v{i}", statistic) for i, (head, statistic) in enumerate(self.cells.items())}
        return {
            head: (column, statistic)
            for head, (column, statistic) in named.items()
            if statistic.column not in OF_GPUS or any(statistic.knows(row[column]) for row in query_rows)
        }

    def _over(self, value: Scalar) -> str:
        """Return the head over the cells of a value of the axis `columns`."""
        return value if isinstance(value, str) else f"{self.columns} = {format_value(value)}"

    def _cells(
        self,
        key: tuple[Scalar, ...],
        at: Mapping[tuple[Scalar, ...], Mapping[str, Any]],
        known: Mapping[str, tuple[str, Statistic]],
        other_code: Set[str],
    ) -> list[TableCell]:
        """Return the cells of one combination of the axes, empty ones without results."""
        cells = [TableCell() for _ in known]
        if (row := at.get(key)) is not None:
            ids, marks = tuple(sorted(row["ids"])), tuple(sorted(set(row["statuses"]) - {"ok"}))
            for i, (column, statistic) in enumerate(known.values()):
                value = row[column]
                reliable = bool(row["reliable"]) or not is_timing(unit_of(self.experiment, statistic))
                reliable &= other_code.isdisjoint(ids)
                text = " ".join(filter(None, [format_value(value), *marks])) + ("" if reliable else " ~")
                cells[i] = TableCell(value, text, ids, marks, reliable)
        named = dict(zip(self.groups, key, strict=True))
        return cells + [beside.cell(tuple(named[axis] for axis in beside.by)) for beside in self.beside]


def check_column(experiment: Experiment, column: str, where: str) -> None:
    """Refuse a column that is neither an axis, nor an output, nor a measurement.

    Raises
    ------
    SuiteError: the column is unknown.
    """
    known = [*experiment.region.axes, *experiment.outputs, *MEASURES, "id"]
    if column not in known:
        raise SuiteError(
            f"{where}: experiment '{experiment.name}' has no '{column}'", hint=f"it has {', '.join(known)}"
        )


def check_statistic(experiment: Experiment, statistic: Statistic, where: str) -> None:
    """Refuse a statistic of an unknown column, or of texts or truth values if it requires numbers.

    Raises
    ------
    SuiteError: the statistic does not fit.
    """
    check_kind(statistic, Statistic, f"write lab.median({str(statistic)!r})", where)
    column = statistic.column
    check_column(experiment, column, where)
    texts = {**dict.fromkeys(MEASURES, float), **dict.fromkeys(("id", "status"), str)}
    outputs = {name: output.kind for name, output in experiment.outputs.items()}
    kind = {**texts, **experiment.parameter_kinds, **outputs}[column]
    if statistic.of_numbers and kind not in (int, float):
        raise SuiteError(
            f"{where}: '{column}' is {'true or false' if kind is bool else 'a text'}, not a number",
            hint="`number` takes anything; in tables `only`, `minimum` and `maximum`, too, without another unit",
        )


def is_timing(unit: str) -> bool:
    """Whether a value with this unit depends on the load of the machine: a time or a rate."""
    return unit in TIMES or unit.rpartition("/")[2] in TIMES


def unit_of(experiment: Experiment, statistic: Statistic) -> str:
    """Return the unit in which a statistic is shown."""
    if statistic.unit or statistic.word == "number":
        return statistic.unit
    return own_unit(experiment, statistic.column)


def own_unit(experiment: Experiment, column: str) -> str:
    """Return the unit of an output or a measure; "" for any other column."""
    output = experiment.outputs.get(column)
    return output.unit if output else MEASURES.get(column, "")


def format_value(value: Any) -> str:
    """Format a value for people: three significant digits, the whole part in full."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.0f}" if value.is_integer() and abs(value) < 1e15 else _digits(value)
    return str(value)


def _digits(value: float) -> str:
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{float(f'{value:.3g}'):g}" if abs(value) >= 1e-4 else f"{value:.2e}"
