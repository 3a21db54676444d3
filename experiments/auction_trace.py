r"""Events for `models/crv2016/auction.pipe`: from a trace of the competition, or made up with the same statistics.

    python experiments/auction_trace.py --items 100 --break 7 > auction.csv
    workbench run models/crv2016/auction.pipe --input auction.csv --header kind,item,amount,period
    workbench run models/crv2016/auction.pipe --input TRACE.csv.gz --null zero \
        --pattern '(?P<kind>\w+),(item(?P<item>\d+))?,(?P<amount>\d*),(?P<period>\d*)'

A trace of the competition, with lines `create_auction,ITEM,MIN,PERIOD`, `bid,ITEM,AMOUNT,`, `sold,ITEM,,` and
`endOfDay,,,`, is read as it is, by their pattern. Made-up ones follow the statistics of the real one: least prices
1..999, periods 1..20, first bids 1..3, later ones about 4 to 11 % higher, many items open at a time, an item sold soon
after its least price is reached.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

Event = tuple[str, int, int, int]
"""Kind, item, amount (of a creation: the least price), period."""

OPEN_AT_A_TIME = 12


def read(path: Path) -> Iterator[Event]:
    """The events of a trace of the competition; `item0000001` becomes 1."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for kind, item, amount, period in csv.reader(file):
            yield kind, int(item.removeprefix("item") or 0), int(amount or 0), int(period or 0)


@dataclass
class _Open:
    """An item that is being sold."""

    item: int
    least: int
    last: int = 0


def generate(items: int, broken: int | None = None, seed: int = 0) -> Iterator[Event]:
    """Events that keep the property, except that the item `broken` (counted from 0) is sold below its least price."""
    chance = random.Random(seed)
    left, open_ = list(range(items)), list[_Open]()
    while left or open_:
        if left and len(open_) < OPEN_AT_A_TIME:
            found = _Open(left.pop(0), chance.randint(2, 999))
            open_.append(found)
            if len(left) == items // 2:
                yield "endOfDay", 0, 0, 0
            yield "create_auction", found.item, found.least, chance.randint(2, 20)
            continue
        one = chance.choice(open_)
        if one.last >= one.least or (one.item == broken and one.last):
            open_.remove(one)
            yield "sold", one.item, 0, 0
            continue
        one.last += 1 if one.last < 20 else max(1, round(one.last * chance.uniform(0.04, 0.11)))
        yield "bid", one.item, one.last, 0
    yield "endOfDay", 0, 0, 0


def main() -> None:
    """Write the events, four columns a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="trace", type=Path, help="a trace of the competition, .csv.gz")
    parser.add_argument("--items", type=int, default=100, help="items of a made-up trace")
    parser.add_argument("--break", dest="broken", type=int, help="the item that breaks the property")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    events = read(args.trace) if args.trace else generate(args.items, args.broken, args.seed)
    sys.stdout.writelines(f"{','.join(map(str, event))}\n" for event in events)


if __name__ == "__main__":
    main()
