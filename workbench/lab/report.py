"""The contents of a report: tables, plots and claims, with links from every number to its measurements."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from workbench.lab import report_text as text
from workbench.lab.claim import Claim, Judgement, Macro, MacroValue
from workbench.lab.data import Data
from workbench.lab.measure.machine import commit, machine, versions
from workbench.lab.plan import Lab, now
from workbench.lab.plot import Dot, Plot
from workbench.lab.result import Result
from workbench.lab.rows import as_text
from workbench.lab.store import newest
from workbench.lab.suite import Suite
from workbench.lab.table import Grid


@dataclass(frozen=True)
class Report:
    """The contents of a report; tables, plots, claims and macros are computed on first use, while `data` is open."""

    suite: Suite
    data: Data
    results: Mapping[str, Result]
    """The newest result of each measurement, by id."""
    code: str
    commit: str
    options: str = ""
    """The command-line options that locate the suite and its results."""
    display_text: Callable[[str], str] = str
    """A function that prepares texts for display, which may name files of this machine."""
    created: str = field(default_factory=now)

    @cached_property
    def grids(self) -> tuple[Grid, ...]:
        """The tables."""
        return tuple(self.data.grid(table) for table in self.suite.tables.values())

    @cached_property
    def dots(self) -> tuple[tuple[Plot, dict[str, list[Dot]]], ...]:
        """The plots and their points, without plots of GPUs that have no points."""
        drawn = ((plot, self.data.dots(plot)) for plot in self.suite.plots.values())
        return tuple((plot, dots) for plot, dots in drawn if dots or not plot.of_gpus)

    @cached_property
    def claims(self) -> tuple[tuple[Claim, Judgement], ...]:
        """The claims and their judgements."""
        return tuple((claim, claim.evaluate(self.data)) for claim in self.suite.claims.values())

    @cached_property
    def macros(self) -> tuple[tuple[Macro, MacroValue], ...]:
        """The macros and their values."""
        return tuple((macro, macro.evaluate(self.data)) for macro in self.suite.macros.values())

    @cached_property
    def numbers(self) -> dict[str, dict[str, int]]:
        """The number of results of each status, by experiment."""
        return self.data.numbers()

    @cached_property
    def costs(self) -> dict[str, str]:
        """The total cost of each experiment."""
        used = self.results.values()
        return {name: text.cost(r for r in used if r.experiment == name) for name in self.suite.experiments}

    @cached_property
    def indices(self) -> dict[str, int]:
        """The index of each id in the page's list of results."""
        return {key: i for i, key in enumerate(self.results)}

    @property
    def facts(self) -> dict[str, str]:
        """The origin of the report: code, results, machine, versions, commands."""
        used = list(self.results.values())
        made_on = [r.machine for r in used] or [machine()]
        machines = {", ".join(f"{k} {v}" for k, v in each.items()) for each in made_on}
        other = sum(r.code != self.code for r in used)
        loaded = sum(not r.measured.reliable for r in used)
        points = len({(r.experiment, as_text(r.point)) for r in used})
        facts = {
            "made": f"{self.created[:16].replace('T', ' ')} UTC by {self.data.engine.name}",
            "code": f"{self.code}, commit {self.commit or 'unknown'}",
            "results": f"{points} of {sum(len(e.region) for e in self.suite.experiments.values())} points"
            + (f"; {len(used)} measurements" if len(used) != points else "")
            + (f"; {other} measured with other code{', marked ~' * (other < len(used))}" if other else "")
            + (f"; {loaded} on a loaded machine, their timings are marked ~" if loaded else ""),
            "limits": ", ".join(sorted({r.measured.limited_by for r in used})) or "none yet",
            "machine": "; ".join(sorted(machines)),
            "versions": ", ".join(f"{k} {v}" for k, v in versions().items()),
            "commands": "; ".join(sorted({r.command for r in used})[:5]) or f"workbench lab run {self.suite.name}",
            **({"left out": "; ".join(map(str, self.data.broken))} if self.data.broken else {}),
        }
        return {name: self.display_text(value) for name, value in facts.items()}

    def link(self, ids: Sequence[str]) -> str:
        """Return the address on the page that shows the results with these ids."""
        return "#r=" + ",".join(str(self.indices[key]) for key in ids if key in self.indices)

    def embed_results(self) -> str:
        """Return the results as JSON that can be embedded in a page."""
        rows = [text.brief(self.suite, result) for result in self.results.values()]
        rows = [row | {name: self.display_text(row[name]) for name in ("reason", "log")} for row in rows]
        return json.dumps(rows, separators=(",", ":")).replace("<", "\\u003c")


def gather(lab: Lab, data: Data) -> Report:
    """Return the report on the newest results of the points that the suite has now."""
    results, _ = lab.store.results()
    ids = {row["id"] for row in data.engine.query("SELECT id FROM latest")}
    used = {key: result for key, result in newest(results).items() if key in ids}
    order = {name: i for i, name in enumerate(lab.suite.experiments)}
    ordered = sorted(used.items(), key=lambda item: (order[item[1].experiment], item[1].started))
    return Report(lab.suite, data, dict(ordered), data.code or lab.code(), commit(lab.top), lab.options)
