"""Traces for `models/crv2016/sql.pipe`, made up with the statistics of the competition's.

    python experiments/sql_trace.py --events 9447753 --break 2 > sql.csv
    workbench run models/crv2016/sql.pipe --input sql.csv --header kind,text,to --null zero

The competition's valid trace has 9,447,753 events: 20 % inputs, 26 % derivations, 33 % sanitisations, 20 % uses. Here
each text that comes in is derived from once or twice (1.3 times), all of them are sanitised (1.65 times), and one is
used. Texts that are on their way at a time lie mixed. A broken trace lacks the sanitisation of the texts last used.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator

Event = tuple[str, str, str]
"""Kind, text, and what is derived from it."""

AT_A_TIME = 50
"""Texts that are on their way."""


def _story(number: int, chance: random.Random, sanitised: bool) -> list[Event]:
    """What happens to one text that comes in."""
    name = f"s{number}"
    children = [f"{name}a", f"{name}b"][: 1 + (chance.random() < 0.3)]
    used = chance.choice(children)
    found: list[Event] = [("input", name, "")]
    found += [("derive", name, child) for child in children]
    cleaned = [name] * (chance.random() < 0.65)
    found += [("sanitise", text, "") for text in [*cleaned, *([used] if sanitised else [])]]
    return [*found, ("use", used, "")]


def generate(events: int, broken: int = 0, seed: int = 0) -> Iterator[Event]:
    """About so many events; the last `broken` texts are used without being sanitised."""
    chance = random.Random(seed)
    texts, begun = max(1, events * 1000 // 4950), 0
    open_: list[list[Event]] = []
    while begun < texts or open_:
        while begun < texts and len(open_) < AT_A_TIME:
            open_.append(_story(begun, chance, begun < texts - broken)[::-1])
            begun += 1
        place = chance.randrange(len(open_))
        yield open_[place].pop()
        if not open_[place]:
            open_[place] = open_[-1]
            open_.pop()


def first_use(events: Iterator[Event]) -> tuple[int, str] | None:
    """Where the property is broken, in plain Python: the number of the event, from 1, and the text."""
    clean: dict[str, bool] = {}
    for number, (kind, text, to) in enumerate(events, 1):
        if kind == "use" and not clean.get(text, True):
            return number, text
        if kind == "derive":
            clean[to] = clean.get(text, False)
        elif kind != "use":
            clean[text] = kind == "sanitise"
    return None


def main() -> None:
    """Write the events as the competition has them, three columns a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--break", dest="broken", type=int, default=0, help="texts that are used without being clean")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    sys.stdout.writelines(f"{','.join(event)}\n" for event in generate(args.events, args.broken, args.seed))


if __name__ == "__main__":
    main()
