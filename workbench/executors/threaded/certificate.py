"""Certificates: that a processor may be pipelined, and what says so (Multiple Threads, section 4.4).

The rule of this module: nothing is believed. Who runs a pipeline is given a certificate and holds it against the
processor and the domains of the run, before the first event. What can be read off the machine is found again where
the two do not agree; what the model checker found (`verify/analyses/certify`) is taken as it was found or not at
all; and somebody's word is taken from who gives a name for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Self

from workbench.core.domain import Domain, Value
from workbench.core.function import Function, TypedFunction
from workbench.core.processor import Processor, State
from workbench.errors import PipelineError, Refused
from workbench.ir.lookback import find_history_bound, find_settled_states
from workbench.processors.held.group import Group

Settled = tuple[Mapping[int, Value], ...]


@dataclass(frozen=True)
class Certificate:
    """What has been established of a processor. Made by `workbench.certify`, or by `workbench.vouch`.

    Parameters
    ----------
    processor: what it was established of.
    domains: over which: of its inputs, then of the other pipes.
    history: what the processor does at a front depends on this many fronts at most, the front itself included:
        it is equivalent to its `History`. 1: it has no memory.
    rests_on: how it was established.
    settled: where this is not None, all that holds only from a state on that has, for one of these, these values at
        these positions: such a state never changes again, and `history` is 1.
    trusted_by: who vouches for it, where it was not established; otherwise empty.
    """

    processor: Processor
    domains: tuple[Domain, ...]
    history: int
    rests_on: str
    settled: Settled | None = None
    trusted_by: str = ""
    _established: tuple[Any, ...] | None = field(default=None, init=False, repr=False, compare=False)
    """What is said, as it was when it was established; a copy with something changed has none."""

    @classmethod
    def establish(
        cls, processor: Processor, domains: tuple[Domain, ...], history: int, why: str, settled: Settled | None = None
    ) -> Self:
        """For who has made sure that it is so."""
        found = cls(processor, domains, history, why, settled)
        object.__setattr__(found, "_established", found._identity)
        return found

    @property
    def _identity(self) -> tuple[Any, ...]:
        return (self.processor, self.domains, self.history, self.settled)

    def check(self, processor: Processor, inputs: tuple[Domain, ...]) -> None:
        """Refused unless it says something about this typed processor, with these domains at its inputs."""
        domains = domains_of(processor, inputs)
        if not _same(self.processor, processor):
            raise Refused(
                f"`{processor}` over {_list_domains(domains)} cannot be pipelined with a certificate of "
                f"`{self.processor}` over {_list_domains(self.domains)}",
                hint="certify the processor itself: workbench.certify(pipeline)",
            )
        genuine = bool(self.trusted_by) or self._established == self._identity
        if (genuine and self.domains == domains) or self._is_found_again(processor, inputs):
            return
        if genuine:
            raise Refused(
                f"`{processor}` runs over {_list_domains(domains)}, "
                f"and its certificate is for {_list_domains(self.domains)} only",
                hint="declare the inputs as the domain that was checked, or certify the pipeline as it is run",
            )
        raise Refused(
            f"it was not established what the certificate of `{processor}` says: it was made or changed by hand",
            hint="workbench.certify(pipeline), or workbench.vouch(pipeline, history, by=NAME) to answer for it",
        )

    def _is_found_again(self, processor: Processor, inputs: tuple[Domain, ...]) -> bool:
        found = by_structure(processor, inputs)
        if found is None:
            return False
        return found.settled == self.settled and found.history <= self.history

    def has_settled(self, state: State) -> bool:
        """Whether it holds from this state on."""
        if self.settled is None:
            return True
        return any(all(state[i] == value for i, value in values.items()) for values in self.settled)

    def __str__(self) -> str:
        if self.settled is not None:
            what = "has no memory once it has settled"
        elif self.history == 1:
            what = "has no memory"
        else:
            what = f"depends on the last {self.history} events"
        how = f"trusted, on the word of {self.trusted_by}" if self.trusted_by else self.rests_on
        return f"{self.processor} over {_list_domains(self.domains[: self.processor.in_arity])} {what}: {how}"

    def __repr__(self) -> str:
        return f"<{self}>"


def by_structure(processor: Processor, inputs: tuple[Domain, ...]) -> Certificate | None:
    """The certificate of a typed processor that is read off its machine, for all values of these domains."""
    history = find_history_bound(processor, inputs)
    if history is not None:
        why = "no state before them is left in its machine, whatever the values"
        if history == 1:
            why = "it keeps no state (and its function, if it is one in Python, is taken to have none)"
        return Certificate.establish(processor, domains_of(processor, inputs), history, why)
    settled = find_settled_states(processor, inputs)
    if not settled:
        return None
    slots = processor.machine(inputs).slots
    states = (", ".join(f"{slots[i].name} = {value}" for i, value in values.items()) for values in settled[:4])
    why = f"nothing changes its state from {' or '.join(states)} on, whatever the values"
    return Certificate.establish(processor, domains_of(processor, inputs), 1, why, settled)


def vouch_for(processor: Processor, inputs: tuple[Domain, ...], history: int, by: str) -> Certificate:
    """The certificate of a typed processor that somebody answers for."""
    if type(history) is not int or history < 1:
        raise PipelineError(f"a processor depends on at least one event, the present one, not on {history!r}")
    if not by.strip():
        raise PipelineError(
            "a certificate that was not established needs somebody who vouches for it", hint="by='your name'"
        )
    return Certificate(processor, domains_of(processor, inputs), history, "", trusted_by=by)


def domains_of(processor: Processor, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
    """The domains of a typed processor's inputs, then of what comes out of it and, if it is a group, of its pipes."""
    if isinstance(processor, Group):
        return (*inputs, *list(processor.flat.domains.values())[len(inputs) :])
    return (*inputs, *processor.results(inputs))


def _list_domains(domains: tuple[Domain, ...]) -> str:
    return ", ".join(dict.fromkeys(map(str, domains)))


def _same(a: Any, b: Any) -> bool:
    """Equal parameters, whatever domains the functions among them are typed for, and those taken from them."""
    if isinstance(a, TypedFunction):
        a = a.function
    if isinstance(b, TypedFunction):
        b = b.function
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if is_dataclass(a) and type(a) is type(b) and not isinstance(a, Function | Domain):
        return all(_same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a) if f.compare)
    if None in (a, b) and isinstance(a or b, Domain):
        return True
    return bool(a == b)
