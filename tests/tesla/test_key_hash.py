"""The hash of keys: what an equation of a rule finds equal is in one bucket, and buckets are about as large."""

import numpy as np
import pytest

from workbench.core.domain import BOOL, FLOAT, INT, STR
from workbench.core.floats import as_float
from workbench.tesla.partition import hash_keys

LARGE = [0, 1, -1, 7, 2**53, 2**53 + 1, 2**62, -(2**63), 2**63 - 1]


def test_a_whole_number_has_the_hash_of_the_float_that_it_equals():
    floats = np.array([as_float(number) for number in LARGE])
    assert hash_keys(np.array(LARGE), None, INT).tolist() == hash_keys(floats, None, FLOAT).tolist()


def test_both_zeros_are_one_key():
    zeros = hash_keys(np.array([0.0, -0.0]), None, FLOAT)
    assert zeros[0] == zeros[1]


@pytest.mark.parametrize(("domain", "values"), [(INT, [5, 6]), (STR, [5, 6]), (BOOL, [True, False])])
def test_null_has_the_hash_zero_whatever_stands_there(domain, values):
    found = hash_keys(np.array(values), np.array([True, False]), domain).tolist()
    assert found[0] == 0
    assert found[1] == hash_keys(np.array(values), None, domain)[1]


def test_nan_has_the_hash_zero():
    assert hash_keys(np.array([np.nan, 1.0]), np.array([False, True]), FLOAT).tolist() == [0, 0]


@pytest.mark.parametrize("domain", [INT, FLOAT, STR])
@pytest.mark.parametrize("step", [1, 1000, 2**20])
def test_keys_at_equal_distances_are_in_buckets_of_about_one_size(domain, step):
    """By the top bits, and by the upper half: 64 buckets of 4096 keys have 64 each, and none has five times as many."""
    keys = np.arange(1, 4097) * step
    found = hash_keys(keys.astype(float) if domain == FLOAT else keys, None, domain)
    for buckets in (found >> np.uint64(58), (found >> np.uint64(32)) % np.uint64(64)):
        counts = np.bincount(buckets.astype(np.int64), minlength=64)
        assert counts.max() < 5 * 64
        assert counts.min() > 0
