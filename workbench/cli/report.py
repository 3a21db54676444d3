"""The report of a demo: `index.html`, `README.md`, the drawings and the explorers of runs, each written atomically."""

from __future__ import annotations

from pathlib import Path

from workbench.cli.demo_data import DemoReport
from workbench.cli.report_html import html
from workbench.cli.report_markdown import markdown
from workbench.core.pipeline import Pipeline
from workbench.errors import InputError, WorkbenchError
from workbench.events.files import write_atomically
from workbench.show.draw import svg
from workbench.show.explorer import explorer

PICTURES = "pictures"


def write_report(report: DemoReport, folder: Path) -> Path:
    """Write the report into a folder; the path of its page. Nothing is written before all of it is made."""
    drawings = {model.key: drawing(model.pipeline) for model in report.models}
    pictures = {key: f"{PICTURES}/{key}.svg" for key, svg in drawings.items() if svg}
    files = {pictures[key]: svg for key, svg in drawings.items() if svg}
    files["README.md"] = markdown(report, pictures)
    files["index.html"] = html(report, drawings)
    files |= {model.explorer: explorer([e.verdict for e in model.shown]) for model in report.models if model.shown}
    try:
        for place in {(folder / name).parent for name in files}:
            place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write there: {error.strerror}", where=str(folder)) from error
    for name, text in files.items():
        write_atomically(folder / name, text)
    return folder / "index.html"


def drawing(pipeline: Pipeline) -> str:
    """The pipeline as SVG text; empty where graphviz is missing."""
    try:
        return svg(pipeline)
    except WorkbenchError:
        return ""
