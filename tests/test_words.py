"""The words of messages, help, pages and public names: those that the table in CONTRIBUTING.md avoids are not there."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.sources import MODULES, ROOT
from workbench.cli.commands import helps

TOP = Path(__file__).parent.parent
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
BEGIN = "| not | but |"
TABLE, NAMES = (TOP / "CONTRIBUTING.md").read_text().split(BEGIN)[1].split("| not as a name | but |")


def rows(table: str) -> dict[str, str]:
    return {word: instead for words, instead in ROW.findall(table) for word in words.split(", ")}


AVOIDED, NO_NAMES = rows(TABLE), rows(NAMES)
EXCEPTIONS = {
    ("cli/options.py", "roof"): "a room of an example, as a value",
    ("show/refutation_page.py", "told"): "a class of the page's style sheet",
    ("executors/compiled/gpu/batch.py", "keep"): "the name of a parameter",
    ("lab/data.py", "wanted"): "the name of a table in SQL",
    ("docs/tutorial/cold-room.md", "room"): "the example watches the temperature of rooms",
    ("docs/reference/rules-running.md", "room"): "the example has sensors in rooms",
}
"""Places with such a word, and why it may stand there."""


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """The texts of several words in a module that are no docstrings."""
    tree = ast.parse(path.read_text())
    statements = {each.value for each in ast.walk(tree) if isinstance(each, ast.Expr)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or node in statements:
            continue
        if " " in node.value.strip():
            yield node.lineno, node.value


ANY_AVOIDED = re.compile(rf"\b(?:{'|'.join(AVOIDED)})\b")


def avoided(text: str) -> Iterator[str]:
    if ANY_AVOIDED.search(text):  # few texts have one
        yield from (word for word in AVOIDED if re.search(rf"\b{word}\b", text))


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """The lines of a page, without its examples, code, the addresses of links, and the table of words at its end."""
    text = page.read_text().partition(BEGIN)[0]
    text = re.sub(r"^( *)(```|~~~).*?^\1\2", lambda found: "\n" * found[0].count("\n"), text, flags=re.M | re.S)
    for number, line in enumerate(text.splitlines(), 1):
        yield number, re.sub(r"`[^`]*`|\]\([^)]*\)|<!--.*?-->", "", line)


def test_every_exception_is_needed() -> None:
    """A word that has gone needs no exception."""
    for (name, word), reason in EXCEPTIONS.items():
        path = (TOP if name.startswith("docs/") else ROOT) / name
        assert re.search(rf"\b{word}\b", path.read_text()), (name, word, reason)


def test_examples_are_no_prose(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("It told us.\n```console\n$ told\n```\nA `told`, [link](told.md)\n")
    assert [number for number, line in prose(tmp_path / "page.md") if list(avoided(line))] == [1]


def test_the_table_is_read() -> None:
    assert AVOIDED["told"] == "report, emit, print, list, show"
    assert list(avoided("what it told us")) == ["told"]
    assert len(AVOIDED) > 12


def test_messages_use_the_words_of_the_table() -> None:
    wrong = [
        f"{name}:{line}: '{word}' in '{text.strip()[:60]}'; write {AVOIDED[word]}"
        for path in MODULES
        if ANY_AVOIDED.search(path.read_text())
        for name in [path.relative_to(ROOT).as_posix()]
        for line, text in messages(path)
        for word in avoided(text)
        if (name, word) not in EXCEPTIONS
    ]
    assert wrong == []


def test_pages_use_the_words_of_the_table() -> None:
    pages = [
        page
        for page in (*TOP.glob("*.md"), *(TOP / "docs").rglob("*.md"))
        if TOP / "docs" / "reports" not in page.parents
    ]
    wrong = [
        f"{name}:{number}: '{word}' in '{line.strip()[:60]}'; write {AVOIDED[word]}"
        for page in pages
        for name in [page.relative_to(TOP).as_posix()]
        for number, line in prose(page)
        for word in avoided(line)
        if (name, word) not in EXCEPTIONS
    ]
    assert wrong == []


def test_the_first_lines_of_commands_use_the_words_of_the_table() -> None:
    """They are docstrings, and help."""
    assert {name: found for name, line in helps().items() if (found := list(avoided(line)))} == {}


@pytest.mark.parametrize("space", ["", ".functions", ".processors", ".properties", ".rules", ".faults", ".executors"])
def test_public_names_use_the_words_of_the_table(space: str) -> None:
    names = importlib.import_module(f"workbench{space}").__all__
    assert [name for name in names if list(avoided(name.replace("_", " ").lower()))] == []


ITEM = re.compile(r"(\w+(?:, \w+)*): ")
SECTION = re.compile(r"(?:Parameters|Attributes)\n-+\n(.*?)(?=\n\n|\Z)", re.DOTALL)


def listed(doc: str) -> Iterator[str]:
    """The names under `Parameters` and `Attributes` in a docstring."""
    for section in SECTION.findall(doc):
        for line in section.splitlines():
            if item := ITEM.match(line):
                yield from item[1].split(", ")


def names_in(node: ast.AST) -> set[str]:
    """The names that a function or a class defines: parameters, fields, attributes and methods."""
    names = set[str]()
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute):
            names.add(each.attr)
        elif isinstance(each, ast.Name | ast.arg | ast.FunctionDef):
            names.add(name_of(each))
    return names


def name_of(node: ast.Name | ast.arg | ast.FunctionDef) -> str:
    return node.id if isinstance(node, ast.Name) else node.arg if isinstance(node, ast.arg) else node.name


class Documented(NamedTuple):
    """A function or class whose docstring lists names."""

    where: str
    listed: tuple[str, ...]
    defined: set[str]
    bases: tuple[str, ...]


@cache
def read_names() -> tuple[list[str], dict[str, Documented]]:
    """Return the variables with avoided names, and the functions and classes whose docstrings list names."""
    wrong, documented = list[str](), dict[str, Documented]()
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)):
                if (name := name_of(node)) in NO_NAMES:
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: '{name}'; write {NO_NAMES[name]}")
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                names = tuple(listed(ast.get_docstring(node) or ""))
                if names or isinstance(node, ast.ClassDef):
                    bases = [ast.unparse(each).split("[")[0] for each in getattr(node, "bases", ())]
                    where = f"{path.relative_to(ROOT)}:{node.lineno}: {node.name}"
                    key = node.name if isinstance(node, ast.ClassDef) else where
                    documented[key] = Documented(where, names, names_in(node), tuple(bases))
    return wrong, documented


def test_variables_are_named_after_what_they_hold() -> None:
    assert NO_NAMES.keys() > {"found", "given", "place"}
    wrong, _ = read_names()
    assert wrong == []


def test_docstrings_list_what_there_is() -> None:
    """A parameter or field that was renamed is renamed in the docstring, too; a class may list those of its bases."""
    _, documented = read_names()

    def defined(key: str) -> set[str]:
        return documented[key].defined.union(*(defined(base) for base in documented[key].bases if base in documented))

    with_list = {key: each for key, each in documented.items() if each.listed}
    assert len(with_list) > 400
    wrong = {each.where: names for key, each in with_list.items() if (names := set(each.listed) - defined(key))}
    assert wrong == {}
