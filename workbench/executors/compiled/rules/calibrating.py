"""Measure on this machine what the choice among engines of rules weighs (`tesla.engines.choice`).

The rule of this module: machine code is made that nobody has kept, in this process, whose processor time is known.
"""

from __future__ import annotations

from time import process_time, time_ns

from workbench.executors.compiled.code.machine import MachineLoop
from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.tesla.check import rules
from workbench.tesla.engines.choice import EngineCosts
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.table import rule_engine
from workbench.tesla.event_block import event_block
from workbench.tesla.occurrence import Occurrence

TYPES = "declare A(x: int, y: int) declare B(x: int, y: int) declare C(x: int, y: int) declare N() declare P(x: int)\n"
JOIN = (
    "from C[$x = x] and last B(x == $x) within 500 from C and $s = SUM(A(x == $x).y within 500 from C) emit P(x = $s)\n"
)
OTHERS = 8
"""Rules of other forms."""
EVENTS = 20_000


def measured_costs() -> EngineCosts:
    """What machine code costs here."""
    mark = time_ns()  # of no code that has been kept
    small, large = _made(JOIN, mark), _made("".join(_other(i) for i in range(OTHERS)), mark + 1)
    line = max(0.0, (large[1] - small[1]) / max(1, large[0].lines - small[0].lines))
    began = process_time()
    MachineLoop(small[0].program.source).ready(small[0].running.arguments)
    load = process_time() - began
    slow, fast = _seconds(small[0], _events(EVENTS))
    idle, event = _seconds(small[0], [Occurrence("N", i, ()) for i in range(EVENTS)])
    speed = max(1.0, (slow - idle) / max(1e-9, fast - event))
    return EngineCosts(load + IMPORTS, max(0.0, small[1] - line * small[0].lines), line, event / EVENTS + READ, speed)


IMPORTS, READ = 0.3, 3e-7
"""What loading libraries takes that are here already, and what an event takes to be read and made a column."""


def _other(i: int) -> str:
    more = " ".join(f"and each A(x > $x, y < {j}) as A{j} within {j + 1} from C" for j in range(i % 4 + 1))
    emitted = " + ".join(["$x", *("A0.y" for _ in range(i))])
    return f"rule o{i}: from C[$x = x] {more} emit P(x = {emitted})\n"


def _made(text: str, mark: int) -> tuple[CompiledRules, float]:
    """Rules whose machine code has been made, and what it took; `mark` is in the code."""
    engine = CompiledRules(rules(TYPES + text), {}, EngineSettings(), code=False)
    engine.program.source += f"# {mark}\n"
    engine.running.loop = engine.program.machine()
    began = process_time()
    list(engine.process_block(event_block(engine.rules, _events(1), engine.texts.put)))
    return engine, process_time() - began


def _events(count: int) -> list[Occurrence]:
    return [Occurrence("ABC"[i * 7 % 3], i, (i * i % 97, i % 13)) for i in range(1, count + 1)]


def _seconds(compiled: CompiledRules, events: list[Occurrence]) -> tuple[float, float]:
    """What `cdp` and machine code take."""
    made, cdp = compiled.rules, rule_engine(compiled.rules, "cdp")
    began = process_time()
    for event in events:
        cdp.process(event)
    slow = process_time() - began
    engine = CompiledRules(made, {}, EngineSettings(), code=False, program=compiled.program)
    engine.running.loop = compiled.running.loop
    block = event_block(made, events, engine.texts.put)
    began = process_time()
    list(engine.process_block(block))
    return slow, process_time() - began
