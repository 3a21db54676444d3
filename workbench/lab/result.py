"""The record of one measurement of one point: a `Result` is a row of the store."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from workbench.lab.region import Point


class Status(StrEnum):
    """The status with which a measurement ended."""

    OK = "ok"
    WRONG = "wrong verdict"
    TIMEOUT = "time-out"
    MEMORY = "out of memory"
    UNDECIDED = "undecided"
    CRASH = "crash"
    REFUSED = "refused"


@dataclass(frozen=True)
class Measured:
    """A measurement by itself, as the process that watched it reports it.

    Attributes
    ----------
    outputs: the outputs; empty unless the function returned.
    reason: the reason for a status other than `ok`; for a crash, the last output.
    cpu_seconds, peak_mb: for the whole process tree; `peak_mb` includes the Python that all experiments run in.
    limited_by: what enforced the limits, `cgroup v2` or `rlimits`.
    load, steal: the load average of the last minute, at the end; the share of the last seconds that the host of a
        virtual machine took for other guests.
    reliable: whether load and steal are low enough for timings to count.
    log: the end of the printed output.
    gpu_seconds, gpu_peak_mb: for the whole process tree on all NVIDIA GPUs, estimated from samples; None without a GPU,
        or if unknown.
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
"""Measurements that exist only with a GPU; without one, reports omit them."""


@dataclass(frozen=True)
class Result:
    """A measurement of a point, with everything that is needed to repeat it."""

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
    """The name of the sweep: the time at which it began, and four random hexadecimal digits."""
    commit: str
    command: str
    machine: Mapping[str, Any]
    versions: Mapping[str, str]

    @property
    def id(self) -> str:
        """The identifier of the measurement within a run."""
        return f"{self.key}.{self.repetition}"


def plain(value: Any) -> Any:
    """Convert a value for JSON: verdicts and numbers that are not finite become texts, numpy values those of Python."""
    value = getattr(value, "outcome", value)
    if hasattr(value, "item") and not isinstance(value, bool | int | float | str):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value
