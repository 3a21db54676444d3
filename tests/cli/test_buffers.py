"""`workbench buffers`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import workbench as wb
from tests.cli.conftest import MODELS, Run

DELAYED = "pipeline delayed(x: int) -> int { return x + trim(x, 2) }\n"
GROUPS = """# two differences
pipeline step(x: int) -> int { return trim(x, 1) - x }

pipeline twice(x: int) -> int {
\tfirst = step(x)      # a group
\treturn step(first)   # and another


   }
check liveness
"""


def test_what_it_says(workbench: Run) -> None:
    done = workbench("buffers", MODELS / "sum_of_odds.pipe")
    assert done.code == 0
    assert "✓ kept.data  capacity 1" in done.out
    assert "queue kept.data       0! of 0" in done.out
    assert "confirmed by execution; no shorter run shows it" in done.out
    assert "total: 1 event, 2 bits at N = 4" in done.out
    assert "    - needs 2 in executors that queue each event before it passes\n" in done.out
    assert done.err == ""


@pytest.mark.parametrize(
    ("kind", "bits"), [("0..15", "4 bits"), ("int", "2 bits at N = 4"), ("str", "2 bits at N = 4")]
)
def test_n_is_named_where_a_size_depends_on_it(
    workbench: Run, pipe: Callable[[str], Path], kind: str, bits: str
) -> None:
    path = pipe(f"pipeline p(x: {kind}) -> bool {{ return x = trim(x, 1) }}")
    assert workbench("buffers", path, "--quiet").out.endswith(f"total: 1 event, {bits}\n")
    scope = "" if kind == "0..15" else ", N = 4"
    assert f"<caption>buffers of p{scope}</caption>" in wb.buffers(f"{path}:p")._repr_html_()


def test_unbounded(workbench: Run) -> None:
    done = workbench("buffers", MODELS / "figure_2a.pipe", "--quiet")
    assert done.code == 1
    assert done.out == "✓ add.left  capacity 0\n✗ add.right  unbounded\ntotal: not bounded\n"


def test_unknown(workbench: Run, pipe: Callable[[str], Path]) -> None:
    done = workbench("buffers", pipe(DELAYED), "--max", 1, "--quiet")
    assert done.code == 3
    assert "? add.left  unknown, at least 2: " in done.out
    assert "total: not known" in done.out


def test_no_queues(workbench: Run, pipe: Callable[[str], Path]) -> None:
    done = workbench("buffers", pipe("pipeline p(x: int) -> int { return x + 1 }"))
    assert (done.code, done.out) == (0, "p has no queues: no processor joins streams\n")


def test_json(workbench: Run) -> None:
    done = workbench("buffers", MODELS / "figure_2a.pipe", "--json", "-N", 2**32)
    (found,) = done.objects
    assert done.code == 1
    assert found["total_bits"] is None
    left, right = found["queues"]
    assert (left["queue"], left["capacity"], left["transient_capacity"]) == ("add.left", 0, 1)
    assert (left["for_every_N"], left["witness"]) == (True, None)
    assert (right["capacity"], right["transient_capacity"], right["growth"]) == (None, None, 2)
    assert right["witness"]["replay"] == "confirmed by execution"
    assert json.loads(workbench("buffers", MODELS / "sum_of_odds.pipe", "--json").out)["total_bits"] == 2


def test_the_inputs_that_are_assumed(workbench: Run, pipe: Callable[[str], Path]) -> None:
    path = pipe("pipeline total(a: int, b: int) -> int { return a + b }")
    assert workbench("buffers", path, "--quiet").code == 1
    done = workbench("buffers", path, "--quiet", "--inputs", "synchronised")
    assert done.code == 0
    assert done.out.endswith("total: 0 events, 0 bits at N = 4\n")


# --- writing them into the file ---------------------------------------------------------------------------


def test_annotating_changes_nothing_else(workbench: Run, pipe: Callable[[str], Path]) -> None:
    path = pipe("")
    path.write_bytes(GROUPS.replace("\n", "\r\n").encode())
    done = workbench("buffers", path, "--annotate", "--quiet")
    assert done.code == 0
    assert f"{path} states the capacity of 4 queues" in done.out
    lines = [
        "\tcapacity queue(first.sub.left) = 0",
        "\tcapacity queue(first.sub.right) = 1",
        "\tcapacity queue(step.sub.left) = 0",
        "\tcapacity queue(step.sub.right) = 1",
    ]
    expected = GROUPS.replace("   }\n", "".join(f"{line}\n" for line in lines) + "   }\n")
    assert path.read_bytes() == expected.replace("\n", "\r\n").encode()
    workbench("buffers", path, "--annotate")
    assert path.read_bytes() == expected.replace("\n", "\r\n").encode()


def test_annotating_replaces(workbench: Run, pipe: Callable[[str], Path]) -> None:
    text = "pipeline d(x: int) -> int {{ capacity queue(add.left) = {} # why\n return x + trim(x, 2) {}}}\n"
    path = pipe(text.format("10 - 1", ""))
    workbench("buffers", path, "--annotate")
    assert path.read_text() == text.format(2, "capacity queue(add.right) = 0 ")


def test_unbounded_queues_are_left_alone(workbench: Run, pipe: Callable[[str], Path]) -> None:
    """A limit that the user sets stays, and running enforces it."""
    path = pipe(
        "pipeline p(x: int) -> int {\n    third = decimate(x, 3)\n    return third + x\n"
        "    capacity queue(add.right) = 4\n}\n"
    )
    done = workbench("buffers", path, "--annotate", "--quiet")
    assert "states the capacity of 1 queue, not of add.right" in done.out
    assert path.read_text().endswith("    capacity queue(add.right) = 4\n    capacity queue(add.left) = 0\n}\n")
    events = path.parent / "events.csv"
    events.write_text("x\n" + "1\n" * 8)  # after 7 events 4 wait, the 8th is one too many
    done = workbench("run", path, "--input", events)
    assert done.code == 2
    assert "queue 'add.right' of pipeline p overflows: its capacity is 4" in done.err
    events.write_text("x\n" + "1\n" * 7)
    assert workbench("run", path, "--input", events).out == "out\n2\n2\n2\n"


def test_running_enforces_what_was_written(workbench: Run, pipe: Callable[[str], Path]) -> None:
    path = pipe("pipeline total(a: int, b: int) -> int {\n    return a + b\n}\n")
    assert workbench("buffers", path, "--annotate", "--inputs", "always").code == 0
    events = path.parent / "events.jsonl"
    events.write_text('{"a": 1, "b": 2}\n{"a": 1}\n')
    done = workbench("run", path, "--input", events)
    assert done.code == 2
    assert "queue 'add.left'" in done.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--max", "-1"], "cannot be negative"),
        (["--annotate", "--param", "k=3"], "would be those of other parameters"),
        (["--param", "j=3"], "has no parameter 'j'"),
        (["-N", "0"], "N"),
        (["--timeout", "-1"], "not a number of seconds"),
    ],
)
def test_mistakes(workbench: Run, pipe: Callable[[str], Path], given: list[str], said: str) -> None:
    path = pipe("pipeline p<k = 2>(x: int) -> int { return x + trim(x, k) }")
    before = path.read_bytes()
    done = workbench("buffers", path, *given)
    assert done.code == 2
    assert said in done.err
    assert path.read_bytes() == before


def test_a_constant_beyond_n_matters_only_where_data_does(workbench: Run, pipe: Callable[[str], Path]) -> None:
    """The queue's length is the same for every N; behind a filter that looks at the constant it is not."""
    file = pipe("pipeline p(x: int) -> int { return x + trim(turn(x, 600), 1) }")
    for given in ([], ["-N", 3]):
        done = workbench("buffers", file, *given)
        assert (done.code, done.out.count("every N")) == (0, 2)
        assert "add.left  capacity 1" in done.out
    looking = pipe("pipeline p(x: int) -> int { return x + filter(x, x != 600) }")
    assert "add.left  unbounded" in workbench("buffers", looking, "--quiet").out  # N reaches beyond the constant
    done = workbench("buffers", looking, "-N", 4)
    assert done.code == 2
    assert "the constant 600 is not in the domain int mod 4" in done.err
    assert "-N 601" in done.err
    assert "add.left  unbounded" in workbench("buffers", looking, "-N", 601, "--quiet").out
