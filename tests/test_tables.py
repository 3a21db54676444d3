"""The tables and entries of docs/ say what the program says."""

import re
from pathlib import Path

import pytest

from scripts import pages
from workbench.processors import PROCESSORS

MARKDOWN = {path: make for path, make in pages.files().items() if path.suffix == ".md"}


def test_the_tables_of_the_docs_are_drawn_from_the_program() -> None:
    old = [path.name for path, make in MARKDOWN.items() if not pages.is_current(path, make())]
    assert old == [], "run `python -m scripts.pages`, then commit"


def test_a_table_is_out_of_date_when_a_row_changes(tmp_path: Path) -> None:
    page = tmp_path / "engines.md"
    page.write_text(f"<!-- drawn: engines -->\n| a | b | c |\n|---|---|---|\n{pages.table('engines')}\nEnd.\n")
    assert pages.is_current(page, pages.fill(page))
    text = page.read_text()
    page.write_text(re.sub(r"^\| `explicit`.*\n", "| `other` | it | all |\n", text, flags=re.MULTILINE))
    assert not pages.is_current(page, pages.fill(page))
    assert pages.fill(page) == text


def test_every_processor_has_an_entry_made_from_its_class() -> None:
    assert re.findall(r"^## (\w+)$", pages.ENTRIES.read_text(), re.MULTILINE) == sorted(PROCESSORS)


def test_an_entry_is_refused_whose_run_is_not_what_the_class_specifies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PROCESSORS["trim"], "denote", lambda self, streams: (list(streams[0]),))
    with pytest.raises(AssertionError, match="Trim"):
        pages.entry(PROCESSORS["trim"])


def test_every_table_is_in_a_page() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in MARKDOWN)
    assert sorted(re.findall(r"<!-- drawn: (\w+) -->\n\|", text)) == sorted(pages.TABLES)
