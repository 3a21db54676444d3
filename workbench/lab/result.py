"""What is known of one measurement of one point: a `Result` is a row of the store."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from workbench.lab.region import Point


class Status(StrEnum):
    """How a measurement ended."""

    OK = "ok"
    WRONG = "wrong verdict"
    TIMEOUT = "time-out"
    MEMORY = "out of memory"
    CRASH = "crash"
    REFUSED = "refused"


@dataclass(frozen=True)
class Measured:
    """A measurement by itself, as the process that watched it tells.

    Attributes
    ----------
    outputs: empty unless the function came to its end.
    reason: what a status other than `ok` is due to; of a crash the last words.
    cpu_seconds, peak_mb: of the whole process tree; `peak_mb` includes the Python that all experiments run in.
    limited_by: what enforced the limits, `cgroup v2` or `rlimits`.
    load, steal: load average of the last minute at the end; the part of the last seconds that the machine under a
        virtual one took for others.
    log: the end of what it printed.
    gpu_seconds, gpu_peak_mb: of the whole process tree on all NVIDIA GPUs, estimated from samples; None where there is
        no GPU, or it cannot be known.
    """

    status: Status
    outputs: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mb: float = 0.0
    limited_by: str = "rlimits"
    load: float = 0.0
    steal: float = 0.0
    reliable: bool = True
    log: str = ""
    gpu_seconds: float | None = None
    gpu_peak_mb: float | None = None


OF_GPUS = ("gpu_seconds", "gpu_peak_mb")
"""What is known only where there is a GPU: without one nothing is shown of it."""


@dataclass(frozen=True)
class Result:
    """A measurement of a point, and everything that is needed to make it again."""

    key: str
    """Hash of suite, experiment, point and code version."""
    repetition: int
    experiment: str
    point: Point
    measured: Measured
    code: str
    seed: int
    started: str
    """UTC, ISO 8601 with microseconds."""
    run: str
    """The sweep that it was measured in: the time it began, and a few random letters."""
    commit: str
    command: str
    machine: Mapping[str, Any]
    versions: Mapping[str, str]

    @property
    def id(self) -> str:
        """Names the measurement within a run."""
        return f"{self.key}.{self.repetition}"


def plain(value: Any) -> Any:
    """A value as JSON can hold it: numbers that are not finite become texts, numpy's become Python's."""
    if hasattr(value, "item") and not isinstance(value, bool | int | float | str):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
