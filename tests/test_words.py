"""The words of messages, help and public names: what the glossary's table says not to use is not there."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sources import MODULES, ROOT

GLOSSARY = Path(__file__).parent.parent / "docs" / "reference" / "glossary.md"
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
TABLE = GLOSSARY.read_text().split("| not | but |")[1]
AVOIDED = {word: instead for words, instead in ROW.findall(TABLE) for word in words.split(", ")}
EXCEPTIONS = {
    ("cli/options.py", "roof"): "a room of an example, as a value",
    ("show/refutation_page.py", "told"): "a class of the page's style sheet",
}
"""Places with such a word, and why it may stand there."""


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of several words in a module that are no docstrings."""
    tree = ast.parse(path.read_text())
    statements = [each.value for each in ast.walk(tree) if isinstance(each, ast.Expr)]
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or node in statements:
            continue
        if " " in node.value.strip():
            yield node.lineno, node.value


def avoided(text: str) -> Iterator[str]:
    return (word for word in AVOIDED if re.search(rf"\b{word}\b", text))


def test_the_table_is_read() -> None:
    assert AVOIDED["told"] == "report, emit, print, list, show"
    assert list(avoided("what it told us")) == ["told"]
    assert len(AVOIDED) > 12


def test_messages_use_the_words_of_the_glossary() -> None:
    wrong = [
        f"{name}:{line}: '{word}' in '{text.strip()[:60]}'; write {AVOIDED[word]}"
        for path in MODULES
        for name in [path.relative_to(ROOT).as_posix()]
        for line, text in messages(path)
        for word in avoided(text)
        if (name, word) not in EXCEPTIONS
    ]
    assert wrong == []


@pytest.mark.parametrize("space", ["", ".functions", ".processors", ".properties", ".rules", ".faults", ".executors"])
def test_public_names_use_the_words_of_the_glossary(space: str) -> None:
    names = importlib.import_module(f"workbench{space}").__all__
    assert [name for name in names if list(avoided(name.replace("_", " ").lower()))] == []
