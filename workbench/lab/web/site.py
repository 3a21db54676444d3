"""The state of the application: suites with their reports, and running sweeps."""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.lab.data import open_data
from workbench.lab.draw import svg
from workbench.lab.measure.client import Client
from workbench.lab.plan import Lab, Measurement, Selection, SweepPlan, hash_workbench
from workbench.lab.region import Scalar
from workbench.lab.report import Report, gather
from workbench.lab.report_files import environment
from workbench.lab.result import Measured, Result, Status
from workbench.lab.store import ResultStore
from workbench.lab.suite_search import load_suite, suite_file, suite_files
from workbench.lab.web.runner import SweepRunner


class Site:
    """The state of the application: suites, running sweeps, and cached reports.

    Parameters
    ----------
    experiments, folder: the folders of suites and results.
    options: the command-line options that locate them.
    """

    def __init__(self, experiments: Path, folder: Path, options: str = "") -> None:
        self.experiments, self.folder, self.options = experiments, folder, options
        self._labs: dict[str, tuple[float, Lab]] = {}
        self._runners: dict[str, SweepRunner] = {}
        self._reports: dict[str, tuple[Any, Report, dict[str, str]]] = {}
        self.templates = environment()

    def lab(self, name: str) -> Lab | None:
        """Return a suite, loaded again if its file has changed; None if there is no suite of this name."""
        path = suite_file(self.experiments, name)
        if path is None:
            return None
        changed = path.stat().st_mtime
        if name not in self._labs or self._labs[name][0] != changed:
            self._labs[name] = changed, Lab(load_suite(path), path, ResultStore(self.folder, name), self.options)
        return self._labs[name][1]

    def runner(self, lab: Lab) -> SweepRunner:
        """Return the runner of a suite."""
        return self._runners.setdefault(lab.suite.name, SweepRunner())

    def report(self, lab: Lab) -> tuple[Report, dict[str, str]]:
        """Return the report and the drawn plots; cached until the results or the suite change."""
        files = tuple(sorted(path.name for path in lab.store.folder.glob("part-*.parquet")))
        key = (files, id(lab.suite))
        entry = self._reports.get(lab.suite.name)
        if entry is None or entry[0] != key:
            with contextlib.closing(open_data(lab.suite, lab.store, lab.code())) as data:
                report = gather(lab, data)
                drawings = {plot.name: svg(plot, dots, report.link) for plot, dots in report.dots}
                _ = report.grids, report.claims, report.macros, report.numbers  # computed while the data are open
            entry = self._reports[lab.suite.name] = key, report, drawings
        return entry[1], entry[2]

    def overview(self) -> Iterator[dict[str, Any]]:
        """Yield the summary of each suite, or the reason why it cannot be loaded."""
        program = hash_workbench()
        for name in suite_files(self.experiments):
            try:
                lab = self.lab(name)
                if lab is not None:
                    plan = SweepPlan.of(lab, program=program)
                    yield {"name": name, "title": lab.suite.title, "points": len(plan.wanted), "error": "",
                           "measured": plan.measured, "state": self.runner(lab).state()}  # fmt: skip
            except WorkbenchError as error:
                yield {"name": name, "error": error.message}

    def close(self) -> None:
        """Stop all sweeps."""
        for runner in self._runners.values():
            runner.stop()


def page_of(lab: Lab, result: Result) -> Measured:
    """Return an experiment's `page` for the point of a measurement, made in a process with its limits."""
    client = Client(lab.path, lab.files)
    try:
        task = Measurement(result.experiment, result.point, result.repetition, result.key, result.code)
        client.send(task.frame() | {"seed": result.seed, "page": True})
        return client.take()
    finally:
        client.close()


def read_selection(lab: Lab, form: Mapping[str, Sequence[str]], known: Container[str] = ()) -> Selection:
    """Return the selection that a form requests; unknown experiments, values and ids in it are ignored."""
    suite = lab.suite
    keys = tuple(dict.fromkeys(key.partition(".")[0] for key in form.get("id", ()) if key in known))
    experiments = tuple(name for name in suite.experiments if name in form.get("experiment", ()))
    where: dict[str, tuple[Scalar, ...]] = {}
    for experiment in suite.experiments.values():
        for axis, values in experiment.region.axes.items():
            texts = {*form.get(f"axis-{axis}", ())}
            matches = tuple(value for value in values if str(value) in texts)
            if matches and (not experiments or experiment.name in experiments):
                where[axis] = (*where.get(axis, ()), *matches)
    retry = tuple(status for status in Status if str(status) in form.get("retry", ()))
    return Selection(experiments, where, keys, again="again" in form, retry=retry)
