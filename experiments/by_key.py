"""Logs of the competition's queries as a run for each key takes them: every row is of one item, or of one Pingu.

    python experiments/auction_trace.py --items 3000 | python experiments/by_key.py item > items.csv
    workbench run models/crv2016/auction.pipe:auction --input items.csv --key e.item
    python experiments/pingus_trace.py --pingus 10 --events 9000 | python experiments/by_key.py pingu > pingus.csv
    workbench run models/crv2016/bashing.pipe:by_pingu --input pingus.csv --key pingu
    workbench run models/crv2016/spontaneous.pipe:by_pingu --input pingus.csv --column event=e.event --key pingu

The end of a day is copied to every item that has been named before, as `to_all` of a slice has it; a snapshot becomes a
row for each Pingu, with the number of the event, from 0.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TextIO
from xml.etree import ElementTree


def by_item(events: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    """The events of an auction, `(kind, item, amount, period)`, each of one item."""
    items: dict[Any, None] = {}
    for kind, item, *rest in events:
        if kind == "endOfDay":
            yield from ((kind, each, 0, 0) for each in items)
        else:
            items[item] = None
            yield (kind, item, *rest)


def by_pingu(game: Iterable[Mapping[int, tuple[Any, ...]]]) -> Iterator[tuple[int, int, str]]:
    """The Pingus of a game's snapshots: the Pingu, the number of the event, and what it does."""
    for number, snapshot in enumerate(game):
        yield from ((pingu, number, each[0]) for pingu, each in snapshot.items())


def snapshots(file: Any) -> Iterator[dict[int, tuple[str]]]:
    """What each Pingu does, of a game as XML."""
    for _, element in ElementTree.iterparse(file):
        if element.tag == "message":
            yield {int(each.findtext("id", "")): (each.findtext("status", ""),) for each in element.iter("character")}
            element.clear()


HEADERS = {"item": ("e.kind", "e.item", "e.amount", "e.period"), "pingu": ("pingu", "e.event", "e.status")}


def write(file: TextIO, key: str, rows: Iterable[tuple[Any, ...]]) -> None:
    """A log with a line of names."""
    lines = csv.writer(file, lineterminator="\n")
    lines.writerow(HEADERS[key])
    lines.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("key", choices=HEADERS)
    key = parser.parse_args().key
    rows = by_item(map(tuple, csv.reader(sys.stdin))) if key == "item" else by_pingu(snapshots(sys.stdin.buffer))
    write(sys.stdout, key, rows)


if __name__ == "__main__":
    main()
