"""What suite `cdp2012` has measured as curves, and the words in which its claims tell of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence

from experiments.rule_timing import SCANNING
from workbench.lab import ok, warns
from workbench.lab.claim import Judgement, NoData
from workbench.lab.data import Data

Curves = Mapping[str, Mapping[float, float]]
"""Line to what was measured, by the axis."""
MACHINE_CODE = ("compiled scanning each", "compiled scanning last")


def curves(
    data: Data, experiment: str, axis: str, size: str, lines: Sequence[str] = ()
) -> dict[str, dict[float, float]]:
    """What was measured at a size, microseconds by the axis, of some lines or of all.

    Raises
    ------
    NoData: a line that is asked for has fewer than two points.
    """
    found: dict[str, dict[float, float]] = {}
    for row in data.rows(experiment, status="ok", size=size):
        if not lines or row["line"] in lines:
            found.setdefault(row["line"], {})[row[axis]] = row["us"]
    found = {line: dict(sorted(each.items())) for line, each in found.items() if len(each) > 1}
    if missing := set(lines) - set(found):
        raise NoData(f"no results of {', '.join(sorted(missing))} in '{experiment}'")
    return found


def scanned(data: Data, experiment: str, axis: str) -> tuple[Curves, Curves]:
    """Of machine code that scans, at full size; and of what scans in Python, at a tenth of it, where there is any."""
    try:
        every = curves(data, experiment, axis, "tenth")
    except NoData:
        every = {}
    python = {line: each for line, each in every.items() if SCANNING in line and line not in MACHINE_CODE}
    lines = [line for line in MACHINE_CODE if line in every] or MACHINE_CODE
    return curves(data, experiment, axis, "full", lines), python


def slope(points: Mapping[float, float]) -> float:
    """Of the logarithm of a cost against that of what it depends on: 1 where it is proportional."""
    xs, ys = ([math.log(each) for each in part] for part in (points, points.values()))
    return statistics.linear_regression(xs, ys).slope


def straightness(points: Mapping[float, float]) -> float:
    """How well a straight line fits: the coefficient of correlation."""
    return statistics.correlation(list(points), list(points.values()))


def growth(points: Mapping[float, float]) -> float:
    """The cost at the end of the axis by that at its beginning."""
    return points[max(points)] / points[min(points)]


def spread(points: Mapping[float, float]) -> float:
    """The most by the least."""
    return max(points.values()) / min(points.values())


def told(numbers: Mapping[str, float], form: str = ".2f") -> str:
    """Lines and their numbers."""
    return ", ".join(f"{line} {number:{form}}" for line, number in numbers.items())


def each_of(how: Callable[[Mapping[float, float]], float], found: Curves) -> dict[str, float]:
    return {line: how(points) for line, points in found.items()}


def both(how: Callable[[Mapping[float, float]], float], found: tuple[Curves, Curves]) -> tuple[dict[str, float], str]:
    """A number of each line that is machine code, and these with those of Python, told."""
    code, python = (each_of(how, each) for each in found)
    return code, told(code) + (f"; in Python, at a tenth: {told(python)}" if python else "")


def judged(stands: bool, measured: str, *, paper: str = "", why: str = "", because: str = "") -> Judgement:
    """Whether a claim stands.

    Parameters
    ----------
    paper: what the paper, or T-Rex, has.
    why: why it is not reproduced, where it is not; `because`: why it is as it is, where it stands.
    """
    reason = because if stands else f"not reproduced: {why}"
    words = [measured, f"the paper: {paper}" if paper else "", reason]
    return (ok if stands else warns)("; ".join(filter(None, words)))
