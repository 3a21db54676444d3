"""The Python examples of the README and the docs are executed.

(The examples of the language, in docs/reference/language.md and the pages that continue it, and of the commands, in
docs/reference/cli.md, have tests of their own beside those of the language and the commands; so have the README's
commands.)
"""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from tests.test_layers import LAYERS

ROOT = Path(__file__).parent.parent
PAGES_OF_DOCS = (
    "explanation/verdicts",
    "reference/properties",
    "reference/engines",
    "explanation/semantics",
    "reference/buffers",
    "reference/monitoring",
    "explanation/counterexamples",
    "reference/analyses",
    "reference/faults",
    "reference/compiled",
    "reference/parallel",
    "reference/python",
    "explanation/threads",
    "explanation/dataflow",
    "reference/conformance",
    "reference/lab",
    "reference/rules",
    "reference/rules-running",
    "reference/rules-in-pipelines",
    "reference/held",
    "tutorial/from_words",
    "reference/rules-checking",
    "reference/from-other-engines",
)
PAGES = [ROOT / "README.md", *(ROOT / "docs" / f"{page}.md" for page in PAGES_OF_DOCS)]
KINDS = ("", "tutorial/", "reference/", "explanation/")
"""Folders of pages; the list of `docs/howto` is a page of its own."""
LONG = {"verdicts", "engines", "from-other-engines", "monitoring"}
"""Pages whose examples take seconds."""


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=[pytest.mark.slow] * (page.stem in LONG), id=page.stem) for page in PAGES]
)
def test_examples(page: Path) -> None:
    """The blocks of a page share their names, as a reader would expect."""
    names = {"__name__": page.stem}
    assert blocks(page)
    for number, text in enumerate(blocks(page), 1):
        if ">>>" in text:
            example = doctest.DocTestParser().get_doctest(text, names, f"{page.stem}-{number}", str(page), 0)
            report: list[str] = []
            result = doctest.DocTestRunner().run(example, out=report.append, clear_globs=False)
            assert not result.failed, "".join(report)
            names = example.globs
        else:
            exec(compile(text, f"<{page.name}>", "exec"), names)


def test_every_page_is_linked_from_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    pages = [page.relative_to(ROOT) for kind in KINDS for page in (ROOT / "docs").glob(f"{kind}*.md")]
    assert [str(page) for page in pages if str(page) not in readme] == []


def test_the_suite_of_the_guide_is_the_file_that_it_names() -> None:
    assert blocks(ROOT / "docs" / "reference" / "lab.md")[0] == (ROOT / "docs" / "examples" / "delays.py").read_text()


def test_files_that_the_page_of_the_architecture_names_exist() -> None:
    """A path is that of a file or a folder, from the root or from any folder below, with or without its ending."""
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
    named = set(re.findall(r"`([a-z_]+(?:/[a-z_0-9]+)*/?(?:\.py)?)`", page))
    named = {name.rstrip("/").removesuffix(".py") for name in named if "/" in name or name.endswith(".py")}
    there = [
        "/" + str(path.relative_to(ROOT)).removesuffix(".py")
        for folder in ("workbench", "tests", "experiments", "scripts")
        for path in (ROOT / folder).rglob("*")
        if "__pycache__" not in path.parts
    ]
    assert len(named) > 50
    assert [name for name in sorted(named) if not any(path.endswith(f"/{name}") for path in there)] == []


def test_the_layers_of_the_page_are_those_that_the_tests_enforce() -> None:
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text()
    assert f"`{' <- '.join(LAYERS)}`" in page
