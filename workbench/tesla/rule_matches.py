"""The matches of rules on a log, for Python: counted, or enumerated lazily.

The rule of this module: nothing is computed before it is requested, and each request reads the log again.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workbench.extensions import later
from workbench.tesla.match_block import MatchBlock, block_of_matches, join_matches

if TYPE_CHECKING:
    from workbench.tesla.rule_set import RuleSet


class RuleMatches:
    """The matches of rules on a log: an iterable of pairs of a rule and the numbers of its match's events.

    It has no length, which would require a full count: see `count`.

    Parameters
    ----------
    data, options: as for `workbench.run`.
    """

    def __init__(self, rules: RuleSet, data: Any, **options: Any) -> None:
        self._rules, self._data, self._options = rules, data, options
        self._asked = False

    def __repr__(self) -> str:
        return f"<matches of {', '.join(self._rules.rule_names)}, computed on demand>"

    def __iter__(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        for part in self.parts():
            yield from part

    def parts(self) -> Iterator[MatchBlock]:
        """Yield the matches as columns, in blocks."""
        return _parts(self._run("rows"))

    def first(self, limit: int) -> list[tuple[str, tuple[int, ...]]]:
        """Return the first matches, without searching for further ones."""
        return list(itertools.chain.from_iterable(_parts(self._run("rows", first=limit)))) if limit > 0 else []

    def count(self) -> dict[str, int]:
        """Count the matches of each rule."""
        run = self._run("count")
        for _ in run.outputs():
            pass
        return dict(zip(self._rules.rule_names, run.session.counts, strict=True))

    def columns(self) -> MatchBlock:
        """Return all matches as columns."""
        run = self._run("rows")
        names, roles = run.session.called
        return join_matches([block_of_matches(names, roles, []), *_parts(run)])

    def to_arrow(self) -> Any:
        """Return all matches as an Arrow table: the rule, `trigger`, and the names that rules give to other events."""
        return self.columns().to_arrow()

    def _run(self, form: str, **more: Any) -> Any:
        again, self._asked = self._asked, True
        options = {**self._options, "matches": form, **more}
        return later("workbench.runner.rules.matches", "match_run")(self._rules, self._data, options, again=again)


def _parts(run: Any) -> Iterator[MatchBlock]:
    """Yield the matches of a run (`match_run`) in blocks."""
    return (output.table for output in run.outputs() if output.table is not None)
