"""Problems from Python: what `check` takes, the checks of a file, and many at once in processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import workbench as wb
from tests.cli.conftest import busy, descendants
from workbench.errors import DomainError, EngineMissing, LanguageError, PipelineError, TypingError
from workbench.language import Source

TEXT = """
pipeline doubled(x: int) -> int { return x + x }
check equivalent(twice)
check always (out = 0)
pipeline twice(x: int) -> int { return x * 2 }
pipeline lossy(x: int) -> int {
    y = passthrough(x)
    fault lose y
    return y
}
check tolerates
"""
TWO = "pipeline {}(x: bool, y: bool) -> bool {{ return {} }}"


@pytest.fixture
def source() -> Source:
    return wb.parse(TEXT)


def test_a_property_may_be_text_and_name_a_pipeline_of_the_file(source: Source) -> None:
    verdict = wb.check(source.get("doubled"), "equivalent(twice)")
    assert (verdict.outcome, verdict.pipeline, verdict.property) == ("holds", "doubled", "equivalent(twice)")
    assert wb.check(source.get("doubled").pipeline, "always (out = 0)").outcome == "fails"
    with pytest.raises(LanguageError, match="equivalent_to"):
        wb.check(source.get("doubled").pipeline, "equivalent(twice)")


def test_comparisons_are_properties(source: Source) -> None:
    doubled, twice, same = (source.get(name).pipeline for name in ("doubled", "twice", "lossy"))
    assert wb.check(doubled, wb.properties.equivalent_to(twice)).outcome == "holds"
    assert wb.check(doubled, wb.properties.equivalent_to(twice, "stepwise")).property == "stepwise-equivalent(twice)"
    assert wb.check(doubled, wb.properties.equivalent_to(same)).outcome == "fails"
    assert wb.check(same, wb.properties.tolerating()).outcome == wb.faults.tolerates(same).outcome
    with pytest.raises(PipelineError, match="no faults"):
        wb.check(doubled, wb.properties.tolerating())


def test_outputs_of_different_ranges_are_compared() -> None:
    """Ranges are computed from how a number is computed, so the same numbers may have different ones."""
    made = wb.parse("""
    pipeline plain(x: 0..3) -> 0..3, (0..1, bool) { return x, (x div 2, x > 1) }
    pipeline longer(x: 0..3) -> -3..6, (0..4, bool) { return 2 * x - x, (if x > 1 then 1 else x * 0, x > 1) }
    pipeline wrong(x: 0..3) -> -3..6, (0..4, bool) { return 2 * x - x, (if x > 2 then 1 else x * 0, x > 1) }
    pipeline truth(x: 0..3) -> bool, (0..1, bool) { return x > 1, (x div 2, x > 1) }
    """)
    plain, longer, wrong, truth = (made.get(name) for name in ("plain", "longer", "wrong", "truth"))
    assert plain.pipeline.output_domains != longer.pipeline.output_domains
    for mode in ("sequence", "stepwise"):
        assert wb.equiv(plain, longer, mode).outcome == "holds"
        assert wb.equiv(plain, wrong, mode).outcome == "fails"
    with pytest.raises(TypingError, match=r"output 1 carries 0..3 in plain and bool in truth\s+hint: .*cast"):
        wb.equiv(plain, truth)


def test_what_approximates_is_the_subject() -> None:
    """It says true only where the other does."""
    both, one = (wb.parse(TWO.format(*each)).get().pipeline for each in (("both", "x and y"), ("one", "x and (y = y)")))
    assert wb.check(both, wb.properties.equivalent_to(one, "approximates")).outcome == "holds-within-bounds"
    assert wb.check(one, wb.properties.equivalent_to(both, "approximates")).outcome == "fails"
    assert wb.equiv(one, both, "approximates").outcome == "holds-within-bounds"


def test_a_constant_beyond_n_does_not_matter_where_data_is_not_looked_at() -> None:
    pipeline = wb.parse("pipeline p(x: int) -> int { return turn(x, 9) + trim(x, 1) }").get().pipeline
    small, large = (wb.check(pipeline, wb.properties.no_overflow(), wb.Settings(n=n)) for n in (4, 10))
    assert small.for_every_n
    assert (small.outcome, small.n, small.run) == (large.outcome, 10, large.run)
    with pytest.raises(DomainError, match="-N 10"):
        wb.check(pipeline, "always (out = 9)", wb.Settings(n=4))


@pytest.mark.parametrize("ask", [
    wb.certify, wb.certify_nodes, wb.constants, wb.dead_paths, wb.latencies, wb.longest_silence, wb.states,
    wb.properties.equivalent_to, lambda it: wb.latency(it, "x", "out"),
    lambda it: wb.check(it, "liveness").outcome, lambda it: wb.conform(it, search=wb.conformance.Search(examples=5)),
])  # fmt: skip
def test_a_program_is_taken_by_the_name_of_its_file(ask: Callable[[object], object], tmp_path: Path) -> None:
    path = tmp_path / "it.pipe"
    path.write_text("pipeline other(x: int) -> int { return x }\npipeline it(x: bool) -> bool { return not x }\n")
    assert repr(ask(f"{path}:it")) == repr(ask(path)) == repr(ask(wb.load(path).pipeline))


def test_the_checks_of_a_file(source: Source, tmp_path: Path) -> None:
    asked = [(problem.name, problem.text) for problem in wb.problems(source)]
    assert asked == [("doubled", "equivalent(twice)"), ("doubled", "always (out = 0)"), ("lossy", "tolerates")]
    (tmp_path / "it.pipe").write_text(source.text)
    assert [(p.name, p.text) for p in wb.problems(tmp_path / "it.pipe")] == asked
    assert [p.text for p in wb.problems(source.get("lossy"), more=["liveness"])] == ["liveness", "tolerates"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("jobs", [1, 2])
def test_all_at_once(source: Source, jobs: int) -> None:
    """Verdicts from other processes are as good: they are examined, drawn and written as tests."""
    problems = [*wb.problems(source), wb.problem(source.get("twice"), "always (no = 1)")]
    found = dict(wb.check_all(problems, jobs=jobs, examined=True))
    assert [found[problem].outcome for problem in problems] == ["holds", "fails", "fails", "unknown"]
    assert "no pipe 'no'" in found[problems[3]].reason or "no" in found[problems[3]].reason
    fails = found[problems[1]]
    assert fails.examined
    assert fails.problem is problems[1]
    assert fails.run
    assert fails.run.pipeline is not None
    text = wb.to_test([fails])
    assert "wb.parse(SOURCE)" in text
    assert wb.examine(fails).examined == fails.examined
    with pytest.raises(LanguageError):
        list(wb.check_all(problems, jobs=jobs, strict=True))


def test_who_stops_looking_leaves_no_process(source: Source) -> None:
    problems = [wb.problem(source.get("doubled"), "liveness") for _ in range(6)]
    before = set(descendants(os.getpid()))
    for problem, _ in wb.check_all(problems, jobs=2, ordered=True):
        assert problem is problems[0]
        break
    assert not {pid for pid in set(descendants(os.getpid())) - before if _parent(pid) == os.getpid()}


def test_without_an_engine_there_is_no_verdict(source: Source) -> None:
    problems = wb.problems(source, wb.Settings(engine="nuxmv"))
    with pytest.raises(EngineMissing, match="nuxmv"):
        list(wb.check_all(problems, jobs=2))


def test_a_process_that_dies_costs_one_verdict(source: Source) -> None:
    problems = [wb.problem(source.get("doubled"), "liveness") for _ in range(6)]
    found = []
    before = set(descendants(os.getpid()))
    for _, verdict in wb.check_all(problems, jobs=2):
        found.append(verdict)
        if len(found) == 1:
            members = [pid for pid in set(descendants(os.getpid())) - before if _parent(pid) == os.getpid()]
            os.kill(members[0], signal.SIGKILL)
    assert len(found) == 6
    assert sum(verdict.outcome == "unknown" for verdict in found) <= 1


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


SCRIPT = """
import workbench as wb

text = '''pipeline hard(x: int mod 4096, y: int mod 4096) -> int mod 4096 {
    a = cumulate(x * y, +)
    return cumulate(a * a + y, *)
}'''
loaded = wb.parse(text).get()
asked = ["no-overflow", "always (out != 3)", "ctl(AG EF (out = 2))"]
found = []

def told(checks):
    for problem, _ in checks:
        yield problem.text
        print("one", flush=True)

try:
    found.extend(told(wb.check_all((wb.problem(loaded, each) for each in asked), jobs=2)))
except KeyboardInterrupt:
    print(found, flush=True)
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize("how", ["script", "prompt"])
def test_an_interrupt_keeps_what_was_decided_and_leaves_no_process(tmp_path: Path, how: str) -> None:
    """Without a guard around the main module, and where there is none."""
    (tmp_path / "script.py").write_text(SCRIPT)
    arguments = [str(tmp_path / "script.py")] if how == "script" else ["-c", textwrap.dedent(SCRIPT)]
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "one\n"
    mine = busy(process.pid, 2)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (out, err, process.returncode) == ("['no-overflow']\n", "", 0)
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() for pid in mine) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in mine)
