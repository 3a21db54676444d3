"""The results of a suite as relations: one description of a table, executed by DuckDB or by Spark.

Each experiment is a view of its name, with its axes, its outputs and the measurements of every point as columns. It
contains the newest result of each measurement, and none of points that the suite no longer has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from copy import copy
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from workbench.errors import SuiteError, did_you_mean
from workbench.lab import sql
from workbench.lab.claim import Basis, NoData
from workbench.lab.experiment import KINDS, Experiment
from workbench.lab.plot import Dot, Plot
from workbench.lab.region import Scalar
from workbench.lab.rows import arrow, as_text, package
from workbench.lab.store import Broken, ResultStore, first_line
from workbench.lab.suite import Suite
from workbench.lab.table import Chosen, Grid, Table

if TYPE_CHECKING:
    from workbench.lab.draw import DrawnPlot

_Named = TypeVar("_Named", Table, Plot)
MEASURED = (
    "status", "reason", "wall_seconds", "cpu_seconds", "peak_mb", "gpu_seconds", "gpu_peak_mb", "load", "steal",
    "reliable", "code",
)  # fmt: skip
LATEST = """
SELECT id, experiment, point, outputs, place, repetition, {measured} FROM (
    SELECT r.key || '.' || CAST(r.repetition AS STRING) AS id, r.experiment, r.point, r.outputs, w.place, r.repetition,
        {qualified},
        row_number() OVER (PARTITION BY r.experiment, r.point, r.repetition ORDER BY r.started DESC) AS age
    FROM stored AS r JOIN wanted AS w ON r.experiment = w.experiment AND r.point = w.point
) AS aged WHERE age = 1
"""


class SqlEngine(Protocol):
    """An engine that answers SQL over the relations `stored` (every result) and `wanted` (every point)."""

    name: str
    extract: str
    """The SQL function that extracts a text from JSON by a path."""

    def query(self, text: str) -> list[dict[str, Any]]:
        """Return the rows of a SELECT."""

    def view(self, name: str, text: str) -> None:
        """Give a name to a SELECT."""

    def close(self) -> None:
        """Release the resources of the engine."""


class Duck:
    """DuckDB, inside this process."""

    name, extract = "DuckDB", "json_extract_string"

    def __init__(self, stored: Any, points: Any) -> None:
        duckdb = package("tables are computed by DuckDB", "duckdb")
        self._error = duckdb.Error
        self._connection = duckdb.connect()
        self._connection.register("stored", stored)
        self._connection.register("wanted", points)

    def query(self, text: str) -> list[dict[str, Any]]:
        """Return the rows of a SELECT."""
        cursor = self._execute(text)
        names = [column[0] for column in cursor.description]
        return [{n: number(v) for n, v in zip(names, row, strict=True)} for row in cursor.fetchall()]

    def view(self, name: str, text: str) -> None:
        """Give a name to a SELECT, which is computed once."""
        self._execute(f"CREATE TABLE {sql.name(name)} AS {text}")

    def _execute(self, text: str) -> Any:
        try:
            return self._connection.execute(text)
        except self._error as error:  # after the first line come dozens of guesses
            raise SuiteError(f"SQL: {first_line(error)}", where=text) from error

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def number(value: Any) -> Any:
    """Convert a decimal number of an engine to a float; other values stay."""
    return float(value) if isinstance(value, Decimal) else value


class Data:
    """The data that tables, plots, claims and macros read.

    Parameters
    ----------
    engine: the engine that answers queries; `open_data` chooses DuckDB.
    broken: the files that could not be read.
    code: the version of the code as it is now; "": unknown, so no result counts as measured with other code.
    """

    def __init__(self, suite: Suite, engine: SqlEngine, broken: Iterable[Broken] = (), code: str = "") -> None:
        self.suite, self.engine, self.broken, self.code = suite, engine, tuple(broken), code
        self.mixed_in: frozenset[str] = frozenset()
        """The ids of results measured with other code, which tables and plots mark; empty if all results are."""
        self._other_code: dict[tuple[str, int], bool] = {}
        self._seen: set[str] = set()
        self._selections: dict[str, list[dict[str, list[Scalar]]]] = {}

    def prepare(self) -> Data:
        """Create the views."""
        measured = ", ".join(MEASURED)
        qualified = ", ".join(f"r.{name}" for name in MEASURED)
        self.engine.view("latest", LATEST.format(measured=measured, qualified=qualified))
        for experiment in self.suite.experiments.values():
            self.engine.view(experiment.name, self._view(experiment))
        rows = self.engine.query("SELECT id, experiment, place, code FROM latest")
        other = {row["id"] for row in rows if self.code and row["code"] != self.code}
        for row in rows:
            which = row["experiment"], row["place"]
            self._other_code[which] = self._other_code.get(which, False) or row["id"] in other
        self.mixed_in = frozenset(other if len(other) < len(rows) else ())
        return self

    def _view(self, experiment: Experiment) -> str:
        kinds = {name: ("point", kind) for name, kind in experiment.parameter_kinds.items()}
        kinds |= {name: ("outputs", output.kind) for name, output in experiment.outputs.items()}
        columns = [
            # a result from before a change of an output's type has no value of this type
            f"TRY_CAST({self.engine.extract}({source}, '$.{name}') AS {KINDS[kind]}) AS {sql.name(name)}"
            for name, (source, kind) in kinds.items()
        ]
        of_all = ", ".join(("id", "repetition", "place", *MEASURED))
        return f"SELECT {', '.join([*columns, of_all])} FROM latest WHERE experiment = {sql.literal(experiment.name)}"

    def recording(self) -> Data:
        """Return the same data with an empty record of what is read (`ids`, `basis`)."""
        own = copy(self)
        own._seen, own._selections = set(), {}
        return own

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the results that were read."""
        return tuple(sorted(self._seen))

    @property
    def basis(self) -> tuple[Basis, ...]:
        """The points that were read, by experiment: those that the conditions select, measured or not."""
        return tuple(self._basis(name, selections) for name, selections in self._selections.items())

    def _basis(self, name: str, selections: list[dict[str, list[Scalar]]]) -> Basis:
        points = enumerate(self.suite.experiments[name].region)
        read = [i for i, p in points if any(all(p[axis] in s[axis] for axis in s) for s in selections)]
        other = [self._other_code[name, i] for i in read if (name, i) in self._other_code]
        return Basis(name, len(read), len(other), sum(other))

    def sql(self, text: str) -> list[dict[str, Any]]:
        """Return the rows of a SELECT over the experiments' views; its columns `id` or `ids` name the results read."""
        return self._query(text, {name: {} for name in self.suite.experiments if re.search(rf"\b{name}\b", text)})

    def _query(self, text: str, read: Mapping[str, Chosen]) -> list[dict[str, Any]]:
        """Return the rows of a query; record the experiments that it reads, each with the condition on its points."""
        rows = self.engine.query(text)
        for name, where in read.items():
            axes, selections = self.suite.experiments[name].region.axes, self._selections.setdefault(name, [])
            selection = {axis: values for axis, values in _list_values(where).items() if axis in axes}
            selections += [selection] if selection not in selections else []
        for row in rows:
            ids = row.get("ids") or ([row["id"]] if row.get("id") else [])
            self._seen.update(ids)
        return rows

    def rows(self, experiment: Any, **where: Scalar | Iterable[Scalar]) -> list[dict[str, Any]]:
        """Return the results of an experiment at these points, in order.

        Raises
        ------
        NoData: there is no result.
        SuiteError: the experiment has no such column.
        """
        own = self.suite.get(experiment)
        known = [*own.region.axes, *own.outputs, "id", "repetition", *MEASURED]
        for column in where:
            if column not in known:
                raise SuiteError(f"experiment '{own.name}' has no '{column}'", hint=f"it has {', '.join(known)}")
        values = _list_values(where)
        text = f"SELECT * FROM {sql.name(own.name)} WHERE {sql.condition(values)} ORDER BY place, repetition"
        rows = self._query(text, {own.name: values})
        if not rows:
            listed = ", ".join(f"{name} = {' or '.join(map(str, each))}" for name, each in values.items())
            raise NoData(f"no result of '{own.name}'" + (f" with {listed}" if where else ""))
        return rows

    def grid(self, table: Table | str) -> Grid:
        """Return a table with its contents."""
        own = self._get(table, self.suite.tables, "table")
        return own.arrange(self._query(own.query(), {own.experiment.name: own.where}), self.mixed_in)

    def dots(self, plot: Plot | str) -> dict[str, list[Dot]]:
        """Return the points of a plot, by series."""
        own = self._get(plot, self.suite.plots, "plot")
        return own.arrange(self._query(own.query(), {own.experiment.name: own.where}), self.mixed_in)

    def _get(self, item: _Named | str, known: Mapping[str, _Named], what: str) -> _Named:
        if isinstance(item, str) and item not in known:
            raise SuiteError(f"suite '{self.suite.name}' has no {what} '{item}'", hint=did_you_mean(item, known))
        return known[item] if isinstance(item, str) else item

    def drawn(self, plot: Plot | str) -> DrawnPlot:
        """Return a plot in the form that a notebook shows."""
        from workbench.lab.draw import DrawnPlot, svg

        own = self._get(plot, self.suite.plots, "plot")
        return DrawnPlot(own.title, svg(own, self.dots(own), lambda _: ""))

    def numbers(self) -> dict[str, dict[str, int]]:
        """Return the number of results of each status, by experiment."""
        counts: dict[str, dict[str, int]] = {name: {} for name in self.suite.experiments}
        for row in self.engine.query(
            "SELECT experiment, status, count(*) AS n FROM latest GROUP BY experiment, status"
        ):
            counts[row["experiment"]][row["status"]] = row["n"]
        return counts

    def close(self) -> None:
        """Release the resources of the engine."""
        self.engine.close()


def _list_values(where: Chosen) -> dict[str, list[Scalar]]:
    return {name: [choice] if isinstance(choice, Scalar) else list(choice) for name, choice in where.items()}


def open_data(suite: Suite, store: ResultStore, code: str = "") -> Data:
    """Open the results of a suite, with DuckDB as the engine; `code` is as for `Data`."""
    stored, broken = store.table()
    return Data(suite, Duck(stored, make_point_table(suite)), broken, code).prepare()


def make_point_table(suite: Suite) -> Any:
    """Return every point of a suite as an Arrow table: its experiment, the point as text, and its index."""
    pa = arrow()
    kinds = {"experiment": pa.string(), "point": pa.string(), "place": pa.int64()}
    points = ((e.name, as_text(point), i) for e in suite.experiments.values() for i, point in enumerate(e.region))
    return pa.Table.from_pylist([dict(zip(kinds, point, strict=True)) for point in points], schema=pa.schema(kinds))
