"""What notebooks show of an object.

The rule of this module: it knows nobody. What draws lies above what is drawn, and is asked for only when a notebook
shows something.
"""

from __future__ import annotations

from importlib import import_module


class Displayed:
    """An object that `workbench.show.notebook` draws."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        found: str = import_module("workbench.show.notebook").html(self)
        return found
