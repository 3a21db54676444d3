"""Parsing of the values of options for models: times, rates, values of attributes, rows of facts."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from workbench.errors import InputError, refuse_unknown

if TYPE_CHECKING:
    from workbench.core.domain import Domain, Value
    from workbench.tesla.model.rates import RuleRate

TYPES = ("str", "float")
"""The types whose values in the model of a pipeline `--values` can set."""


def read_types(assignments: Sequence[str]) -> tuple[tuple[str, ...], tuple[int, int] | None]:
    """Parse the values that `--values` gives to `str` and `float` in the model of a pipeline."""
    texts: tuple[str, ...] = ()
    floats = None
    for text in assignments:
        name, _, listed = text.partition("=")
        if name.strip() == "str":
            texts = tuple(dict.fromkeys(each.strip() for each in listed.split(",")))
        elif name.strip() == "float":
            low, _, high = (each.strip() for each in listed.partition(".."))
            try:
                floats = int(low), int(high or low)
            except ValueError:
                what = f"--values {text}: a model has whole numbers in place of floats"
                raise InputError(what, hint="write --values float=-2..2") from None
            if floats[0] > floats[1]:
                raise InputError(f"--values {text}: there are no such numbers", hint=f"write float={high}..{low}")
        elif name.strip() == "int":
            raise InputError(f"--values {text}: -N sets the integers of a model", hint="write -N 4")
    return texts, floats


def read_time(text: str, option: str) -> int:
    """Parse a time, in microseconds if it has a unit."""
    from workbench.core.units import MICROSECONDS, SPELLINGS

    text = text.strip()
    number = text[: len(text) - len(text.lstrip("0123456789"))]
    unit = text.removeprefix(number).strip()
    if not number or not int(number) or (unit and unit not in SPELLINGS):
        example = "--tick '1 min'" if option == "--tick" else "--rate 'Temp=3/1 min'"
        raise InputError(
            f"{option} {text} is not a time", hint=f"write {example}, or a number where windows have no units"
        )
    return int(number) * MICROSECONDS.get(SPELLINGS.get(unit, ""), 1)


def read_rate(text: str) -> tuple[str, RuleRate]:
    """Parse a type of events, or "" for all others, and the rate of such events: `Temp=3/1 min`."""
    from workbench.tesla.model.rates import RuleRate

    name, _, rate = text.rpartition("=")
    count, slash, time = rate.partition("/")
    if not slash or not count.strip().isdigit() or not int(count):
        raise InputError(f"--rate {text}: expected [TYPE=]COUNT/TIME", hint="write --rate 'Temp=3/1 min'")
    time = time.strip() if time.strip()[:1].isdigit() else f"1 {time.strip()}"  # 3/min
    return name.strip(), RuleRate(int(count), read_time(time, "--rate"), not time.isdigit())


def read_values(text: str, domains: Mapping[tuple[str, str], Domain]) -> tuple[tuple[str, str], list[Value | None]]:
    """Parse an attribute of a type, or an input of a pipeline, and its values: `Temp.value=44..46`."""
    name, equals, listed = text.partition("=")
    type, dot, attribute = name.strip().partition(".")
    if equals and not dot and (inputs := [input for input, of in domains if not of]):  # of a pipeline
        refuse_unknown("input", type, inputs)
    if not (equals and (dot or (type, "") in domains) and listed.strip()):
        raise InputError(f"--values {text}: expected TYPE.ATTRIBUTE=VALUES", hint="write --values Temp.value=44..46")
    domain = domains.get((type, attribute))
    values: list[Value | None] = []
    for item in listed.split(","):
        low, dots, high = item.strip().partition("..")
        try:
            values += range(int(low), int(high) + 1) if dots else [_value(low, domain)]
        except ValueError:
            raise InputError(f"--values {text}: {domain} has no value '{item}'", hint="write 1..4 or 1,5,9") from None
    return (type, attribute), values


def _value(text: str, domain: Domain | None) -> Value | None:
    from workbench.core.domain import BOOL, FLOAT, INT

    if text == "null":
        return None
    if domain == BOOL:
        return {"true": True, "false": False}[text.lower()] if text.lower() in ("true", "false") else int("no")
    if domain == INT:
        return int(text)
    return float(text) if domain == FLOAT else text


def read_any_facts(args: argparse.Namespace) -> tuple[dict[str, int], frozenset[str]]:
    """Return the types with arbitrary facts and their maximum numbers of rows, and the types that change."""
    limits: dict[str, int] = {}
    for option in ("--facts-any", "--facts-change"):
        for text in getattr(args, option[2:].replace("-", "_"), None) or []:
            name, _, limit = (each.strip() for each in text.partition("="))
            if not limit.isdigit():
                raise InputError(f"{option} {text}: expected TYPE=ROWS", hint=f"write {option} Line=3")
            if name in limits:
                raise InputError(f"{option} {text}: its number of rows is given twice", hint="state it once")
            limits[name] = int(limit)
    changing = (text.partition("=")[0].strip() for text in getattr(args, "facts_change", None) or [])
    return limits, frozenset(changing)
