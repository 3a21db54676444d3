"""The notebook of the docs runs, and shows what is stored in it."""

from __future__ import annotations

import json

import pytest

from scripts.pages import TOUR, fill_tour, is_current


def test_the_tour_shows_what_is_stored() -> None:
    """Pages have times in them, which differ; all else is the same."""
    for package in ("numpy", "pyarrow", "numba"):
        pytest.importorskip(package)
    text = fill_tour()
    assert is_current(TOUR, text)
    assert not is_current(TOUR, text.replace("overflow", "underflow"))
    assert sum(len(cell.get("outputs", [])) for cell in json.loads(text)["cells"]) >= 7
