"""The examples of docs/semantics.md are executed."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "semantics.md"


def test_examples():
    text = PAGE.read_text(encoding="utf-8").replace("\n```", "\n")
    example = doctest.DocTestParser().get_doctest(text, {"__name__": "semantics"}, PAGE.name, str(PAGE), 0)
    report: list[str] = []
    result = doctest.DocTestRunner().run(example, out=report.append)
    assert result.attempted > 20
    assert not result.failed, "".join(report)
