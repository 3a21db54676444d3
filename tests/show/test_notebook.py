"""What notebooks show, and the short texts that stand for objects elsewhere."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

import workbench as wb

LATE = "pipeline late(x: int) -> int { return x + trim(x, 1) }"


def html(shown: Any) -> str:
    return shown._repr_html_()


def late() -> wb.Loaded:
    return wb.parse(LATE).get()


def test_short_texts() -> None:
    assert repr(late()) == repr(late().pipeline) == "<late(x: int) -> out: int, 2 processors>"
    assert str(late().pipeline) == str(late()) == repr(late())
    assert str(wb.processors.Window(3, late().pipeline)) == "Window(3, Group(late))"
    fails = wb.check(late(), "no-overflow", wb.Settings(q=0))
    assert repr(fails) == "<✗ fails: no-overflow of late, shown by a run of 1 step>"
    assert repr(wb.check(late(), "no-overflow")) == "<✓ holds: no-overflow of late>"
    assert fails.run is not None
    assert repr(fails.run).startswith("<a run of 1 step: ")
    printed = str(fails).splitlines()
    assert printed[0] == repr(fails).strip("<>")
    assert printed[1 : len(fails.rests_on) + 1] == [f"- {line}" for line in fails.rests_on]
    assert str(fails).endswith(str(fails.run).partition("\n")[2])
    assert any(line.split()[:2] == ["in", "x"] for line in str(fails.run).splitlines())
    assert repr(wb.buffers(late())) == "<buffers of late: add.left capacity 1, add.right capacity 0>"
    assert repr(wb.buffers(late()).queues[0]) == "<add.left: capacity 1>"
    assert repr(wb.executors.Compiled(late()).feed([1, 2, 3])["out"]) == "<2 events of int>"


FIRE = """declare Smoke(area: int)
declare Fire(area: int)
rule R from Smoke() emit Fire(area = Smoke.area)
"""


def test_nothing_is_shown_as_the_data_class_that_it_is() -> None:
    fails, rules = wb.check(late(), "no-overflow", wb.Settings(q=0)), wb.rules.parse_rules(FIRE, "fire")
    assert repr(wb.parse(LATE)) == "<<text>: late>"
    assert repr(wb.problem(late(), "no-overflow")) == "<no-overflow of late, not decided>"
    assert fails.run is not None
    assert repr(fails.run.steps[0]) == "<x = 0, full: add.left>"
    assert repr(wb.longest_silence(late())) == "<silence: 1 step>"
    assert repr(wb.constants(late())) == "(<trim: varies>, <add: varies>)"
    assert repr(wb.dead_paths(late())) == "<dead paths of late: nothing can be deleted>"
    assert repr(rules) == "<rules fire: R; they emit Fire>"
    assert repr(rules.simplify(seconds=0)) == str(rules.simplify(seconds=0))
    assert repr(rules.analyse("fires")) == "(<R: can fire>,)"


def test_rules_are_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    rules = wb.rules.parse_rules(FIRE, "fire")
    assert html(rules).startswith("<svg")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert unescape(html(rules)) == f"<pre>{rules}</pre>"


def test_a_run_is_a_timeline_with_the_names_of_its_outputs() -> None:
    fails = wb.check(wb.parse("pipeline p(x: 0..3) -> high: bool { return x > 2 }").get(), "never(high)")
    assert fails.counterexample is not None
    text = unescape(html(fails.counterexample))
    assert re.search(r"<pre>step.*out +gt = high +true", text, re.DOTALL)
    assert wb.render_timeline(fails.counterexample, width=100) in text


def test_a_pipeline_without_queues_has_no_empty_table() -> None:
    assert html(wb.buffers(wb.parse("pipeline p(x: int) -> int { return x + 1 }").get())) == "<p>p has no queues</p>"


def test_an_error_is_its_message_and_the_line_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """`_render_traceback_` is what IPython asks an exception for, in place of the traceback."""
    with pytest.raises(wb.WorkbenchError) as found:
        wb.run(late(), [{"x": 1}, {"x": "seven"}])
    message = "InputError: row:2: input 'x': expected a whole number, not 'seven'"
    line = 'wb.run(late(), [{"x": 1}, {"x": "seven"}])'
    place, *said = found.value._render_traceback_()
    assert (place.partition(": ")[2], said, repr(found.value)) == (line, [message], f"<{message}>")
    with pytest.raises(wb.WorkbenchError) as found:

        @wb.pipeline(x=wb.STR)
        def ratio(x):
            first = wb.processors.Trim(1)(x).named("first")
            return first / 2

    place, *said = found.value._render_traceback_()
    assert place.partition(": ")[2] == "return first / 2"
    assert said[0].startswith("TypingError: pipeline ratio: processor 'ratio' on first: str: '/' needs numbers")
    monkeypatch.setenv("WORKBENCH_DEBUG", "1")
    assert len(found.value._render_traceback_()) > 3


def test_a_pipeline_is_drawn(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for shown in (late(), late().pipeline):
        assert html(shown).startswith("<svg")
        assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"', "", html(shown))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert html(late()).startswith("<pre>&lt;late(x: int) -&gt; out: int, 2 processors&gt;\n")
    assert "add = " in html(late())


def test_a_verdict_can_be_walked_through_without_a_network() -> None:
    verdict = wb.check(late(), "no-overflow", wb.Settings(q=0))
    shown = html(verdict)
    assert "<b>✗ fails: no-overflow of late" in shown
    (page,) = re.findall(r'<iframe srcdoc="([^"]*)"', shown)
    assert unescape(page) == wb.explorer([verdict])
    (text,) = re.findall(r"<pre>(.*?)</pre>", shown, re.DOTALL)
    assert verdict.run is not None
    assert unescape(text) == wb.render_timeline(verdict.run, verdict.run.pipeline, 100)
    holds = html(wb.check(late(), "no-overflow"))
    assert "iframe" not in holds
    assert "<li>" in holds


LEFT = ' style="text-align:left"'


def test_tables(tmp_path: Any) -> None:
    shown = html(wb.buffers(late())).replace(LEFT, "")
    assert shown.count("<tr>") == 3
    assert "<td>add.left</td><td>capacity 1</td><td>2</td>" in shown
    (tmp_path / "x.csv").write_text("x,y\n" + "".join(f"{i},{'<b>' if i else ''}\n" for i in range(12)))
    found = wb.run(wb.parse("pipeline p(x: int, y: str) -> a: int, b: str { return x, y }").get(), tmp_path / "x.csv")
    shown = html(found).replace(LEFT, "")
    assert shown.count("<tr>") == 11
    assert "<td>0</td><td></td>" in shown
    assert "<td>1</td><td>&lt;b&gt;</td>" in shown
    assert "12 rows, of which the first 10" in shown
