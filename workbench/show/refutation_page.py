"""The values for which quantifiers are false, as a self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from workbench.core.readable import plural
from workbench.show.style import answer_page

if TYPE_CHECKING:
    from workbench.executors.reference.refutation import Culprit, Refutation


def refutation_page(program: str, found: Sequence[Refutation], most: int) -> str:
    """Return the page: a section for each position, with all culprits and those of the quantifiers inside.

    Parameters
    ----------
    program: the name of the program.
    most: the maximum number of positions that are reported.
    """
    many = f"the first {most:,} positions" if len(found) == most else plural(f"{len(found):,}", "position")
    said = f"Quantifiers are false at {many}." if found else "No quantifier is false."
    head = f'<p class="{"fails" if found else "holds"}">{said} Steps are counted from 0.</p>'
    return answer_page("run --why", program, [head, *(line for each in found for line in _section(each))])


def _section(told: Refutation) -> Iterator[str]:
    yield f'<section class="told fails"><h2>{escape(told.heading)}</h2>'
    yield from _list_culprits(told.culprits) if told.culprits else ["<ul><li>there are no values</li></ul>"]
    yield "</section>"


def _list_culprits(culprits: Sequence[Culprit]) -> Iterator[str]:
    yield "<ul>"
    for each in culprits:
        yield f"<li>{escape(f'{each.name} = {each.value}')}"
        if each.because:
            yield from _list_culprits(each.because)
        yield "</li>"
    yield "</ul>"
