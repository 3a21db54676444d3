"""The properties that a command line asks about: as it gives them, else as the file does, else the usual ones."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.language import Loaded, PropertySyntax
    from workbench.tesla.rule_set import RuleSet

DEFAULT = ("liveness", "response", "no-overflow")
"""What is checked of a pipeline when neither the command line nor the file says; `Loaded.obligations` always are."""


def property_option(parser: argparse.ArgumentParser) -> None:
    """The properties."""
    parser.add_argument(
        "-p", "--property", action="append", default=[], metavar="PROPERTY",
        help="liveness, response, bounded-liveness(3), no-overflow, no-full-queues, stays-in-range, 'always (y >= 0)', "
        "'ctl(...)', 'ltl(...)', 'equivalent(other)' (repeat; default: the file's checks, else "
        f"{', '.join(DEFAULT)})",
    )  # fmt: skip


def list_properties(loaded: Loaded, given: Sequence[str]) -> list[PropertySyntax]:
    """The properties to check of a pipeline."""
    from workbench.language import parse_property

    if given:
        return [parse_property(text) for text in given]
    return [*(loaded.checks or map(parse_property, DEFAULT)), *loaded.obligations]


def list_rule_properties(rules: RuleSet, given: Sequence[str]) -> Sequence[str]:
    """The properties to check of rules: by default, whether each type of composites can come."""
    return given or [f"can({name})" for name in rules.composites]
