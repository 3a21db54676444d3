"""The tables of docs/ say what the tables of the program say."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_tables_of_the_docs_are_drawn_from_the_program() -> None:
    done = subprocess.run([sys.executable, "scripts/tables.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"run `python scripts/tables.py`, then commit {done.stdout}{done.stderr}"


def test_every_table_is_in_a_page() -> None:
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*/*.md"))
    script = (ROOT / "scripts" / "tables.py").read_text(encoding="utf-8")
    tables = re.findall(r'"(\w+)": \w+', script.partition("TABLES: ")[2])
    assert sorted(re.findall(r"<!-- drawn: (\w+) -->\n\|", pages)) == sorted(tables)
