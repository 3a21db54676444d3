"""The forms in which a processor runs; the table of backends names them, so this module imports nothing."""

from __future__ import annotations

from enum import StrEnum


class Form(StrEnum):
    """The forms in which a processor runs, any of which its `refusal` may exclude."""

    VALUES = "values"
    """Its `step` on Python values, which can call any Python function."""
    MODEL = "model"
    """Its `machine`, whose domains are finite."""
    ARRAYS = "arrays"
    """Its `machine` with unbounded numbers, and with state that is `stored` in arrays."""
