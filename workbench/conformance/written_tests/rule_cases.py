"""Disagreements about rules as pytest files: the rules, their events, and that all engines tell what they mean.

The rule of this module: a file fails as it is written, and passes once the engines agree with the formulas.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.conformance.compare.rule_engines import RuleDisagreement
from workbench.conformance.generate.rule_cases import RuleCase
from workbench.conformance.written_tests.recipe import written
from workbench.conformance.written_tests.written_file import WrittenFile


def rule_disagreement(found: RuleDisagreement, command: str = "") -> str:
    """The text of a pytest file that holds all engines to the meaning of these rules again.

    Parameters
    ----------
    command: the command that wrote the file.
    """
    file = WrittenFile(str(found), command)
    file.texts[str(found.case.rules)] = "SOURCE"
    lines = ["case = RuleCase(", "    rules(SOURCE),", *_given(found.case), ")", "assert held_to_meaning(case) is None"]
    file.test("test_engines_tell_what_the_rules_mean", "All engines tell what the formulas have", lines)
    return str(file)


def _given(case: RuleCase) -> Iterator[str]:
    """What the rules are given, as arguments."""
    yield "    ["
    for event in case.events:
        yield f"        Occurrence({written(event.type)}, {event.time}, {written(event.values)}),"
    yield "    ],"
    if any(case.facts.values()):
        yield f"    facts={written({name: list(rows) for name, rows in case.facts.items() if rows})},"
    for name in ("until", "trex", "saved"):
        if getattr(case, name) not in (None, False):
            yield f"    {name}={getattr(case, name)},"
