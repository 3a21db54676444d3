"""The style of all pages, light and dark: the common part (`page.css`), and the part of each page (`NAME.css`).

The rule of this module: a page is self-contained.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib.resources import files


def begin_page(title: str, page: str) -> str:
    """Return the beginning of an HTML page, up to its body, with the style of `page`."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{style(page)}</style></head><body>"""


def answer_page(command: str, heading: str, body: Iterable[str]) -> str:
    """Return a self-contained page with the answer of a command to a question."""
    lines = [
        begin_page(f"{heading} - workbench", "explanation") + "<main>",
        f"<header><p class=brand>workbench {command}</p><h1>{escape(heading)}</h1></header>",
        *body,
        "</main></body></html>",
        "",
    ]
    return "\n".join(lines)


def style(page: str) -> str:
    """Return the style sheet of a page: `explorer`, `demo` (its report), `lab` (all its pages), `explanation`."""
    return asset("page.css") + asset(f"{page}.css")


def asset(name: str) -> str:
    """Return the text of a file beside this module."""
    return files("workbench.show").joinpath(name).read_text(encoding="utf-8")
