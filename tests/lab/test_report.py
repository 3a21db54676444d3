"""Reports: what they say, and the way back from every number."""

import csv
import io
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.lab.conftest import HEAD, run
from tests.lab.test_data import COVERED, SUITE
from tests.verify.browser import PROGRAM, WITHOUT
from workbench.errors import LabError
from workbench.lab.claim import Macro, MacroValue
from workbench.lab.data import open_data
from workbench.lab.plan import Lab, Selection
from workbench.lab.report_files import write_report
from workbench.lab.report_text import latex, macro_name, macros_latex, without_paths
from workbench.lab.store import ResultStore
from workbench.lab.suite_search import load_suite

needs_browser = pytest.mark.skipif(PROGRAM is None, reason=WITHOUT)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A report, the folder it is in, and its lab."""
    folder = tmp_path_factory.mktemp("report")
    path = folder / "tiny.py"
    # "</script>" in a value must not end the script of the page
    text = SUITE.replace('order=["b\'b", "a"]', 'order=["b\'b", "a", "</script><b>"]')
    path.write_text(f"{HEAD}suite = Suite('tiny', 'Tiny & <all>', 'What it is.\\n\\nAnd more.')\n{text}")
    lab = Lab(load_suite(path), path, ResultStore(folder / "data", "tiny"))
    run(lab)
    data = open_data(lab.suite, lab.store)
    return write_report(lab, data, folder / "out"), folder / "out", lab


def test_a_report_counts_points_and_names_no_folder_of_this_machine(written, tmp_path):
    _, folder, lab = written
    lab = replace(lab, options=f"--data {folder}/results")
    report = write_report(lab, open_data(lab.suite, lab.store), tmp_path / "out")
    assert report.options == f"--data {folder.relative_to(lab.top)}/results"
    points = sum(len(each.region) for each in lab.suite.experiments.values())
    found = re.fullmatch(r"(\d+) of (\d+) points(; \d+ measurements)?.*", report.facts["results"])
    assert found is not None
    assert int(found[1]) <= int(found[2]) == points
    assert (found[3] is None) == (len(report.results) == int(found[1]))
    for path in tmp_path.rglob("*.*"):
        assert str(folder.parent) not in path.read_text()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('File "/home/ann/wb/experiments/x.py", line 3', 'File "experiments/x.py", line 3'),
        (
            "lab run x --data /tmp/a/lab --on spark://host:7077/a/b",
            "lab run x --data .../lab --on spark://host:7077/a/b",
        ),
        ("/usr/lib/python3.11/json/decoder.py:355", ".../decoder.py:355"),
        ("1/2/3 and reports/x/y, https://a.b/c/d", "1/2/3 and reports/x/y, https://a.b/c/d"),
    ],
)
def test_paths_of_this_machine_are_shown_without_their_folders(text, shown):
    assert without_paths(text, Path("/home/ann/wb")) == shown


def test_everything_is_written(written):
    _, folder, lab = written
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    tables = {f"tables/{name}.{kind}" for name in lab.suite.tables for kind in ("csv", "tex", "json")}
    plots = {f"plots/{name}.{kind}" for name in lab.suite.plots for kind in ("svg", "json")}
    assert files == {"index.html", "README.md", "macros.tex", "data/measure.csv", *tables, *plots}


def test_a_brief_report_has_no_page_and_leads_nowhere_else(written, tmp_path):
    whole, folder, lab = written
    write_report(lab, whole.data, tmp_path / "out", brief=True)
    files = {path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    tables = {f"tables/{name}.{kind}" for name in lab.suite.tables for kind in ("csv", "tex")}
    assert files == {"README.md", "macros.tex", *tables, *(f"plots/{name}.svg" for name in lab.suite.plots)}
    text = (tmp_path / "out" / "README.md").read_text()
    assert {link for link in re.findall(r"\]\(([^)]*)\)", text) if not (tmp_path / "out" / link).exists()} == set()
    assert "`workbench lab report tiny` writes it with" in text
    for path in (tmp_path / "out" / "plots").iterdir():
        assert "index.html" not in path.read_text()
        assert path.read_text().count("<a ") == path.read_text().count("</a>") == 0
    before, after = ((each / "README.md").read_text() for each in (folder, tmp_path / "out"))
    rows = [[line for line in each.splitlines() if line.startswith("| x")] for each in (before, after)]
    assert rows[0] == rows[1]


def test_behind_every_cell_and_point_are_measurements_of_the_data(written):
    _, folder, lab = written
    rows = list(csv.DictReader(io.StringIO((folder / "data" / "measure.csv").read_text())))
    assert len(rows) == 18
    by_id = {row["id"]: row for row in rows}
    cells = json.loads((folder / "tables" / "wide.json").read_text())["cells"]
    for cell in cells:
        if cell["column"][1] == "y":
            behind = [by_id[key] for key in cell["ids"]]
            assert len(behind) == 3
            assert {row["order"] for row in behind} == {cell["row"]["order"]}
            assert {f"q = {row['q']}" for row in behind} == {cell["column"][0]}
    for name in lab.suite.plots:
        for point in json.loads((folder / "plots" / f"{name}.json").read_text()):
            assert point["ids"]
            assert set(point["ids"]) <= set(by_id)


def test_the_page_needs_nothing_but_itself(written):
    _, folder, _ = written
    page = (folder / "index.html").read_text()
    assert not re.search(r'(src|href)="(?!#)', page.replace("xlink:href", "href"))
    assert "Tiny &amp; &lt;all&gt;" in page
    assert "</script><b>" not in page


def test_markdown_has_tables_claims_and_provenance(written):
    report, folder, _ = written
    text = (folder / "README.md").read_text()
    assert "| order | q = 2, y | q = 2, word | q = 2, paper | q = 10, y | q = 10, word | q = 10, paper |" in text
    assert "| y grows with q | OK | it does |" in text
    assert "| everything works | warning | 3 do not |" in text
    assert "workbench lab run tiny" in text
    assert f"code: {report.code}" in text


def test_latex(written):
    _, folder, _ = written
    assert r"\newcommand{\largest}{4}" in (folder / "macros.tex").read_text()
    table = (folder / "tables" / "wide.tex").read_text()
    assert table.count(r"\\") == 4
    assert r"\textgreater{} 9" in table
    assert latex("50% of a_b & c") == r"50\% of a\_b \& c"
    assert macro_name("slowest_of_7a") == "slowestOfSevenA"
    assert latex("one\n\ntwo") == "one  two", "an empty line would end the table"
    lines = macros_latex([(Macro("m", "on two\nlines", "", lambda _: 1), MacroValue(1))]).splitlines()
    assert lines == ["% on two lines", r"\newcommand{\m}{1}"]


def test_a_folder_that_cannot_be_written(written, tmp_path):
    _, _, lab = written
    (tmp_path / "file").write_text("")
    with pytest.raises(LabError, match="cannot be written"):
        write_report(lab, open_data(lab.suite, lab.store), tmp_path / "file" / "out")


def test_a_folder_in_which_no_file_can_be_made(written, tmp_path, monkeypatch):
    _, _, lab = written

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(LabError, match=r"the report cannot be written: .*[Pp]ermission denied") as caught:
        write_report(lab, open_data(lab.suite, lab.store), tmp_path / "out")
    assert "--out" in caught.value.hint


def test_a_report_on_nothing_says_so(make_lab, tmp_path):
    lab = make_lab(SUITE)
    report = write_report(lab, open_data(lab.suite, lab.store), tmp_path / "out")
    for name in ("index.html", "README.md"):
        assert "no results yet" in (tmp_path / "out" / name).read_text()
    assert {str(judged.standing) for _, judged in report.claims} >= {"no data"}


def test_results_of_other_code_are_marked_in_every_form(make_lab, tmp_path):
    run(make_lab(COVERED))
    lab = make_lab(COVERED.replace('"y": n}', '"y": n + 1}'))
    run(lab, Selection(where={"n": (1, 2)}))
    report = write_report(lab, open_data(lab.suite, lab.store, lab.code()), tmp_path / "out")
    assert "; 4 measured with other code, marked ~" in report.facts["results"]
    text = (tmp_path / "out" / "README.md").read_text()
    assert "| all | OK on 8 of 8 points, 4 of them measured with other code |" in text
    assert "| 2 | 3 |\n| 3 | 3 ~ |" in text
    page = (tmp_path / "out" / "index.html").read_text()
    assert '<li class="warning"><b>OK on 8 of 8 points, 4 of them measured with other code</b>' in page
    cells = json.loads((tmp_path / "out" / "tables" / "t.json").read_text())["cells"]
    assert [cell["reliable"] for cell in cells] == [True, True, False, False]
    points = json.loads((tmp_path / "out" / "plots" / "p.json").read_text())
    assert [point["doubtful"] for point in points] == [False, False, True, True]


def test_broken_files_are_named(written, make_lab, tmp_path):
    lab = make_lab(SUITE)
    run(lab)
    next(lab.store.folder.glob("part-*")).write_bytes(b"")
    data = open_data(lab.suite, lab.store)
    report = write_report(lab, data, tmp_path / "out")
    assert "damaged or half-written" in report.facts["left out"]


OF_GPUS = """
@suite.experiment(Region(n=[1, 2]), y=Output("a number", kind=int))
def measure(n):
    return {"y": n}

suite.table("t", of=measure, rows="n", cells={
    "y": only("y"), "GPU, s": median("gpu_seconds"), "GPU, MB": maximum("gpu_peak_mb"), "known": number("gpu_seconds")})
suite.plot("p", of=measure, x="n", y=median("gpu_seconds"))
"""


def test_gpus_are_shown_where_there_are_some(make_lab, tmp_path, two_gpus):
    lab = make_lab(OF_GPUS)
    run(lab)
    report = write_report(lab, open_data(lab.suite, lab.store), tmp_path / "out")
    assert [result.measured.gpu_peak_mb for result in report.results.values()] == [64, 64]
    text = (tmp_path / "out" / "README.md").read_text()
    assert "| n | y | GPU, s | GPU, MB | known |" in text
    assert "| 1 | 1 | 0.4 | 64 | 1 |" in text.replace(" ~", "")
    assert ", 64 MB, 0.80 s on GPUs |" in text
    assert (tmp_path / "out" / "plots" / "p.svg").exists()
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out" / "data" / "measure.csv").read_text())))
    assert [(row["gpu_peak_mb"], row["gpu_seconds"]) for row in rows] == [("64.0", "0.4")] * 2
    page = (tmp_path / "out" / "index.html").read_text()
    assert page.count('"gpus":"64 MB, 0.40 s on GPUs"') == 2


def test_without_a_gpu_nothing_is_shown_of_it(make_lab, tmp_path):
    lab = make_lab(OF_GPUS)
    run(lab)
    assert {result.measured.gpu_seconds for result in lab.store.results()[0]} == {None}
    write_report(lab, open_data(lab.suite, lab.store), tmp_path / "out")
    texts = {path.relative_to(tmp_path / "out"): path.read_text() for path in (tmp_path / "out").rglob("*.*")}
    scripts = re.compile(r"<script>.*?</script>", re.DOTALL)
    named = [name for name, text in texts.items() if re.search('gpu(?!s":"")', scripts.sub("", text), re.IGNORECASE)]
    assert named == []
    assert Path("plots/p.svg") not in texts


@needs_browser
def test_clicking_a_cell_or_a_point_shows_its_measurements(written, page):
    _, folder, lab = written
    page.open(folder / "index.html")
    assert page.ask("document.getElementById('panel').hidden")
    page.click("#table-wide tbody tr:nth-child(1) td:nth-child(2) a")
    page.wait_for("!document.getElementById('panel').hidden")
    shown = page.ask("document.getElementById('panel').innerText")
    assert "3 measurements" in shown
    assert "order = b'b, q = 2, exact = true" in shown
    key = next(r for r in lab.store.results()[0] if r.point["order"] == "b'b" and r.point["q"] == 2).key
    assert f"workbench lab run tiny --id {key} --again" in shown
    page.ask("document.querySelector('#panel button').click()")
    assert page.ask("document.getElementById('panel').hidden")
    for plot in ("line", "bars", "heap", "cloud"):
        page.click(f"#plot-{plot} svg a")
        page.wait_for("!document.getElementById('panel').hidden")
        page.ask("document.querySelector('#panel button').click()")
    assert all(url.startswith(("file:", "about:", "data:")) for url in page.requests)
