"""Format the values for which quantifiers are false as a self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from workbench.core.readable import plural
from workbench.show.style import answer_page

if TYPE_CHECKING:
    from workbench.executors.reference.refutation import Culprit, Refutation


def refutation_page(program: str, refutations: Sequence[Refutation], limit: int) -> str:
    """Return the page: a section for each position, with all values that make a quantifier or an inner one false.

    Parameters
    ----------
    program: the name of the program.
    limit: the maximum number of positions that are reported.
    """
    many = (
        f"the first {limit:,} positions" if len(refutations) == limit else plural(f"{len(refutations):,}", "position")
    )
    summary = f"Quantifiers are false at {many}." if refutations else "No quantifier is false."
    head = f'<p class="{"fails" if refutations else "holds"}">{summary} Steps are counted from 0.</p>'
    return answer_page("run --why", program, [head, *(line for each in refutations for line in _section(each))])


def _section(refutation: Refutation) -> Iterator[str]:
    yield f'<section class="told fails"><h2>{escape(refutation.heading)}</h2>'
    yield from _list_culprits(refutation.culprits) if refutation.culprits else ["<ul><li>there are no values</li></ul>"]
    yield "</section>"


def _list_culprits(culprits: Sequence[Culprit]) -> Iterator[str]:
    yield "<ul>"
    for each in culprits:
        yield f"<li>{escape(f'{each.name} = {each.value}')}"
        if each.because:
            yield from _list_culprits(each.because)
        yield "</li>"
    yield "</ul>"
