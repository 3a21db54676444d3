"""A suite: experiments, and the evaluation of their results. One Python file in `experiments/`: `suite = Suite(...)`.

suite = Suite("squares", "How long it takes to square numbers.")

@suite.experiment(Region(n=[10, 100, 1000]), total=Output("the sum of squares", kind=int))
def sum_of_squares(n):
    return {"total": sum(i * i for i in range(n))}

suite.table("times", of=sum_of_squares, rows="n", cells={"total": only("total"), "CPU": median("cpu_seconds")})
suite.plot("growth", of=sum_of_squares, x="n", y=median("cpu_seconds"), log="xy")

@suite.claim("The sum grows with n")
def grows(data):
    totals = [row["total"] for row in data.rows(sum_of_squares)]
    return ok() if totals == sorted(totals) else fails(f"{totals}")
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypedDict, TypeVar, Unpack

from workbench.errors import SuiteError, check_kind, did_you_mean, refuse_unknown
from workbench.lab.calls import list_keywords
from workbench.lab.claim import Claim, Judge, Macro
from workbench.lab.experiment import Experiment, Limits, Output, Prerequisite
from workbench.lab.plot import Plot
from workbench.lab.region import Region, Scalar
from workbench.lab.table import Beside, Chosen, Statistic, Table

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
F = TypeVar("F", bound=Callable[..., Any])
_Named = TypeVar("_Named", Experiment, Prerequisite, Table, Plot, Claim, Macro)


class DisplayFields(TypedDict, total=False):
    """The common fields of tables and plots: the selection of points, the title, and the text below."""

    where: Mapping[str, Scalar | Iterable[Scalar]] | None
    title: str
    doc: str


class Suite:
    """A set of experiments, with the tables, plots, claims and macros of their results.

    Parameters
    ----------
    name: its name in the command line and in results.
    title: one line; `doc` is Markdown for the head of the report.
    depends: files and folders, relative to the top folder, that the results depend on besides the code of workbench
        and the suite.
    """

    def __init__(self, name: str, title: str, doc: str = "", *, depends: Iterable[str] = ()) -> None:
        if not _NAME.fullmatch(name):
            raise SuiteError(f"a suite cannot be called '{name}'", hint="use letters, digits, _ and -, a letter first")
        self.name, self.title, self.doc = name, title, doc
        self.depends = tuple(depends)
        self.experiments: dict[str, Experiment] = {}
        self.prerequisites: dict[str, Prerequisite] = {}
        self.tables: dict[str, Table] = {}
        self.plots: dict[str, Plot] = {}
        self.claims: dict[str, Claim] = {}
        self.macros: dict[str, Macro] = {}

    # --- experiments ----------------------------------------------------------------------------------------

    def experiment(
        self,
        region: Region,
        *,
        limits: Limits | None = None,
        repeat: int = 1,
        persistent: bool = False,
        warm_up: Callable[[], None] | None = None,
        needs: Callable[..., None] | Iterable[Callable[..., None]] = (),
        expected: Callable[..., Mapping[str, Any] | None] | None = None,
        page: Callable[..., str] | None = None,
        outputs: Mapping[str, Output] | None = None,
        **more_outputs: Output,
    ) -> Callable[[F], F]:
        """Decorate a function that is measured at each point of the region; see `Experiment`."""
        limits = Limits() if limits is None else limits
        check_kind(region, Region, "write lab.Region(k=[1, 2, 3])", "region")
        check_kind(limits, Limits, "write limits=lab.Limits(seconds=60)", "limits")
        check_kind(outputs or {}, Mapping, "write outputs={'seconds': lab.Output('time', 's')}", "outputs")
        named = {**(outputs or {}), **more_outputs}
        for name, output in named.items():
            hint = did_you_mean(name, list_keywords(Suite.experiment), "options are: ")
            hint += f"; an output is {name}=lab.Output('description'), and a limit limits=lab.Limits(seconds=60)"
            check_kind(output, Output, hint, name)

        def add(function: F) -> F:
            prerequisites = [needs] if callable(needs) else list(needs)
            self._add(self.experiments, Experiment(
                function.__name__, function, region, named, limits, repeat, expected, persistent, warm_up,
                tuple(self._prerequisite(make) for make in prerequisites), page, (function.__doc__ or "").strip(),
            ), _IDENTIFIER)  # fmt: skip
            return function

        return add

    def prerequisite(self, function: F) -> F:
        """Decorate a function that writes a file to `path`; experiments name it in `needs`."""
        self._add(self.prerequisites, Prerequisite(function.__name__, function), _IDENTIFIER)
        return function

    def _prerequisite(self, make: Callable[..., None]) -> Prerequisite:
        prerequisite = self.prerequisites.get(make.__name__)
        if prerequisite is None or prerequisite.make is not make:
            hint = "decorate it with `@suite.prerequisite`"
            raise SuiteError(f"'{make.__name__}' is not a prerequisite of the suite", hint=hint)
        return prerequisite

    # --- evaluation -----------------------------------------------------------------------------------------

    def table(
        self,
        name: str,
        *,
        of: Callable[..., Any] | str,
        rows: str | Iterable[str],
        cells: Mapping[str, Statistic],
        columns: str | None = None,
        beside: Iterable[Beside] = (),
        **options: Unpack[DisplayFields],
    ) -> Table:
        """Add a table of results; see `Table`."""
        title, where, doc = _complete(name, Suite.table, options)
        axes = (rows,) if isinstance(rows, str) else tuple(rows)
        check_kind(cells, Mapping, "write cells={'seconds': lab.median('cpu_seconds')}", "cells")
        table = Table(name, title, self.get(of), axes, dict(cells), columns, where, tuple(beside), doc)
        return self._add(self.tables, table)

    def plot(
        self,
        name: str,
        *,
        of: Callable[..., Any] | str,
        y: Statistic,
        x: str | None = None,
        series: str | None = None,
        kind: str = "line",
        log: str = "",
        **options: Unpack[DisplayFields],
    ) -> Plot:
        """Add a plot of results; see `Plot`."""
        title, where, doc = _complete(name, Suite.plot, options)
        return self._add(self.plots, Plot(name, title, self.get(of), y, x, series, kind, log, where, doc))

    def claim(self, text: str) -> Callable[[Judge], Judge]:
        """Decorate a function that judges the statement on the data: `ok()`, `warns(why)` or `fails(why)`."""

        def add(judge: Judge) -> Judge:
            self._add(self.claims, Claim(judge.__name__, text, judge, (judge.__doc__ or "").strip()))
            return judge

        return add

    def macro(self, description: str, unit: str = "") -> Callable[[F], F]:
        """Decorate a function that computes a named number or text from the data, for the text of a paper."""

        def add(compute: F) -> F:
            self._add(self.macros, Macro(compute.__name__, description, unit, compute))
            return compute

        return add

    # --- access ---------------------------------------------------------------------------------------------

    def get(self, experiment: Callable[..., Any] | str) -> Experiment:
        """Return an experiment, by its function or its name.

        Raises
        ------
        SuiteError: there is no such experiment.
        """
        name = experiment if isinstance(experiment, str) else getattr(experiment, "__name__", repr(experiment))
        if name not in self.experiments:
            known = ", ".join(self.experiments) or "none"
            raise SuiteError(f"suite '{self.name}' has no experiment '{name}'", hint=f"it has: {known}")
        return self.experiments[name]

    def repeat(self, times: int) -> Suite:
        """Return a copy of the suite with every point measured `times` times."""
        again = Suite(self.name, self.title, self.doc, depends=self.depends)
        again.__dict__.update(self.__dict__)
        again.experiments = {name: replace(e, repeat=times) for name, e in self.experiments.items()}
        return again

    def _add(self, known: dict[str, _Named], item: _Named, form: re.Pattern[str] = _NAME) -> _Named:
        name, what = item.name, type(item).__name__.lower()
        if not form.fullmatch(name):
            hint = "use letters, digits and _, a letter first"
            raise SuiteError(f"suite '{self.name}': '{name}' cannot be the name of this {what}", hint=hint)
        if name in known:
            raise SuiteError(f"suite '{self.name}' has two {what}s '{name}'", hint="rename one")
        known[name] = item
        return item


def _complete(name: str, method: Callable[..., Any], options: DisplayFields) -> tuple[str, Chosen, str]:
    """Return the title, the selection and the text of a table or plot; the title defaults to its name."""
    for each in options:
        refuse_unknown("option", each, [*list_keywords(method), *DisplayFields.__annotations__])
    where = options.get("where") or {}
    check_kind(where, Mapping, "write where={'k': [1, 2]}", "where")
    return options.get("title") or name, dict(where), options.get("doc", "")
