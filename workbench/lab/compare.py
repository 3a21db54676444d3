"""Comparison of two runs of a suite: changes beyond noise.

Measurements (times, memory, and the outputs that the suite declares as such) are compared by medians; a difference
counts if it exceeds a tenth and three times the dispersion of the repetitions: the median of their distances from their
median, scaled to a standard deviation. A point that was measured once has no dispersion, and only a factor of two
counts. Statuses and all other outputs are results, which are compared exactly; but floats up to `SAME`, since a sum
depends on the order of addition.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.readable import plural
from workbench.errors import InputError
from workbench.lab.result import Result
from workbench.lab.rows import as_text
from workbench.lab.store import newest

SAME = 1e-9
"""Relative difference up to which two floats are the same result."""
RELATIVE, DISPERSIONS, FACTOR_OF_ONE = 0.1, 3.0, 2.0
SMALLEST = {"cpu_seconds": 0.005, "wall_seconds": 0.005, "peak_mb": 5.0, "gpu_seconds": 0.5, "gpu_peak_mb": 5.0}
"""Differences that are always noise; for the time of a GPU, one sample of the driver."""
MAX_LISTED = 8
_TO_DEVIATION = 1.4826


@dataclass(frozen=True)
class Difference:
    """A difference between two runs at one point."""

    experiment: str
    point: Mapping[str, Any]
    what: str
    before: Any
    after: Any
    ids: tuple[tuple[str, ...], tuple[str, ...]]

    def __str__(self) -> str:
        point = ", ".join(f"{name}={value}" for name, value in self.point.items())
        factor = ""
        if _is_number(self.before) and _is_number(self.after) and self.before > 0:
            factor = f" (x {self.after / self.before:.2f})"
        return f"{self.experiment}({point}): {self.what} {_short(self.before)} -> {_short(self.after)}{factor}"

    def to_json(self) -> dict[str, Any]:
        """Return the difference as plain data."""
        return {**vars(self), "point": dict(self.point), "ids": [list(ids) for ids in self.ids]}


@dataclass(frozen=True)
class Comparison:
    """The changes between two runs, and the number of points compared."""

    changes: tuple[Difference, ...]
    points: int
    only_before: int
    only_after: int
    once: int
    """The number of points that were measured once in one of the runs."""
    unreliable: int

    @property
    def summary(self) -> str:
        """A summary in one paragraph."""
        parts = [f"{plural(self.points, 'point')} in both runs, {plural(len(self.changes), 'change')}"]
        parts += [f"{self.only_before} only in the first"] * bool(self.only_before)
        parts += [f"{self.only_after} only in the second"] * bool(self.only_after)
        parts += [f"{self.once} measured once, where only a factor of two counts"] * bool(self.once)
        parts += [f"{self.unreliable} on a loaded machine, whose timings were not compared"] * bool(self.unreliable)
        return "; ".join(parts)


def find_run(stored: Mapping[str, Sequence[Result]], name: str) -> tuple[str, list[Result]]:
    """Return the suite and the results of a run, or of all runs with a code version or commit, by a prefix of its name.

    An interrupted sweep consists of several runs; if they repeat a measurement, the newest counts.

    Parameters
    ----------
    stored: the results of each suite, oldest first.

    Raises
    ------
    InputError: no run matches, or several do.
    """
    by_kind: dict[str, dict[tuple[str, str], list[Result]]] = {kind: {} for kind in ("run", "code", "commit")}
    for suite, results in stored.items():
        for result in results:
            for kind, named in by_kind.items():
                named.setdefault((suite, getattr(result, kind)), []).append(result)
    begin = ({key: of for key, of in named.items() if key[1].startswith(name)} for named in by_kind.values())
    meant = next(filter(None, begin), {})
    if len(meant) != 1:
        latest = sorted(by_kind["run"], key=lambda key: by_kind["run"][key][-1].started, reverse=True)
        known = [f"{own} of {suite}" for suite, own in meant or latest]
        what = "several runs, code versions or commits begin" if meant else "no run, code version or commit begins"
        listed = ", ".join([*known[:MAX_LISTED], *["..."] * (len(known) > MAX_LISTED)]) or "none yet"
        raise InputError(f"{what} with '{name}'", hint=f"there are: {listed}; `workbench lab list SUITE` has all")
    (suite, _), results = next(iter(meant.items()))
    return suite, list(newest(results).values())


def compare(before: Iterable[Result], after: Iterable[Result], measured: Container[tuple[str, str]] = ()) -> Comparison:
    """Compare two runs, point by point.

    Parameters
    ----------
    measured: the outputs (experiment, name) that depend on the load of the machine, and so are not results.
    """
    old, new = _points(before), _points(after)
    common = [key for key in old if key in new]
    changes = [change for key in common for change in _changes(old[key], new[key], measured)]
    return Comparison(
        tuple(changes), len(common), len(old.keys() - new.keys()), len(new.keys() - old.keys()),
        sum(min(len(old[key]), len(new[key])) == 1 for key in common),
        sum(not _reliable([*old[key], *new[key]]) for key in common),
    )  # fmt: skip


def _points(results: Iterable[Result]) -> dict[tuple[str, str], list[Result]]:
    points: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        points.setdefault((result.experiment, as_text(result.point)), []).append(result)
    return points


def _reliable(results: Iterable[Result]) -> bool:
    return all(result.measured.reliable for result in results)


def _changes(
    old: Sequence[Result], new: Sequence[Result], measured: Container[tuple[str, str]]
) -> Iterable[Difference]:
    def change(what: str, before: Any, after: Any) -> Difference:
        ids = tuple(r.id for r in old), tuple(r.id for r in new)
        return Difference(old[0].experiment, old[0].point, what, before, after, ids)

    statuses = [sorted({str(r.measured.status) for r in side}) for side in (old, new)]
    if statuses[0] != statuses[1]:
        yield change("status", ", ".join(statuses[0]), ", ".join(statuses[1]))
        return
    reliable = _reliable([*old, *new])
    for name in sorted({name for r in (*old, *new) for name in r.measured.outputs}):
        before: list[Any] = [r.measured.outputs.get(name) for r in old]
        after: list[Any] = [r.measured.outputs.get(name) for r in new]
        if (old[0].experiment, name) in measured and all(map(_is_number, before + after)):
            if reliable and differ(before, after, 0.0):
                yield change(name, statistics.median(before), statistics.median(after))
        elif not (_all_in(before, after) and _all_in(after, before)):
            yield change(name, _distinct(before), _distinct(after))
    for name, floor in SMALLEST.items():
        sides = [[float(v) for r in side if (v := getattr(r.measured, name)) is not None] for side in (old, new)]
        if not all(sides):
            continue  # measurements of GPUs may be unknown
        timing = name.endswith("seconds")
        if (reliable or not timing) and differ(sides[0], sides[1], floor):
            yield change(name, statistics.median(sides[0]), statistics.median(sides[1]))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _all_in(values: Iterable[Any], others: Sequence[Any]) -> bool:
    return all(any(_same(value, other) for other in others) for value in values)


def _same(one: Any, other: Any) -> bool:
    """Whether two values of an output are the same result."""
    if _is_number(one) and _is_number(other):
        exact = isinstance(one, int) and isinstance(other, int)
        return bool(one == other) if exact else math.isclose(one, other, rel_tol=SAME)
    return type(one) is type(other) and bool(one == other)


def _distinct(values: Sequence[Any]) -> Any:
    """Return the value, or all distinct values if the repetitions differ."""
    different = [value for i, value in enumerate(values) if not any(_same(value, v) for v in values[:i])]
    return different if len(different) > 1 else different[0]


def differ(old: Sequence[float], new: Sequence[float], floor: float) -> bool:
    """Whether the medians differ beyond noise; a difference of at most `floor` is noise."""
    a, b = statistics.median(old), statistics.median(new)
    difference = abs(a - b)
    if difference <= floor or difference <= RELATIVE * max(abs(a), abs(b)):
        return False
    if min(len(old), len(new)) == 1:
        return max(abs(a), abs(b)) >= FACTOR_OF_ONE * min(abs(a), abs(b))
    return difference > DISPERSIONS * max(_dispersion(old), _dispersion(new))


def _dispersion(values: Sequence[float]) -> float:
    middle = statistics.median(values)
    return _TO_DEVIATION * statistics.median(abs(value - middle) for value in values)


def _short(value: Any) -> str:
    if isinstance(value, list):
        return " or ".join(map(_short, value))
    return "nothing" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
