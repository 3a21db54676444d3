"""Lagging: the identity on streams, where a join of streams with different lags is meant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from workbench.processors.passthrough import Passthrough


@dataclass(frozen=True)
class Lagging(Passthrough):
    """Emits every event it receives, unchanged, and marks its lag as intended in the join that reads it."""

    keyword: ClassVar[str] = "lagging"
