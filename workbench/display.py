"""The display of objects in notebooks.

The rule of this module: it imports no other. The code that draws is in a layer above the objects, and is imported
only when a notebook displays one.
"""

from __future__ import annotations

from importlib import import_module


class Displayed:
    """An object that `workbench.show.notebook` draws."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        html: str = import_module("workbench.show.notebook").html(self)
        return html


def show_as_text(item: Displayed) -> str:
    """Return the text that `print` shows for a verdict or a run, as `workbench.show.notebook` has it."""
    text: str = import_module("workbench.show.notebook").text(item)
    return text
