"""Random runs of a program, compared with the transition system in a certificate."""

from __future__ import annotations

import random
from collections.abc import Mapping
from functools import partial
from typing import Any

from workbench.core.domain import Bool, Domain, Value
from workbench.core.encoding import decode, encode, encode_ends
from workbench.core.pipeline import Pipeline
from workbench.core.processor import show_carried
from workbench.core.term import concrete, leaves
from workbench.errors import Overflow, WorkbenchError
from workbench.executors.reference.executor import Reference
from workbench.ir.system import System
from workbench.processors.held.group import flatten
from workbench.verify.answer.problem import Problem
from workbench.verify.answer.replay import inputs_of
from workbench.verify.answer.settings import Settings
from workbench.verify.proof.script import Obligation, Proof
from workbench.verify.proof.smt_text import SExpression, compile_body, read, symbol

STEPS = 40
"""The number of steps of a run."""
ATTEMPTS = 30
"""Number of draws of inputs until the assumptions allow them."""


class InvalidCertificate(WorkbenchError):
    """A certificate proves nothing: it is not about its question, a condition is not met, or a run contradicts it."""

    exit_code = 1


class Simulation:
    """Random runs of a program on the reference executor, compared with the transition system in a script.

    Parameters
    ----------
    rng: the source of random numbers.
    """

    def __init__(self, obligation: Obligation, problem: Problem, settings: Settings, rng: random.Random) -> None:
        self.system: System = obligation.part.model.system
        self.model, self.environment, self.chosen = obligation.part.model, settings.environment, rng
        self.domains = self.system.domains
        self.pipeline: Pipeline = flatten(problem.pose(settings)[0])
        self.bounds = {queue.name: queue.capacity for queue in self.model.queues}
        script = "\n".join(obligation.functions(Proof(0, ())))
        bodies = {str(each[1]): each[-1] for each in read(script) if isinstance(each, list)}
        self.initial, self.legal = (compile_body(bodies[obligation.name(of)]) for of in ("initial", "legal"))
        self.step = compile_body(_right_sides(bodies[obligation.name("step")]))

    def compare(self, runs: int) -> int:
        """Take random runs; return the number of steps.

        Raises
        ------
        InvalidCertificate: they differ.
        """
        return sum(self._run() for _ in range(runs))

    def _run(self) -> int:
        """Take one run up to an overflow, or to where the assumptions allow no step; return the number of steps."""
        state = {symbol(v.name): encode(v.domain, v.initial) for v in self.system.variables}
        if not all(self.initial(state)):
            raise InvalidCertificate("the system begins in another state than the program")
        executor, weight = Reference(self.pipeline, self.bounds), self.chosen.choice([0.3, 0.6, 0.9, 1.0])
        for number in range(STEPS):
            inputs = self._draw(state, weight)
            if inputs is None:
                return number
            known = {**state, **inputs}
            following = self.step(known)
            overflows = any(known[symbol(leaf.name)] for leaf in leaves(self.model.overflow) if leaf.is_var)
            try:
                record = executor.step(inputs_of(self.system, partial(self._read, known), self.environment))
            except Overflow as error:
                if not overflows and error.queue in self.bounds:
                    raise self._refuse(number, f"queue({error.queue}) overflows only in the program") from error
                return number  # or a number leaves its range that the property does not depend on
            if overflows:
                raise self._refuse(number, "only the system overflows")
            self._compare_step(number, known, record)
            state = dict(zip(state, following, strict=True))
        return STEPS

    def _draw(self, state: Mapping[str, int], weight: float) -> dict[str, int] | None:
        """Return inputs that the assumptions allow; None if no draw has any."""
        for attempt in range(ATTEMPTS):
            present = {each.present.name: self.chosen.random() < weight for each in self.system.inputs}
            if attempt > ATTEMPTS // 2:  # at most one event, as some assumptions demand
                only = self.chosen.choice([*present, ""]) if present else ""
                present = {name: name == only for name in present}
            inputs = {
                symbol(name): self._draw_value(domain, present.get(name)) for name, domain in self.system.free.items()
            }
            if all(self.legal({**state, **inputs})):
                return inputs
        return None

    def _draw_value(self, domain: Domain, present: bool | None) -> int:
        if isinstance(domain, Bool):
            return int(self.chosen.random() < 0.5 if present is None else present)
        lo, hi = encode_ends(domain)
        return self.chosen.choice([lo, hi, self.chosen.randint(lo, hi)])

    def _read(self, values: Mapping[str, int], name: str) -> Value | None:
        """Return the value of an input or a variable, by name; None if the system does not read it."""
        number = values.get(symbol(name))
        return None if number is None else decode(self.domains[name], number)

    def _compare_step(self, number: int, known: Mapping[str, int], record: Any) -> None:
        """Raise InvalidCertificate if a pipe or a queue is not what the program has."""

        def value(leaf: Any) -> Value:
            return decode(leaf.domain, known[symbol(leaf.name)]) if leaf.is_var else leaf.payload

        for name, pipe in self.system.pipes.items():
            slots = [(value(slot.present), concrete(slot.value, map(value, leaves(slot.value)))) for slot in pipe.slots]
            carried = show_carried([event for present, event in slots if present], pipe.width)
            maybe = record.pipes[name]
            if bool(maybe.present) != (carried is not None) or (maybe.present and maybe.value != carried):
                raise self._refuse(
                    number, f"pipe '{name}' carries {maybe.value if maybe.present else 'nothing'}, not {carried}"
                )
        for name, queue in self.system.queues.items():
            if (length := value(queue.length)) != record.queues[name]:
                raise self._refuse(number, f"{record.queues[name]} events wait in queue({name}), not {length}")

    def _refuse(self, number: int, what: str) -> InvalidCertificate:
        return InvalidCertificate(
            f"the system is not that of {self.pipeline.name}: at step {number + 1} of a run, {what}"
        )


def _right_sides(step: SExpression) -> SExpression:
    """Return the body of `step` with the next values in place of the equations."""
    inner, around = step, []
    while isinstance(inner, list) and inner[0] == "let":
        around.append(inner[1])
        inner = inner[2]
    equations = inner[1:] if isinstance(inner, list) and inner[0] == "and" else [] if inner == "true" else [inner]
    body: SExpression = ["and", *(each[2] for each in equations)]
    for bindings in reversed(around):
        body = ["let", bindings, body]
    return body
