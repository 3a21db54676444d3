"""The functions of `pyarrow.compute`, which takes as long to import as a million rows, where one of them is used."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    import pyarrow.compute

    return getattr(pyarrow.compute, name)
