"""Faults that can happen: the processors on faulty pipes, and where they come in (docs/reference/faults.md)."""

from workbench.faults.copied import Duplicate, Lose
from workbench.faults.delay import Delay
from workbench.faults.inject import inject
from workbench.faults.unreliable import Strike, struck

__all__ = ["Delay", "Duplicate", "Lose", "Strike", "inject", "struck"]
