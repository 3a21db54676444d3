"""Whole numbers as text, by machine code: the same as Python writes."""

import numpy as np
import pytest

from workbench.executors.compiled.code import number_lines
from workbench.executors.compiled.code.number_lines import NumberLines


@pytest.mark.parametrize("width", [1, 3])
def test_numbers_are_written_as_python_writes_them(width, monkeypatch):
    monkeypatch.setattr(number_lines, "PATIENCE", 30)
    powers = [10**k for k in range(19)]
    numbers = [0, *powers, *(p - 1 for p in powers), 2**63 - 1]
    column = np.array([*numbers, *(-n for n in numbers), -(2**63)], np.int64)
    columns = [np.roll(column, k) for k in range(width)]
    lines = NumberLines()
    assert lines([each[:30] for each in columns], ";") is None
    wanted = "".join(";".join(map(str, row)) + "\n" for row in zip(*(c.tolist() for c in columns), strict=True))
    assert bytes(lines(columns, ";") or b"").decode() == wanted
