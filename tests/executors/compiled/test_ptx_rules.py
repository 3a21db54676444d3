"""Rules on a GPU: the kernel as PTX that the CPU runs."""

from __future__ import annotations

import pytest

from tests.executors.compiled.conftest import Run, needs_compiler

pytestmark = [needs_compiler, pytest.mark.slow]
HERE = "from tests.executors.compiled import ptx_rules\nptx_rules."


def test_rules_tell_what_cdp_tells(run: Run) -> None:
    run(f"{HERE}conformance(24)")


def test_a_number_of_more_than_64_bits(run: Run) -> None:
    run(f"{HERE}large_numbers()")
