"""What a GPU would take for the base scenario of Cugola and Margara: models, from data sheets and what is assumed.

The rule of this module: nothing here is measured, and who shows a figure says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DeviceModel:
    """What a device takes.

    Attributes
    ----------
    copy: microseconds for copying an event to its columns.
    launch: microseconds for starting a kernel and reading how many sequences there are.
    memory, bus: gigabytes a second that its memory moves, and that move to and from the host.
    capacity: gigabytes of memory.
    """

    copy: float
    launch: float
    memory: float
    bus: float
    capacity: float


DEVICES = {"GTX 460": DeviceModel(4, 20, 115, 5, 1), "H100": DeviceModel(2, 8, 3350, 50, 78)}
WORDS = 16
"""Bytes of an event in a column: its time and the attribute."""
PER_RULE = 0.1
"""Gigabytes that the columns of a rule are given (section 5.5)."""


def scanning_cost(of: DeviceModel, policy: str, window: int, rules: int) -> dict[str, Any]:
    """The paper's way (5.3 to 5.5), one trigger after the other; with more rules than one as in figure 14.

    Returns
    -------
    Of an event `us`, kernels that are started (`launches`), and megabytes that are moved (`mb`).
    """
    relevant = 1 if rules == 1 else rules / 10
    column = window / 3 if rules == 1 else window / 30
    partners = column / 50_000
    sequences = [1, partners if policy == "each" else 1 - math.exp(-partners)]
    sequences.append(sequences[1] * (partners if policy == "each" else 1 - math.exp(-partners)))
    inside = sum(sequences) * column * WORDS  # two columns, and the aggregate for each match
    across = sequences[2] * 3 * WORDS + (3 * column * WORDS if rules * PER_RULE > of.capacity else 0)
    launches = 2 + min(1.0, sequences[2])
    per_trigger = launches * of.launch + inside / of.memory / 1e3 + across / of.bus / 1e3
    us = relevant * (of.copy + per_trigger / 3)
    return {"us": us, "launches": relevant * launches / 3, "mb": relevant * (inside + across) / 3e6}
