"""A run for the matches of rules, as Python asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, cast

from workbench.errors import InputError
from workbench.runner.options import started
from workbench.runner.rules.matches import MatchSession, match_session
from workbench.runner.rules.opening import run_of
from workbench.runner.source import answers_as_it_comes
from workbench.tesla.match_block import MatchBlock
from workbench.tesla.rule_set import RuleSet


class MatchRun:
    """A run of rules for their matches, with the options of `workbench.run`."""

    def __init__(self, rules: RuleSet, data: Any, options: dict[str, Any]) -> None:
        self._run = run_of(rules, started(data, None, options), partial(match_session, show=_same))
        session = cast(MatchSession, self._run.session)
        self._session, self.called = session, session.called

    def parts(self) -> Iterator[MatchBlock]:
        """The matches, part by part; each part is computed when the caller takes it."""
        return (emission.table for emission in self._run.emissions() if emission.table is not None)

    @property
    def counts(self) -> list[int]:
        """How many matches each rule has had, where they are counted."""
        return self._session.counts


def match_run(rules: RuleSet, data: Any, options: dict[str, Any], *, again: bool = False) -> MatchRun:
    """A run on data.

    Parameters
    ----------
    again: whether the data have been read before.

    Raises
    ------
    InputError: they can be read only once.
    """
    if again and answers_as_it_comes(data):
        raise InputError("this log has been read", hint="give a list, a table or a file to ask more than once")
    return MatchRun(rules, data, options)


def _same(matches: MatchBlock) -> MatchBlock:
    return matches
