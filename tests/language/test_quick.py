"""What the short loop reads is what lark reads: the same trees at the same places, and the same mistakes."""

from pathlib import Path
from typing import Any

import lark
import pytest

from workbench.language.grammar import grammar
from workbench.language.quick import QuickParser, parsed
from workbench.tesla.mistakes import SOURCE

MODELS = Path(__file__).parents[2] / "models"
FILES = [*sorted(MODELS.rglob("*.pipe")), *sorted(MODELS.rglob("*.tesla"))]


def parser(path: Path) -> lark.Lark:
    return grammar(SOURCE, ("start",)) if path.suffix == ".tesla" else grammar()


def told(found: Any) -> Any:
    """All that a tree says, each word with its place."""
    if isinstance(found, lark.Tree):
        meta = {key: value for key, value in vars(found.meta).items() if not key.startswith("container")}
        return found.data, meta, [told(child) for child in found.children]
    if isinstance(found, lark.Token):
        places = found.line, found.column, found.start_pos, found.end_line, found.end_column, found.end_pos
        return found.type, str(found), places
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_trees_are_those_of_lark(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = QuickParser(parser(path))(text, "start")
    assert found is not None
    assert told(found) == told(parser(path).parse(text, start="start"))


def test_nothing_is_read_as_lark_reads_it() -> None:
    rules = grammar(SOURCE, ("start",))
    for text in ("", " \n", "# only this"):
        assert told(parsed(rules, text)) == told(rules.parse(text))


@pytest.mark.parametrize(
    "text", ["declare", "declare A(", "declare A() ?", "rule r: from A emit", "declare A() )", "from from"]
)
def test_mistakes_are_told_by_lark(text: str) -> None:
    rules = grammar(SOURCE, ("start",))
    assert QuickParser(rules)(text, "start") is None
    with pytest.raises(lark.UnexpectedInput) as mine:
        parsed(rules, text)
    with pytest.raises(lark.UnexpectedInput) as its:
        rules.parse(text)
    assert str(mine.value) == str(its.value)
