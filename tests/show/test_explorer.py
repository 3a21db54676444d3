"""The explorer in a real browser: what it shows at every step is what the run says."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import workbench as wb
from tests.verify.browser import OPTIONS, PROGRAM, WITHOUT, Page
from workbench.core.domain import INT
from workbench.core.fields import Record
from workbench.core.readable import show_value
from workbench.errors import WorkbenchError
from workbench.executors.reference.executor import Reference
from workbench.faults.unreliable import name_pipe
from workbench.processors.held.group import flatten
from workbench.show.explorer import MAX_SLOTS, explorer
from workbench.verify.answer.trace import Trace, TraceStep
from workbench.verify.answer.verdict import Ground, Outcome, Verdict

MODELS = Path(__file__).parents[2] / "models" / "time2021"
needs_browser = pytest.mark.skipif(PROGRAM is None, reason=WITHOUT)


def load(file: str, name: str | None = None) -> wb.Pipeline:
    return wb.read_file(MODELS / f"{file}.pipe").get(name).pipeline


def overflow() -> Verdict:
    """A queue fills and overflows."""
    return wb.check(load("figure_2a"), wb.properties.no_overflow(), wb.Settings(q=3))


def lasso() -> Verdict:
    """A loop of four steps: a counter that wraps."""
    text = """pipeline p(x: int) -> int {
        count = cumulate(turn(x, 1), +)
        return filter(x, count = 1)
    }"""
    prop = wb.properties.property_from(wb.properties.parse_property("ltl(F G (count != 2))"))
    return wb.check(wb.parse(text).get().pipeline, prop, wb.Settings(environment=wb.Environment("always")))


def comparison() -> Verdict:
    """Two pipelines, in groups, until the comparison's queue overflows."""
    return wb.equiv(load("sum_of_odds"), load("sum_of_odds", "squares"))


def records() -> Verdict:
    """Records on pipes and in a queue."""
    text = """pipeline p(x: {price: 0..3, sold: bool}) -> {price: 0..3, sold: bool} {
        return filter(x, trim(x.sold, 2))
    }"""
    prop = wb.properties.property_from(wb.properties.parse_property("always (out.price < 3)"))
    return wb.check(wb.parse(text).get().pipeline, prop)


def faults() -> Verdict:
    """Events of an input that is shown as it is are lost, and others come late."""
    text = "pipeline p(x: int) -> int { return x fault lose x at most 1 fault delay x by 1 }"
    prop = wb.properties.property_from(wb.properties.parse_property("bounded-liveness(1)"))
    return wb.check(wb.parse(text).get().pipeline, prop)


def holds() -> Verdict:
    return wb.check(load("passthrough"), wb.properties.liveness())


RUNS = {"overflow": overflow, "lasso": lasso, "comparison": comparison, "records": records, "faults": faults}


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Verdict]:
    found = {name: make() for name, make in RUNS.items()}
    assert all(verdict.run for verdict in found.values())
    assert found["lasso"].run
    assert found["lasso"].run.loop is not None
    assert len(found["lasso"].run.steps) - found["lasso"].run.loop == 4
    return {**found, "holds": holds()}


@pytest.fixture(scope="module")
def file(verdicts: dict[str, Verdict], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All verdicts on one page."""
    path = tmp_path_factory.mktemp("explorer") / "page.html"
    path.write_text(explorer(list(verdicts.values())), encoding="utf-8")
    return path


@pytest.fixture
def page(page: Page) -> Iterator[Page]:
    """The browser; nothing was fetched but the file."""
    yield page
    assert [url for url in page.requests if not url.startswith(("file:", "about:"))] == []


# what the page shows, asked by its own structure: rows of the table, values and queues of the drawing
SHOWN = """(() => {
  const text = (node) => node ? node.textContent : null;
  const rows = [...document.querySelectorAll(".timeline tbody tr")].map((tr) => [
    tr.classList[0], text(tr.querySelector("th")), text(tr.querySelector("td.now"))]);
  const pipes = {}, queues = {};
  for (const edge of document.querySelectorAll("[data-pipe]")) {
    const value = edge.querySelector(".value text");
    if (value) pipes[edge.dataset.pipe] = [value.textContent, edge.classList.contains("flows")];
  }
  for (const queue of document.querySelectorAll("[data-queue]")) queues[queue.dataset.queue] = {
    slots: [...queue.querySelectorAll("text:not(.bang)")].map(text), over: queue.classList.contains("over"),
    full: queue.querySelectorAll(".slot.full").length, tip: text(queue.querySelector("title"))};
  return {rows, pipes, queues,
    where: text(document.querySelector("#where")), now: text(document.querySelector("thead .now")),
    word: document.querySelector("#word").classList.contains("here"), hash: location.hash,
    changes: [...document.querySelectorAll(".change")].map(text), slider: document.querySelector("#slider").value};
})()"""


def expected_rows(run: Trace, step: int) -> list[list[str]]:
    """The table's column for a step, from the run."""
    assert run.pipeline
    at = run.steps[step]
    flat = flatten(run.pipeline)
    outputs = {pipe: name for name, pipe in flat.outputs}
    found = []
    for group in (True, False):
        for pipe, value in at.pipes.items():
            if (pipe in run.inputs) is not group:
                continue
            if pipe in flat.oracles and all(each.pipes[pipe] is None for each in run.steps):
                continue
            kind = "fault" if pipe in flat.oracles else "in" if group else "out" if pipe in outputs else "pipe"
            label = f"{pipe} = {outputs[pipe]}" if kind == "out" and outputs[pipe] != pipe else pipe
            label = name_pipe(flat.oracles[pipe]) if kind == "fault" else label
            found.append([kind, label, "·" if value is None else show_value(value, run.domains[pipe])])
    for queue, length in at.queues.items():
        found.append(["queue", queue, f"{length}!" if queue in at.overflows else str(length)])
        if any(each.contents[queue] for each in run.steps):
            pipe = flatten(run.pipeline).sources[queue]
            values = " ".join(show_value(value, run.domains[pipe]) for value in at.contents[queue])
            found.append(["held", "events", values if 0 < len(values) <= 24 else f"{values[:23]}…" if values else "·"])
    return found


@needs_browser
@pytest.mark.parametrize("name", RUNS)
def test_every_step_shows_what_the_run_says(page: Page, file: Path, verdicts: dict[str, Verdict], name: str) -> None:
    run = verdicts[name].run
    assert run
    assert run.pipeline
    page.open(file, f"run={list(verdicts).index(name) + 1}")
    for step, at in enumerate(run.steps):
        shown = page.ask(SHOWN)
        assert (shown["now"], shown["slider"]) == (str(step), str(step))
        assert shown["where"] == f"step {step} of {len(run.steps) - 1}"
        assert shown["hash"].endswith(f"step={step}")
        assert shown["word"] == (step >= (len(run.steps) - 1 if run.loop is None else run.loop))
        assert shown["rows"] == expected_rows(run, step)
        # the drawing has the pipes of the pipeline, and no oracles
        assert shown["pipes"].keys() == flatten(run.pipeline, faults=False).domains.keys()
        for pipe in shown["pipes"]:
            value = at.pipes[pipe]
            text = "·" if value is None else show_value(value, run.domains[pipe])
            assert shown["pipes"][pipe] == [text if len(text) <= 14 else text[:13] + "…", value is not None]
        assert shown["queues"].keys() == at.queues.keys()
        for queue, waiting in at.contents.items():
            drawn = shown["queues"][queue]
            assert drawn["over"] == (queue in at.overflows)
            bound = run.capacities.get(queue)
            assert f"{queue}: {len(waiting)}{'' if bound is None else f' of {bound}'} waiting" in drawn["tip"]
            if bound is not None and bound <= MAX_SLOTS:
                assert drawn["full"] == len(waiting)
                domain = run.domains[flatten(run.pipeline).sources[queue]]
                assert len(drawn["slots"]) == len(waiting)
                for slot, value in zip(drawn["slots"], waiting, strict=True):
                    assert show_value(value, domain).startswith(slot.removesuffix("…"))
        page.press("ArrowRight")


@needs_browser
def test_what_changed_since_the_step_before(page: Page, file: Path, verdicts: dict[str, Verdict]) -> None:
    run = verdicts["overflow"].run
    assert run
    page.open(file, "run=1&step=3")
    before, now = run.steps[2], run.steps[3]
    wanted = {name for name in now.pipes if now.pipes[name] != before.pipes[name]}
    wanted |= {f"queue {name}" for name in now.contents if now.contents[name] != before.contents[name]}
    changes = page.ask(SHOWN)["changes"]
    assert {change.rpartition(" → ")[0].rpartition(" ")[0].split(" · ")[0] for change in changes} >= {"third", "add"}
    assert len(changes) == len(wanted)
    marked = page.ask("[...document.querySelectorAll('.value.changed')].map((v) => v.parentNode.dataset.pipe)")
    assert set(marked) == {name for name in wanted if name in now.pipes and now.pipes[name] is not None}


@needs_browser
def test_a_loop_goes_on_past_its_end(page: Page, file: Path, verdicts: dict[str, Verdict]) -> None:
    run = verdicts["lasso"].run
    assert run
    assert run.loop is not None
    length, around = len(run.steps), len(run.steps) - run.loop
    page.open(file, f"run=2&step={length - 1}")
    for past in range(2 * around + 1):
        page.press("ArrowRight")
        shown = page.ask(SHOWN)
        assert shown["now"] == str(run.loop + past % around)
        assert shown["where"].endswith(f"↻ round {2 + past // around}")
        assert shown["hash"] == f"#run=2&step={length + past}"
    page.press("ArrowLeft")
    page.press("End")
    assert page.ask(SHOWN)["hash"] == f"#run=2&step={length - 1}"
    assert page.ask("document.querySelector('#forward').disabled") is False


@needs_browser
def test_what_varies_from_round_to_round_is_not_claimed(page: Page, tmp_path: Path) -> None:
    """`total` grows round after round, and the property does not look at it."""
    text = """pipeline p(x: int) -> int {
        total = cumulate(x, +)
        return filter(total, x = 0)
    }"""
    prop = wb.properties.property_from(wb.properties.parse_property("ltl(G F (x = 0))"))
    settings = wb.Settings(n=5, environment=wb.Environment("always"))
    verdict = wb.check(wb.parse(text).get().pipeline, prop, settings)
    run = verdict.run
    assert run
    assert run.loop is not None
    assert run.varies == ("total",)
    (tmp_path / "p.html").write_text(explorer([verdict]), encoding="utf-8")
    page.open(tmp_path / "p.html", f"step={len(run.steps)}")
    assert page.ask(SHOWN)["pipes"]["total"][0] == "?"
    assert "total" in page.ask("document.querySelector('.varies').textContent")


@needs_browser
def test_buttons_slider_keys_and_tabs(page: Page, file: Path, verdicts: dict[str, Verdict]) -> None:
    page.open(file)

    def at() -> str:
        return str(page.ask("location.hash"))

    assert at() == "#run=1&step=0"
    assert page.ask("document.querySelector('#back').disabled && document.querySelector('#first').disabled")
    for selector, wanted in [("#forward", 1), ("#forward", 2), ("#back", 1), ("#end", 5), ("#first", 0)]:
        page.click(selector)
        assert at() == f"#run=1&step={wanted}"
    page.click("thead [data-step='4']")
    assert at() == "#run=1&step=4"
    assert page.ask("(s => { s.value = 2; s.dispatchEvent(new Event('input')); return location.hash })"
                    "(document.querySelector('#slider'))") == "#run=1&step=2"  # fmt: skip
    for key, wanted in [("End", 5), ("ArrowRight", 5), ("ArrowLeft", 4), ("PageUp", 0), ("PageDown", 5), ("Home", 0)]:
        page.press(key)
        assert at() == f"#run=1&step={wanted}"
    page.ask("document.querySelector('#slider').focus()")
    page.press("ArrowRight")
    assert at() == "#run=1&step=1"  # once, although the slider knows the key, too
    page.press("]")
    assert at() == "#run=2&step=0"
    page.click("#tab-2")
    assert at() == "#run=3&step=0"
    assert (
        page.ask("document.querySelector('[aria-selected=true] code').textContent") == verdicts["comparison"].property
    )
    page.ask("location.hash = '#run=1&step=3'")
    assert page.ask(SHOWN)["now"] == "3"


@needs_browser
def test_the_page_opens_on_a_verdict_that_fails(page: Page, verdicts: dict[str, Verdict], tmp_path: Path) -> None:
    shown = {"holds": 2, "comparison": 2, "overflow": 2}
    assert verdicts["overflow"].outcome is Outcome.FAILS
    for name, first in shown.items():
        (tmp_path / "page.html").write_text(explorer([verdicts[name], verdicts["overflow"]]), encoding="utf-8")
        page.open(tmp_path / "page.html")
        assert page.ask("location.hash") == f"#run={1 if name == 'overflow' else first}&step=0"


@needs_browser
def test_a_verdict_without_a_run_says_what_it_rests_on(page: Page, file: Path, verdicts: dict[str, Verdict]) -> None:
    page.open(file, f"run={len(verdicts)}")
    text = page.ask("document.querySelector('#verdict').textContent")
    assert "holds" in text
    assert "No run is needed" in text
    assert all(line in text for line in verdicts["holds"].rests_on)
    assert page.ask("document.querySelector('#drawing')") is None


@needs_browser
def test_the_top_says_property_outcome_and_what_it_rests_on(
    page: Page, file: Path, verdicts: dict[str, Verdict]
) -> None:
    page.open(file, "run=1")
    verdict = verdicts["overflow"]
    text = page.ask("document.querySelector('#verdict').textContent")
    for words in (verdict.property, "✗ fails", "figure_2a", *verdict.rests_on, "confirmed by execution",
                  "no shorter run shows it", "an event arrives at a full queue"):  # fmt: skip
        assert words in text


@needs_browser
@pytest.mark.parametrize("fragment", ["run=0&step=-3", "run=2&step=1e400", "run=x&step=y", "step=.5", "nonsense"])
def test_addresses_that_mean_nothing_are_harmless(page: Page, file: Path, fragment: str) -> None:
    page.open(file, fragment)
    assert page.ask(SHOWN)["now"] == "0"


@needs_browser
def test_the_dom_of_a_step_without_a_protocol(file: Path, verdicts: dict[str, Verdict], tmp_path: Path) -> None:
    """The address alone leads to a step: what a link in a report does."""
    url = f"{file.as_uri()}#run=1&step=4"
    command = [str(PROGRAM), *OPTIONS, f"--user-data-dir={tmp_path}", "--dump-dom", url]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert '<output id="where"><b>step 4</b> of 5</output>' in done.stdout
    column = re.findall(r'<td class="[^"]*\bnow\b[^"]*"[^>]*>([^<]*)</td>', done.stdout)
    run = verdicts["overflow"].run
    assert run
    assert column == [row[2] for row in expected_rows(run, 4)]


@needs_browser
def test_dark_and_light_and_paper(page: Page, file: Path, verdicts: dict[str, Verdict]) -> None:
    page.open(file, "run=2")
    colours = []
    for scheme in ("light", "dark"):
        page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        colours.append(page.ask("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(251, 250, 247)", "rgb(20, 24, 30)"]
    page.send("Emulation.setEmulatedMedia", media="print", features=[])
    page.ask("dispatchEvent(new Event('beforeprint'))")
    run = verdicts["lasso"].run
    assert run
    columns = page.ask(
        "[...document.querySelectorAll('.timeline thead [data-step]')].map((b) => Number(b.textContent))"
    )
    assert columns == list(range(len(run.steps)))
    assert page.ask("getComputedStyle(document.querySelector('#slider')).display") == "none"
    page.ask("dispatchEvent(new Event('afterprint'))")
    page.send("Emulation.setEmulatedMedia", media="", features=[])
    assert page.ask(SHOWN)["now"] == "0"


LONG, WIDE = 500, 100


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """500 steps of 100 pipes and more, with a loop at the end."""
    lines = ["a0 = x + trim(y, 1)"]
    lines += [f"a{i} = a{i - 1} + turn(x, {i % 16})" if i % 3 == 0 else f"a{i} = cumulate(a{i - 1}, +)"
              for i in range(1, 75)]  # fmt: skip
    text = "pipeline big(x: int, y: int) -> int {\n" + "\n".join(lines) + "\nreturn a74 + a20\n}"
    pipeline = wb.parse(text).get().pipeline.resolve(wb.Integer(16, wb.Overflowing.MODULAR))
    executor, steps = Reference(pipeline, {}), []
    for i in range(LONG):
        events = {name: (i * 7 + offset) % 16 for offset, name in enumerate("xy") if (i * 5 + offset) % 7}
        record = executor.step(events)
        pipes = {pipe: maybe.value if maybe.present else None for pipe, maybe in record.pipes.items()}
        steps.append(TraceStep(events, pipes, dict(record.queues), (), executor.contents()))
    domains = dict(flatten(pipeline).domains)
    assert len(domains) >= WIDE
    trace = Trace(tuple(steps), LONG - 60, "it goes on", False, "", domains, {}, (), pipeline)
    verdict = Verdict("big", "response", Outcome.FAILS, "none", 0, 0, 2, 16, "modular", (), trace)
    path = tmp_path_factory.mktemp("big") / "big.html"
    path.write_text(explorer([verdict]), encoding="utf-8")
    return path


@needs_browser
def test_a_big_run_stays_quick(page: Page, big: Path) -> None:
    page.open(big, "step=470")
    assert page.ask(SHOWN)["now"] == "470"
    spent = page.ask("""(() => {
      const press = (key) => dispatchEvent(new KeyboardEvent("keydown", {key}));
      const start = performance.now();
      for (let i = 0; i < 50; i++) { press("ArrowLeft"); document.body.offsetHeight; }
      return (performance.now() - start) / 50;
    })()""")
    assert page.ask(SHOWN)["now"] == "420"
    assert spent < 250  # milliseconds a step, layout included; 29 on two busy cores
    assert page.ask("document.querySelectorAll('.timeline thead [data-step]').length") <= 40


# --- without a browser ------------------------------------------------------------------------------------


def test_the_page_needs_nothing_but_itself(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    outside = [url for url in re.findall(r"(?:https?:)?//[\w.]+", text) if url != "http://www.w3.org"]
    assert outside == []
    assert not re.search(r"<(?:link|img|iframe|script src)|@import|url\(", text)


def test_the_page_holds_what_json_says(file: Path, verdicts: dict[str, Verdict]) -> None:
    found = re.search(r'<script type="application/json" id="verdicts">(.*?)</script>', file.read_text("utf-8"))
    assert found
    shown = json.loads(found[1])
    for one, verdict in zip(shown, verdicts.values(), strict=True):
        wanted = json.loads(json.dumps(verdict.to_json()))
        assert {key: one[key] for key in wanted} == wanted


def test_text_cannot_break_out_of_its_place() -> None:
    step = TraceStep({}, {"x": "</script><b>"}, {})
    trace = Trace((step,), shows="</script><script>alert(1)</script>")
    verdict = Verdict("<b>p</b>", "q", Outcome.FAILS, "e", 0, 0, 1, 4, "modular", (Ground("assumed", "<i>"),), trace)
    text = explorer([verdict])
    assert text.count("</script>") == 2
    assert "<b>" not in text
    assert "<title>&lt;b&gt;p" in text


def test_without_graphviz_the_tables_are_there(verdicts: dict[str, Verdict], monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> str:
        raise WorkbenchError("no graphviz")

    monkeypatch.setattr("workbench.show.explorer.svg", missing)
    text = explorer([verdicts["overflow"]])
    assert '<template id="drawing-0"></template>' in text
    assert "<svg" not in text


def test_runs_of_one_pipeline_share_a_drawing(verdicts: dict[str, Verdict]) -> None:
    assert explorer([verdicts["overflow"], verdicts["overflow"], verdicts["lasso"]]).count("<template id=") == 2


def test_a_record_is_shown_as_the_language_writes_it() -> None:
    assert show_value((1, True), Record((INT, wb.BOOL), ("a", "b"))) == "{a: 1, b: true}"


@needs_browser
def test_variables_of_a_monitored_system_are_the_first_rows(page: Page, tmp_path: Path) -> None:
    models = MODELS.parents[1]
    system = str(models / "smv" / "systems" / "peterson_reordered.smv")
    monitor = wb.read_file(models / "models" / "monitors" / "peterson.pipe").get("mutual_exclusion").pipeline
    verdict = wb.monitor(system, monitor)
    (tmp_path / "p.html").write_text(explorer([verdict]), encoding="utf-8")
    last = len(verdict.run.steps) - 1
    page.open(tmp_path / "p.html", f"step={last}")
    rows = page.ask(SHOWN)["rows"]
    kinds = [kind.split()[0] for kind, *_ in rows]
    assert kinds[: kinds.index("in")] == ["smv"] * len(verdict.run.steps[last].outside)
    assert {name: cell for kind, name, cell in rows if kind.startswith("smv")}.items() >= {
        ("p.state", "critical"),
        ("q.state", "critical"),
    }
