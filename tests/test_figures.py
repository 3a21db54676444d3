r"""Figures in the README and the docs are those of reports.

Below a paragraph or table that cites a report stands, for each of its figures, a comment that names where it is from:

    <!-- figure: 33 CPU seconds | trex2016 | row T-Rex took -->
    <!-- figure: 0.045 to 1.54 billion | bench_run | column compiled in million -->
    <!-- figure: within 0.8 s | rules2026 | column cpu_seconds of ^\| R[1-4] -->

The first part stands in the paragraph, word for word. `row TEXT`: each of its numbers is in one line of the report
that contains the text. `column NAME`: the two numbers are the least and the greatest of the column, or, after "within",
none is greater. `of REGEX` takes only the rows in which it is found; `in million` is the unit of the report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(page for page in DOCS.rglob("*.md") if DOCS / "reports" not in page.parents)]
UNITS = {"": 1, "thousand": 10**3, "million": 10**6, "billion": 10**9}
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e\d+)?")
MARK = re.compile(r"<!-- figure: (.*?) \| (\w+) \| (row|column) (.*?)(?: of (.*?))?(?: in (\w+))? -->")
MEASURED = re.compile(r"\d[\d.,]* (?:thousand|million|billion|times|CPU seconds?|ns|s)\b")
CITES = re.compile(r"reports/\w+(?:/README\.md\)|`)")


class Figure(NamedTuple):
    """A mark, and the block of text that it stands below."""

    block: str
    text: str
    report: str
    kind: str
    name: str
    rows: str | None
    unit: str | None


def split(page: Path) -> Iterator[tuple[str, list[Figure]]]:
    """The blocks of a page, and the figures marked below each."""
    for block in re.split(r"\n\s*\n", page.read_text()):
        plain = re.sub(r"\s+", " ", re.sub(r"<!--.*?-->", "", block))
        yield plain, [Figure(plain, *found) for found in MARK.findall(block)]


def decimals(text: str) -> list[Decimal]:
    return [Decimal(each.rstrip(",").replace(",", "")) for each in NUMBER.findall(text)]


def is_rounded(shown: Decimal, unit: int, exact: Decimal) -> bool:
    """Whether a number in so many `unit`s is the exact one, rounded to the digits that are shown."""
    step = Decimal(1).scaleb(int(shown.as_tuple().exponent))
    return abs(shown * unit - exact) <= step * unit / 2


def column(report: str, name: str, rows: str | None) -> list[Decimal]:
    """The numbers of a column, in all tables that have one of this name."""
    found: list[Decimal] = []
    place = None
    for line in report.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            place = None
        elif place is None:
            place = cells.index(name) if name in cells else -1
        elif place >= 0 and re.search(rows or "", line):
            found += decimals(cells[place])[:1]
    return found


def explain(figure: Figure) -> str:
    """Why a figure is not what its report says; empty if it is."""
    if figure.text not in figure.block:
        return "does not stand in the text above"
    report = (ROOT / "reports" / figure.report / "README.md").read_text()
    shown, scale = decimals(figure.text), UNITS[figure.unit or ""]
    unit = next((UNITS[word] for word in figure.text.split() if word in UNITS), 1)
    if figure.kind == "row":
        lines = [line for line in report.splitlines() if figure.name in line]
        fits = any(
            all(any(is_rounded(n, unit, each * scale) for each in decimals(line)) for n in shown) for line in lines
        )
        return "" if shown and fits else f"is none of {lines}"
    found = [each * scale for each in column(report, figure.name, figure.rows)]
    if not found:
        return "has no rows"
    if figure.text.startswith("within"):
        return "" if max(found) <= shown[0] * unit else f"is less than {max(found)}"
    fits = len(shown) == 2 and is_rounded(shown[0], unit, min(found)) and is_rounded(shown[1], unit, max(found))
    return "" if fits else f"is not {min(found)} to {max(found)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_figures_are_those_of_their_reports(page: Path) -> None:
    blocks = list(split(page))
    wrong = [f"{each.text} ({each.report}): {why}" for _, some in blocks for each in some if (why := explain(each))]
    assert not wrong, "\n".join(wrong)
    assert page.read_text().count("<!-- figure") == sum(len(some) for _, some in blocks), "a mark is misspelled"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_who_cites_a_report_marks_what_was_measured(page: Path) -> None:
    bare = [
        f"{found[0]}: {block}"
        for block, some in split(page)
        if CITES.search(block)
        for found in MEASURED.finditer(block)
        if not any(found[0] in each.text for each in some)
    ]
    assert not bare, "\n".join(bare)


def test_a_wrong_figure_is_found() -> None:
    good = Figure("33 CPU seconds", "33 CPU seconds", "trex2016", "row", "T-Rex took", None, None)
    assert not explain(good)
    assert explain(good._replace(text="34 CPU seconds", block="34 CPU seconds"))
    assert explain(good._replace(block="of 33 seconds"))
    assert explain(good._replace(name="no such row"))
    states = Figure(
        "0.1 to 62 million", "0.1 to 62 million", "bench_explicit", "column", "million states/s", None, "million"
    )
    assert not explain(states)
    assert explain(states._replace(text="7 to 62 million", block="7 to 62 million"))


def test_the_words_of_large_numbers() -> None:
    assert not [page.name for page in PAGES if "thousand million" in page.read_text()]
