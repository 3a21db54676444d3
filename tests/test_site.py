"""The site: every page has a place in it, and every function that people call is on the page of the API."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
CONTENTS = re.compile(r"^```{toctree}\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def listed(page: Path) -> list[str]:
    """The pages in the tables of contents of a page, from the folder of the docs."""
    lines = "".join(CONTENTS.findall(page.read_text())).splitlines()
    names = [line for line in lines if line and not line.startswith(":")]
    return [str((page.parent / name).relative_to(DOCS)) if name[0] != "/" else name[1:] for name in names]


def test_every_page_has_one_place_in_the_site() -> None:
    pages = [page for page in DOCS.rglob("*.md") if DOCS / "reports" not in page.parents]
    reports = [f"reports/{page.parent.name}/README" for page in (ROOT / "reports").glob("*/README.md")]
    names = [str(page.relative_to(DOCS)).removesuffix(".md") for page in pages] + reports
    assert sorted(name for page in pages for name in listed(page)) == sorted(set(names) - {"index"})


@pytest.mark.parametrize("space", ["", ".functions", ".processors", ".properties", ".rules", ".faults", ".executors"])
def test_every_public_name_is_on_the_page_of_the_api(space: str) -> None:
    page = (DOCS / "reference" / "api.md").read_text()
    named = {*re.findall(r"(?:auto\w+:: |`wb\.|`)(\w+)", page), "WorkbenchError"}
    assert [name for name in importlib.import_module(f"workbench{space}").__all__ if name not in named] == []
    assert ".. automodule:: workbench.errors" in page


@pytest.mark.slow
@pytest.mark.skipif(find_spec("sphinx") is None, reason="`make docs` installs Sphinx")
def test_the_site_is_made_without_a_warning(tmp_path: Path) -> None:
    options = ["--quiet", "--nitpicky", "--fail-on-warning", "--keep-going"]
    command = [sys.executable, "-m", "sphinx", *options, str(DOCS), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    pages = {page: page.read_text() for page in tmp_path.rglob("*.html")}
    loads = [re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="https?:[^"]*"', text) for text in pages.values()]
    assert not any(loads)  # it works without a network
