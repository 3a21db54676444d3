"""The functions of `pyarrow.compute`, imported on first use: the import takes as long as a million rows."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    import pyarrow.compute

    return getattr(pyarrow.compute, name)
