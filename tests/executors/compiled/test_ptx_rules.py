"""Rules on a GPU: their kernels as PTX that the CPU runs, and figures 6 and 7 of Cugola and Margara."""

from __future__ import annotations

import pytest

from tests.executors.compiled.conftest import Run, needs_compiler

pytestmark = [needs_compiler, pytest.mark.slow]
HERE = "from tests.executors.compiled import ptx_rules\nptx_rules."


@pytest.mark.parametrize("figure", ["figure_6a", "figure_6b", "figure_7", "kernels_of_a_stretch"])
def test_figures_of_the_kernels(run: Run, figure: str) -> None:
    run(f"{HERE}{figure}()")


def test_rules_tell_what_cdp_tells(run: Run) -> None:
    run(f"{HERE}conformance(6, rest=False)")


def test_a_number_of_more_than_64_bits(run: Run) -> None:
    told = run(f"{HERE}large_numbers()")
    assert "9223372036854775808" in told
    assert "more than 64 bits" in told


def test_rules_with_all_that_a_device_takes(run: Run) -> None:
    run(f"{HERE}conformance(24, rest=True)")
