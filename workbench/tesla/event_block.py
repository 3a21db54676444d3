"""Events of rules as columns: a stretch of the total order that engines take at once.

The rule of this module: a block is never changed. What an event is, is read at its place in the columns of its type;
a text stands there as the whole number that compiled code has for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from workbench.core.domain import BOOL, FLOAT, INT, STR, Domain
from workbench.errors import InputError
from workbench.tesla.occurrence import Occurrence

if TYPE_CHECKING:
    from workbench.tesla.rule_set import RuleSet

CodesOfTexts = Callable[[Iterable[str]], Sequence[int]]
"""The numbers of texts in compiled code (`TextCodes.put`)."""


class LargeNumberError(InputError):
    """A whole number has more than 64 bits, which blocks have no room for."""


@dataclass(frozen=True, eq=False)
class AttributeColumn:
    """An attribute of the events of one type.

    Attributes
    ----------
    values: an array of int64, float64 or bool; of texts their numbers, in int64. Anything where a null is.
    nulls: an array of bool; None where there are none.
    """

    values: Any
    nulls: Any | None = None

    def tolist(self, texts: Mapping[int, str] | None = None) -> list[Any]:
        """The values, None for null.

        Parameters
        ----------
        texts: where the values are numbers of texts.
        """
        nulls = [] if self.nulls is None else self.nulls.nonzero()[0].tolist()
        found: list[Any] = self.values.tolist()
        if texts is not None:
            found = [texts.get(each, "") for each in found]
        for at in nulls:
            found[at] = None
        return found


@dataclass(frozen=True, eq=False)
class EventBlock:
    """Events one after the other in their order.

    Attributes
    ----------
    names: the types of events, those of `RuleSet.events`.
    types: uint16[n], the place of each event's type in `names`.
    times: int64[n], in the unit of the rules' windows; they do not go back.
    places: int64[n], where each event's values stand in the columns of its type.
    columns: of each type in `names` its attributes, in their order.
    texts: the numbers in columns of texts, and what they stand for; more may be there.
    numbers: int64[n], the places in the total order; None of events from outside, which have none yet.
    rules: int32[n], of composites the place of each one's rule in `rule_names`; None of events from outside.
    starts, sources: of composites, where it has been asked for: those of event i are the numbers
        `sources[starts[i]:starts[i + 1]]`.
    """

    names: tuple[str, ...]
    types: Any
    times: Any
    places: Any
    columns: tuple[tuple[AttributeColumn, ...], ...]
    texts: Mapping[int, str]
    numbers: Any | None = None
    rules: Any | None = None
    rule_names: tuple[str, ...] = ()
    starts: Any | None = None
    sources: Any | None = None

    def __len__(self) -> int:
        return len(self.types)

    def part(self, first: int, last: int) -> EventBlock:
        """The events from one place to before another."""

        def cut(array: Any) -> Any:
            return None if array is None else array[first:last]

        return replace(
            self, types=cut(self.types), times=cut(self.times), places=cut(self.places), numbers=cut(self.numbers),
            rules=cut(self.rules), starts=None if self.starts is None else self.starts[first : last + 1],
        )  # fmt: skip

    def occurrences(self, rules: RuleSet) -> list[Occurrence]:
        """The same as single events."""
        rows: list[Sequence[tuple[Any, ...]]] = []
        for name, columns, count in zip(self.names, self.columns, self._counts(), strict=True):
            domains = rules.declarations[name].domains.values()
            values = [
                column.tolist(self.texts if domain == STR else None)
                for column, domain in zip(columns, domains, strict=True)
            ]
            rows.append(list(zip(*values, strict=True)) if values else [()] * count)
        numbers = [-1] * len(self) if self.numbers is None else self.numbers.tolist()
        made = [""] * len(self) if self.rules is None else [self.rule_names[each] for each in self.rules.tolist()]
        events = zip(self.types.tolist(), self.times.tolist(), self.places.tolist(), numbers, made, strict=True)
        bounds = None if self.starts is None or self.sources is None else self.starts.tolist()
        sources = [] if bounds is None else self.sources[bounds[0] : bounds[-1]].tolist()  # type: ignore[index]
        return [
            Occurrence(
                self.names[type], time, rows[type][place], number,
                () if bounds is None else tuple(sources[bounds[i] - bounds[0] : bounds[i + 1] - bounds[0]]), rule,
            )
            for i, (type, time, place, number, rule) in enumerate(events)
        ]  # fmt: skip

    def _counts(self) -> list[int]:
        """How many events of each type the columns have, as far as events of this block say."""
        found = [0] * len(self.names)
        for type, place in zip(self.types.tolist(), self.places.tolist(), strict=True):
            found[type] = max(found[type], place + 1)
        return found


def event_block(rules: RuleSet, events: Sequence[Occurrence], codes: CodesOfTexts) -> EventBlock:
    """Events as a block.

    Raises
    ------
    LargeNumberError: a whole number has more than 64 bits.
    """
    import numpy as np

    names = rules.events
    place_of = {name: i for i, name in enumerate(names)}
    rows: list[list[tuple[Any, ...]]] = [[] for _ in names]
    types, places = [], []
    for event in events:
        type = place_of[event.type]
        types.append(type)
        places.append(len(rows[type]))
        rows[type].append(event.values)
    texts: dict[int, str] = {}
    columns = tuple(
        tuple(
            attribute_column([row[i] for row in found], domain, codes, texts)
            for i, domain in enumerate(rules.declarations[name].domains.values())
        )
        for name, found in zip(names, rows, strict=True)
    )
    times: Any = np.array([event.time for event in events], np.int64)
    return EventBlock(names, np.array(types, np.uint16), times, np.array(places, np.int64), columns, texts)


def attribute_column(
    values: Sequence[Any], domain: Domain, codes: CodesOfTexts, texts: dict[int, str]
) -> AttributeColumn:
    """Values of one attribute as a column; None is null. Texts are put with their numbers into `texts`.

    Raises
    ------
    LargeNumberError: a whole number has more than 64 bits.
    """
    import numpy as np

    nulls: Any = np.array([each is None for each in values], bool)
    filled = [_EMPTY[domain] if each is None else each for each in values] if nulls.any() else values
    if domain == STR:
        numbers = codes(filled)
        texts.update(zip(numbers, filled, strict=True))
        filled = numbers
    try:
        made: Any = np.array(filled, _KINDS[domain])
    except OverflowError:
        large = next(each for each in filled if not -(2**63) <= each < 2**63)
        raise LargeNumberError(f"{large} has more than 64 bits") from None
    return AttributeColumn(made, nulls if nulls.any() else None)


_KINDS = {INT: "i8", STR: "i8", FLOAT: "f8", BOOL: "?"}
"""What numpy calls the values of a type."""
_EMPTY: Mapping[Domain, Any] = {INT: 0, STR: "", FLOAT: 0.0, BOOL: False}
"""What stands where a null is."""
