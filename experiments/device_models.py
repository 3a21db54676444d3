"""What a GPU would take for the base scenario of Cugola and Margara: models, from data sheets and what is assumed.

The rule of this module: nothing here is measured, and who shows a figure says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from workbench.tesla.check import rules as read_rules
from workbench.tesla.engines.set_plan import SetPlan


@dataclass(frozen=True)
class DeviceModel:
    """What a device takes.

    Attributes
    ----------
    copy: microseconds for copying an event to its columns.
    launch: microseconds for starting a kernel and reading how many sequences there are.
    memory, bus: gigabytes a second that its memory moves, and that move to and from the host.
    room: gigabytes of memory.
    """

    copy: float
    launch: float
    memory: float
    bus: float
    room: float


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
    across = sequences[2] * 3 * WORDS + (3 * column * WORDS if rules * PER_RULE > of.room else 0)
    launches = 2 + min(1.0, sequences[2])
    per_trigger = launches * of.launch + inside / of.memory / 1e3 + across / of.bus / 1e3
    us = relevant * (of.copy + per_trigger / 3)
    return {"us": us, "launches": relevant * launches / 3, "mb": relevant * (inside + across) / 3e6}


def engine_cost(of: DeviceModel, policy: str, window: int) -> dict[str, Any]:
    """That of `--backend gpu`, which takes the triggers of 16,384 events together; as `scanning_cost` tells it."""
    from workbench.executors.compiled.rules_gpu.costs import STRETCH, TO_ADOPT, DeviceSpeed, kernel_cost
    from workbench.executors.compiled.rules_gpu.placement import rule_placement

    types = "".join(f"declare {name}(att: int, value: int) " for name in "ABC")
    chain = f"and {policy} B(att == $x) within {window} from C and {policy} A(att == $x) within {window} from B"
    total = f"and $s = SUM(A(att == $x).value within {window} from B)"
    text = f"{types} declare D(s: int) from C[$x = att] {chain} {total} emit D(s = $s)"
    cost = kernel_cost(rule_placement(SetPlan(read_rules(text))).sources[0])
    column = window / 3
    partners = column / 50_000 if policy == "each" else 1 - math.exp(-column / 50_000)
    speed = DeviceSpeed(of.launch * 1e-6 / 2, of.launch * 1e-6, of.memory * 1e9, of.bus * 1e9)
    candidates = [column, partners * column, partners**2 * column]
    seconds = cost.seconds(speed, STRETCH / 3, candidates, partners**2)
    moved = cost.copied + sum(count * size for count, size in zip(candidates, cost.read, strict=True)) / 3
    launches = (cost.kernels + TO_ADOPT * cost.columns) / STRETCH
    return {"us": seconds * 1e6 / STRETCH, "launches": launches, "mb": moved / 1e6}
