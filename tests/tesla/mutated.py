"""Texts of rules that somebody got wrong: valid ones with tokens swapped, deleted, doubled, replaced, or cut off."""

from __future__ import annotations

import random
import re

from tests.tesla.test_language import FIRE, OLDER, TYPES

SOURCES = (TYPES + FIRE, OLDER, *(TYPES + rule for rule in FIRE.split("\n\n")))
_TOKEN = re.compile(r"\s+|\w+|\$\w*|#[^\n]*|\"[^\"\n]*\"|==|!=|<=|>=|\.\.|.")
_OTHERS = (
    *("from and each first last not absent where limit emit consuming within between forever as ordered by declare "
      "fact rule define at most once in per with id include true false or after TIME AVG COUNT min s").split(),
    *"( ) [ ] , : = == < + - * / % . .. $a $ 5 0 1.5 99999999999999999999 1e999 1e-9 \" ' # \\ { } ; & é".split(" "),
    "\0", "\t", "\x0c", "\n", "\r\n", "\u2028", "\ufeff",
    "'none'", "Smoke", "Temp", "area", "value", "from from", "((((((((", "- - - -", "not not", "1" * 5000,
)  # fmt: skip


def mutated(seed: int) -> str:
    """One of the texts, wrong in one to six places; the same for the same seed."""
    chosen = random.Random(seed)
    tokens = _TOKEN.findall(chosen.choice(SOURCES))
    for _ in range(min(chosen.randint(1, 6), chosen.randint(1, 6))):
        _mutate(tokens, chosen)
    return "".join(tokens)


def _mutate(tokens: list[str], chosen: random.Random) -> None:
    i, j = chosen.randrange(len(tokens) or 1), chosen.randrange(len(tokens) or 1)
    match chosen.randrange(7):
        case 0 if tokens:
            tokens[i], tokens[j] = tokens[j], tokens[i]
        case 1:
            del tokens[i : i + chosen.randint(1, 3)]
        case 2:
            tokens[i:i] = tokens[i : i + chosen.randint(1, 8)]
        case 3 if chosen.random() < 0.2:
            del tokens[i:]
        case 4:
            tokens[i:i] = [" ", chosen.choice(_OTHERS), " "]
        case 5:
            tokens[i : i + 1] = tokens[j : j + 1]
        case _:
            tokens[i : i + 1] = [chosen.choice(_OTHERS)]
