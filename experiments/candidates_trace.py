"""Traces for `models/crv2016/candidates.pipe`, made up with the statistics of the competition's.

    python experiments/candidates_trace.py --voters 32700 --parties 677 --break rank > candidates.csv
    workbench run models/crv2016/candidates.pipe --input candidates.csv --header kind,who,what,n

The competition's valid trace has 977,998 events in three blocks: 343,133 members, 6,761 candidates, 628,335 ranks; so
each voter is in 10.5 parties (1 to 34, of 677) and ranks 19.2 candidates, and a party has 10 of them, with some 1,000
names. Here one candidate of each party has a name that no other party knows, and a voter ranks all candidates of one
own party and some of the other names: so no other party will do, and a voter who lacks one rank, or that membership,
breaks the property.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator

Event = tuple[str, str, str, str]
"""Kind, voter or candidate, party or candidate, and the rank."""

NAMES = 1000


def generate(voters: int, parties: int = 677, broken: str = "", seed: int = 0) -> Iterator[Event]:
    """Events; `broken` is empty, or `member` or `rank`: the last voter lacks one of that kind."""
    chance = random.Random(seed)
    sizes = chance.choices((8, 9), (1, 50), k=parties)
    lists = [[f"own{p}", *(f"name{n}" for n in chance.sample(range(NAMES), sizes[p]))] for p in range(parties)]
    members: list[Event] = []
    ranks: list[Event] = []
    for number in range(voters):
        voter, last = f"voter{number}", number == voters - 1
        own = chance.sample(range(parties), min(parties, max(1, min(34, round(chance.gauss(10.5, 5))))))
        wanted, rest = lists[own[0]], [f"name{n}" for n in chance.sample(range(NAMES), chance.randint(2, 16))]
        ranked = list(dict.fromkeys([*wanted[last and broken == "rank" :], *rest]))
        chance.shuffle(ranked)
        members += [("member", voter, f"party{p}", "") for p in own[last and broken == "member" :]]
        ranks += [("rank", voter, name, str(place)) for place, name in enumerate(ranked, 1)]
    chance.shuffle(members)
    yield from members
    yield from (("candidate", name, f"party{p}", "") for p, names in enumerate(lists) for name in names)
    chance.shuffle(ranks)
    yield from ranks


def without_party(events: Iterator[Event]) -> set[str]:
    """The voters who break the property, in plain Python."""
    parties: dict[str, set[str]] = {}
    lists: dict[str, set[str]] = {}
    ranked: dict[str, set[str]] = {}
    for kind, who, what, _ in events:
        if kind == "candidate":
            lists.setdefault(what, set()).add(who)
        else:
            (parties if kind == "member" else ranked).setdefault(who, set()).add(what)
    voters = parties.keys() | ranked.keys()
    return {v for v in voters if not any(lists.get(p, set()) <= ranked.get(v, set()) for p in parties.get(v, set()))}


def main() -> None:
    """Write the events as the competition has them, four columns a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--voters", type=int, default=100)
    parser.add_argument("--parties", type=int, default=20)
    parser.add_argument("--break", dest="broken", choices=["", "member", "rank"], default="")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    events = generate(args.voters, args.parties, args.broken, args.seed)
    sys.stdout.writelines(f"{','.join(event)}\n" for event in events)


if __name__ == "__main__":
    main()
