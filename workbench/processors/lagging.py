"""Lagging: the identity on streams, where a join of streams with different lags is meant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from workbench.processors.passthrough import Passthrough


@dataclass(frozen=True)
class Lagging(Passthrough):
    """Emits every event it receives, unchanged; says that its lag is meant in the join that it is an input of."""

    keyword: ClassVar[str] = "lagging"
