"""Experiments: a function from a point to named outputs, and how it is to be measured."""

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
"""A function that asks for this name gets a number that depends on the experiment and the point only."""

KINDS: Mapping[type, str] = {float: "DOUBLE", int: "BIGINT", bool: "BOOLEAN", str: "STRING"}
"""Type of an output or a parameter to its type in SQL."""


@dataclass(frozen=True)
class Output:
    """A named result: what it is, its unit ("" where it has none), and its type (float, int, bool or str).

    `measured`: it depends on how busy the machine is, as everything does whose unit is a time or something in a time.
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
    """What one point may use: seconds of wall-clock time, CPU seconds, megabytes (2**20 bytes) of memory.

    They are for the whole process tree; None is no limit.
    """

    seconds: float | None = 60.0
    cpu_seconds: float | None = None
    memory_mb: int | None = 2048


@dataclass(frozen=True)
class Prerequisite:
    """A file that experiments read, made once for each combination of the values that it depends on.

    Its function takes those values and `path`, where it writes; it may use any of the parameters of an experiment.
    """

    name: str
    make: Callable[..., None]

    def parameters(self, point: Point) -> dict[str, Scalar]:
        """Those values of a point that the file depends on."""
        return {name: value for name, value in point.items() if name in names_of(self.make)}

    def file(self, folder: Path, point: Point, code: str) -> Path:
        """Where the file for this point is, or will be."""
        return folder / f"{self.name}-{digest([self.name, self.parameters(point), code])}"


@dataclass(frozen=True)
class Experiment:
    """What is done at each point of a region.

    Parameters
    ----------
    function: gets the values of a point by name, `seed` if it asks for it, and the paths of prerequisites by their
        names; it returns a mapping from the names of its outputs to values.
    expected: gets the values of a point, returns what some of the outputs must be (None: nothing is known).
    repeat: how often each point is measured.
    kept: whether the process that has measured a point may measure the next one, which saves what it has loaded.
    warm_up: called once in each process, before anything is measured.
    page: gets the values of a point, returns a page of HTML that shows more of it (a pipeline, a counterexample); the
        web application asks for it, in a process with the limits of the experiment.
    """

    name: str
    function: Callable[..., Mapping[str, Any]]
    region: Region
    outputs: Mapping[str, Output]
    limits: Limits = field(default_factory=Limits)
    repeat: int = 1
    expected: Callable[..., Mapping[str, Any] | None] | None = None
    kept: bool = False
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
                    f"experiment '{self.name}' asks for '{sorted(unknown)[0]}', which is no axis of its region",
                    hint=f"the axes are {', '.join(axes)}; prerequisites are named in `needs`",
                )
        for name in [*axes, *self.outputs]:
            if not name.isidentifier() or name in RESERVED:
                raise SuiteError(f"experiment '{self.name}': '{name}' cannot be the name of a column")
        for name in set(axes) & set(self.outputs):
            raise SuiteError(f"experiment '{self.name}': '{name}' is both an axis and an output")
        if self.repeat < 1:
            raise SuiteError(f"experiment '{self.name}' is repeated {self.repeat} times")

    @property
    def parameter_kinds(self) -> dict[str, type]:
        """The type of each axis: the common one of its values."""
        return {name: _common({type(value) for value in values}) for name, values in self.region.axes.items()}

    def expectation(self, point: Point) -> Mapping[str, Any]:
        """What is known of the outputs at this point."""
        return (call(self.expected, point) if self.expected else None) or {}


RESERVED = frozenset(
    {"id", "suite", "cores", *Measured.__dataclass_fields__, *Result.__dataclass_fields__} - {"measured"}
)
"""The columns that every result has."""


def _common(kinds: set[type]) -> type:
    if len(kinds) == 1:
        return next(iter(kinds))
    return float if kinds == {int, float} else str


def digest(data: Any) -> str:
    """A short hash of plain data; the order of keys does not matter."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:20]
