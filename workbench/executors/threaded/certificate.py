"""Certificates that a processor may be pipelined, with their grounds (Multiple Threads, section 4.4).

The rule of this module: certificates are checked. Before the first event, the executor compares a certificate with the
processor and the domains of the run. Structural properties are established again where the two differ; results of the
model checker (`verify/analyses/certify`) are accepted only as they were established; and a user's word is accepted only
with a name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Self

from workbench.core.domain import Domain, Value
from workbench.core.function import Function, TypedFunction
from workbench.core.processor import Processor, State
from workbench.errors import PipelineError, Refused, check_count
from workbench.ir.lookback import find_history_bound, find_settled_states
from workbench.processors.held.group import Group

Settled = tuple[Mapping[int, Value], ...]


@dataclass(frozen=True)
class Certificate:
    """An established property of a processor. Made by `workbench.certify`, or by `workbench.vouch`.

    Parameters
    ----------
    processor: the processor that it is about.
    domains: the domains of its inputs, then of the other pipes.
    history: maximum number of fronts on which the result at a front depends, the front itself included: the
        processor is equivalent to its `History`. 1: it has no memory.
    rests_on: the way in which it was established.
    settled: if not None, all this holds only from the first state on that has, for one of these mappings, these
        values at these positions: such a state never changes again, and `history` is 1.
    trusted_by: the person who vouches for it, where it was not established; otherwise empty.
    """

    processor: Processor
    domains: tuple[Domain, ...]
    history: int
    rests_on: str
    settled: Settled | None = None
    trusted_by: str = ""
    _established: tuple[Any, ...] | None = field(default=None, init=False, repr=False, compare=False)
    """The claims as they were established; a modified copy has none."""

    @classmethod
    def establish(
        cls, processor: Processor, domains: tuple[Domain, ...], history: int, why: str, settled: Settled | None = None
    ) -> Self:
        """Build a certificate of which the caller has established that it holds."""
        certificate = cls(processor, domains, history, why, settled)
        object.__setattr__(certificate, "_established", certificate._identity)
        return certificate

    @property
    def _identity(self) -> tuple[Any, ...]:
        return (self.processor, self.domains, self.history, self.settled)

    def check(self, processor: Processor, inputs: tuple[Domain, ...]) -> None:
        """Refuse the certificate unless it is about this typed processor, with these domains at its inputs."""
        domains = domains_of(processor, inputs)
        if not _same(self.processor, processor):
            raise Refused(
                f"`{processor}` over {_list_domains(domains)} cannot be pipelined with a certificate of "
                f"`{self.processor}` over {_list_domains(self.domains)}",
                hint="certify the processor itself: workbench.certify(pipeline)",
            )
        genuine = bool(self.trusted_by) or self._established == self._identity
        if (genuine and self.domains == domains) or self._is_restorable(processor, inputs):
            return
        if genuine:
            raise Refused(
                f"`{processor}` runs over {_list_domains(domains)}, "
                f"but its certificate is only for {_list_domains(self.domains)}",
                hint="declare the inputs as the domain that was checked, or certify the pipeline as it is run",
            )
        raise Refused(
            f"the certificate of `{processor}` was not established: it was written or changed by hand",
            hint="workbench.certify(pipeline), or workbench.vouch(pipeline, history, by=NAME) to answer for it",
        )

    def _is_restorable(self, processor: Processor, inputs: tuple[Domain, ...]) -> bool:
        certificate = by_structure(processor, inputs)
        if certificate is None:
            return False
        return certificate.settled == self.settled and certificate.history <= self.history

    def has_settled(self, state: State) -> bool:
        """Whether the certificate holds from this state on."""
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
    """Return the certificate of a typed processor that follows from its machine, for all values of these domains."""
    history = find_history_bound(processor, inputs)
    if history is not None:
        why = "its machine retains no earlier state, whatever the values"
        if history == 1:
            why = "it has no state (and its function, if it is one in Python, is taken to have none)"
        return Certificate.establish(processor, domains_of(processor, inputs), history, why)
    settled = find_settled_states(processor, inputs)
    if not settled:
        return None
    slots = processor.machine(inputs).slots
    states = (", ".join(f"{slots[i].name} = {value}" for i, value in values.items()) for values in settled[:4])
    why = f"nothing changes its state from {' or '.join(states)} on, whatever the values"
    return Certificate.establish(processor, domains_of(processor, inputs), 1, why, settled)


def vouch_for(processor: Processor, inputs: tuple[Domain, ...], history: int, by: str) -> Certificate:
    """Return the certificate of a typed processor that a person vouches for."""
    check_count("the number of events that a processor depends on, with the present one", history, least=1)
    if not by.strip():
        raise PipelineError(
            "a certificate that was not established needs a person who vouches for it", hint="by='your name'"
        )
    return Certificate(processor, domains_of(processor, inputs), history, "", trusted_by=by)


def domains_of(processor: Processor, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
    """Return the domains of a typed processor's inputs, then of its outputs or, for a group, of its pipes."""
    if isinstance(processor, Group):
        return (*inputs, *list(processor.flat.domains.values())[len(inputs) :])
    return (*inputs, *processor.results(inputs))


def _list_domains(domains: tuple[Domain, ...]) -> str:
    return ", ".join(dict.fromkeys(map(str, domains)))


def _same(a: Any, b: Any) -> bool:
    """Whether parameters are equal, ignoring the domains for which functions are typed, and derived domains."""
    a, b = (each.function if isinstance(each, TypedFunction) else each for each in (a, b))
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(_same, a, b))
    if is_dataclass(a) and type(a) is type(b) and not isinstance(a, Function | Domain):
        return all(_same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a) if f.compare)
    if None in (a, b) and isinstance(a or b, Domain):
        return True
    return bool(a == b)
