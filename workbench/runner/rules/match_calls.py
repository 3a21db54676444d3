"""A run for the matches of rules, as Python asks for it."""

from __future__ import annotations

from functools import partial
from typing import Any

from workbench.errors import InputError
from workbench.runner.loop import LogRun
from workbench.runner.options import started
from workbench.runner.rules.matches import match_session
from workbench.runner.rules.opening import run_of
from workbench.runner.source import answers_as_it_comes
from workbench.tesla.match_block import MatchBlock
from workbench.tesla.rule_set import RuleSet


def match_run(rules: RuleSet, data: Any, options: dict[str, Any], *, again: bool = False) -> LogRun:
    """A run of rules on data for their matches, with the options of `workbench.run`; its session is a `MatchSession`.

    Each part of the matches is computed when the caller takes it, as the table of an emission.

    Parameters
    ----------
    again: whether the data have been read before.

    Raises
    ------
    InputError: they can be read only once.
    """
    if again and answers_as_it_comes(data):
        raise InputError("this log has been read", hint="give a list, a table or a file to ask more than once")
    return run_of(rules, started(data, None, options), partial(match_session, show=_same))


def _same(matches: MatchBlock) -> MatchBlock:
    return matches
