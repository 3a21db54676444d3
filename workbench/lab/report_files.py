"""The files of a report, in `reports/<suite>/`.

`index.html` is self-contained; `README.md` shows the same tables and plots. The other files are the data as CSV,
the tables as CSV, LaTeX and JSON (with the ids behind each cell), the plots as SVG, and the macros for LaTeX.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from workbench.errors import InputError, LabError
from workbench.events.files import replacing
from workbench.lab import report_text as text
from workbench.lab.data import Data
from workbench.lab.draw import svg
from workbench.lab.plan import Lab
from workbench.lab.report import Report, gather
from workbench.lab.rows import package
from workbench.lab.table import format_value
from workbench.show.style import style

PAGE = "index.html"


def environment() -> Any:
    """Return the jinja2 environment of the templates; raise LabError if jinja2 is not installed."""
    jinja2 = package("reports need jinja2", "jinja2")
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).with_name("templates")), autoescape=True,
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    templates.filters |= {"shown": format_value, "cell": _escape_cell}
    templates.globals["style"] = style("lab")
    return templates


def html(report: Report, drawings: Mapping[str, str]) -> str:
    """Render the page; `drawings` has the plots as SVG."""
    page: str = environment().get_template("report.html").render(report=report, drawings=drawings)
    return page


def markdown(report: Report, *, brief: bool = False) -> str:
    """Render the report as Markdown; a brief one without links to the page and the data."""
    again = text.rerun(report.suite.name, "KEY", report.options)
    template = environment().overlay(autoescape=False).get_template("report.md")
    return f"{template.render(report=report, again=again, brief=brief)}\n"


def _escape_cell(value: str) -> str:
    """Escape a text for a cell of a Markdown table."""
    return value.replace("|", "\\|").replace("\n", " ")


def write_report(lab: Lab, data: Data, folder: Path, *, brief: bool = False) -> Report:
    """Write a report without the paths of this machine; files are written only after all are rendered.

    Parameters
    ----------
    brief: whether to leave out the page and the data behind cells and points, which are most of its bytes.

    Raises
    ------
    LabError: the report cannot be written, or a package of the extra `lab` is not installed.
    """
    remove_paths = partial(text.without_paths, top=lab.top)
    report = replace(gather(lab, data), display_text=remove_paths, options=remove_paths(lab.options))
    drawings = {plot.name: svg(plot, dots, report.link) for plot, dots in report.dots}
    files = {"README.md": markdown(report, brief=brief)} | ({} if brief else _list_data(report, drawings))
    for name, drawing in drawings.items():
        link = "" if brief else rf'<a xlink:href="../{PAGE}\1'
        linked = re.sub(r'<a xlink:href="(#r=[^>]*>)', link, drawing)
        files[f"plots/{name}.svg"] = '<?xml version="1.0" encoding="utf-8"?>\n' + (
            linked.replace("</a>", "") if brief else linked
        )
    for grid in report.grids:
        files[f"tables/{grid.name}.csv"] = text.grid_csv(grid)
        files[f"tables/{grid.name}.tex"] = text.grid_latex(grid)
    if report.macros:
        files["macros.tex"] = text.macros_latex(report.macros)
    try:
        for name, content in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as aside:
                aside.write_text(content, encoding="utf-8")
    except (OSError, InputError) as error:  # the second from `replacing`
        why = error.what if isinstance(error, InputError) else error.strerror
        hint = "choose another folder with --out"
        raise LabError(f"the report cannot be written: {why}", where=str(folder), hint=hint) from error
    return report


def _list_data(report: Report, drawings: Mapping[str, str]) -> dict[str, str]:
    """Return the page, and the files with the data behind each cell and point."""
    files = {PAGE: html(report, drawings)}
    files |= {f"tables/{grid.name}.json": text.grid_json(grid) for grid in report.grids}
    files |= {f"plots/{plot.name}.json": text.plot_json(dots) for plot, dots in report.dots}
    for each in report.suite.experiments.values():
        files[f"data/{each.name}.csv"] = text.experiment_csv(each, report.results.values())
    return files
