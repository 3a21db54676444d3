"""A hash of the keys of events, by which threads and Spark's workers share them out in buckets.

The rule of this module: keys that an equation of a rule finds equal have the same hash. A whole number equals a float,
so both are hashed as floats. What equals nothing, which is null and NaN, has the hash 0.
"""

from __future__ import annotations

from typing import Any

from workbench.core.domain import FLOAT, INT, Domain

ODD = 0x9E3779B97F4A7C15
"""2^64 by the golden ratio: a product with it has its best bits at the top."""


def hash_keys(values: Any, nulls: Any | None, domain: Domain) -> Any:
    """Hash keys of one domain, as an array of uint64 whose high bits are the ones to take.

    Parameters
    ----------
    values: an array; of texts their numbers in compiled code.
    nulls: an array of bool; None where no key is null.
    """
    import numpy as np

    if domain in (INT, FLOAT):
        values = values.astype(np.float64) + 0.0  # both zeros are the same
        missing = np.isnan(values)
        nulls = missing if nulls is None else nulls | missing
    words = values.astype(np.float64 if domain in (INT, FLOAT) else np.int64, copy=False).view(np.uint64)
    words = (words ^ (words >> np.uint64(32))) * np.uint64(ODD)
    return words if nulls is None else np.where(nulls, np.uint64(0), words)
