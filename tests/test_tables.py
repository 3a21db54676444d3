"""The tables of docs/ say what the tables of the program say."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.processors import PROCESSORS

ROOT = Path(__file__).parent.parent


def test_the_tables_of_the_docs_are_drawn_from_the_program() -> None:
    done = subprocess.run([sys.executable, "scripts/tables.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"run `python scripts/tables.py`, then commit {done.stdout}{done.stderr}"


def test_every_processor_has_an_entry_made_from_its_class(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    entries = importlib.import_module("entries")
    assert entries.PAGE.read_text(encoding="utf-8") == entries.page(), "run `python scripts/entries.py`"
    assert re.findall(r"^## (\w+)$", entries.page(), re.MULTILINE) == sorted(PROCESSORS)


def test_an_entry_is_refused_whose_run_is_not_what_the_class_specifies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    entries = importlib.import_module("entries")
    monkeypatch.setattr(PROCESSORS["trim"], "denote", lambda self, streams: (list(streams[0]),))
    with pytest.raises(AssertionError, match="Trim"):
        entries.entry(PROCESSORS["trim"])


def test_every_table_is_in_a_page() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*/*.md"))
    script = (ROOT / "scripts" / "tables.py").read_text(encoding="utf-8")
    tables = re.findall(r'"(\w+)": \w+', script.partition("TABLES: ")[2])
    assert sorted(re.findall(r"<!-- drawn: (\w+) -->\n\|", pages)) == sorted(tables)
