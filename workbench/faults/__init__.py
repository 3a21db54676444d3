"""Faults: what may go wrong on a pipe, and pipelines in which it does (docs/reference/faults.md)."""

from __future__ import annotations

TYPE_CHECKING = False
"""As `typing` has it, which takes a while to import."""

# fmt: off
# isort: off
if TYPE_CHECKING:
    from workbench.core.fault import Fault as Fault, delay as delay, duplicate as duplicate, lose as lose
    from workbench.executors.reference.random_faults import RandomFaults as RandomFaults
    from workbench.language.faults import faultless as faultless, faulty as faulty
    from workbench.verify.answer.problem import tolerates as tolerates
# fmt: on
# isort: on

if not TYPE_CHECKING:  # who sees this takes any name for one of ours
    from workbench.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)
