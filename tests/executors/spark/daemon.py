"""Spark's daemon of Python workers with what they import: it forks them, so that they need not import it each."""

import numba  # noqa: F401
import pandas  # noqa: F401
import pyarrow  # noqa: F401
from pyspark.daemon import manager

if __name__ == "__main__":
    manager()
