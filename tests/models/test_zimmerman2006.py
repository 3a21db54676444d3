"""The systems of Zimmerman and Chandy: their checks, and their runs on made-up data beside plain Python."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from experiments import zimmerman_systems as systems
from workbench.language import read_file

MODELS = Path(__file__).parents[2] / "models" / "zimmerman2006"
QUICK = {"laundering": ("anomalies",), "power": ("surprise", "demand"), "disease": ("unusual",)}
SLOW = {"laundering": ("laundering", "told_always"), "power": ("off", "prices"),
        "disease": ("county", "frugal", "lake")}  # fmt: skip
"""Of one to ten seconds each."""
CASES = [(file, name) for file, names in QUICK.items() for name in names] + [
    pytest.param(file, name, marks=pytest.mark.slow) for file, names in SLOW.items() for name in names
]


@pytest.mark.parametrize(("file", "name"), CASES)
def test_its_checks_hold(file: str, name: str) -> None:
    loaded = read_file(MODELS / f"{file}.pipe").get(name)
    assert loaded.checks
    for check in loaded.checks:
        assert wb.check(loaded, check).outcome == "holds"


def test_every_check_is_expected() -> None:
    for path in MODELS.glob("*.pipe"):
        source = read_file(path)
        checked = {name for name in source.pipelines if source.get(name).checks}
        assert checked == {*QUICK[path.stem], *SLOW[path.stem]}


def line(points: list[tuple[int, int]]) -> tuple[Fraction, Fraction, Fraction] | None:
    """The line of least squares, offset and slope, and the variance around it; None where there is none."""
    n = len(points)
    mx, my = Fraction(sum(x for x, _ in points), n), Fraction(sum(y for _, y in points), n)
    spread = Fraction(sum((x - mx) ** 2 for x, _ in points))
    if spread == 0:
        return None
    slope = Fraction(sum((x - mx) * (y - my) for x, y in points)) / spread
    offset = my - slope * mx
    return offset, slope, Fraction(sum((y - offset - slope * x) ** 2 for x, y in points), n)


class Told:
    """What is told when it changes."""

    def __init__(self) -> None:
        self.last: Any = None

    def __call__(self, value: Any) -> list[Any]:
        changed, self.last = value != self.last, value
        return [value] if changed else []


def shown(name: str, rows: systems.Rows) -> list[list[Any]]:
    """What the system's output carries at each step."""
    return [step.get("out", []) for step in systems.traced(name, rows)[1]]


def test_laundering(monkeypatch: pytest.MonkeyPatch) -> None:
    k, far = 20, 150
    own = systems.SYSTEMS["laundering"]._replace(parameters={"k": k, "far": far, "top": 999})
    monkeypatch.setitem(systems.SYSTEMS, "laundering", own)
    rows = systems.laundering(600, seed=3)
    seen: dict[str, list[tuple[int, int]]] = {"a": [], "b": []}
    odd, told, expected = dict[str, int](), Told(), []
    for row in rows:
        news = False
        for bank, (size, paid) in row.items():
            found = line(seen[bank][-k:]) if len(seen[bank]) >= k else None
            if found and abs(paid - found[0] - found[1] * size) > far:
                odd[bank], news = paid, True
            seen[bank].append((size, paid))
        expected.append(told(odd["a"] == odd["b"]) if news and len(odd) == 2 else [])
    assert shown("laundering", rows) == expected
    assert [True] in expected
    assert sum(map(len, expected)) < 40


def test_disease(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"w": 3, "month": 10, "far": 3, "top": 99}
    monkeypatch.setitem(systems.SYSTEMS, "disease", systems.SYSTEMS["disease"]._replace(parameters=own))
    rows = systems.disease(250, seed=1)
    held, days = dict.fromkeys(systems.COUNTIES, 0), []
    counties, alarm, told, expected = systems.COUNTIES, dict[str, bool](), Told(), []
    single = {county: Told() for county in counties}
    around = {
        "north": ("west", "east"),
        "east": ("north", "south"),
        "south": ("east", "west"),
        "west": ("south", "north"),
    }
    for row in rows:
        held.update((county, row[county]) for county in counties if county in row)
        days.append(dict(held))
        news = False
        for county, (left, right) in around.items():
            rates = [((day[left] + day[right]) // 2, day[county]) for day in days]
            weeks = [(sum(x for x, _ in rates[i : i + 3]), sum(y for _, y in rates[i : i + 3]))
                     for i in range(max(0, len(rates) - 13), len(rates) - 2)]  # fmt: skip
            if len(weeks) == 11:
                found, (x, y) = line(weeks[:10]), weeks[10]
                said = bool(found and (y - found[0] - found[1] * x) ** 2 > 9 * found[2])
                if single[county](said):
                    alarm[county], news = said, True
        expected.append(told(sum(alarm.values())) if news else [])
    assert shown("disease", rows) == expected
    assert any(step and step[0] for step in expected[200:205])  # the outbreak


def test_power() -> None:
    rows = systems.power(7, seed=2)
    assumed = dict(zip(systems.PARTS, (15, 20, 30, 22), strict=True))
    at_work = dict(zip(systems.PARTS, (40, 60, 70, 60), strict=True))
    part, water, off, told, expected = "", None, 0, Told(), []
    needed = demanded = None
    for row in rows:
        part, water = row.get("part", part), row.get("water", water)
        error = row["measured"] - assumed[part]
        off = error if abs(error) > 2 else 0
        warm = assumed[part] + off
        needed = at_work[part] + 3 * max(0, 18 - warm) + 4 * max(0, warm - 22)
        news = needed != demanded or "water" in row
        demanded = needed
        assert water is not None
        expected.append(told(2 if needed <= water else 5 if needed <= water + 40 else 9) if news else [])
    assert shown("power", rows) == expected
    surprises = [i for i, step in enumerate(systems.traced("power", rows)[1]) if "demand.believed.surprise" in step]
    assert all(i == 0 or i >= 4 * 144 for i in surprises)  # the cold days, from the fifth on, and the first word
