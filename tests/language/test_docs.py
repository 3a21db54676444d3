"""Every example of docs/reference/language.md, and of the pages that continue it, is executed.

A `pipe` block is followed by a `run` block: streams by input name, then the expected outputs. A `mistake`
block is followed by the `message` it must give. A `python` block is run.
"""

import re
from pathlib import Path

import pytest

from workbench.errors import WorkbenchError
from workbench.language import parse, parse_expression
from workbench.language.evaluate import Evaluator

ROOT = Path(__file__).parents[2]
PAGES = ("language", "operators", "processors", "machines", "properties", "contracts")
PAGE = "".join((ROOT / "docs" / "reference" / f"{page}.md").read_text(encoding="utf-8") for page in PAGES)
BLOCKS = [(m[1], m[2]) for m in re.finditer(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)]
PAIRS = [(kind, text, *BLOCKS[i + 1]) for i, (kind, text) in enumerate(BLOCKS[:-1])]


def stream(text):
    """`1, (2, true)` as a list of values."""
    value = Evaluator({}, {}, {}).value
    return list(value(parse_expression(f"({text}, 0)")))[:-1] if text.strip() else []


@pytest.mark.parametrize(("text", "wanted"), [(t, w) for kind, t, _, w in PAIRS if kind == "pipe"])
def test_pipelines(text, wanted):
    loaded = parse(text, "example.pipe").get()
    named = {line.partition(" = ")[0]: stream(line.partition(" = ")[2]) for line in wanted.splitlines()}
    inputs = [name for name, _ in loaded.pipeline.inputs]
    outputs = [name for name, _ in loaded.pipeline.outputs]
    assert sorted(named) == sorted([*inputs, *outputs])
    results = loaded.pipeline.denote([named[name] for name in inputs])
    assert results == tuple(named[name] for name in outputs)


@pytest.mark.parametrize(("text", "wanted"), [(t, w) for kind, t, _, w in PAIRS if kind == "mistake"])
def test_mistakes(text, wanted):
    with pytest.raises(WorkbenchError) as caught:
        parse(text, "example.pipe").get()
    assert str(caught.value) == wanted.rstrip("\n")


@pytest.mark.parametrize("text", [text for kind, text in BLOCKS if kind == "python"])
def test_python(text, monkeypatch):
    monkeypatch.chdir(ROOT)
    exec(compile(text, "language.md", "exec"), {})


def test_no_block_is_left_out():
    after = {"pipe": "run", "mistake": "message"}
    for kind, _, following, _ in PAIRS:
        assert after.get(kind, following) == following
    assert {kind for kind, _ in BLOCKS} == {"pipe", "run", "mistake", "message", "python"}
