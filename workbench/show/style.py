"""The looks of all pages, light and dark: what they share (`page.css`), and what each has besides (`NAME.css`).

The rule of this module: a page needs nothing but itself.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib.resources import files


def begin_page(title: str, page: str) -> str:
    """The beginning of a page of HTML, up to its body, in the style of a page."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>{style(page)}</style></head><body>"""


def answer_page(command: str, heading: str, body: Iterable[str]) -> str:
    """A page on which a command answers a question, that needs nothing but itself."""
    lines = [
        begin_page(f"{heading} - workbench", "explanation") + "<main>",
        f"<header><p class=brand>workbench {command}</p><h1>{escape(heading)}</h1></header>",
        *body,
        "</main></body></html>",
        "",
    ]
    return "\n".join(lines)


def style(page: str) -> str:
    """The style sheet of a page: `explorer`, `demo` (a report), `lab` (its reports and application), `explanation`."""
    return asset("page.css") + asset(f"{page}.css")


def asset(name: str) -> str:
    """The text of a file beside this module."""
    return files("workbench.show").joinpath(name).read_text(encoding="utf-8")
