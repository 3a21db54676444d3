"""The pipelines of TIME 2021 against values worked out by hand from the paper's definitions."""

import re
from pathlib import Path

import pytest

from workbench.core.domain import Integer
from workbench.language import PipelineReference, read_file

FOLDER = Path(__file__).parents[2] / "models" / "time2021"
FILES = sorted(FOLDER.glob("*.pipe"))
DIGITS = list(range(10))
SEVENS = [7] * 8

EXPECTED = {
    ("passthrough", None): (DIGITS, DIGITS),
    ("sum_on_window_of_3", None): (DIGITS, [3, 6, 9, 12, 15, 18, 21, 24]),
    ("product_on_window_of_3", None): ([1, 2, 3, 4, 5], [6, 24, 60]),
    ("sum_of_ones_on_window", None): ([7, 0, 7, 5, 2], [3, 3, 3]),
    ("output_if_smaller_than_k", None): (SEVENS, [1, 2, 3]),
    ("product_of_1_and_kth", None): (DIGITS, [0, 3, 12, 27]),
    ("sum_of_doubles", None): ([1, 2, 3, 4], [2, 6, 12, 20]),
    ("sum_of_doubles", "sum_of_doubles_by_addition"): ([1, 2, 3, 4], [2, 6, 12, 20]),
    ("sum_of_odds", None): (SEVENS, [1, 4, 9, 16]),
    ("sum_of_odds", "squares"): ([7] * 4, [1, 4, 9, 16]),
    ("sum_of_odds", "sum_of_evens"): ([7] * 9, [2, 6, 12, 20]),
    ("sum_of_odds", "sum_of_twos"): ([7] * 4, [2, 6, 12, 20]),
    ("window_sum_of_2", None): ([1, 2, 3, 4], [3, 5, 7]),
    ("window_sum_of_2", "trim_sum_of_2"): ([1, 2, 3, 4], [3, 5, 7]),
    ("window_sum_of_3", None): ([1, 2, 3, 4, 5], [6, 9, 12]),
    ("window_sum_of_3", "trim_sum_of_3"): ([1, 2, 3, 4, 5], [6, 9, 12]),
    ("passthrough_against_delay", None): ([3, 1, 4], [3, 1, 4]),
    ("passthrough_against_delay", "delay"): ([3, 1, 4], [3, 1]),
    ("figure_2a", None): (DIGITS, [0, 4, 8, 12]),
}


@pytest.mark.parametrize(("model", "name"), EXPECTED)
def test_output(model, name):
    given, expected = EXPECTED[model, name]
    assert read_file(FOLDER / f"{model}.pipe").get(name).pipeline.denote([given]) == (expected,)


def test_figure_2b():
    """b tells how often a was true in the three states before; the first three values of b are free."""
    made = read_file(FOLDER / "figure_2b.pipe").get("figure_2b").pipeline
    a = [True, True, False, True, False, False]
    assert made.denote([a, [0, 0, 0, 2, 2, 0]]) == ([True, True, False],)
    assert made.denote([a, [9, 9, 9, 2, 2, 1]]) == ([True, True, True],)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_parameters(k):
    ones = read_file(FOLDER / "sum_of_ones_on_window.pipe").get(k=k).pipeline
    assert ones.denote([SEVENS]) == ([k] * (9 - k),)
    silent = read_file(FOLDER / "output_if_smaller_than_k.pipe").get(k=k).pipeline
    assert silent.denote([SEVENS]) == (list(range(1, k + 1)),)
    kth = read_file(FOLDER / "product_of_1_and_kth.pipe").get(k=k).pipeline
    assert kth.denote([DIGITS]) == ([k * i * i for i in range(len(DIGITS[::k]))],)


STREAM = re.compile(r"gives +([^:;()]*)")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_every_pipeline_says_what_it_does(path):
    source = read_file(path)
    for name in source.pipelines:
        loaded = source.get(name)
        assert "gives" in loaded.pipeline.doc, f"{name} has no worked example"
        assert loaded.pipeline.resolve(Integer(4)).domains
        for check in loaded.checks:
            if isinstance(check.argument, PipelineReference):
                other = loaded.other(check.argument).pipeline
                assert other.input_domains == loaded.pipeline.input_domains
    assert source.get().checks


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_worked_examples_in_the_comments(path):
    """`x = 1, 2, 3 gives 3, 5` in the comment above a pipeline is run."""
    source = read_file(path)
    for name in source.pipelines:
        made = source.get(name).pipeline
        example = re.search(r"(?:^|k = 3, )x = ([-0-9., ]+?) +gives +([-0-9, ]+)", made.doc, re.MULTILINE)
        if example is None:
            assert made.in_arity == 2, f"{name}: the example cannot be read"
            continue
        given = DIGITS if "..." in example[1] else [int(v) for v in example[1].split(",")]
        expected = [int(v) for v in example[2].strip(" ,").split(",")]
        assert made.denote([given]) == (expected,), name
