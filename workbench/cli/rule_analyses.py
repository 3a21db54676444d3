"""The analyses of rules as people read them: a section each."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from workbench.cli.analyse_report import Section
from workbench.cli.output import INDENT
from workbench.tesla.model.build import RuleBounds
from workbench.tesla.rule_set import RuleSet
from workbench.verify.answer.check import Settings
from workbench.verify.rules import QUESTIONS
from workbench.verify.rules.finding import RuleFinding
from workbench.verify.rules.stream import confirmed_by

TITLES = {
    "fires": ("what can fire", "there are no rules"),
    "covers": ("rules that cover others", "no two rules emit the same type"),
    "droppable": ("what can be dropped", "there is nothing but triggers"),
    "competition": ("triggers that compete", "no rule consumes anything"),
    "order": ("order of rules and events", ""),
    "cascade": ("cascades", ""),
    "capacity": ("what columns hold", "no rule looks for events"),
    "effects": ("what one event causes", ""),
}
"""Of each analysis its title, and what is said where there is nothing to ask."""


def rule_sections(
    rules: RuleSet, bounds: RuleBounds, settings: Settings, *, deepen: bool
) -> dict[str, Callable[[], Section]]:
    """What each analysis says of these rules."""
    asked = {name: partial(each, rules, bounds, settings, deepen=deepen) for name, each in QUESTIONS.items()}
    return {name: partial(_section, name, each) for name, each in asked.items()}


def _section(name: str, asked: Callable[[], Sequence[RuleFinding]]) -> Section:
    title, nothing = TITLES[name]
    found = asked()
    lines = [f"{' ' if each.decided else '?'} {each.about}: {each.says}" for each in found] or [f"  {nothing}"]
    details = [_shown(each) for each in found if each.streams]
    grounds = dict.fromkeys(line for each in found for line in each.rests_on)
    if grounds:
        details.append("\n".join(["this rests on:", *(f"- {line}" for line in grounds)]))
    if others := not_confirmed(found):
        details.append(others)
    data = {"findings": [each.to_json() for each in found]}
    return Section(title, tuple(lines), tuple(details), data, all(each.decided for each in found))


def _shown(found: RuleFinding) -> str:
    return "\n".join([f"{found.about}: {found.says}", *(textwrap.indent(each, INDENT) for each in told_streams(found))])


def not_confirmed(found: Iterable[RuleFinding]) -> str:
    """Which engines do not find what the rules mean, and why, once for all streams."""
    streams = (stream for each in found for stream in each.streams.values())
    said = dict.fromkeys(f"- {who}: {why}" for stream in streams for who, why in stream.unconfirmed.items())
    return "\n".join(["not run by all:", *said]) if said else ""


def told_streams(found: RuleFinding) -> list[str]:
    """The streams that show what was found, and who agrees."""
    lines = []
    for name, stream in found.streams.items():
        lines += [f"{name}:"] if name else []
        lines.append(textwrap.indent(stream.text() or "nothing happens", INDENT if name else ""))
    return [*lines, f"({confirmed_by(found.streams.values())} agree)"] if lines else []
