"""Every row of a log is computed once, or is bad, late or ignored: whatever reads it, runs it and writes it."""

import csv
import gzip
import itertools
import json
from collections import Counter
from random import Random

import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

import workbench as wb
from tests.events.damage import ODD as ODD_BYTES
from workbench.errors import InputError, LostRows, WorkbenchError
from workbench.events import lines, typed
from workbench.events import rows as events_rows
from workbench.events.account import UNDECLARED, Reporter
from workbench.runner import batching
from workbench.runner import options as run_options
from workbench.runner.loop import LogRun

SUMS = wb.parse("pipeline sums(x: int) -> int { return cumulate(x, +) }").get("sums").pipeline
ROWS = 300
ODD = {7, 8, 100, 299}
"""The rows that cannot be read, where there are such."""
FORMATS = ["csv", "quoted", "tsv", "jsonl", "logfmt", "text", "xml", "parquet", "arrow", "arrows"]
TYPED = {"parquet", "arrow", "arrows"}
PACKED = ["", ".gz", ".zst"]
RUNS = [
    ("reference", None),
    ("compiled", 1),
    ("compiled", 2),
    ("compiled", 3),
    ("parallel", 2),
    ("threaded", 2),
    ("dataflow", 2),
]
EVERY = [
    each for each in itertools.product(FORMATS, PACKED, RUNS, [False, True], ["none", "skip", "file"])
    if not (each[0] in TYPED and each[4] != "none")
]  # fmt: skip
QUICK = [each for each in EVERY if each[1] == "" and each[2] == ("compiled", 2) and each[4] != "skip"] + [
    ("text", ".gz", ("compiled", 2), False, "none"), ("xml", ".zst", ("parallel", 2), True, "skip"),
    ("jsonl", "", ("reference", None), True, "file"), ("text", "", ("dataflow", 2), False, "skip"),
    ("arrow", ".gz", ("threaded", 2), True, "none"),
]  # fmt: skip


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Logs of a few hundred rows have many blocks."""
    monkeypatch.setattr(lines, "SIZE", 600)
    monkeypatch.setattr(lines, "MIN_COLUMN_BYTES", 1)
    monkeypatch.setattr(typed, "LARGE", 32)
    monkeypatch.setattr(events_rows, "BLOCK", 16)


def written(folder, form, packed, odd):
    """A log of keys and numbers; blank lines stand among its rows where the format has them."""
    texts = [("oops" if i in odd else str(i), f"k{i % 5}") for i in range(ROWS)]
    if form in TYPED:
        table = pa.table({"x": [int(x) for x, _ in texts], "k": [k for _, k in texts]})
        made = pa.BufferOutputStream()
        if form == "parquet":
            parquet.write_table(table, made, row_group_size=50)
        elif form == "arrow":
            feather.write_feather(table, made, compression="uncompressed", chunksize=50)
        else:
            with ipc.new_stream(made, table.schema) as stream:
                stream.write_table(table, max_chunksize=50)
        data = made.getvalue().to_pybytes()
    else:
        between = "\t" if form == "tsv" else ","
        line = {
            "csv": "{x}" + between + "{k}\n", "tsv": "{x}" + between + "{k}\n", "quoted": '{x},{k},"a\n""b"\n',
            "jsonl": '{{"x": {j}, "k": "{k}"}}\n', "text": "{k} has {x}\n",
            "logfmt": 'x={x} note="a \\" b" k={k}\n', "xml": "<m><x>{x}</x>\n<k>{k}</k></m>\n",
        }[form]  # fmt: skip
        blank = "\n" if form in ("jsonl", "logfmt", "text") else ""
        body = "".join(
            line.format(x=x, k=k, j=json.dumps("oops") if x == "oops" else x) + blank * (i % 40 == 0)
            for i, (x, k) in enumerate(texts)
        )
        head = {"csv": "x,k\n", "tsv": "x\tk\n", "quoted": "x,k,note\n", "xml": "<r>"}.get(form, "")
        data = (head + body + ("</r>" if form == "xml" else "")).encode()
    if packed:
        data = gzip.compress(data) if packed == ".gz" else pa.compress(data, "zstd", asbytes=True)
    path = folder / f"log.{ {'quoted': 'csv', 'text': 'txt'}.get(form, form) }{packed}"
    path.write_bytes(data)
    return path


def expected(odd, keyed):
    sums = Counter()
    for i in range(ROWS):
        if i not in odd:
            key = f"k{i % 5}" if keyed else ""
            sums[key] += i
            yield [key, str(sums[key])] if keyed else [str(sums[key])]


def options_for(form, run, keyed):
    backend, threads = run
    found = {"backend": backend} | ({} if threads is None else {"threads": threads}) | ({"key": "k"} if keyed else {})
    if form == "text":
        found |= {"pattern": r"(?P<k>\w+) has (?P<x>\S+)", "format": "text"}
    return found | ({"xml": "m", "format": "xml"} if form == "xml" else {})


def check(folder, form, packed, run, keyed, bad):
    odd = ODD if bad != "none" else set()
    path, output, kept = written(folder, form, packed, odd), folder / "out.csv", folder / "bad.csv"
    options = options_for(form, run, keyed)
    if bad != "none":
        options["bad_rows"] = str(kept) if bad == "file" else "skip"
    wb.run(SUMS, path, output=output, **options)
    with output.open(newline="") as file:
        head, *rows = csv.reader(file)
    assert head == (["k", "out"] if keyed else ["out"])
    assert rows == list(expected(odd, keyed))
    if bad == "file":
        with kept.open(newline="") as file:
            assert len(list(csv.reader(file))) == 1 + len(ODD)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("case", QUICK, ids=str)
def test_every_row_is_run_once(case, tmp_path):
    check(tmp_path, *case)


@pytest.mark.slow
@pytest.mark.parametrize(("form", "packed"), list(itertools.product(FORMATS, PACKED)))
def test_every_row_is_run_once_in_all_ways(form, packed, tmp_path):
    for number, case in enumerate(each for each in EVERY if each[:2] == (form, packed)):
        folder = tmp_path / str(number)
        folder.mkdir()
        check(folder, *case)


@pytest.mark.parametrize("keyed", [False, True])
def test_bad_rows_are_kept_without_an_output(keyed, tmp_path):
    path, kept = written(tmp_path, "csv", "", ODD), tmp_path / "bad.csv"
    made = wb.run(SUMS, path, bad_rows=str(kept), key="k") if keyed else wb.run(SUMS, path, bad_rows=str(kept))
    assert [row["out"] for row in made] == [int(row[-1]) for row in expected(ODD, keyed)]
    with kept.open(newline="") as file:
        assert [int(row["row"]) for row in csv.DictReader(file)] == [i + 2 for i in sorted(ODD)]


def test_rows_of_another_block_do_not_change_what_keys_are(tmp_path):
    """Rows with other orders of keys come one by one in one thread, while another one reads columns."""
    rows = [{"x": i, "k": "a"} if i % 9 else {"k": "a", "more": [1], "x": i} for i in range(2000)]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    wb.run(SUMS, path, output=tmp_path / "out.csv", backend="compiled", threads=3)
    sums = list(itertools.accumulate(range(2000)))
    assert (tmp_path / "out.csv").read_text().split()[1:] == list(map(str, sums))


def test_a_key_that_no_row_has_is_told_when_all_rows_are_read(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"other": 1}\n' * 200)
    with pytest.raises(InputError, match="no row has a key 'x'"):
        wb.run(SUMS, path, output=tmp_path / "out.csv", backend="compiled", threads=2, format="jsonl")


# --- the account itself ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, -1])
def test_a_row_that_is_lost_or_doubled_ends_the_run(rows, tmp_path, monkeypatch):
    """A reader that says it had another number of rows."""
    real = LogRun.write

    def write(self):
        self.start.reporter.account.read += rows
        real(self)

    monkeypatch.setattr(LogRun, "write", write)
    path = written(tmp_path, "csv", "", set())
    with pytest.raises(LostRows, match=f"{300 + rows} were read, 300 were computed") as raised:
        wb.run(SUMS, path, output=tmp_path / "out.csv")
    assert raised.value.exit_code == 3
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_a_block_of_keys_that_is_lost_ends_the_run(backend, tmp_path, monkeypatch):
    real = batching.batches_of
    monkeypatch.setattr("workbench.runner.pipelines.batches_of", lambda *given: itertools.islice(real(*given), 1, None))
    path = written(tmp_path, "csv", "", set())
    with pytest.raises(LostRows, match="not all rows are accounted for: 300 were read"):
        wb.run(SUMS, path, output=tmp_path / "out.csv", key="k", backend=backend)


@pytest.fixture
def accounts(monkeypatch):
    """The accounts of all runs."""
    made = []

    class Kept(Reporter):
        def __init__(self, *given, **named):
            super().__init__(*given, **named)
            made.append(self.account)

    monkeypatch.setattr(run_options, "Reporter", Kept)
    return made


def damaged(random, data):
    """The bytes of a log in which a few rows are odd."""
    for _ in range(random.randint(0, 4)):
        at = random.randrange(len(data) // 10, len(data))
        data = data[:at] + random.choice(ODD_BYTES) + data[at + random.randint(0, 3) :]
    return data


def run_damaged(seed, logs, program, folder, **options):
    """Runs on logs that have been damaged: whether each came to its end."""
    random = Random(seed)
    for form, path in logs:
        path.write_bytes(damaged(random, path.read_bytes()))
        more = {key: value for key, value in options_for(form, ("", None), False).items() if key != "backend"}
        try:
            wb.run(program, path, output=folder / "out.csv", bad_rows="skip", **more, **options)
        except LostRows:
            raise
        except WorkbenchError:
            yield False
        else:
            yield True


def accounted(accounts):
    """How many runs had all kinds of rows."""
    return sum(each.computed > 0 and each.bad > 0 for each in accounts)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "options", [{"backend": "reference"}, {"backend": "compiled", "threads": 2}, {"key": "k"}], ids=str
)
def test_pipelines_account_for_damaged_logs(options, tmp_path, accounts):
    forms = ["csv", "quoted", "tsv", "jsonl", "text", "xml"] * 8
    logs = ((form, written(tmp_path, form, "", ODD)) for form in forms)
    assert sum(run_damaged(5, logs, SUMS, tmp_path, **options)) > 20
    assert accounted(accounts) > 20


RULES = wb.rules.parse_rules("""declare A(x: int)
declare B(x: int)
declare Big(x: int)
rule big: from A(x > 3) emit Big(x = A.x)
rule both: from B and last A(x > 5) within 20 from B emit Big(x = B.x)
""")


def event_log(folder, form, random):
    """Events, some of which come late, or are of types that nobody knows."""
    rows = [
        (random.choice("AAABBC"), i + random.choice([0] * 9 + [-3, -9]) + 20, "oops" if i in ODD else i % 9)
        for i in range(ROWS)
    ]
    line = {
        "csv": "{},{},{},{}\n",
        "quoted": '{},{},{},{},"a\n""b"\n',
        "jsonl": '{{"type": "{}", "time": {}, "x": {}, "k": "{}"}}\n',
    }[form]
    head = {"csv": "type,time,x,k\n", "quoted": "type,time,x,k,note\n"}.get(form, "")
    path = folder / f"log.{ {'quoted': 'csv'}.get(form, form) }"
    made = [line.format(kind, time, json.dumps(x) if form == "jsonl" else x, f"k{time % 3}") for kind, time, x in rows]
    path.write_text(head + "".join(made))
    return path


@pytest.mark.sampled(1)
@pytest.mark.parametrize("options", [{}, {"engine": "compiled"}, {"matches": "count"}, {"key": "k"}], ids=str)
def test_rules_account_for_damaged_logs(options, tmp_path, accounts):
    random, given = Random(7), {"late": "5", "late_output": str(tmp_path / "late.csv")}
    logs = ((form, event_log(tmp_path, form, random)) for form in ["csv", "quoted", "jsonl"] * 8)
    assert sum(run_damaged(6, logs, RULES, tmp_path, **given, **options)) > 8
    whole = [each for each in accounts if each.computed and each.late and each.ignored[UNDECLARED]]
    assert accounted(whole) > 8
