"""The properties to check: those of the command line, else those of the file, else the default ones."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.language import Loaded, PropertySyntax
    from workbench.tesla.rule_set import RuleSet

DEFAULT = ("liveness", "response", "no-overflow")
"""The properties checked if neither the command line nor the file names any; `Loaded.obligations` are added."""


def property_option(parser: argparse.ArgumentParser) -> None:
    """Add the option for properties."""
    parser.add_argument(
        "-p", "--property", action="append", default=[], metavar="PROPERTY",
        help="liveness, response, bounded-liveness(3), no-overflow, no-full-queues, stays-in-range, 'always (y >= 0)', "
        "'ctl(...)', 'ltl(...)', 'equivalent(other)' (repeat; default: the file's checks, else "
        f"{', '.join(DEFAULT)})",
    )  # fmt: skip


def list_properties(loaded: Loaded, texts: Sequence[str]) -> list[PropertySyntax]:
    """Return the properties to check on a pipeline."""
    from workbench.language import parse_property

    if texts:
        return [parse_property(text) for text in texts]
    return [*(loaded.checks or map(parse_property, DEFAULT)), *loaded.obligations]


def list_file_properties(default: Loaded) -> list[tuple[Loaded, Sequence[PropertySyntax]]]:
    """Return the properties in a file, by pipeline; if there are none, those to check on the default pipeline."""
    source = default.source
    loaded = [default if name == default.name else source.get(name) for name in source.complete]
    if any(each.checks for each in loaded):
        return [(each, (*each.checks, *each.obligations)) for each in loaded]
    return [(each, list_properties(each, ()) if each is default else each.obligations) for each in loaded]


def list_rule_properties(rules: RuleSet, texts: Sequence[str]) -> Sequence[str]:
    """Return the properties to check on rules; by default, that each type of composite can occur."""
    return texts or [f"can({name})" for name in rules.composites]
