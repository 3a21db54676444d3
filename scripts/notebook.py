"""Run the notebook of the docs and store what its cells show: `python scripts/notebook.py` (a test compares)."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TOUR = ROOT / "docs" / "tour.ipynb"


def executed(cells: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """What each cell shows, as a notebook stores it: code in order, in one scope, the value of a last expression."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells:
        if cell["cell_type"] != "code":
            yield []
            continue
        body = ast.parse("".join(cell["source"])).body
        last = ast.Expression(body.pop().value) if isinstance(body[-1], ast.Expr) else None
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.chdir(TOUR.parent):
            exec(compile(ast.Module(body, []), "<cell>", "exec"), names)
            value = eval(compile(last, "<cell>", "eval"), names) if last else None
        yield [*stream(said.getvalue()), *result(value)]


def stream(text: str) -> Iterator[dict[str, Any]]:
    """What was printed."""
    if text:
        yield {"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)}


def result(value: Any) -> Iterator[dict[str, Any]]:
    """What a value looks like."""
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = value._repr_html_().splitlines(keepends=True)
        yield {"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"}


def main() -> None:
    """Execute and write."""
    sys.path.insert(0, str(ROOT))
    notebook = json.loads(TOUR.read_text(encoding="utf-8"))
    for cell, outputs in zip(notebook["cells"], executed(notebook["cells"]), strict=True):
        if cell["cell_type"] == "code":
            cell["outputs"] = outputs
    TOUR.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
