"""What the program says of itself."""

from __future__ import annotations


def version() -> str:
    """The version of the installed package."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("workbench")
    except PackageNotFoundError:  # run from a source tree
        return "0 (not installed)"
