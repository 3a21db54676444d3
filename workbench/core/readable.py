"""Format values for readers."""

from __future__ import annotations

import re

from workbench.core.domain import Domain, Value
from workbench.core.fields import Map, Record, Tuple


def plural(number: float | str, noun: str) -> str:
    """Return a number with its noun: `1 step`, `2 steps`."""
    return f"{number} {noun}{'' if number in (1, '1') else 's'}"


MAX_LISTED = 12
"""Maximum number of values of a set that are all printed."""


def shorten_sets(text: str) -> str:
    """Return a sentence in which a set of many values shows the first two and the last, and how many there are."""

    def shorten(match: re.Match[str]) -> str:
        values = match[1].split(", ")
        if len(values) <= MAX_LISTED:
            return match[0]
        return f"{{{values[0]}, {values[1]}, ... {values[-1]}}} ({len(values)} values)"

    return re.sub(r"\{([^{}]*)\}", shorten, text)


def show_value(value: Value, domain: Domain | None = None) -> str:
    """Return a value as a `.pipe` file would write it."""
    if isinstance(value, list):  # the events of a wide pipe
        return ", ".join(show_value(event, domain) for event in value)
    if isinstance(domain, Record) and isinstance(value, tuple):
        fields = zip(domain.labels, value, domain.fields, strict=True)
        return "{" + ", ".join(f"{label}: {show_value(v, d)}" for label, v, d in fields) + "}"
    if isinstance(domain, Map):
        return (
            "{" + ", ".join(f"{key}: {show_value(v, domain.value)}" for key, v in domain.list_text_items(value)) + "}"
        )
    if isinstance(value, tuple):
        domains: tuple[Domain | None, ...] = (None,) * len(value)
        if isinstance(domain, Tuple):
            domains = domain.fields
        return "(" + ", ".join(show_value(v, d) for v, d in zip(value, domains, strict=True)) + ")"
    return str(value).lower() if isinstance(value, bool) else str(value)
