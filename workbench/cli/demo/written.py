"""The files of a demo's report: `index.html`, `README.md`, the drawings, and the explorers of runs."""

from __future__ import annotations

from pathlib import Path

from workbench.cli.demo.markdown import markdown
from workbench.cli.demo.page import html
from workbench.cli.demo.results import DemoReport
from workbench.errors import InputError
from workbench.events.files import write_atomically
from workbench.show.explorer import explorer


def write_report(report: DemoReport, folder: Path) -> Path:
    """Write a report into a folder, and return the path of its page. All contents are ready before the first write."""
    files = {model.picture: model.drawing for model in report.models if model.picture}
    files |= {"README.md": markdown(report), "index.html": html(report)}
    files |= {model.explorer: explorer(model.verdicts_with_runs) for model in report.models if model.verdicts_with_runs}
    try:
        for parent in {(folder / name).parent for name in files}:
            parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write there: {error.strerror}", where=str(folder)) from error
    for name, text in files.items():
        write_atomically(folder / name, text)
    return folder / "index.html"
