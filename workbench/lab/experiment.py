"""Experiments: functions from a point to named outputs, with the settings for measuring them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.errors import SuiteError
from workbench.lab.calls import call, list_required, names_of
from workbench.lab.region import Point, Region, Scalar
from workbench.lab.result import Measured, Result

SEED = "seed"
"""The name of a parameter that receives a number determined by the experiment and the point alone."""

KINDS: Mapping[type, str] = {float: "DOUBLE", int: "BIGINT", bool: "BOOLEAN", str: "STRING"}
"""The SQL type for each type of an output or a parameter."""


@dataclass(frozen=True)
class Output:
    """A named result: its description, its unit ("" if it has none), and its type (float, int, bool or str).

    `measured`: whether it depends on the load of the machine, as outputs always do whose unit is a time or a rate.
    """

    description: str
    unit: str = ""
    kind: type = float
    measured: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SuiteError(f"an output cannot be of type {self.kind!r}", hint="use float, int, bool or str")


@dataclass(frozen=True)
class Limits:
    """The limits of one point: seconds of wall-clock time, CPU seconds, megabytes (2**20 bytes) of memory.

    They apply to the whole process tree; None means no limit.
    """

    seconds: float | None = 60.0
    cpu_seconds: float | None = None
    memory_mb: int | None = 2048

    def __str__(self) -> str:
        parts = {"{:g} s": self.seconds, "{:g} s of CPU time": self.cpu_seconds, "{} MB": self.memory_mb}
        return ", ".join(form.format(limit) for form, limit in parts.items() if limit is not None) or "no limits"


@dataclass(frozen=True)
class Prerequisite:
    """A file that experiments read, made once for each combination of the values that it depends on.

    Its function takes those values and `path`, the file to write; it may use any of the parameters of an experiment.
    """

    name: str
    make: Callable[..., None]

    def parameters(self, point: Point) -> dict[str, Scalar]:
        """Return the values of a point that the file depends on."""
        return {name: value for name, value in point.items() if name in names_of(self.make)}

    def file(self, folder: Path, point: Point, code: str) -> Path:
        """Return the path of the file for this point, whether it exists or not."""
        return folder / f"{self.name}-{digest([self.name, self.parameters(point), code])}"


@dataclass(frozen=True)
class Experiment:
    """A function that is measured at each point of a region.

    Parameters
    ----------
    function: takes the values of a point by name, `seed` if it has that parameter, and the paths of prerequisites by
        their names; returns a mapping from the names of its outputs to values.
    expected: takes the values of a point, returns the expected values of some outputs (None: nothing is known).
    repeat: the number of measurements of each point.
    persistent: whether a process may measure several points, which saves loading modules again.
    warm_up: called once in each process, before the first measurement.
    page: takes the values of a point, returns a page of HTML with details (a pipeline, a counterexample); the web
        application calls it in a process with the limits of the experiment.
    """

    name: str
    function: Callable[..., Mapping[str, Any]]
    region: Region
    outputs: Mapping[str, Output]
    limits: Limits = field(default_factory=Limits)
    repeat: int = 1
    expected: Callable[..., Mapping[str, Any] | None] | None = None
    persistent: bool = False
    warm_up: Callable[[], None] | None = None
    needs: tuple[Prerequisite, ...] = ()
    page: Callable[..., str] | None = None
    doc: str = ""

    def __post_init__(self) -> None:
        axes = self.region.axes
        needed = {p.name for p in self.needs}
        for function, extra in ((self.function, {SEED, *needed}), (self.expected, set()), (self.page, {SEED})):
            unknown = (list_required(function) - set(axes) - extra) if function else set()
            if unknown:
                raise SuiteError(
                    f"experiment '{self.name}' takes '{sorted(unknown)[0]}', which is not an axis of its region",
                    hint=f"the axes are {', '.join(axes)}; prerequisites are named in `needs`",
                )
        for name in [*axes, *self.outputs]:
            if not name.isidentifier() or name in RESERVED:
                why = "every result has one" if name in RESERVED else "it is not an identifier"
                raise SuiteError(f"experiment '{self.name}': '{name}' cannot be the name of a column: {why}")
        for name in set(axes) & set(self.outputs):
            raise SuiteError(f"experiment '{self.name}': '{name}' is both an axis and an output")
        if self.repeat < 1:
            raise SuiteError(f"experiment '{self.name}' is repeated {self.repeat} times", hint="use 1 or more")

    @property
    def parameter_kinds(self) -> dict[str, type]:
        """The type of each axis: the common type of its values."""
        return {name: _common({type(value) for value in values}) for name, values in self.region.axes.items()}

    def expectation(self, point: Point) -> Mapping[str, Any]:
        """Return the expected values of outputs at this point, as far as they are known."""
        return (call(self.expected, point) if self.expected else None) or {}


RESERVED = frozenset(
    {"id", "suite", "cores", *Measured.__dataclass_fields__, *Result.__dataclass_fields__} - {"measured"}
)
"""The names of columns that every result has."""


def _common(kinds: set[type]) -> type:
    if len(kinds) == 1:
        return next(iter(kinds))
    return float if kinds == {int, float} else str


def digest(data: Any) -> str:
    """Return a short hash of plain data; the order of keys does not matter."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]
