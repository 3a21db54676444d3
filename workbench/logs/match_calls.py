"""A run for the matches of rules, as Python asks for it."""

from __future__ import annotations

from typing import Any

from workbench.errors import InputError
from workbench.logs.call import events_of
from workbench.logs.options import started
from workbench.logs.rule_matches import MatchRun
from workbench.logs.source import answers_as_it_comes
from workbench.tesla.rule_set import RuleSet


def match_run(rules: RuleSet, data: Any, options: dict[str, Any], *, again: bool = False) -> MatchRun:
    """A run on data, with the options of `workbench.run`.

    Parameters
    ----------
    again: whether the data have been read before.

    Raises
    ------
    InputError: they can be read only once.
    """
    start = started(data, None, options)
    if again and answers_as_it_comes(data):
        raise InputError("this log has been read", hint="give a list, a table or a file to ask more than once")
    return MatchRun(rules, start, events_of(data))
