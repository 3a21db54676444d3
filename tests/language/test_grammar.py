"""The tables of the grammar are kept, and believed only where they are those of this grammar."""

import sys
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import lark
import pytest

from workbench.language import grammar as module
from workbench.language.parser import LANGUAGE

MODELS = sorted((Path(__file__).parents[2] / "models").rglob("*.pipe"))

GRAMMAR = LANGUAGE.source.read_text(encoding="utf-8")


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small grammar of which nothing is kept yet, in a place where things may be."""
    path = tmp_path / "pipe.lark"
    path.write_text("".join(f'{start}: "a"+\n' for start in LANGUAGE.starts), encoding="utf-8")
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)
    return path


def made(source: Path) -> tuple[lark.Lark, bool]:
    """The parser, and whether lark had to make it."""
    with mock.patch.object(lark.Lark, "__init__", autospec=True, side_effect=lark.Lark.__init__) as init:
        return module.grammar.__wrapped__(source, LANGUAGE.starts), init.called


def kept(source: Path) -> Path:
    (found,) = (source.parent / "__pycache__").glob("pipe.*.tables")
    return found


def test_tables_that_are_kept_read_as_those_that_are_made(source: Path) -> None:
    source.write_text(GRAMMAR, encoding="utf-8")
    (fresh, first), (loaded, second) = made(source), made(source)
    assert (first, second) == (True, False)
    assert MODELS
    for model in MODELS[::4]:
        text = model.read_text(encoding="utf-8")
        assert fresh.parse(text, start="start") == loaded.parse(text, start="start")
    for start in LANGUAGE.starts:
        wrong = []
        for parser in (fresh, loaded):
            with pytest.raises(lark.UnexpectedToken) as caught:
                parser.parse("{ { {", start=start)
            wrong.append((caught.value.accepts, caught.value.line, caught.value.column))
        assert wrong[0] == wrong[1]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :],
        lambda data: bytes([data[0] ^ 1]) + data[1:],
    ],
    ids=["empty", "cut", "a bit of a table", "a bit of its origin"],
)
def test_damaged_tables_are_made_anew(source: Path, damage: Callable[[bytes], bytes]) -> None:
    made(source)
    whole = kept(source).read_bytes()
    kept(source).write_bytes(damage(whole))
    assert made(source)[1]
    assert not made(source)[1]


def test_another_grammar_has_other_tables(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(source)
    source.write_text(source.read_text(encoding="utf-8") + "\n// another\n", encoding="utf-8")
    assert made(source)[1]
    monkeypatch.setattr(lark, "__version__", "0")
    assert made(source)[1]


def test_where_nothing_can_be_kept_the_parser_is_made(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (source.parent / "__pycache__").write_text("in the way")
    assert made(source)[1]
    assert made(source)[1]
    (source.parent / "__pycache__").unlink()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert made(source)[1]
    assert [path.name for path in source.parent.iterdir()] == ["pipe.lark"]
