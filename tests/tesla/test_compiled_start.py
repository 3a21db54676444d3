"""The engine `compiled` before there is machine code: `cdp` computes, and nobody waits for a compiler."""

from __future__ import annotations

import random
from dataclasses import replace
from threading import Event
from typing import Any

import pytest

pytest.importorskip("numba")

from tests.tesla.events import C, rule_engine
from tests.tesla.test_meaning import TYPES
from tests.tesla.test_rule_threads import APART, JOINED, drawn, fed
from workbench.conformance.compare.rule_engines import same_occurrence
from workbench.conformance.generate.rule_streams import stream_case
from workbench.executors.compiled.rules import compiling
from workbench.executors.compiled.rules import engine as engine_module
from workbench.executors.compiled.rules.compiling import PLAIN
from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.executors.compiled.rules.threads import make_compiled_rules
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.engine import EngineSettings


@pytest.fixture
def python_as_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain Python stands for machine code."""
    monkeypatch.setattr(engine_module, "compile_functions", lambda: PLAIN)


@pytest.mark.usefixtures("python_as_code")
@pytest.mark.sampled(1)
@pytest.mark.parametrize("profiled", [False, True])
def test_the_kernel_goes_on_where_cdp_is_once_there_is_machine_code(monkeypatch, profiled):
    """At whichever event, within a block or between two, with all that has been retained or waits by then."""
    composites = 0
    for seed in range(16):
        rng = random.Random(seed)
        made = drawn((*JOINED, *APART), rng, 8)
        case, settings = stream_case(made, seed, 60), EngineSettings(profiled=profiled)
        needed = rng.randrange(1, len(case.events))
        monkeypatch.setattr(engine_module, "WAITING_EVENTS", rng.choice((1, 5)))
        monkeypatch.setattr(engine_module, "is_startable", lambda events, needed=needed: events >= needed)
        cuts = sorted(rng.choices(range(len(case.events) + 1), k=rng.choice((1, 4))))
        singly = [place for place in range(5) if rng.random() < 0.4]
        cdp, engine = (
            rule_engine(made, "cdp", case.facts, settings),
            CompiledRules(made, case.facts, settings, 8, waits=True),
        )
        assert engine.takes_block(needed)
        engine = CompiledRules(made, case.facts, settings, 8, waits=True)
        assert not engine.takes_block(needed - 1)
        expected = [each for event in case.events for each in cdp.process(event)] + cdp.advance(case.until or 99)
        found = fed(engine, case, cuts, singly) + ([] if case.until else engine.advance(99))
        assert len(found) == len(expected), seed
        assert all(map(same_occurrence, found, expected)), seed
        costs = [[replace(each, seconds=0) for each in running.profile()] for running in (cdp, engine)]
        assert costs[0] == costs[1], seed
        composites += len(found)
    assert composites > 200


@pytest.mark.usefixtures("python_as_code")
def test_rules_change_and_states_are_saved_before_there_is_machine_code(monkeypatch):
    monkeypatch.setattr(engine_module, "is_startable", lambda events: events > 5)
    made = parse_rules(TYPES + "rule all: from C and each A within 9 from C emit D(x = A.x)")
    engine = CompiledRules(made, {}, EngineSettings(), waits=True)
    assert engine.process(C(0, 0)) == []
    engine.add("rule last: from C and last C within 9 from C emit D(x = C2.x)".replace("last C", "last C as C2"))
    state = engine.snapshot()
    resumed = CompiledRules(engine.rules, {}, EngineSettings(), waits=True)
    resumed.restore(state)
    for each in (engine, resumed):
        found = [[composite.values for composite in each.process(C(time, time))] for time in (1, 2)]
        assert found == [[], [(1,)]]  # nobody has retained the first C
        assert not each.takes_block(1)


class KernelLoop:
    """Stands for the machine code of an entry, which another process compiles."""

    def __init__(self) -> None:
        self.started, self.compiled, self.kept = 0, Event(), False

    def ready(self, given: Any) -> bool:
        return self.kept

    def compile(self, statements: str) -> None:
        self.started += 1
        self.compiled.wait()
        self.kept = True


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> KernelLoop:
    made = KernelLoop()
    monkeypatch.setattr(compiling, "_machine_loop", lambda entry: made)
    monkeypatch.setattr(compiling, "run_aside", made.compile)
    compiling._compilation.cache_clear()
    return made


def test_what_is_kept_runs_where_events_pay_for_it(loop):
    loop.kept = True
    assert not compiling.is_startable(compiling.SHORT_RUN)
    assert compiling.is_startable(compiling.SHORT_RUN + 1)
    assert loop.started == 0


def test_another_process_compiles_while_cdp_computes(loop, capsys):
    assert not compiling.is_startable(compiling.LONG_RUN)
    assert loop.started == 0
    assert not compiling.is_startable(compiling.LONG_RUN + 1)
    assert not compiling.is_startable(compiling.LONG_RUN + 2)
    loop.compiled.set()
    compiling._compilation().join()
    assert compiling.is_startable(compiling.SHORT_RUN + 1)
    assert capsys.readouterr().err.count("compiling the kernel") == 1


def test_few_events_load_no_machine_code(monkeypatch):
    monkeypatch.setattr(compiling, "is_cached", lambda: pytest.fail("machine code has been asked for"))
    engine = make_compiled_rules(parse_rules(TYPES + "from C emit D(x = C.x)"), {}, EngineSettings())
    assert [each.values for time in range(300) for each in engine.process(C(time, time))] == [(x,) for x in range(300)]
