"""Conformance of pipelines finds what is broken on purpose, makes it small, and keeps it as a test."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.conformance.test_regression import play
from tests.examples import scaled
from workbench.conformance.compare.conform import conform, conform_random, plans
from workbench.conformance.compare.conformity import Conformity
from workbench.conformance.compare.contenders import CONTENDERS, Contender, Match, choose_contenders
from workbench.conformance.compare.executables import Blocks, Running, Seen
from workbench.conformance.compare.explanation import account
from workbench.conformance.compare.reduction import part
from workbench.conformance.compare.schedules import Schedule
from workbench.conformance.compare.search import ROUND, Search
from workbench.conformance.compare.shrinking import smallest
from workbench.conformance.compare.user_files import python_pipelines, subject
from workbench.conformance.written_tests.disagreements import disagreement
from workbench.conformance.written_tests.pytest_file import Recipe
from workbench.core.determinism import Determinism
from workbench.core.domain import FLOAT, Integer
from workbench.core.processor import Maybe
from workbench.errors import InputError, Refused, WorkbenchError
from workbench.processors.held.group import flatten

FAST = Search(examples=40, steps=10)


@wb.pipeline(x=wb.INT)
def sums(x):
    return x + wb.processors.Trim(1)(x)


def only(found: list[Conformity]) -> Conformity:
    (outcome,) = found
    return outcome


# --- a processor of one's own, in a file of one's own ---------------------------------------------------------

MINE = '''
from dataclasses import dataclass
import workbench as wb
from workbench.core.form import Form
from workbench.core.processor import Maybe


@dataclass(frozen=True)
class Rising(wb.Processor):
    """Every event that is larger than the one before it."""

    def denote(self, streams):
        (x,) = streams
        return ([b for a, b in zip(x, x[1:]) if b > a],)

    def initial(self):
        return (None,)

    def step(self, state, front):
        (before,), (x,) = state, front
        if before is not None and x > before:
            return (before,), (Maybe(True, x),)
        return (x,), (Maybe(False, None),)

    def refusal(self, form):
        return "" if form == Form.VALUES else "it is plain Python"

    @classmethod
    def samples(cls):
        return (cls(),)


@wb.pipeline(x=wb.INT)
def rises(x):
    return wb.processors.Cumulate(wb.functions.ADD)(wb.processors.TurnInto(1)(Rising()(wb.processors.Passthrough()(x))))
'''
MENDED = MINE.replace("return (before,), (Maybe(True, x),)", "return (x,), (Maybe(True, x),)")


@pytest.mark.slow
def test_a_broken_processor_is_found_and_its_test_passes_once_it_is_mended(tmp_path: Path) -> None:
    mine, kept = tmp_path / "mine.py", tmp_path / "test_it.py"
    mine.write_text(MINE)
    found = subject(str(mine), "rises")
    outcome = only(conform(found.pipeline, ["specification"], FAST))
    assert outcome.failure
    assert outcome.part == ("rising",)
    assert [dict(events) for events in outcome.failure.steps] == [
        {"passthrough": 0}, {"passthrough": 1}, {"passthrough": 1},
    ]  # fmt: skip
    kept.write_text(disagreement(outcome.failure, Recipe.of(found, None, tmp_path).of_part(outcome.part)))
    with pytest.raises(AssertionError, match="reference and specification differ at step 2"):
        play(kept.read_text(), kept)
    mine.write_text(MENDED)
    play(kept.read_text(), kept)
    mended = conform(subject(str(mine)).pipeline, ["reference", "threaded", "compiled", "model"], FAST)
    assert {o.backend: o.refused for o in mended if not o.agreements} == {
        **{each.name: REASON.format("`Rising` (processor 'rising')") for each in choose_contenders(["compiled"])},
        "model": "Rising is not supported by the model: it is plain Python",
        "NuSMV": "Rising is not supported by the model: it is plain Python",
    }
    assert all(o.holds for o in mended)


REASON = (
    "{} is not supported by backend 'compiled': it is plain Python; available on: reference, threaded, dataflow, spark."
)


IN_PLACE = """
from dataclasses import dataclass
import workbench as wb
from workbench.core.processor import Maybe


@dataclass(frozen=True)
class Total(wb.Processor):
    def denote(self, streams):
        return ([sum(streams[0][: i + 1]) for i in range(len(streams[0]))],)

    def initial(self):
        return ([],)

    def step(self, state, front):
        state[0].append(front[0])
        return state, (Maybe(True, sum(state[0])),)

    @classmethod
    def samples(cls):
        return (cls(),)


@wb.pipeline(x=wb.INT)
def totals(x):
    return Total()(x + 1)
"""
MENDED_STATE = IN_PLACE.replace("state[0].append(front[0])", "state = ([*state[0], *front],)")


@pytest.mark.parametrize("backend", ["specification", "pull"])
def test_a_step_that_changes_its_state_in_place_is_found(tmp_path: Path, backend: str) -> None:
    mine, kept = tmp_path / "mine.py", tmp_path / "test_it.py"
    mine.write_text(IN_PLACE)
    found = subject(str(mine))
    (outcome,) = conform(found.pipeline, [backend], FAST)
    assert outcome.failure
    assert "'total' (Total) changes its state in place" in str(outcome.failure.left[1])
    assert sum(bool(events) for events in outcome.failure.steps) == 1
    kept.write_text(disagreement(outcome.failure, Recipe.of(found, None, tmp_path).of_part(outcome.part)))
    with pytest.raises(AssertionError, match="differ at step"):
        play(kept.read_text(), kept)
    mine.write_text(MENDED_STATE)
    play(kept.read_text(), kept)
    assert only(conform(subject(str(mine)).pipeline, [backend], FAST)).holds


def test_a_step_that_changes_its_state_in_place_is_found_within_others(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(IN_PLACE.replace("Total()(x + 1)", "wb.processors.Slice(wb.core.function.EVEN, Total())(x)"))
    (outcome,) = conform(subject(str(mine)).pipeline, ["specification"], FAST)
    assert outcome.failure
    assert "changes its state in place" in str(outcome.failure.left[1])


def test_a_processor_without_a_specification(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    text = MENDED.replace("        (x,) = streams\n", "        raise NotImplementedError('Rising has no denotation')\n")
    mine.write_text(text)
    pipeline = subject(str(mine)).pipeline
    outcome = only(conform(pipeline, ["specification"], FAST))
    assert (outcome.refused, outcome.agreements) == ("Rising has no denotation", 0)
    assert only(conform(pipeline, ["pull"], FAST)).agreements == FAST.examples


def test_python_files_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    with pytest.raises(InputError, match="no such file"):
        python_pipelines(str(path))
    unfit = "import workbench as wb\n\n\n@wb.pipeline(x=wb.BOOL)\ndef p(x):\n    return x + 1\n\n"
    for text, message in [
        ("x = 1", "no pipeline in this file"),
        ("x = 1\n1 / 0", r"mine.py:2: it cannot be run: ZeroDivisionError: division by zero"),
        ("def f():\n    raise ValueError\n\nf()", r"mine.py:2: it cannot be run: ValueError$"),
        ("x = 1\n\ndef f(:", r"mine.py:3: it cannot be run: SyntaxError: invalid syntax"),
        ("import sys\nsys.exit(0)", r"mine.py:2: it cannot be run: SystemExit: 0"),
    ]:
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            python_pipelines(str(path))
    path.write_text(unfit)
    with pytest.raises(WorkbenchError, match=r"mine.py:6: pipeline p: "):
        python_pipelines(str(path))
    path.write_text(MINE)
    with pytest.raises(InputError, match=r"(?s)no pipeline 'rise'.*did you mean 'rises'"):
        subject(str(path), "rise")


@pytest.mark.slow
def test_a_processor_that_is_not_deterministic_is_said_to_be(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    chance = MENDED.replace("return (x,), (Maybe(True, x),)", "return (x,), (Maybe(True, next(NUMBERS)),)")
    mine.write_text(f"import itertools\nNUMBERS = itertools.count()\n{chance}")
    pipeline = subject(str(mine)).pipeline
    unsteady = only(conform(part(pipeline, ("rising",)), ["specification"], FAST))
    assert (unsteady.holds, unsteady.repeatable) == (False, False)
    mine.write_text(MINE)
    broken = only(conform(subject(str(mine)).pipeline, ["specification"], FAST))
    assert (broken.holds, broken.repeatable) == (False, True)


# --- a backend of one's own -----------------------------------------------------------------------------------


class Forgetful:
    """A backend that says nothing in its third step."""

    name = "forgetful"

    def __init__(self, pipeline: wb.Pipeline) -> None:
        self.running = Running(pipeline, {})
        self.source = "Forgetful(pipeline)"

    def trace(self, steps: Any) -> Any:
        for i, seen in enumerate(self.running.trace(steps)):
            yield Seen(dict.fromkeys(seen.pipes), seen.queues) if i == 2 else seen


def test_a_broken_backend_is_found_with_a_smallest_trace() -> None:
    outcome = only(conform(sums, [Contender("forgetful", "mine", lambda r: Forgetful(r.pipeline))], FAST))
    found = outcome.failure
    assert found
    assert outcome.part == ("add",)
    assert [dict(events) for events in found.steps] == [{"x": 0, "trim": 0}] * 3
    text = disagreement(found)
    assert "from tests.conformance.test_conform import Forgetful" in text
    names: dict[str, Any] = {}
    exec(text, names)
    with pytest.raises(AssertionError, match="reference and forgetful differ at step 2"):
        names["test_they_agree"]()
    exec(text.replace("Forgetful(pipeline)", "Running(pipeline)"), names)
    names["test_they_agree"]()


def test_how_a_difference_is_shown() -> None:
    contender = Contender("forgetful", "mine", lambda r: Forgetful(r.pipeline))
    found = only(conform(sums, [contender], FAST)).failure
    assert found
    shown = account(found, 80).splitlines()
    assert re.match(r"step +0  1  2", shown[0])
    assert any(line.startswith("in    x ") for line in shown)
    assert "forgetful  ·" in shown


class Lenient:
    """A backend that does not say that a queue overflows."""

    def __init__(self, pipeline: wb.Pipeline) -> None:
        self.running = Running(pipeline, {})

    def trace(self, steps: Any) -> Any:
        return self.running.trace(steps)


@pytest.mark.slow
def test_an_error_of_one_side_only_is_a_difference() -> None:
    bounded = sums.with_capacities({"add.left": 0})
    outcome = only(conform(bounded, [Contender("lenient", "mine", lambda r: Lenient(r.pipeline))], FAST))
    assert outcome.failure
    assert outcome.failure.what == "the run"
    assert "'add.left'" in account(outcome.failure)
    assert [dict(events) for events in outcome.failure.steps] == [{"x": 0}]
    assert all(each.holds for each in conform(bounded, ["reference", "threaded"], FAST))


# --- schedules ------------------------------------------------------------------------------------------------


def lost_update(schedule: Schedule) -> bool:
    """Two threads that add one without a lock."""
    total = [0]

    def add() -> None:
        before = total[0]
        schedule.point()
        total[0] = before + 1

    def body() -> None:
        threads = [schedule.Thread(target=add, name=name, daemon=True) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    schedule.run(body)
    return total[0] != 2


def test_a_race_is_found_and_shown_by_few_switches() -> None:
    assert not lost_update(Schedule(()))
    found = smallest(plans(flatten(sums)), lambda plan: plan if lost_update(Schedule(plan.schedule)) else None, 100, 0)
    assert found
    assert isinstance(found.schedule, tuple)
    assert len(found.schedule) <= 3
    assert (found.cuts, found.limit) == ((), 1)


# --- random pipelines ------------------------------------------------------------------------------------------


def test_random_pipelines_agree() -> None:
    outcome = conform_random((), Search(examples=scaled(12, 24), steps=6))
    assert outcome.holds
    assert outcome.agreements >= scaled(8, 18)


@pytest.mark.slow
def test_a_processor_that_is_broken_is_found_in_random_pipelines(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetting(self: wb.processors.Trim, state: Any, front: Any) -> Any:
        (seen,) = state
        return (min(seen + 1, self.count + 1),), (Maybe(seen > self.count, front[0]),)

    right = wb.processors.Trim.step
    monkeypatch.setattr(wb.processors.Trim, "step", forgetting)
    found = conform_random(["specification"], Search(examples=200, steps=6)).failure
    assert found
    assert len(found.pipeline.nodes) == 1
    assert len(found.steps) == 2
    names: dict[str, Any] = {}
    exec(disagreement(found), names)
    with pytest.raises(AssertionError, match="reference and specification differ"):
        names["test_they_agree"]()
    monkeypatch.setattr(wb.processors.Trim, "step", right)
    names["test_they_agree"]()


# --- contracts ------------------------------------------------------------------------------------------------


class Backwards:
    """A backend that adds floats in another order."""

    name = "backwards"

    def __init__(self, pipeline: wb.Pipeline) -> None:
        self.pipeline = flatten(pipeline)

    def trace(self, steps: Any) -> Any:
        came: list[float] = []
        for events in steps:
            came += [events["x"]] if "x" in events else []
            total = sum(reversed(came))
            shown = {"cumulate": total, "gt": total > 0.5} if "x" in events else {}
            yield Seen({pipe: shown.get(pipe) for _, pipe in self.pipeline.outputs}, {})


@wb.pipeline(x=FLOAT)
def total(x):
    return wb.processors.Cumulate(wb.functions.ADD)(x)


@wb.pipeline(x=FLOAT)
def large(x):
    return wb.processors.Cumulate(wb.functions.ADD)(x) > 0.5


@pytest.mark.slow
def test_floats_may_be_regrouped_where_contract_and_backend_say_so() -> None:
    exact = Contender("backwards", "mine", lambda r: Backwards(r.pipeline))
    regrouping = Contender("backwards", "mine", lambda r: Backwards(r.pipeline), reassociates=True)
    search = Search(examples=100, steps=12)
    assert only(conform(total, [exact], search)).failure
    assert only(conform(total, [regrouping], search)).holds
    assert Match(regrouping, total, 4, 4).terms.contracts["cumulate"] is Determinism.TOLERANCE
    assert Match(exact, total, 4, 4).terms.contracts.get("cumulate", Determinism.EXACT) is Determinism.EXACT


# --- the search -------------------------------------------------------------------------------------------------


def test_a_search_goes_on_from_its_seed() -> None:
    assert list(Search(examples=250, seed=7).rounds()) == [(7, ROUND), (8, ROUND), (9, 50)]
    assert list(Search(examples=100).rounds(0.1)) == [(0, 10)]
    told: list[tuple[int, str]] = []
    conform(sums, ["pull"], Search(examples=101, seed=3, steps=3), lambda text, seed: told.append((seed, text)))
    assert [(seed, re.search(r"seed (\d+), (\d+)", text).groups()) for seed, text in told] == [
        (3, ("3", "0")), (4, ("4", "100"))
    ]  # fmt: skip


def test_one_seed_one_failure() -> None:
    contender = Contender("forgetful", "mine", lambda r: Forgetful(r.pipeline))
    found = [only(conform(sums, [contender], Search(examples=50, seed=5))).failure for _ in range(2)]
    assert found[0].steps == found[1].steps


def test_domains_that_do_not_fit_are_a_refusal() -> None:
    pipeline = wb.parse("pipeline p(x: int) -> int { return turn(x, 9) }").get().pipeline
    outcome = only(conform(pipeline, ["model"], Search(examples=1))[:1])
    assert "it is not defined over int mod 4" in outcome.refused
    assert only(conform(pipeline, ["model"], Search(examples=1, n=10))[:1]).agreements == 1
    assert only(conform(pipeline, ["model"], Search(examples=1, n=10))[:1]).integers == Integer(10)


def test_a_backend_that_there_is_not() -> None:
    with pytest.raises(WorkbenchError, match=r"(?s)no backend 'spork'.*compiled, gpu, model"):
        conform(sums, ["spork"])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["specification", "pull", "threaded", "compiled, step by step", "model", "NuSMV"])
def test_the_backends_agree_on_what_ends(name: str) -> None:
    text = """pipeline p(x: int, b: bool) -> int {
        return decimate(window(filter(x, b), 2, cumulate(+)), 2, last = true)
    }"""
    contender = next(each for each in CONTENDERS if each.name == name)
    assert only(conform(wb.parse(text).get().pipeline, [contender], Search(examples=20))).agreements >= 2


@pytest.mark.slow
def test_blocks_agree_and_regroup_floats_within_the_tolerance() -> None:
    names = ["compiled in blocks", "compiled in blocks, floats regrouped"]
    found = conform(total, names, Search(examples=100, steps=20))
    assert "sums of floats depend on the order" in found[0].refused
    assert (found[1].agreements, found[1].failure) == (50, None)
    assert all(each.agreements for each in conform(sums, names, FAST))
    blocks = Blocks(sums, {"add.left": 4, "add.right": 4})
    list(blocks.trace([{"x": i} for i in range(20)]))
    assert blocks.parallel.blocks > 0


@pytest.mark.slow
def test_machine_code_agrees() -> None:
    assert only(conform(sums, [next(c for c in CONTENDERS if c.name == "compiled")], FAST)).agreements == FAST.examples


def test_without_a_gpu_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.executors.compiled.gpu.available.gpu_name", lambda: "")
    assert "no NVIDIA GPU answers" in only(conform(sums, ["gpu"], FAST)).refused


@dataclass(frozen=True)
class Refusing:
    """A backend that refuses everything."""

    pipeline: wb.Pipeline

    def __post_init__(self) -> None:
        raise Refused("not today")


def test_a_refusal_is_no_failure() -> None:
    # `Refusing` is no executable: making it is what fails
    outcome = only(conform(sums, [Contender("refusing", "mine", lambda r: Refusing(r.pipeline))], FAST))  # type: ignore[arg-type,return-value]
    assert (outcome.refused, outcome.holds) == ("not today", True)
