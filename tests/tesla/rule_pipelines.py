"""Random pipelines with rules in them: what a model of such a pipeline is held to.

The rule of this module: the rules are those of `rule_cases`; streams over finite domains feed them, with a processor in
between, and processors read what they emit, one of which may be other rules.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from workbench.builder import Builder, BuiltStream
from workbench.conformance.generate.rule_cases import random_case
from workbench.core.domain import BOOL, FLOAT, INT, STR, Domain, Enum, Integer, Range
from workbench.core.fields import Record
from workbench.core.pipeline import Pipeline
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.keep_last import KeepLast
from workbench.processors.passthrough import Passthrough
from workbench.processors.prefix import Prefix
from workbench.processors.stutter import Stutter
from workbench.processors.trim import Trim
from workbench.processors.turn_into import TurnInto
from workbench.tesla import tree as t
from workbench.tesla.rule_processor import RuleProcessor

INTEGERS = Integer(5)
"""What `int` is in models of these."""
_CARRIED: dict[Domain, Sequence[Domain]] = {
    INT: (Range(0, 1), INT, Range(4, 6)), FLOAT: (Range(0, 1), Range(1, 3)), STR: (Enum(("a", "b")),), BOOL: (BOOL,)
}  # fmt: skip
_BETWEEN: Sequence[Callable[[], Any]] = (
    Passthrough, Passthrough, lambda: Stutter(2), lambda: Trim(1), lambda: CountDecimate(2, True), lambda: Prefix(2),
    KeepLast,
)  # fmt: skip


def random_rule_pipeline(seed: int) -> Pipeline:
    """The pipeline of a number; its inputs, but for the time, are finite where `int` is `INTEGERS`."""
    choose, case, builder = random.Random(seed).choice, random_case(seed), Builder("random")
    looked_at = {name for rule in case.rules.rules for name in rule.types}
    types = [name for name in case.rules.events if name in looked_at or name in choose([(), ("N", "P", "Q")])]
    types = [name for name in types if name in case.rules.primitives or choose([True, False])]
    streams = {name: _stream(builder, case.rules.declarations[name], choose) for name in types}
    processor, order = RuleProcessor.of(case.rules, 0, types)
    processor = replace(processor, trex=case.trex, facts=case.facts)
    given = list(streams.values())
    found = builder.add(processor, [builder.input("time", INT), *(given[place] for place in order)])
    assert isinstance(found, tuple)  # of streams, with `all`
    outputs = dict(zip(processor.results_named, found, strict=True))
    outputs |= {f"{name}_counted": TurnInto(1, INT)(stream) for name, stream in outputs.items()}
    for name in case.rules.composites:
        outputs[f"{name}_after"] = choose(_BETWEEN)()(outputs[name])
    return builder.build(outputs)


def _stream(builder: Builder, declared: t.Declaration, choose: Callable[[Sequence[Any]], Any]) -> BuiltStream:
    """Events of a type: an input, and a processor behind it."""
    fields = {name: choose(_CARRIED[domain]) for name, domain in declared.domains.items()}
    domain = Record(tuple(fields.values()), tuple(fields)) if fields else BOOL
    made: BuiltStream = choose(_BETWEEN)()(builder.input(declared.name.lower(), domain))
    return made
