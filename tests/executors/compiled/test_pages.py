"""Words that are given back: they are zero, the others are as they were, and on Linux they take no room."""

import sys
from pathlib import Path

import numpy as np
import pytest

from workbench.executors.compiled.rules.pages import LARGE, give_back, longer_words, zero_words


@pytest.mark.parametrize("size", [100, LARGE // 8, 1_000_003])
def test_words_are_given_back(size):
    words, rng = zero_words(size), np.random.default_rng(size)
    assert not words.any()
    words[:] = 1 + np.arange(size)
    expected = words.copy()
    for _ in range(20):
        first, last = sorted(rng.integers(0, size + 1, 2).tolist())
        give_back(words, first, last)
        expected[first:last] = 0
        assert (words == expected).all()
        words[first:last] = expected[first:last] = 7
    longer = longer_words(words, 3 * size)
    assert (longer[:size] == expected).all()
    assert not longer[size:].any()


def resident() -> int:
    """Bytes of this process that are in memory."""
    return 1024 * int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0])


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere pages stay")
def test_what_is_given_back_takes_no_room():
    words, size = zero_words(1 << 23), 1 << 26
    words[:] = 1
    full = resident()
    give_back(words, 100, len(words) - 100)
    assert resident() < full - 0.9 * size
    longer = longer_words(words, 2 * len(words))
    assert resident() < full - 0.8 * size
    assert longer.sum() == 200
