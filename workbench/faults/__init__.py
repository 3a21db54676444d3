"""Faults: the possible failures of a pipe, and pipelines that contain them (docs/reference/faults.md)."""

from __future__ import annotations

TYPE_CHECKING = False
"""The constant of `typing`, whose import takes a while."""

# fmt: off
# isort: off
if TYPE_CHECKING:
    from workbench.core.fault import Fault as Fault, delay as delay, duplicate as duplicate, lose as lose
    from workbench.executors.reference.random_faults import RandomFaults as RandomFaults
    from workbench.language.faults import faultless as faultless, faulty as faulty
    from workbench.verify.answer.problem import tolerates as tolerates
# fmt: on
# isort: on

if not TYPE_CHECKING:  # a type checker that saw this would accept any name
    from workbench.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)
