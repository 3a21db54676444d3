"""Bad arguments, those that a type checker sees too, are refused when something is made, with what to give instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

import workbench as wb
from workbench.errors import PipelineError
from workbench.executors.threaded.executor import Threaded
from workbench.executors.threaded.manager import ThreadManager
from workbench.executors.threaded.pipelined import Pipelined
from workbench.executors.threaded.placement import Placement
from workbench.executors.threaded.pulled_pipeline import PullGroup
from workbench.verify.analyses.certify import certify

NONE = ThreadManager(0)


@wb.pipeline(x=wb.INT)
def doubled(x):
    return x * 2


@wb.pipeline(x=wb.INT)
def windowed(x):
    last = wb.processors.Window(2, wb.processors.Trim(1))(x)
    return wb.processors.Window(3, wb.processors.Group(doubled))(last), wb.processors.Cumulate(wb.functions.ADD)(x)


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "no room in a pull group": (lambda: PullGroup(doubled, NONE, capacity=0), "at least 1, not 0"),
    "no copies ahead": (lambda: Pipelined(doubled, NONE, certify(doubled), ahead=0), "not 0"),
    "no steps ahead": (lambda: Threaded(doubled, NONE, ahead=0), "not 0"),
    "half an event": (lambda: PullGroup(doubled, NONE, capacity=1.5), "not 1.5"),  # type: ignore[arg-type]
    "a limit in a text": (lambda: ThreadManager("2"), "a limit of '2'"),  # type: ignore[arg-type]
    "a limit that is a truth value": (lambda: ThreadManager(True), "a limit of True"),
    "a limit below 0": (lambda: ThreadManager(-1), "a limit of -1"),
    "a processor is certified": (
        lambda: certify(cast(Any, wb.processors.Cumulate(wb.functions.ADD))),
        "not the processor Cumulate",
    ),
    "a processor is pulled": (
        lambda: PullGroup(cast(Any, wb.processors.Passthrough()), NONE),
        "not the processor Passthrough",
    ),
    "copies of nobody": (lambda: Threaded(windowed, NONE, Placement(copies=frozenset({"no"}))), "'no'"),
    "copies of what has none": (
        lambda: Threaded(windowed, NONE, Placement(copies=frozenset({"cumulate"}))),
        "'cumulate' .* has no copies(.|\\n)*these have: window",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_a_hint(name: str) -> None:
    make, message = REFUSED[name]
    with pytest.raises(PipelineError, match=message) as raised:
        make()
    assert raised.value.hint


def test_a_limit_is_refused_later_too() -> None:
    with ThreadManager(1) as manager:
        with pytest.raises(PipelineError, match="a limit of '2'"):
            manager.limit = "2"  # type: ignore[assignment]
        assert manager.limit == 1


def test_what_has_copies_is_taken() -> None:
    names = frozenset({"window", "window_2"}) & {node.name for node in windowed.nodes}
    assert names
    assert Threaded(windowed, NONE, Placement(copies=names)).run([1, 2, 3])
