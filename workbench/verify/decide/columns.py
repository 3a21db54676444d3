"""Many random runs at once: a run in each row of numpy's columns, with inputs that are likely to refute properties.

The rule of this module: a run has its own habits, so that no pattern is rare in all of them: how often events come,
whether values are extreme, how long they are held, and whether they are repeated in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from workbench.core.domain import BOOL, Bool, Domain, Enum, Value
from workbench.core.encoding import decode, encode, encode_ends
from workbench.core.evaluate import PythonSource, compile_terms
from workbench.core.fold import postorder
from workbench.core.ops import as_term, conjunction
from workbench.core.term import Term
from workbench.errors import Refused
from workbench.executors.compiled.lower.words import refuse_large
from workbench.verify.decide.part import Part
from workbench.verify.decide.runs import values_of_inputs

PERIODS = (1, 1, 2, 3, 4, 6)
"""The lengths of input patterns that are repeated."""
ROUND = 12
"""Their least common multiple."""
EXTREMES = 12
"""Maximum number of extreme values of an input."""
WEIGHTS = (1.0, 0.5, 0.5, 0.2, 0.8, 0.0)
"""The probabilities of an event when inputs are drawn again, as long as the assumptions forbid them."""

NUMPY = {
    "not": "logical_not({0})", "and": "logical_and({0}, {1})", "or": "logical_or({0}, {1})",
    "implies": "logical_or(logical_not({0}), {1})", "ite": "where({0}, {1}, {2})",
    "min": "minimum({0}, {1})", "max": "maximum({0}, {1})", "div": "quotient({0}, {1})", "mod": "remainder({0}, {1})",
}  # fmt: skip
"""The operators whose Python is not that of numpy's columns."""


def _quotient(a: Any, b: Any) -> Any:
    return np.where(b == 0, 0, a // np.where(b == 0, 1, b))


def _remainder(a: Any, b: Any) -> Any:
    return np.where(b == 0, a, a % np.where(b == 0, 1, b))


class NumpySource(PythonSource):
    """Source of a term over columns of numpy; values are encoded as in compiled code."""

    scope: ClassVar[Mapping[str, Any]] = {
        "logical_not": np.logical_not, "logical_and": np.logical_and, "logical_or": np.logical_or, "where": np.where,
        "minimum": np.minimum, "maximum": np.maximum, "quotient": _quotient, "remainder": _remainder,
    }  # fmt: skip
    clamp: ClassVar[str] = "minimum(maximum({}, 0), {})"

    def on_const(self, term: Term) -> str:
        refuse_large(term)
        return repr(bool(term.payload) if isinstance(term.domain, Bool) else encode(term.domain, term.payload))

    def default(self, term: Term, *args: str) -> str:
        refuse_large(term)
        assert term.op is not None
        if term.op.name in ("eq", "ne"):
            left, right = (arg.domain for arg in term.args)
            if isinstance(left, Enum) and isinstance(right, Enum) and left.labels != right.labels:
                raise Refused(f"values of {left} are not compared with those of {right} in columns")
        if term.op.name not in NUMPY:
            return super().default(term, *args)
        constant = term.args[-1].payload if term.args[-1].is_const else 0
        by_constant = term.op.name in ("div", "mod") and constant
        source = f"({{0}} {'//' if term.op.name == 'div' else '%'} {{1}})" if by_constant else NUMPY[term.op.name]
        return self.write_fit(term, source.format(*args))

    def on_escapes(self, term: Term, a: str, b: str) -> str:
        refuse_large(term)
        assert term.op is not None
        exact = term.op.python.format(a, b)
        return f"logical_or({exact} < 0, {exact} > {encode_ends(term.args[0].domain)[1]})"


class RunColumns:
    """Random runs of a part's system, all of the same length.

    Parameters
    ----------
    labels: terms to evaluate at each step.
    rows: the number of runs.

    Attributes
    ----------
    state: a column for each variable of the system.
    legal: the runs in which the assumptions have allowed every step so far.
    history: the columns of the inputs at each step so far.
    periods: for each run the length of the pattern of its inputs, or 0.

    Raises
    ------
    Refused: numbers of the system do not fit into 64 bits, or are not numbers.
    """

    def __init__(self, part: Part, labels: Sequence[Term], rows: int) -> None:
        self.system, self.rows = part.model.system, rows
        self.names, self._of = tuple(self.system.free), values_of_inputs(self.system)
        self._extremes = {name: _find_extremes(part, domain) for name, domain in self.system.free.items()}
        self._count = len(labels)

        def compiled(*terms: Term) -> Callable[..., tuple[Any, ...]]:
            return compile_terms(self.system.inline(terms), self.system.symbols, NumpySource)

        self._allows = compiled(as_term(conjunction(part.assume), BOOL))
        self._step = compiled(*labels, *(v.next for v in self.system.variables))
        self._domains = [v.domain for v in self.system.variables]

    def begin(self, seed: int, *, periodic: bool = False) -> None:
        """Begin new runs, with inputs that depend on the seed."""
        rng = self._chosen = np.random.default_rng(seed)
        self.state: list[Any] = [
            np.full(self.rows, encode(v.domain, v.initial), _type(v.domain)) for v in self.system.variables
        ]
        self.legal: Any = np.ones(self.rows, bool)
        self.history = list[list[Any]]()
        self._weight = rng.choice([0.3, 0.6, 0.9, 1.0], self.rows)
        self._extreme = rng.choice([0.0, 0.5, 1.0], self.rows)
        self._held = rng.choice([0.0, 0.0, 0.5, 0.9, 0.97], self.rows)
        patterns = rng.choice(PERIODS, self.rows)
        self.periods = patterns if periodic else np.where(rng.random(self.rows) < 0.75, 0, patterns)

    def step(self) -> list[Any]:
        """Take a step in each run; return the labels, which are false in runs that are not legal."""
        input_columns = self._draw()
        for weight in WEIGHTS:
            wrong = self.legal & ~self._are_allowed(input_columns)
            if not wrong.any():
                break
            again = self._draw(weight)
            input_columns = [np.where(wrong, new, old) for new, old in zip(again, input_columns, strict=True)]
            self.periods = np.where(wrong & (len(self.history) >= self.periods), 0, self.periods)
        self.legal = self.legal & self._are_allowed(input_columns)
        outputs = self._step(*self.state, *input_columns)
        self.history.append(input_columns)
        self.state = [
            np.broadcast_to(np.asarray(column, _type(domain)), self.rows)
            for column, domain in zip(outputs[self._count :], self._domains, strict=True)
        ]
        return [np.broadcast_to(label, self.rows) & self.legal for label in outputs[: self._count]]

    def _are_allowed(self, input_columns: Sequence[Any]) -> Any:
        return np.broadcast_to(self._allows(*self.state, *input_columns)[0], self.rows)

    def inputs(self, row: int) -> list[dict[str, Value]]:
        """Return the inputs of a run so far."""
        domains = list(self.system.free.values())
        return [
            {n: decode(d, int(column[row])) for n, d, column in zip(self.names, domains, input_columns, strict=True)}
            for input_columns in self.history
        ]

    def _draw(self, weight: float | None = None) -> list[Any]:
        """Draw inputs; events come with the probability `weight`, or with that of each run."""
        rng, rows = self._chosen, self.rows
        drawn = {}
        for name, domain in self.system.free.items():
            if isinstance(domain, Bool):
                often = (self._weight if weight is None else weight) if name in self._of else 0.5
                drawn[name] = rng.random(rows) < often
                continue
            lo, hi = encode_ends(domain)
            column = rng.integers(lo, hi + 1, rows)
            extreme = rng.choice(self._extremes[name], rows)
            drawn[name] = np.where(rng.random(rows) < self._extreme, extreme, column)
        if self.system.end is not None and self.system.end.now.name in drawn:
            drawn[self.system.end.now.name] = rng.random(rows) < 0.02
        if self.history:  # values are held, and patterns repeated
            for index, name in enumerate(self.names):
                if name not in self._of:
                    held = (rng.random(rows) < self._held) & (weight is None)
                    drawn[name] = np.where(held, self.history[-1][index], drawn[name])
            for period in np.unique(self.periods[self.periods > 0]):
                if period <= len(self.history) and weight is None:
                    for index, name in enumerate(self.names):
                        drawn[name] = np.where(self.periods == period, self.history[-period][index], drawn[name])
        for present, values in self._of.items():
            for leaf, domain in values.items():
                drawn[leaf] = np.where(drawn[present], drawn[leaf], encode(domain, domain.default))
        return [drawn[name] for name in self.names]


def constants_of(part: Part) -> list[int]:
    """Return the whole numbers that occur in the system of a part."""
    system = part.model.system
    terms = [
        *system.names().values(),
        *(atom for question in part.questions.values() for atom in question.formula.atoms()),
    ]
    numbers = {t.payload for t in postorder(terms) if t.is_const and t.domain.numeric and type(t.payload) is int}
    return sorted(numbers)


def _find_extremes(part: Part, domain: Domain) -> list[int]:
    """Return the ends of a domain, and the constants of the system in it with their neighbours."""
    if isinstance(domain, Bool):
        return [0, 1]
    lo, hi = encode_ends(domain)
    near = (number + by for number in constants_of(part) for by in (0, 1, -1))
    return list(dict.fromkeys([lo, hi, *(number for number in near if lo <= number <= hi)]))[:EXTREMES]


def _type(domain: Domain) -> type:
    return bool if isinstance(domain, Bool) else np.int64
