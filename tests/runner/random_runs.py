"""Random runs of programs on random logs: the command lines, and what each run leaves.

The rule of this module: a run is decided by its seed alone, and nothing here but `outcome` uses workbench. So two
checkouts (`scripts/compare_trees.py`), or one with other sizes of blocks, run the same.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import json
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

PIPELINES = """
pipeline sums(x: int) -> int { return cumulate(x, +) }
pipeline three(x: int, y: int) -> a: int, b: int { return cumulate(window(x, 3, cumulate(max)), +), x + y }
pipeline floats(f: float, x: int) -> f: float, x: int { return f, x }
pipeline small(x: 0..5) -> 0..5 { return x }
pipeline texts(s: str, x: int) -> t: str, n: int { return s, cumulate(x, +) }
pipeline truth(b: bool, c: {RED, GREEN}) -> b: bool, c: {RED, GREEN} { return b, c }
pipeline kept(x: int, b: bool) -> int { return filter(x, b) }
pipeline points(e: {x: int, f: float}) -> e: {x: int, f: float} { return e }
pipeline trimmed(x: int, y: int) -> u: int, v: int { return trim(x, 2), y }
"""
RULES = """declare Temp(area: int, value: int) with id 1
declare Smoke(area: int) with id 2
declare Fire(area: int, value: int) with id 10
declare Quiet(area: int) with id 11
declare Count(n: int) with id 12
rule fire: from Smoke[$a = area]() and last Temp[$v = value](area == $a, value > 45) as Hot within 500 from Smoke
emit Fire(area = $a, value = $v)
consuming Hot
rule quiet: from Smoke as S and absent Temp(area == S.area) within 5 after S emit Quiet(area = S.area)
rule counts: from Smoke[$a = area]() as Now and $n = COUNT(Temp(area == $a) within 50 from Now) emit Count(n = $n)
"""
INPUTS = {
    "sums": "x", "three": "xy", "floats": "fx", "small": "x", "texts": "sx", "truth": "bc", "kept": "xb", "points": "e",
    "trimmed": "xy",
}  # fmt: skip
"""The columns of each pipeline."""
COLUMNS = {
    "x": lambda random: random.randrange(6),
    "y": lambda random: random.choice([random.randrange(-9, 9), random.randrange(-(2**62), 2**62)]),
    "f": lambda random: random.choice([random.randrange(9) / 8, random.random() * 10.0 ** random.randrange(-9, 20)]),
    "s": lambda random: random.choice(["a", "b", "ä ö", "c,d", 'e"f', str(random.randrange(10**6))]),
    "b": lambda random: random.random() < 0.5,
    "c": lambda random: random.choice(["RED", "GREEN"]),
    "e": lambda random: {"x": random.randrange(9), "f": random.randrange(9) / 4},
    "k": lambda random: random.choice("uvw"),
    "j": lambda random: random.randrange(40),
}
"""What makes the cells of each column; the last two are keys."""
ODD = [9, -1, "oops", "", " ", 1.5, 2**63, "0x1", 'q"', True, "nan", "RED"]
"""Cells that some columns do not take."""
SIZES = [0, 1, 2, 5, 60, 60, 700, 2000]
LARGE = 40_000
"""Rows of a log, and of one in twenty where large ones are asked for."""
FORMATS = ["csv", "csv", "csv", "tsv", "jsonl", "csv.gz", "logfmt"]
TYPED = ["parquet", "arrow", "arrows"]
WRITTEN = ["csv", "csv", "tsv", "jsonl", "parquet", "arrow", "arrows", "logfmt"]
LEFT = "out", "bad", "late", "unfinished"
"""What the files that a run leaves are called."""
SPEED = re.compile(
    r"\d+\.\d\d s, [\d,]+ rows? a second|.*: (engine|backend) \w+: .*\n|.*running the log.*\n"
    r"|.*: (chose backend .*|the \w+ backend is now called \w+)\n|.*--backend instead of --engine\n"
)
"""What is measured, or chosen by an estimate, and names that are old."""
UNFINISHED = re.compile(rf"\.[0-9a-f]{{8}}\.(?=({'|'.join(LEFT)})\.)")
"""What begins the name of a file that a run has not finished."""

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class RandomRun:
    """A run: logs, and options."""

    program: str
    logs: Sequence[Rows]
    columns: Sequence[str]
    form: str
    output: str
    options: Sequence[str]
    odd: bool
    """Whether some cells are not what their columns take."""

    def command(self, folder: Path) -> list[str]:
        """Write the logs; the command line, to be run in the folder."""
        name = "r.tesla" if self.program == "rules" else "p.pipe"
        (folder / name).write_text(RULES if self.program == "rules" else PIPELINES)
        inputs = [f"in{i}.{self.form}" for i in range(len(self.logs))]
        for path, rows in zip(inputs, self.logs, strict=True):
            write_log(folder / path, rows, self.columns)
        asked = name if self.program == "rules" else f"{name}:{self.program}"
        given = [word for path in inputs for word in ("--input", path)]
        return ["run", asked, *given, "--output", f"out.{self.output}", *self.options]


def random_run(seed: int, *, large: bool = False) -> RandomRun:
    """The run of this seed, some of which have large logs if that is asked for."""
    random = Random(seed)
    sizes = [*SIZES, LARGE] if large and random.random() < 0.4 else SIZES
    return _random_rules(random, sizes) if random.random() < 0.35 else _random_pipeline(random, sizes)


def _random_pipeline(random: Random, sizes: Sequence[int]) -> RandomRun:
    name, options, form = random.choice(list(INPUTS)), list[str](), random.choice(FORMATS)
    columns = random.sample([*INPUTS[name], "k", "j"], len(INPUTS[name]) + 2)
    odd, nulls = random.choice([0.0, 0.0, 0.001, 0.02]), random.choice([0.0, 0.0, 0.2])
    if not odd and name != "points" and random.random() < 0.4:
        form = random.choice(TYPED)
    logs = []
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        rows = [{each: COLUMNS[each](random) for each in columns} for _ in range(random.choice(sizes))]
        for row in rows:
            for each in columns:
                if random.random() < nulls:
                    row[each] = None
                elif random.random() < odd:
                    row[each] = random.choice(ODD)
        logs.append(rows)
    backend = random.choice(["reference", "numba", "numba", "parallel", "auto", "", "dataflow", "threaded"])
    options += ["--backend", backend] if backend else []
    if backend in ("parallel", "numba") and (backend == "parallel" or random.random() < 0.3):
        options += ["--threads", str(random.choice([1, 2, 3]))]
    if random.random() < 0.35 and backend != "auto":
        options += ["--key", random.choice("kj")]
        options += ["--with-row"] if random.random() < 0.4 else []
    elif random.random() < 0.1:
        options += ["--steps"]
    if random.random() < 0.5:
        options += ["--bad-rows", random.choice(["skip", "bad.jsonl", "bad.csv"])]
    if random.random() < 0.3:
        options += ["--null", random.choice(["error", "zero", "absent"])]
    options += ["--progress"] if random.random() < 0.3 else []
    return RandomRun(name, logs, columns, form, random.choice(WRITTEN), [*options, *_head(random)], odd > 0)


def _random_rules(random: Random, sizes: Sequence[int]) -> RandomRun:
    late, odd, options = random.choice([0, 0, 6, 20]), random.choice([0.0, 0.0, 0.0, 0.002]), list[str]()
    logs = []
    for _ in range(random.choice([1, 1, 2, 3])):
        time, rows = 0, []
        for _ in range(random.choice(sizes)):
            time += random.randrange(4)
            name = random.choice(["Temp", "Smoke", "Other"]) if random.random() < 0.9 else "Temp"
            early = random.randrange(late) if late and random.random() < 0.3 else 0
            row: dict[str, Any] = {"type": name, "time": max(0, time - early), "area": random.randrange(5)}
            row["k"] = random.choice("uvw")
            row["value"] = random.randrange(100) if name == "Temp" else None
            if random.random() < odd:
                row[random.choice(["time", "area", "value"])] = random.choice(ODD)
            rows.append(row)
        logs.append(rows)
    engine = random.choice(["", "cdp", "aip", "compiled", "compiled", "auto"])
    options += ["--engine", engine] if engine else []
    if late:
        options += ["--late", random.choice(["3", "25"])]
        options += ["--late-output", "late.csv"] if random.random() < 0.7 else []
    if random.random() < 0.4:
        options += ["--until", str(10**6)]
    if random.random() < 0.2:
        options += ["--key", "k"]
    elif random.random() < 0.2:
        options += ["--with-sources"]
    if random.random() < 0.3:
        options += ["--bad-rows", random.choice(["skip", "bad.jsonl"])]
    options += ["--progress"] if random.random() < 0.3 else []
    form = random.choice(FORMATS if odd else [*FORMATS, *TYPED])
    columns = ["type", "time", "area", "value", "k"]
    return RandomRun("rules", logs, columns, form, random.choice(WRITTEN), [*options, *_head(random)], odd > 0)


def _head(random: Random) -> list[str]:
    return ["--head", str(random.choice([1, 3, 59, 60, 61, 1000]))] if random.random() < 0.2 else []


def write_log(path: Path, rows: Rows, columns: Sequence[str]) -> None:
    """Write rows in the format that the name says; typed ones have the types of the first value."""
    _, form, *packed = path.name.split(".")
    if form in TYPED:
        _write_typed(path, rows, columns)
        return
    text = io.StringIO()
    if form == "jsonl":
        text.writelines(json.dumps({k: v for k, v in row.items() if v is not None}) + "\n" for row in rows)
    elif form == "logfmt":
        for row in rows:
            pairs = (f"{k}={_logfmt_value(str(_cell(v)))}" for k, v in row.items() if v is not None)
            text.write((" ".join(pairs) or f"{columns[0]}=") + "\n")
    else:
        lines = csv.writer(text, delimiter="," if form == "csv" else "\t", lineterminator="\n")
        lines.writerow(columns)
        lines.writerows([_cell(row[each]) for each in columns] for row in rows)
    data = text.getvalue().encode()
    path.write_bytes(gzip.compress(data, mtime=0) if packed else data)


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value) if isinstance(value, dict) else "" if value is None else value


def _logfmt_value(text: str) -> str:
    return json.dumps(text) if re.search(r'[\s"=]', text) else text


def _write_typed(path: Path, rows: Rows, columns: Sequence[str]) -> None:
    import pyarrow as pa
    from pyarrow import ipc, parquet

    kinds = {"f": pa.float64(), "b": pa.bool_(), **dict.fromkeys(("s", "c", "k", "type"), pa.string())}
    schema = pa.schema([(each, kinds.get(each, pa.int64())) for each in columns])
    table = pa.Table.from_pylist(rows, schema)
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=250)
        return
    make = ipc.new_file if path.suffix == ".arrow" else ipc.new_stream
    with make(str(path), schema) as into:
        into.write_table(table, max_chunksize=300)


def outcome(command: Sequence[str], folder: Path, *, afresh: bool = True) -> dict[str, str | bytes | int]:
    """Run a command line here, in this folder: the exit code, what it says, and the files that it leaves.

    Parameters
    ----------
    afresh: whether what an earlier run has left is removed before.
    """
    from workbench.cli.main import main

    def files() -> Mapping[Path, str]:
        found = {path: UNFINISHED.sub("unfinished.", path.name) for path in folder.iterdir()}
        return {path: name for path, name in found.items() if name.split(".")[0] in LEFT}

    for path in files() if afresh else ():
        path.unlink()
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(list(command))
    said = UNFINISHED.sub("unfinished.", SPEED.sub("", err.getvalue()).replace(f"{folder}/", ""))
    return {"code": code, "out": out.getvalue(), "err": said, **{n: p.read_bytes() for p, n in files().items()}}


def without(options: Sequence[str], *flags: str) -> list[str]:
    """Options without some that have a value."""
    pairs = zip(["", *options], options, strict=False)
    return [word for before, word in pairs if word not in flags and before not in flags]


def typed_rows(name: str, data: bytes) -> object:
    """The rows of a file of columns; of another its bytes."""
    import pyarrow as pa
    from pyarrow import ipc, parquet

    read = {"parquet": parquet.read_table, "arrow": lambda x: ipc.open_file(x).read_all()}
    read["arrows"] = lambda x: ipc.open_stream(x).read_all()
    kind = name.rpartition(".")[2]
    whole = kind in TYPED and not name.startswith("unfinished")
    return read[kind](pa.BufferReader(data)).to_pylist() if whole else data


def batchless(name: str, data: bytes, run: RandomRun) -> object:
    """What a file holds, of rules without how its rows are cut: that is decided by when machine code is there."""
    return typed_rows(name, data) if run.program == "rules" else data


def _serve(read: Callable[[], str], write: Callable[[str], object]) -> None:
    """Run the seeds that come, each in a folder of its own in this one; say what each leaves."""
    while seed := read().strip():
        folder = Path(seed).absolute()
        folder.mkdir(exist_ok=True)
        run = random_run(int(seed), large=True)
        found = outcome(run.command(folder), folder)
        shown = {k: v if isinstance(v, str | int) else str(batchless(k, v, run)) for k, v in found.items()}
        write(json.dumps(shown) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    os.environ["COLUMNS"] = "100"
    _serve(sys.stdin.readline, sys.stdout.write)
