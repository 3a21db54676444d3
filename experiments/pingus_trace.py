"""Traces for the three queries about Pingus in `models/crv2016`, made up: snapshots of a game as XML.

    python experiments/pingus_trace.py --pingus 10 --events 9000 --fault appears > game.xml
    workbench run models/crv2016/spontaneous.pipe --input game.xml --xml message --column ids=characters/character/id

As the competition's: all Pingus are there from the first event on, hidden at the trapdoor (50, 39); they enter one
after another, fall, and walk; two block for all of the trace, and walkers turn around before them; one bashes for a
while. With a fault one Pingu does what it must not: it appears, stops bashing to block (`blocks`), vanishes while it
bashes (`vanishes`), bashes to the end (`endless`), or walks on through a blocker (`rebel`). Steps are eighths, so that
sums are exact.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
from collections.abc import Iterator, Sequence

Pingu = tuple[str, float, float, float, float]
"""What it does, x, y, and its velocity."""
Snapshot = dict[int, Pingu]

FAULTS = ("", "appears", "blocks", "vanishes", "endless", "rebel")
STEP, GROUND, BLOCKERS = 0.125, 60.0, (20.0, 80.0)
ENTERS = 60
"""Events between two that enter."""
COLUMNS = {"status": "status", "x": "position/x", "y": "position/y", "vx": "velocity/x"}


def column(name: str) -> str:
    """The path to a field of all Pingus, as the reader of XML takes it."""
    return f"characters/character[id]/{COLUMNS[name]}"


def generate(pingus: int, events: int, fault: str = "", seed: int = 0) -> Iterator[Snapshot]:
    """The snapshots of a game; with a fault one of them has the first event that breaks the property.

    Parameters
    ----------
    pingus: at least 4; 0 and 1 block, and 2 bashes, or is the rebel.
    events: at least 1500, so that all of this happens.
    """
    chance = random.Random(seed)
    state: Snapshot = {0: ("BLOCKER", BLOCKERS[0], GROUND, 0.0, 0.0), 1: ("BLOCKER", BLOCKERS[1], GROUND, 0.0, 0.0)}
    state |= dict.fromkeys(range(2, pingus), ("HIDDEN", 50.0, 39.0, 0.0, 0.0))
    ways = {i: chance.choice((-STEP, STEP)) for i in state}
    bashes = range(events // 3, events * 3 // 5)
    for now in range(events):
        yield state
        after = {i: _moved(i, each, now, ways, fault) for i, each in state.items()}
        if fault == "rebel":
            after = {i: each for i, each in after.items() if 0 <= each[1] <= 100}
        elif now in bashes:
            _, x, y, _, _ = state[2]
            after[2] = ("BASHER", x, y, 1.0, 0.0)
        elif now >= bashes.stop and fault == "endless":
            after[2] = state[2]
        elif now == bashes.stop and fault == "vanishes":
            del after[2]
        elif now == bashes.stop and fault == "blocks":
            after[2] = ("BLOCKER", *state[2][1:3], 0.0, 0.0)
        elif now == bashes.stop:
            after[2] = ("WALKER", *state[2][1:3], ways[2], 0.0)
        if now == events // 2 and fault == "appears":
            after[pingus], ways[pingus] = ("FALLER", 50.0, 39.0, 0.0, STEP), STEP
        if fault == "vanishes" and now > bashes.stop:
            after.pop(2, None)
        state = after


def _moved(number: int, pingu: Pingu, now: int, ways: dict[int, float], fault: str) -> Pingu:
    """A Pingu an event later."""
    status, x, y, vx, vy = pingu
    if status == "HIDDEN" and now >= (number - 2) * ENTERS:
        return "FALLER", x, y, 0.0, STEP
    if status == "FALLER":
        return ("FALLER", x, y + vy, 0.0, vy + STEP) if y + vy < GROUND else ("WALKER", x, GROUND, ways[number], 0.0)
    if status != "WALKER":
        return pingu
    near = any(abs(x - blocker) < 6 for blocker in BLOCKERS)
    if near and not (fault == "rebel" and number == 2):
        vx = -vx
    return status, x + vx, y, vx, 0.0


def first_appears(game: Sequence[Snapshot]) -> int | None:
    """Where a Pingu is there that was not before: the number of the event, from 1."""
    pairs = itertools.pairwise(game)
    return next((k for k, (before, now) in enumerate(pairs, 2) if now.keys() - before.keys()), None)


def first_bashing(game: Sequence[Snapshot]) -> int | None:
    """Where one that bashed neither bashes nor walks; one behind the last event, where it bashes to the end."""
    for k, (before, now) in enumerate(zip(game, [*game[1:], {}], strict=True), 2):
        for i, (status, *_) in before.items():
            if status == "BASHER" and (i not in now or now[i][0] not in ("BASHER", "WALKER")):
                return k
    return None


def first_straight(game: Sequence[Snapshot]) -> int | None:
    """Where one that collided with a blocker in the event before walks on."""
    for k, (before, now) in enumerate(itertools.pairwise(game), 2):
        blockers = [each for each in before.values() if each[0] == "BLOCKER"]
        for i, (status, x, y, vx, _) in before.items():
            straight = status == "WALKER" and now.get(i, ("",))[0] == "WALKER" and vx and vx * now[i][3] >= 0
            if straight and any(abs(x - b[1]) < 6 and abs(y - b[2]) < 10 for b in blockers):
                return k
    return None


def as_xml(number: int, snapshot: Snapshot) -> str:
    """An event, a tag a line."""
    lines = ["<message>", f"<timestamp>{number * 1000 // 60}</timestamp>", "<characters>"]
    for i, (status, x, y, vx, vy) in snapshot.items():
        lines += [
            "<character>", f"<id>{i}</id>", f"<status>{status}</status>",
            "<position>", f"<x>{x}</x>", f"<y>{y}</y>", "</position>",
            "<velocity>", f"<x>{vx}</x>", f"<y>{vy}</y>", "</velocity>",
            "</character>",
        ]  # fmt: skip
    return "\n".join([*lines, "</characters>", "</message>", ""])


def main() -> None:
    """Write the snapshots."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pingus", type=int, default=10)
    parser.add_argument("--events", type=int, default=9000)
    parser.add_argument("--fault", choices=FAULTS, default="")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    sys.stdout.write("<trace>\n")
    for number, snapshot in enumerate(generate(args.pingus, args.events, args.fault, args.seed)):
        sys.stdout.write(as_xml(number, snapshot))
    sys.stdout.write("</trace>\n")


if __name__ == "__main__":
    main()
