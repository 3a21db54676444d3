"""Texts in compiled code: what the reference executor does, and no number of one ever seen."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench.conformance.generate.pipelines import traces
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END
from workbench.errors import DomainError, InputError, Refused
from workbench.events.text_column import TextColumn
from workbench.executors.compiled.code.code_table import CodeTable
from workbench.executors.compiled.code.hashing import TextTable
from workbench.executors.compiled.code.text_number import BITS, LONG, short_text, text_code
from workbench.executors.compiled.execute import text_codes
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.compiled.gpu.batch import Batch
from workbench.executors.compiled.parallel.executor import Parallel
from workbench.executors.reference.executor import Reference

SLICES = """
function who(e) = e.user
function both(m) = m.total + m.total
pipeline total(e: {user: str, n: int}) -> int { return cumulate(turn(e, 2), +) }
pipeline last(e: {user: str, n: int}) -> str { return e.user }
pipeline sums(e: {user: str, n: int}) -> map(str, int) { return slice(e, who, total) }
pipeline names(e: {user: str, n: int}) -> map(str, str) { return slice(e, who, last) }
pipeline each(e: {user: str, n: int}) -> (str, int) { return slice_last(e, who, total) }
pipeline pairs(e: {user: str, n: int}, y: str) -> (str, {user: str, n: int}) { return (y, trim(e, 1)) }
machine door(x: str) -> str {
    var last: str = "none"
    state shut: last
    state open: x
    shut -> open when x = "open" / last := x
    open -> shut when x != last / last := x
}
pipeline opened(x: str) -> str { return door(x) }
"""
START = "a", "b", "none", "open", "", "\u00e9\ud800", "Ann_1", "aBc", "eleven_long"


def parsed(text: str, name: str = "p") -> Pipeline:
    return wb.parse(text).get(name).pipeline


# --- random pipelines ---------------------------------------------------------------------------------------

_LITERALS = st.sampled_from(['"a"', '"b"', '"c"'])


@st.composite
def _inner(draw: st.DrawFn) -> str:
    """An input in two of three cases: among all of `_MADE`, expressions would seldom end."""
    return draw(_MADE if draw(st.integers(0, 2)) == 2 else st.sampled_from(["x", "y"]))


_STREAMS = _inner()
_TRUTH: st.SearchStrategy[str] = st.deferred(
    lambda: st.one_of(
        st.builds("{} {} {}".format, _STREAMS, st.sampled_from(["=", "!="]), st.one_of(_STREAMS, _LITERALS)),
        st.builds("even(cumulate(turn({}, 1), +))".format, _STREAMS),
    )
)
_MADE: st.SearchStrategy[str] = st.one_of(
    st.builds("trim({}, {})".format, _STREAMS, st.integers(1, 6)),
    st.builds("filter({}, {})".format, _STREAMS, _TRUTH),
    st.builds("(if {} then {} else {})".format, _TRUTH, _STREAMS, st.one_of(_STREAMS, _LITERALS)),
    st.builds("decimate({}, 2)".format, _STREAMS),
    st.builds("stutter({}, 2)".format, _STREAMS),
    st.builds("keep_last({})".format, _STREAMS),
    st.builds("freeze({})".format, _STREAMS),
    st.builds("({}, {}).0".format, _STREAMS, _TRUTH),
    st.builds("multiplex({}, {})".format, _STREAMS, _STREAMS),
)


def same(pipeline: Pipeline, steps: list[Any]) -> None:
    """Step by step, and in pieces between which the state goes into another executor."""
    reference, stepping, running = (
        Reference(pipeline),
        Compiled(pipeline),
        Compiled(pipeline, machine=False),
    )
    events = [step for step in steps if step is not END]
    expected = []
    for step in events:
        record, made = reference.step(step), stepping.step(step)
        shown = {name: record.pipes[name] for name in made.pipes}  # but for maps in tables
        assert (dict(made.pipes), dict(made.outputs)) == (shown, dict(record.outputs))
        expected.append(dict(record.outputs))
    found = []
    for first in range(0, len(events), 3):
        found += running.outputs(events[first : first + 3])
        other = Compiled(pipeline, machine=False)
        other.restore(running.snapshot())
        running = other
    assert found == expected
    assert running.end() == stepping.end() == reference.end()


@given(data=st.data())
@examples(50)
def test_random_pipelines(data: st.DataObject) -> None:
    made = data.draw(_MADE, label="expression")
    pipeline = parsed(f"pipeline p(x: str, y: str) -> str {{ return {made} }}")
    same(pipeline, data.draw(traces(pipeline, max_steps=12), label="steps"))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", ["sums", "names", "each", "pairs", "opened"])
@given(data=st.data())
@examples(8)
def test_slices_tuples_and_machines(name: str, data: st.DataObject) -> None:
    pipeline = PARSED.get(name).pipeline
    text = st.sampled_from(START)
    kinds = {"x": text, "y": text, "e": st.tuples(text, st.integers(0, 3))}
    events = {name: kinds[name] for name, _ in pipeline.inputs}
    same(pipeline, data.draw(st.lists(st.fixed_dictionaries({}, optional=events), max_size=12)))


PARSED = wb.parse(SLICES)


# --- columns ------------------------------------------------------------------------------------------------


def test_machine_code_on_arrays_and_lists() -> None:
    text = 'pipeline p(x: str, y: str) -> str, bool { return if x = "a" then trim(y, 5) else "other", x = y }'
    executor, reference = Compiled(parsed(text), warm_up_steps=-1), Reference(parsed(text))
    x, y = ["a", "b", "\u00e9", ""] * 100, ["b", "a"] * 200
    for given_ in (x, np.array(x), np.array(x, object)):
        expected = reference.run({"x": x, "y": y}, end=False)
        made = executor.feed({"x": given_, "y": y})
        assert {name: output.events() for name, output in made.items()} == expected
        assert np.asarray(made["out1"].array).tolist() == made["out1"].array.tolist() == expected["out1"]
        reference.reset()
        executor.reset()


def test_what_is_no_text() -> None:
    executor = Compiled(parsed("pipeline p(x: str, y: str) -> str { return if x = y then x else y }"))
    with pytest.raises(InputError, match="carries str, not an array of int64") as found:
        executor.feed({"x": np.array([0, 1]), "y": ["a", "b"]})
    assert "a list" in found.value.hint
    with pytest.raises(InputError, match="carries str"):
        executor.feed({"x": np.array(["a", None], object), "y": ["a", "b"]})
    with pytest.raises(DomainError, match="step 1: 5 on input 'x' is not a value of str"):
        executor.feed({"x": ["a", 5], "y": ["a", "b"]})
    assert executor.steps == 0
    here = np.array([True, False])
    made = executor.feed({"x": np.array(["a", None], object), "y": np.array(["b", "c"])}, {"x": here, "y": here})
    assert made["out"].events() == ["b"]


@pytest.mark.slow
def test_several_threads() -> None:
    text = 'pipeline p(x: str) -> str { return if x = trim(x, 3) then "same" else x }'
    stream = [f"u{number * number % 7}" for number in range(1000)]
    several = Parallel(parsed(text), threads=3, shortest=100, warm_up_steps=-1)
    assert several.feed(stream)["out"].events() == Reference(parsed(text)).run(stream, end=False)["out"]
    assert several.blocks == 3


def test_traces() -> None:
    text = 'pipeline p(x: str, n: int) -> str { return if n > 1 then trim(x, 1) else "few" }'
    batch, rows = Batch(parsed(text), device="cpu"), np.array([["a", "b"], ["c", "d"], ["e", ""]])
    made = batch.run({"x": rows, "n": np.array([[1, 2], [2, 1], [1, 3]])})["out"]
    assert (made.events(0), made.events(1)) == (["few", "e"], ["d", "few"])
    steps: list[dict[str, Any]] = [{"x": "a", "n": 2}, {"x": "b"}, {"n": 3}]
    assert batch.events([steps, steps[:2]]) == [{"out": ["b"]}, {"out": ["b"]}]


# --- the table of texts -------------------------------------------------------------------------------------


def test_texts_that_nothing_holds_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the state are not, and what was given before can still be read."""
    monkeypatch.setattr(text_codes, "MAX_FORGOTTEN", 100)
    executor = Compiled(PARSED.get("names").pipeline)
    held = {f"user {i}": f"user {i}" for i in range(50)}
    first = executor.feed({"e": [(user, 1) for user in held]})["out"]
    for piece in range(20):
        executor.feed({"e": [(f"user {i}", 2) for i in range(50)]})
        trimmed = Compiled(parsed("pipeline p(x: str) -> str { return trim(x, 2) }"))
        trimmed.feed([f"{piece} {i}" for i in range(90)])
    assert dict(first.events()[-1]) == held
    other = Compiled(parsed("pipeline p(x: str) -> str { return trim(freeze(x), 2) }"))
    for piece in range(50):
        made = other.feed([f"{piece} {i}" for i in range(90)])["out"]
        assert set(made.events()) == {"0 0"}
    assert len(other.texts) < 400


def test_two_texts_with_one_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_codes, "text_code", lambda text: LONG << BITS | len(text))
    executor = Compiled(parsed("pipeline p(x: str) -> str { return x }"))
    executor.feed(["a", "bc"])
    with pytest.raises(DomainError, match="the texts 'a' and 'b' have the same number in compiled code"):
        executor.feed(["abc", "b"])
    assert executor.steps == 2


def test_a_state_goes_into_another_process(tmp_path: Path) -> None:
    executor = Compiled(PARSED.get("sums").pipeline)
    executor.feed({"e": [("ann", 1), ("bob", 2), ("ann", 5)]})
    (tmp_path / "state").write_bytes(executor.snapshot())
    (tmp_path / "p.pipe").write_text(SLICES)
    program = (
        "import json, sys, workbench as wb\n"
        f"pipeline = wb.load({str(tmp_path / 'p.pipe')!r} + ':sums')\n"
        "executor = wb.executors.Compiled(pipeline)\n"
        f"executor.restore(open({str(tmp_path / 'state')!r}, 'rb').read())\n"
        "print(json.dumps(dict(executor.feed({'e': [('bob', 1)]})['out'].events()[0])))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": "7"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"ann": 4, "bob": 4}


def test_what_needs_the_order_of_texts_is_refused() -> None:
    text = """
    function who(e) = e.0
    function all(e) = e.1
    pipeline inner(e: (str, bool)) -> int { return cumulate(turn(e, 1), +) }
    pipeline p(e: (str, bool)) -> (str, int) { return slice_last(e, who, inner, to_all = all) }
    """
    with pytest.raises(Refused, match="in the order of their keys, which are texts"):
        Compiled(parsed(text))
    Reference(parsed(text))


# --- logs ---------------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("name", ["p", "q"])
def test_logs(tmp_path: Path, ending: str, name: str) -> None:
    """Commas, quotes, lines, other alphabets, no event, and what looks like something else, by rows or in columns."""
    text = """
    pipeline p(x: str, y: str) -> str { return if x = "true" then y else x }
    pipeline q(x: str, y: str) -> a: str, b: str { return trim(x, 1), filter(y, y != "null") }
    """
    (tmp_path / "p.pipe").write_text(text)
    odd = ["true", "null", "1", "nan", "a,b", 'say "hi"', " padded ", "\u00e9\U0001f600", "two\nlines", "1e5", "x"]
    steps = [{"x": odd[i % len(odd)], "y": odd[(3 * i) % 7]} for i in range(3000)]
    for number in range(0, 3000, 17):
        del steps[number]["y"]
    rows = [{"x": step["x"]} | ({"y": step["y"]} if "y" in step else {}) for step in steps]
    same_ = parsed("pipeline same(x: str, y: str) -> x: str, y: str { return x, y }", "same")
    log = tmp_path / f"log.{ending}"
    wb.run(same_, rows, output=log)
    found: dict[str, Any] = {}
    for backend in ("reference", "compiled"):
        output = tmp_path / f"{backend}.{ending}"
        wb.run(f"{tmp_path / 'p.pipe'}:{name}", log, output=output, backend=backend)
        found[backend] = output.read_bytes() if ending != "parquet" else pq.read_table(output).to_pylist()
    assert found["compiled"] == found["reference"]


@pytest.mark.parametrize("name", ["p", "slices"])
def test_keys(tmp_path: Path, name: str) -> None:
    """Texts that are held for each of many keys, a key that is an input itself, and tables for each key."""
    (tmp_path / "p.pipe").write_text("""
    function itself(x) = x
    pipeline count(x: str) -> int { return cumulate(turn(x, 1), +) }
    pipeline p(user: str, x: str) -> before: str, new: bool { return trim(x, 1), x != freeze(x) }
    pipeline slices(x: str) -> map(str, int) { return slice(x, itself, count) }
    """)
    rows = [f"u{i * i % 37},{'' if i % 11 == 0 else f'text {i % 5}'}" for i in range(3000)]
    (tmp_path / "log.csv").write_text("user,x\n" + "\n".join(rows) + "\n")
    found = {}
    for backend in ("reference", "compiled"):
        output = tmp_path / f"{backend}.jsonl"
        wb.run(f"{tmp_path / 'p.pipe'}:{name}", tmp_path / "log.csv", output=output, backend=backend, key="user")
        found[backend] = output.read_text()
    assert found["compiled"] == found["reference"]


@pytest.mark.parametrize("backend", ["compiled", "reference"])
def test_answers_of_every_kind(backend: Any) -> None:
    """What comes out for arrays, lists, tables and rows are texts, also those that numpy's own type would cut."""
    pipeline = wb.parse('pipeline p(x: str) -> str { return if x = "a" then "yes" else x }').get()
    given_, wanted = ["a", "b\0", ""], ["yes", "b\0", ""]
    assert wb.run(pipeline, {"x": given_}, backend=backend) == {"out": wanted}
    made = wb.run(pipeline, {"x": np.array(given_, object)}, backend=backend)["out"]
    assert isinstance(made, np.ndarray)
    assert made.tolist() == wanted
    nothing = wb.run(pipeline, {"x": np.array([], object)}, backend=backend)["out"]
    assert isinstance(nothing, np.ndarray)
    assert len(nothing) == 0
    assert wb.run(pipeline, pa.table({"x": given_}), backend=backend).to_pydict() == {"out": wanted}
    assert wb.run(pipeline, [{"x": text} for text in given_], backend=backend) == [{"out": text} for text in wanted]


@pytest.mark.slow
def test_a_log_of_many_different_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the second block on Arrow does not look which are the same; a cell of space is no event in any block."""
    monkeypatch.setattr("workbench.events.lines.SIZE", 1 << 16)
    pipeline = parsed('pipeline p(x: str, y: str) -> str { return if x = "é5000" then y else x }')
    rows = [(f"é{n}", "" if n % 3 else f"y{n % 7}") for n in range(20_000)]
    rows[11_000] = (" ", "z")
    log = tmp_path / "log.csv"
    log.write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in rows))
    found = {}
    for backend in ("compiled", "reference"):
        wb.run(pipeline, log, backend=backend, output=tmp_path / "out.csv")
        found[backend] = (tmp_path / "out.csv").read_text()
    assert found["compiled"] == found["reference"]


LETTERS = st.sampled_from(["abcxyz019_-", "ABCXYZ019_-", "@[^_`{~\x7f /?", "aA_\x1f\x00", "\u00e9\ud800a"])
TEXTS = LETTERS.flatmap(lambda letters: st.text(letters, max_size=12)) | st.text(max_size=12)


@given(st.lists(TEXTS | TEXTS.map(str.capitalize), max_size=40))
@examples(300)
def test_a_short_text_is_its_number(texts: list[str]) -> None:
    """No two have one, machine code makes the same, and what is made back of a number is the text or nothing."""
    codes = [text_code(text) for text in texts]
    assert len(set(codes)) == len(set(texts))
    assert all(0 <= code < 2**63 for code in codes)
    assert [short_text(code) for code in codes] == [
        None if code >> BITS == LONG else text for text, code in zip(texts, codes, strict=True)
    ]
    table = CodeTable()
    assert table.codes(text_codes.store_texts(texts)).tolist() == codes
    assert table.texts(codes) == texts
    assert len(table) == sum(code >> BITS == LONG for code in set(codes))


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("s1234567_a", "s1234567_ab"), ("USER[1]", "USERs[1]"), ("Ann", "Ann-Marie"), ("_a", "\x7fa"), ("A", "aA"),
        ("12:30 +-?", "12:30\t"), ("{x}~", "{X}~"), ("@aaaaaaaaa", "aaaaaaaa@"), ("_", "\u00e9"),
    ],
)  # fmt: skip
def test_which_texts_are_short(short: str, long: str) -> None:
    assert short_text(text_code(short)) == short
    assert short_text(text_code(long)) is None


def test_what_is_no_number_of_a_short_text() -> None:
    """None is made of any other, nor does machine code."""
    texts = ["", *map(str, range(500)), "Zoe"]
    rest = set(range(-500, 500)) | {2**63 - 1, -(2**63)} | {text_code(text) ^ 1 for text in texts}
    odd = sorted(code for code in rest - set(map(text_code, texts)) if short_text(code) is None)
    assert len(odd) > 1000
    for code in odd[::97]:
        with pytest.raises(KeyError):
            CodeTable().texts([code])


def test_numbers_of_many_texts_are_those_of_each() -> None:
    """Also after most of them have been forgotten; two texts of one number are found out."""
    texts = [f"{'é' * (n % 5)}{n}" for n in range(text_codes.MANY)] + ["", "\0", "a" * 40]
    known = text_codes.TextCodes(["constant"])
    codes = known.codes(TextColumn(np.arange(len(texts)), text_codes.store_texts(texts)))
    assert codes.tolist() == [text_code(text) for text in texts]
    assert known.reader()(codes[::-1]).tolist() == texts[::-1]
    assert known.decode_known(codes[::-1]).tolist() == texts[::-1]
    held = [codes[5:7]]  # the first is short: nobody has to keep it
    known._limit = 10
    known.forget(lambda: held)
    assert (known.select_texts(held), len(known)) == ([texts[6]], 1)
    assert known.put(["constant", texts[6]]) == [text_code("constant"), codes[6]]
    assert [known.by_code[code] for code in codes[5:7].tolist()] == texts[5:7]
    with pytest.raises(KeyError):
        known.reader()(codes[7:8])
    one, other = (
        "5/lSJUUX",
        "x zyB!x\x1f",
    )  # their numbers differ in the bit that is dropped
    assert text_code(one) == text_code(other)
    twins = text_codes.store_texts([*texts, one, *texts, other, one])
    table = TextTable()
    assert table.codes((twins.begins, twins.ends, twins.letters))[[-1, -2]].tolist() == [len(texts), len(texts) + 1]
    with pytest.raises(DomainError, match=f"the texts '{one}' and {re.escape(repr(other))} have the same number"):
        known.codes(TextColumn(np.arange(len(twins)), twins))
