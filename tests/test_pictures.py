"""The pictures of docs/ are what the tool draws, and stand in a page; the page of the grammar explains every box."""

from __future__ import annotations

import re
import shutil
from io import StringIO
from pathlib import Path

import pytest
import railroad

from scripts.grammar_diagrams import Grammar
from scripts.pages import files, is_current

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [page for page in DOCS.rglob("*.md") if DOCS / "reports" not in page.parents]


DRAWN = {path.stem: make for path, make in files().items() if path.suffix == ".svg"}


def path(name: str) -> Path:
    return DOCS / "pictures" / f"{name}.svg"


def test_the_pictures_are_those_of_the_tool() -> None:
    possible = {n: draw for n, draw in DRAWN.items() if n.startswith("grammar-") or shutil.which("dot")}
    old = [name for name, draw in possible.items() if not is_current(path(name), draw())]
    assert not old, "run `python -m scripts.pages`, look at what changed, and commit it"


def test_every_picture_stands_in_a_page() -> None:
    text = "".join(page.read_text() for page in PAGES)
    used = set(re.findall(r"!\[[^\]]+\]\((?:\.\./)*pictures/([\w.-]+)\)", text))
    assert used == {path.name for path in (DOCS / "pictures").iterdir()}


def test_a_drawing_is_out_of_date_when_a_text_of_it_changes() -> None:
    """Where graphviz places the texts does not matter: that differs between versions."""
    old = path("rise").read_text()
    assert is_current(path("rise"), old.replace('x="', 'x="1'))
    assert not is_current(path("rise"), old.replace(">trim<", ">skip<"))


@pytest.mark.parametrize("language", ["pipe", "rules"])
def test_every_box_of_a_grammar_is_explained(language: str) -> None:
    """A square box is the title of a diagram of that language, or a word of the table."""
    svg = "".join(draw() for name, draw in DRAWN.items() if name.startswith(f"grammar-{language}-"))
    titles = set(re.findall(r'<text class="title"[^>]*>(\w+)<', svg))
    boxes = set(re.findall(r'<g class="non-terminal ">.*?<text[^>]*>([\w ]+)<', svg, re.DOTALL))
    words = re.findall(r"^\| ([a-z, ]+) \| ", (DOCS / "reference" / "grammar.md").read_text(), re.MULTILINE)
    assert boxes - titles <= {word for row in words for word in row.split(", ")}
    assert titles - boxes == {"start"}


def test_a_rule_that_begins_with_itself_is_a_loop() -> None:
    text = 'start: A ["b"] sum\nsum: A | sum ("+" | "-") A\nA: "a"\n'
    grammar, boxes = Grammar(text), []
    for key in ("start", "sum"):
        svg = StringIO()
        railroad.Diagram(grammar.draw(grammar.rules[key])).writeSvg(svg.write)
        boxes.append(re.findall(r">([^<]+)</text>", svg.getvalue()))
    assert boxes == [["a", "b", "sum"], ["a", "+", "-"]]
