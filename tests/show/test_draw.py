"""Pictures: the DOT text, and what graphviz makes of it."""

import re
import shutil
import subprocess

import pytest

from workbench.builder import Builder
from workbench.cli.main import main
from workbench.errors import InputError, WorkbenchError
from workbench.language import parse
from workbench.processors import CLASSES
from workbench.show.draw import draw, svg, write_picture

TEXT = """
pipeline total(x: int) -> int { return cumulate(x, +) }
pipeline two(x: int) -> int, int { a = x + trim(x, 1)
    return a, a * 2 }
pipeline dot(x: int, y: int) -> int { return cumulate(x * y, +) }
pipeline p(x: int, c: {red, green}) -> int, bool {
    a, b = two(x)
    n = window(a, 2, total)
    m = window(b, n, 4, dot)
    return m, c = red
}
"""
DOT = shutil.which("dot")


@pytest.fixture
def pipeline():
    return parse(TEXT).get().pipeline


def test_forks_are_dots_and_joins_have_queues():
    text = draw(parse("pipeline p(x: int) -> int { return x + trim(x, 1) }").get().pipeline)
    assert text.count("shape=point") == 1
    assert text.count("PORT=") == 2
    assert text.count(" -> ") == 5  # x to the dot, two from it, trim to the sum, the sum to out


def test_where_nothing_waits_inputs_have_names_and_no_queues():
    """A queue is a table of its own at the port, a name a cell."""
    text = draw(parse("pipeline p(x: int, at: bool) -> int { return sample(x, at) }").get().pipeline)
    assert [text.count(f'PORT="q{i}" ALIGN="RIGHT"><FONT') for i in (0, 1)] == [1, 1]
    assert text.count("#e9b44c") == 0  # the stripes of queues


def test_capacities_and_values_are_shown():
    made = parse("pipeline p(x: int) -> int { s = x + trim(x, 1)\n return s }").get().pipeline
    text = draw(made.with_capacities({"s.left": 7}), {"trim": "<now>", "x": "12"})
    assert "left ≤7" in text
    assert "&lt;now&gt;" in text
    assert "<B>12</B>" in text


def test_groups_and_windows_are_clusters(pipeline):
    text = draw(pipeline, {"two.trim": "inside"})
    assert text.count("subgraph cluster_") == 3
    assert "inside" in text
    clusters = re.findall(r'label="([^"]*)"; style="([^"]*)"', text)
    assert clusters == [
        ("two", "rounded"),
        ("n: ▭2 total", "rounded,dashed"),
        ("m: ▭4 dot", "rounded,dashed"),
    ]


def test_a_machine_shows_what_its_variables_begin_with():
    machine = """machine m(x: int) -> bool {
        var n: int = 3, far: bool = true
        state low: false
        low -> low when x > n / n := x
    }"""
    text = draw(parse(machine).get().pipeline)
    (first,) = re.findall(r"(n\d+) \[.*peripheries=2", text)
    assert re.search(rf"n\d+ -> {first} \[label=</ n := 3<BR/>/ far := true>\];", text)


def samples():
    for cls in CLASSES.values():
        for sample in cls.samples():
            yield pytest.param(sample, id=str(sample))


@pytest.mark.sampled(50)
@pytest.mark.parametrize("processor", list(samples()))
def test_every_processor_can_be_drawn(processor):
    """Nodes and edges only: types do not matter to a picture, so any input that is accepted will do."""
    from workbench.core.domain import ANY, BOOL, INT

    for domain in (INT, BOOL, ANY):
        builder = Builder("p")
        streams = [builder.input(f"x{i}", domain) for i in range(processor.in_arity)]
        try:
            made = builder.add(processor, streams)
            pipeline = builder.build(made)
        except WorkbenchError:
            continue
        assert draw(pipeline).startswith('digraph "p"')
        return
    pytest.skip("none of these input types fits")


@pytest.mark.skipif(DOT is None, reason="graphviz is not installed")
@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf", ".dot"])
def test_render(pipeline, tmp_path, suffix):
    path = tmp_path / f"p{suffix}"
    write_picture(pipeline, path)
    head = path.read_bytes()[:400]
    assert {".svg": b"<svg", ".png": b"PNG", ".pdf": b"%PDF", ".dot": b"digraph"}[suffix] in path.read_bytes()
    assert head
    assert "a &amp; b" in svg(pipeline, {"x": "a & b"})


@pytest.mark.skipif(DOT is None, reason="graphviz is not installed")
def test_graphviz_has_no_complaints(pipeline):
    done = subprocess.run(["dot", "-Tsvg"], input=draw(pipeline), text=True, capture_output=True, check=True)
    assert done.stderr == ""


def test_refusals(pipeline, tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"no format '\.bmp'\n  hint: use \.svg, "):
        write_picture(pipeline, tmp_path / "p.bmp")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(WorkbenchError, match=r"(?s)not installed.*graphviz.*\.dot"):
        write_picture(pipeline, tmp_path / "p.svg")


def test_an_ending_that_is_no_drawing_is_told_as_it_was_given(tmp_path, capsys):
    """Not the name of the file that becomes the picture when it is complete."""
    assert main(["draw", "models/time2021/figure_2a.pipe", "-o", str(tmp_path / "x.bmp")]) == 2
    assert "drawings have no format '.bmp'\n  hint: use .svg" in capsys.readouterr().err
