"""Whole numbers and truth values as text, by machine code: the same as Python writes."""

import numpy as np
import pytest

from workbench.executors.compiled.code import number_lines
from workbench.executors.compiled.code.number_lines import NumberLines


@pytest.mark.parametrize("width", [1, 3])  # of several, the last one has truth values
def test_numbers_are_written_as_python_writes_them(width, monkeypatch):
    monkeypatch.setattr(number_lines, "PATIENCE", 30)
    powers = [10**k for k in range(19)]
    numbers = [0, *powers, *(p - 1 for p in powers), 2**63 - 1]
    column = np.array([*numbers, *(-n for n in numbers), -(2**63)], np.int64)
    columns = [np.roll(column, k) for k in range(width - 1)] + [column % 3 == 0 if width > 1 else column]
    lines = NumberLines()
    assert lines([each[:30] for each in columns], ";") is None
    wanted = "".join(
        ";".join(str(each).lower() for each in row) + "\n" for row in zip(*(c.tolist() for c in columns), strict=True)
    )
    assert bytes(lines(columns, ";") or b"").decode() == wanted
