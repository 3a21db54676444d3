"""What all pictures share as DOT texts."""

import shutil

import pytest

from workbench.errors import WorkbenchError
from workbench.show.dot import digraph, quote, run_graphviz


def test_names_may_have_quotes_and_backslashes() -> None:
    assert quote('a "b" \\ c') == 'a \\"b\\" \\\\ c'
    assert digraph('a "b"', ["    x;"], "rankdir=LR;", 12).startswith('digraph "a \\"b\\"" {\n    rankdir=LR;\n')


def test_a_graph_ends_with_its_lines() -> None:
    assert digraph("g", ["    x;", "    x -> y;"], "", 12).endswith("\n    x;\n    x -> y;\n}\n")


def test_what_graphviz_cannot_read_is_named() -> None:
    if shutil.which("dot") is None:
        pytest.skip("graphviz is not installed")
    with pytest.raises(WorkbenchError, match="graphviz could not draw the plan"):
        run_graphviz("the plan", "digraph {", "svg")


def test_without_graphviz_there_is_something_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(WorkbenchError, match="not installed") as caught:
        run_graphviz("the plan", "digraph {}", "svg")
    assert "write a .dot file instead" in caught.value.hint
