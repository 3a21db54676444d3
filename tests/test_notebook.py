"""The notebook of the docs runs, and shows what is stored in it."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest


def text(outputs: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    """What a cell shows as text, and in which other forms; pages have times in them, which differ."""
    return [
        ("".join(each["data"]["text/plain"]), sorted(each["data"])) if "data" in each else ("".join(each["text"]), [])
        for each in outputs
    ]


def test_the_tour_shows_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("numpy", "pyarrow", "numba"):
        pytest.importorskip(package)
    monkeypatch.syspath_prepend("scripts")
    notebook = importlib.import_module("notebook")
    cells = json.loads(notebook.TOUR.read_text(encoding="utf-8"))["cells"]
    stored = [text(cell.get("outputs", [])) for cell in cells]
    assert [text(outputs) for outputs in notebook.executed(cells)] == stored
    assert sum(map(len, stored)) >= 7
