"""Timelines of runs made by hand."""

from dataclasses import replace

from workbench.core.domain import INT, Bool
from workbench.core.fields import Record
from workbench.core.pipeline import Node, Pipeline
from workbench.core.readable import show_value
from workbench.processors import Trim
from workbench.show.timeline import render_timeline, show_queue, timeline
from workbench.verify.answer.trace import Trace, TraceStep

PIPELINE = Pipeline("late", (("x", INT),), (Node("trim", Trim(1), ("x",), ("trim",)),), (("out", "trim"),))


def steps(count: int, full: int = -1) -> tuple[TraceStep, ...]:
    return tuple(
        TraceStep({"x": i}, {"x": i, "trim": i * 10 if i else None}, {"q.left": i}, ("q.left",) if i == full else ())
        for i in range(count)
    )


def test_steps_are_columns_and_pipes_rows() -> None:
    text = render_timeline(Trace(steps(3), shows="it shows"), PIPELINE, 80, capacities=2)
    assert text.splitlines() == [
        "step              0   1   2",
        "───────────────────────────",
        "in    x           0   1   2",
        "out   trim = out  ·  10  20",
        "───────────────────────────",
        "queue q.left      0   1   2 of 2",
        "                          ▲ it shows",
    ]


def test_without_a_pipeline_inputs_come_first() -> None:
    trace = Trace((TraceStep({"x": 1}, {"a": None, "x": 1}, {}),))
    assert [row.name for row in timeline(trace).rows] == ["x", "a"]
    assert [row.kind for row in timeline(trace).rows] == ["in", "pipe"]


def test_a_loop_is_bracketed() -> None:
    lines = render_timeline(Trace(steps(4), loop=1, shows="over and over"), PIPELINE, 80).splitlines()
    header, bracket = lines[0], lines[-1]
    assert bracket.strip() == "╰────────╯ for ever: over and over"
    assert bracket.index("╰") in (header.index("1"), header.index("1") - 1)
    assert bracket.index("╯") == header.index("3")


def test_a_loop_of_one_step() -> None:
    lines = render_timeline(Trace(steps(3), loop=2), PIPELINE, 80).splitlines()
    assert lines[-1].strip() == "╰╯ for ever"


def test_of_a_long_path_the_first_and_the_last_steps_are_drawn() -> None:
    text = render_timeline(Trace(steps(1000, full=999), shows="a queue overflows"), PIPELINE, 80, capacities=998)
    begin, end = text.split("(steps 100 to 899 are left out)")
    numbers = [[int(n) for line in part.splitlines() if line.startswith("step") for n in line.split()[1:]]
               for part in (begin, end)]  # fmt: skip
    assert numbers == [list(range(100)), list(range(900, 1000))]
    assert "▲" not in begin
    assert end.splitlines()[-1].endswith("▲ a queue overflows")
    assert "999!" in end


def test_an_overflow_is_marked_at_its_queue() -> None:
    lines = render_timeline(Trace(steps(3, full=2), shows="a queue overflows"), PIPELINE, 80).splitlines()
    assert "2!" in next(line for line in lines if "q.left" in line)
    assert lines[-1].index("▲") == lines[0].index("2")


def test_a_wide_run_is_wrapped_into_blocks() -> None:
    text = render_timeline(Trace(steps(30), loop=12, shows="s"), PIPELINE, 60, capacities=9)
    blocks = text.split("\n\n")
    assert len(blocks) > 2
    assert all(len(line) <= 60 for line in text.splitlines())
    numbers = [int(word) for block in blocks for word in block.splitlines()[0].split()[1:]]
    assert numbers == list(range(30))
    assert text.count("╰") == 1
    assert text.count("╯") == 1
    assert text.rstrip().endswith("for ever: s")


def test_equal_successive_steps_of_a_wide_run_are_one_column() -> None:
    """Except the last step, and one at which a queue overflows; a loop keeps its steps, and so does what fits."""
    made = [TraceStep({"x": 7}, {"x": 7, "trim": i // 9 or None}, {"q.left": i}) for i in range(18)]
    trace = Trace(tuple(made), shows="s")
    assert render_timeline(trace, PIPELINE, 45, capacities=20).splitlines() == [
        "step              0 to 8  9 to 16  17",
        "─────────────────────────────────────",
        "in    x                7        7   7",
        "out   trim = out       ·        1   1",
        "─────────────────────────────────────",
        "queue q.left      0 to 8  9 to 16  17 of 20",
        "                                    ▲ s",
    ]
    over = replace(trace, steps=(*made[:4], replace(made[4], overflows=("q.left",)), *made[5:]))
    assert render_timeline(over, PIPELINE, 60).splitlines()[0].split()[1:] == "0 to 3 4 5 to 8 9 to 16 17".split()
    assert " to " not in render_timeline(replace(trace, loop=3), PIPELINE, 40)
    assert " to " not in render_timeline(trace, PIPELINE, 200)


def test_only_the_last_block_has_the_mark() -> None:
    text = render_timeline(Trace(steps(30), shows="s"), PIPELINE, 60)
    assert text.count("▲") == 1
    assert text.rstrip().endswith("▲ s")


def test_a_terminal_narrower_than_a_column_still_gets_one_step_a_block() -> None:
    assert render_timeline(Trace(steps(3)), PIPELINE, 5).count("step") == 3


def test_long_words_get_a_line_of_their_own() -> None:
    lines = render_timeline(Trace(steps(2), shows="word " * 30), PIPELINE, 80).splitlines()
    assert lines[-2].strip() == "▲"
    assert lines[-1].strip().startswith("word")


def test_a_cell_wider_than_the_terminal_is_broken_between_its_fields() -> None:
    text = "{kind: alarm, place: north, degrees: 451}"
    both = (
        TraceStep({"x": 1}, {"x": 1, "trim": text}, {"q": 1}),
        TraceStep({"x": 2}, {"x": 2, "trim": "{}"}, {"q": 0}),
    )
    assert render_timeline(Trace(both, shows="it shows"), PIPELINE, 52, capacities=3).splitlines() == [
        "step                                        0",
        "─────────────────────────────────────────────",
        "in    x                                     1",
        "out   trim = out  {kind: alarm, place: north,",
        "                  degrees: 451}",
        "─────────────────────────────────────────────",
        "queue q                                     1 of 3",
        "",
        "step               1",
        "────────────────────",
        "in    x            2",
        "out   trim = out  {}",
        "────────────────────",
        "queue q            0 of 3",
        "                   ▲ it shows",
    ]


def test_an_empty_run() -> None:
    assert "no step" in render_timeline(Trace(()), PIPELINE, 80)


def test_values_are_written_as_in_the_language() -> None:
    assert show_value(True) == "true"
    assert show_value((1, False)) == "(1, false)"
    assert show_value((1, True), Record((INT, Bool()), ("price", "sold"))) == "{price: 1, sold: true}"


def test_capacities_by_name_and_of_the_pipeline() -> None:
    trace = Trace((TraceStep({}, {}, {"a": 0, "b": 0}),))
    assert [row.capacity for row in timeline(trace, None, {"a": 3}).rows] == [3, None]


def test_below_a_queue_stands_what_it_holds() -> None:
    steps = tuple(
        TraceStep({}, {"x": i}, {"q.left": len(held), "q.right": 0}, (), {"q.left": held, "q.right": ()})
        for i, held in enumerate([(), (1,), (1, 2)])
    )
    text = render_timeline(Trace(steps, capacities={"q.left": 2}), None, 80)
    assert text.splitlines()[4:7] == [
        "queue q.left    0  1    2 of 2",
        "        events  ·  1  1 2",
        "queue q.right   0  0    0",
    ]


def test_a_long_queue_is_abridged() -> None:
    assert show_queue(range(20)) == "0 1 2 3 4 5 6 7 8 9…"
    assert show_queue(((1, True),), Record((INT, Bool()), ("a", "b"))) == "{a: 1, b: true}"
    assert show_queue(()) == "·"
