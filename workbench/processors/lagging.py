"""Lagging: the identity on streams, where a join of streams with different lags is meant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from workbench.processors.passthrough import Passthrough


@dataclass(frozen=True)
class Lagging(Passthrough):
    """Emits every event it receives, unchanged; says that its lag is meant, so that no join warns about it."""

    keyword: ClassVar[str] = "lagging"

    @property
    def shift(self) -> None:
        return None
