"""What our loop reads is what lark reads: the same trees at the same places, and mistakes at the same offsets."""

import random
from functools import cache
from pathlib import Path
from typing import Any

import lark
import pytest

from workbench.errors import LanguageError
from workbench.language import parser as pipelines
from workbench.language.depth import DEPTH, raise_recursion_limit
from workbench.language.front import Dialect, read
from workbench.language.grammar import OPTIONS
from workbench.language.lalr import Reduction, TooDeep, Unread
from workbench.tesla import parser as rules

MODELS = Path(__file__).parents[2] / "models"
FILES = [*sorted(MODELS.rglob("*.pipe")), *sorted(MODELS.rglob("*.tesla"))]
DIALECTS = {".pipe": pipelines.LANGUAGE, ".tesla": rules.LANGUAGE}


@cache
def lark_of(dialect: Dialect) -> lark.Lark:
    """Lark's own parser, which notes places."""
    text = dialect.source.read_text(encoding="utf-8")
    return lark.Lark(text, start=list(dialect.starts), propagate_positions=True, **OPTIONS)


def told(found: Any) -> Any:
    """All that a tree says, each word with its place."""
    if isinstance(found, Reduction):
        return found.rule, tuple(found.extent), list(map(told, found.children))
    if isinstance(found, lark.Tree):
        extent = (0, 0) if found.meta.empty else (found.meta.start_pos, found.meta.end_pos)
        return found.data, extent, list(map(told, found.children))
    return (found.type, str(found), found.start_pos, found.end_pos) if isinstance(found, lark.Token) else found


def both(dialect: Dialect, text: str, start: str) -> tuple[Any, Any]:
    """What our loop and lark read, or where they meet a mistake."""
    ours: Any
    its: Any
    try:
        ours = told(dialect.reader.read(text, start, Reduction))
    except Unread as mistake:
        ours = mistake.offset
    try:
        its = told(lark_of(dialect).parse(text, start=start))
    except lark.UnexpectedInput as error:
        ended = isinstance(error, lark.UnexpectedToken) and error.token.type == "$END"
        its = len(text) if ended else error.pos_in_stream
    return ours, its


@pytest.mark.sampled(8)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_files_and_damaged_ones_are_read_as_lark_reads_them(path: Path) -> None:
    text, draw = path.read_text(encoding="utf-8"), random.Random(path.name)
    ours, its = both(DIALECTS[path.suffix], text, "start")
    assert ours == its
    assert not isinstance(ours, int)
    for _ in range(4):
        at, length = draw.randrange(len(text)), draw.choice([0, 1, 1, 5])
        damaged = text[:at] + draw.choice(["", "(", "}", " = ", "from", '"', "?", "#"]) + text[at + length :]
        ours, its = both(DIALECTS[path.suffix], damaged, "start")
        assert ours == its, damaged


@pytest.mark.parametrize("text", ["", " \n", "# only this", "declare", "declare A(", "declare A() ?", "from from"])
def test_rules_that_are_hardly_there(text: str) -> None:
    ours, its = both(rules.LANGUAGE, text, "start")
    assert ours == its


@pytest.mark.parametrize("start", pipelines.LANGUAGE.starts)
@pytest.mark.parametrize("text", ["", "x", "a + 1 < b", "always(x U y)", "lose y by 3", "((a, 1), b)", "E[p U q]"])
def test_parts_of_files(text: str, start: str) -> None:
    ours, its = both(pipelines.LANGUAGE, text, start)
    assert ours == its


def test_levels_are_those_of_the_tree() -> None:
    tables = pipelines.LANGUAGE.reader
    for levels, text in ((1, "a"), (2, "not a"), (1, "(((a)))"), (3, "a + b + c"), (4, "- - (- a)")):
        tables.read(text, "formula", Reduction, levels - 1)
        with pytest.raises(TooDeep):
            tables.read(text, "formula", Reduction, levels - 2)


def test_a_mistake_is_told_before_the_depth() -> None:
    raise_recursion_limit()
    deep = "not " * (DEPTH + 2) + "a"
    with pytest.raises(LanguageError, match="nested more than"):
        read(deep, "", pipelines.LANGUAGE, "formula")
    with pytest.raises(LanguageError, match="no meaning here"):
        read(deep + ")", "", pipelines.LANGUAGE, "formula")


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
def test_each_rule_of_a_grammar_stands_for_something(dialect: Dialect) -> None:
    names = {str(rule.alias or rule.options.template_source or rule.origin.name) for rule in lark_of(dialect).rules}
    built = {name for name in names if not name.startswith("_")}
    unknown = {name for name in built if name not in dialect.builder.rows and not hasattr(dialect.builder, name)}
    passed_on = {str(rule.origin.name) for rule in lark_of(dialect).rules if rule.options.expand1}
    assert len(built) > 40
    assert not unknown - {name.partition("{")[0] for name in passed_on}
