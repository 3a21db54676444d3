r"""Data for the systems of `models/zimmerman2006`, made up from a seed, and pictures of their runs.

    python experiments/zimmerman_systems.py laundering > events.jsonl
    workbench run models/zimmerman2006/laundering.pipe:laundering --param k=40 --param far=150 --param top=999 \
        --input events.jsonl
    python experiments/zimmerman_systems.py all --pictures docs/pictures

With `--pictures` each system is run on its data, and drawn with what was sent on its pipes; the number of messages on
each is printed beside the number of steps, for that is what the paper's algorithm costs.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

MODELS = Path(__file__).resolve().parents[1] / "models" / "zimmerman2006"
Rows = list[dict[str, Any]]


def laundering(steps: int = 4000, seed: int = 0) -> Rows:
    """Transactions at two banks, (size, paid): what is paid is twice the size and a little noise.

    One in 500 is far off at one bank only. Every 1000 steps money leaves bank a, and reaches bank b 5 steps later; that
    it is the same is known again when either bank has another anomaly.
    """
    chance = random.Random(seed)

    def usual() -> tuple[int, int]:
        size = chance.randint(50, 350)
        return size, 2 * size + chance.randint(-10, 10)

    rows: Rows = [{bank: usual() for bank in "ab" if chance.random() < 0.8} for _ in range(steps)]
    for row in rows:
        for bank in row:
            if chance.random() < 1 / 500:
                row[bank] = (chance.randint(50, 150), chance.randint(700, 999))
    for moment in range(500, steps - 5, 1000):
        money = chance.randint(900, 999)
        rows[moment]["a"], rows[moment + 5]["b"] = (100, money), (120, money)
    return rows


COUNTIES = ("north", "east", "south", "west")


def disease(days: int = 360, seed: int = 0) -> Rows:
    """Four counties that report rates where they change: a wave for all, an outbreak in the east from day 200 on."""
    chance = random.Random(seed)
    rows, told = Rows(), dict.fromkeys(COUNTIES, 0)
    for day in range(days):
        wave = 20 + 10 * math.sin(day / 25)
        rates = {county: round(wave + chance.gauss(0, 1)) for county in COUNTIES}
        if 200 <= day < 230:
            rates["east"] += 15
        news = {county: rate for county, rate in rates.items() if rate != told[county]}
        told.update(news)
        rows.append({**news, "day": True})
    return rows


PARTS = ("midnight", "morning", "noon", "evening")


def power(days: int = 14, seed: int = 0) -> Rows:
    """A measurement every ten minutes, four parts a day; the fifth day to the eighth are eight degrees too cold."""
    chance = random.Random(seed)
    rows = Rows()
    for moment in range(days * 144):
        day, tenth = divmod(moment, 144)
        usual = (15, 20, 30, 22)[tenth // 36]
        row: dict[str, Any] = {"measured": min(35, max(10, usual + chance.randint(-2, 2) - 8 * (4 <= day < 8)))}
        if tenth % 36 == 0:
            row["part"] = PARTS[tenth // 36]
        if tenth == 0 and day % 3 == 0:
            row["water"] = chance.randint(20, 60)
        rows.append(row)
    return rows


class System(NamedTuple):
    """A pipeline, its parameters and data, and what is drawn of a run: inputs as lines, pipes as marks."""

    pipeline: str
    parameters: dict[str, int]
    data: Callable[..., Rows]
    lines: tuple[str, ...]
    pipes: tuple[str, ...]
    unit: str


SYSTEMS = {
    "laundering": System("laundering", {"k": 40, "far": 150, "top": 999}, laundering, ("a", "b"),
                         ("odd_a", "odd_b", "out"), "transaction"),
    "disease": System("lake", {"w": 7, "month": 28, "far": 3, "top": 99}, disease, COUNTIES,
                      ("n", "e", "s", "z", "out"), "day"),
    "power": System("prices", {}, power, ("measured",),
                    ("demand.believed.surprise", "demand", "out"), "ten minutes"),
}  # fmt: skip
"""By the name of the file."""


def traced(name: str, rows: Rows) -> tuple[Any, list[dict[str, list[Any]]]]:
    """The pipeline of a system, and what its pipes and outputs carry at each step of a run."""
    import workbench as wb

    system = SYSTEMS[name]
    pipeline = wb.read_file(MODELS / f"{name}.pipe").get(system.pipeline, **system.parameters).pipeline
    running = wb.executors.Reference(pipeline)
    found = []
    for row in rows:
        record = running.step(row)
        carried = {pipe: [maybe.value] for pipe, maybe in record.pipes.items() if maybe.present}
        found.append({**carried, **{output: events for output, events in record.outputs.items() if events}})
    return pipeline, found


def picture(name: str, rows: Rows, target: Path) -> dict[str, int]:
    """Draw a run; how many messages there were on each pipe that is drawn."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    system = SYSTEMS[name]
    _, steps = traced(name, rows)
    figure, (above, below) = pyplot.subplots(2, 1, sharex=True, figsize=(9, 4.5), height_ratios=(3, 2))
    for line in system.lines:
        points = [(i, row[line]) for i, row in enumerate(rows) if line in row]
        values = [value[1] if isinstance(value, tuple) else value for _, value in points]
        style = {"marker": ".", "linestyle": ""} if name == "laundering" else {"drawstyle": "steps-post"}
        above.plot([i for i, _ in points], values, label=line, markersize=2, linewidth=0.8, **style)
    above.legend(loc="upper right", fontsize=8)
    sent = {}
    for height, pipe in enumerate(reversed(system.pipes)):
        moments = [i for i, step in enumerate(steps) if pipe in step]
        sent[pipe] = len(moments)
        below.plot(moments, [height] * len(moments), "|", markersize=12)
    below.set_yticks(range(len(sent)), [f"{pipe.rpartition('.')[2]}: {count}" for pipe, count in sent.items()])
    below.set_xlabel(f"{system.unit} (messages on a pipe, of {len(rows)} steps)")
    figure.tight_layout()
    figure.savefig(target, dpi=80)
    pyplot.close(figure)
    return sent


def _plain(value: Any) -> Any:
    """A value as JSON lines have it."""
    return {"size": value[0], "paid": value[1]} if isinstance(value, tuple) else value


def main() -> None:
    """Write the data of a system as JSON lines, or draw runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("system", choices=[*SYSTEMS, "all"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--pictures", type=Path, help="the folder for pictures")
    args = parser.parse_args()
    if args.system == "all" and not args.pictures:
        parser.error("choose one system, or say where its pictures go: --pictures DIR")
    for name in SYSTEMS if args.system == "all" else (args.system,):
        rows = SYSTEMS[name].data(seed=args.seed)
        if args.pictures:
            sent = picture(name, rows, args.pictures / f"zimmerman_{name}.png")
            print(name, f"{len(rows)} steps:", ", ".join(f"{pipe} {count}" for pipe, count in sent.items()))
        else:
            sys.stdout.writelines(json.dumps({key: _plain(value) for key, value in row.items()}) + "\n" for row in rows)


if __name__ == "__main__":
    main()
