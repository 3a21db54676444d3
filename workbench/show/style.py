"""The looks of all pages, light and dark: what they share (`page.css`), and what each has besides (`NAME.css`)."""

from __future__ import annotations

from importlib.resources import files


def style(page: str) -> str:
    """The style sheet of a page: `explorer`, `demo` (a report), `lab` (its reports and application), `explanation`."""
    return asset("page.css") + asset(f"{page}.css")


def asset(name: str) -> str:
    """The text of a file beside this module."""
    return files("workbench.show").joinpath(name).read_text(encoding="utf-8")
