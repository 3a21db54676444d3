"""The pictures of docs/ are what the tool draws, and stand in a page; the page of the grammar explains every box."""

from __future__ import annotations

import importlib
import re
import shutil
from io import StringIO
from pathlib import Path
from types import ModuleType

import pytest
import railroad

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [page for page in DOCS.rglob("*.md") if DOCS / "reports" not in page.parents]


@pytest.fixture
def pictures(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("pictures")


def test_the_pictures_are_those_of_the_tool(pictures: ModuleType) -> None:
    possible = {n: draw for n, draw in pictures.DRAWN.items() if n.startswith("grammar-") or shutil.which("dot")}
    old = [name for name, draw in possible.items() if not pictures.is_current(pictures.path(name), draw())]
    assert not old, "run `python scripts/pictures.py`, look at what changed, and commit it"


def test_every_picture_stands_in_a_page() -> None:
    text = "".join(page.read_text() for page in PAGES)
    used = set(re.findall(r"!\[[^\]]+\]\((?:\.\./)*pictures/([\w.-]+)\)", text))
    assert used == {path.name for path in (DOCS / "pictures").iterdir()}


def test_a_drawing_is_out_of_date_when_a_text_of_it_changes(pictures: ModuleType) -> None:
    """Where graphviz places the texts does not matter: that differs between versions."""
    old = pictures.path("rise").read_text()
    assert pictures.is_current(pictures.path("rise"), old.replace('x="', 'x="1'))
    assert not pictures.is_current(pictures.path("rise"), old.replace(">trim<", ">skip<"))


@pytest.mark.parametrize("language", ["pipe", "rules"])
def test_every_box_of_a_grammar_is_explained(pictures: ModuleType, language: str) -> None:
    """A square box is the title of a diagram of that language, or a word of the table."""
    svg = "".join(draw() for name, draw in pictures.DRAWN.items() if name.startswith(f"grammar-{language}-"))
    titles = set(re.findall(r'<text class="title"[^>]*>(\w+)<', svg))
    boxes = set(re.findall(r'<g class="non-terminal ">.*?<text[^>]*>([\w ]+)<', svg, re.DOTALL))
    words = re.findall(r"^\| ([a-z, ]+) \| ", (DOCS / "reference" / "grammar.md").read_text(), re.MULTILINE)
    assert boxes - titles <= {word for row in words for word in row.split(", ")}
    assert titles - boxes == {"start"}


def test_a_rule_that_begins_with_itself_is_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    text = 'start: A ["b"] sum\nsum: A | sum ("+" | "-") A\nA: "a"\n'
    module = importlib.import_module("grammar_diagrams")
    grammar, boxes = module.Grammar(text), []
    for key in ("start", "sum"):
        svg = StringIO()
        railroad.Diagram(grammar.draw(key)).writeSvg(svg.write)
        boxes.append(re.findall(r">([^<]+)</text>", svg.getvalue()))
    assert boxes == [["a", "b", "sum"], ["a", "+", "-"]]
