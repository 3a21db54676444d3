"""Passes over generated code, one by one: text in, text out; and what the verifier refuses."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from textwrap import dedent, indent
from typing import Any

import pytest

from tests.executors.compiled.ir_text import parse_function
from workbench.executors.compiled.code import ir, passes
from workbench.executors.compiled.code.operators import MalformedCode, op
from workbench.executors.compiled.code.passes import Pass, run_passes
from workbench.executors.compiled.code.printer import print_function
from workbench.executors.compiled.code.verify import verify

HEAD = "def f(x: Int, y: Int, b: Bool, r: Float, used: Bool[:], keys: Int[:], a: Int[:], out: Int[:]):\n"


def function(body: str) -> ir.CodeFunction:
    return parse_function(HEAD + indent(dedent(body).strip(), "    "))


def after(body: str, *steps: Pass) -> str:
    """The text of a body after passes."""
    text = print_function(run_passes(function(body), steps), typed=True)
    assert text.startswith(HEAD)
    return dedent(text.removeprefix(HEAD)).strip().replace("at(i)", "i")


def test_code_is_printed_as_it_is_read() -> None:
    text = HEAD + "".join(
        f"    {line}\n"
        for line in (
            "t = ((x + 1) if b else a[at(y)])",
            "for i in range(0, t, 2):",
            "    if (not b):",
            "        out[at(i)] = (t % 3)",
            "        break",
            "return (t, (r * 2.5))",
        )
    )
    assert print_function(verify(parse_function(text)), typed=True) == text


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("t = x + 1\nu = t * 2\nout[0] = u", "out[0] = ((x + 1) * 2)"),
        ("t = x + 1\nout[0] = t * t", "t = (x + 1)\nout[0] = (t * t)"),  # used twice
        ("t = a[0]\na[0] = x\nout[0] = t", "t = a[0]\na[0] = x\nout[0] = t"),  # written before it is used
        ("n = x\nt = n + 1\nn = y\nout[0] = t", "n = x\nt = (n + 1)\nn = y\nout[0] = t"),
        ("t = a[0]\na[0] = t + 1", "a[0] = (a[0] + 1)"),  # it is read before this is written
        ("t = x + 1\nfor i in range(0, y):\n    out[i] = t", "t = (x + 1)\nfor i in range(0, y):\n    out[i] = t"),
        ("t = x + 1\nfor i in range(0, t):\n    out[i] = y", "for i in range(0, (x + 1)):\n    out[i] = y"),
    ],
)
def test_what_is_used_once_is_written_where_it_is_used(before: str, expected: str) -> None:
    assert after(before, passes.inline_single_uses) == expected


def test_a_row_of_a_table_has_a_name_where_an_entry_of_it_is_read() -> None:
    text = "def f(x: Int, table: Int[:, :], out: Int[:]):\n    row = table[at(x)]\n    out[0] = row[at(x)]\n"
    given = parse_function(text)
    assert print_function(passes.inline_single_uses(given), typed=True) == text
    row: Any = ir.Load(ir.Var("table", ir.ArrayType(ir.INTEGER, 2)), (ir.integer(0),))
    entry = ir.Load(ir.Var("out", ir.ArrayType(ir.INTEGER)), (ir.integer(0),))
    nameless = ir.Store(entry, ir.Load(row, (ir.integer(0),)))
    with pytest.raises(MalformedCode, match="which has no name"):
        verify(replace(given, body=(nameless,)))


def test_expressions_do_not_become_too_deep_for_python() -> None:
    lines = ["t0 = x + 1", *(f"t{k} = t{k - 1} + y" for k in range(1, 300)), "out[0] = t299"]
    text = after("\n".join(lines), passes.inline_single_uses)
    compile(text, "text", "exec")
    assert text.count("\n") < 10


def test_names_that_nothing_reads_are_left_out() -> None:
    assert after("t = x + 1\nu = t + 2\nn = 0\nn = y\nout[0] = x", passes.drop_unused) == "n = 0\nn = y\nout[0] = x"


def test_conditionals_are_computed_without_jumps_unless_they_can_be_predicted() -> None:
    text = "out[0] = x if b else (y if x < y else 0)"
    assert after(text, passes.select_without_jumps) == "out[0] = pick(b, x, pick((x < y), y, 0))"
    given = function(text)
    (store,) = given.body
    assert isinstance(store, ir.Store)
    assert isinstance(store.value, ir.Select)
    known = replace(given, body=(ir.Store(store.target, replace(store.value, predictable=True)),))
    assert print_function(passes.select_without_jumps(known)).endswith("(x if b else pick((x < y), y, 0))\n")


def test_a_device_rounds_floats_as_a_processor_does() -> None:
    text = "t = r * 2.0 + 1.0\nu = r % 2.0\nout[0] = x * y % 3\nreturn t, u"
    rounded = after(text, passes.round_as_processors)
    assert rounded.startswith("t = (rounded_product(r, 2.0) + 1.0)\nu = (float_remainder(r, 2.0) if 2.0 else r)\n")
    assert "out[0] = ((x * y) % 3)" in rounded


LOOP = """
{name} = 0
if b:
    for row in range(1, len(used)):
        if used[row]:
            v{name} = {value}
            {name} = {name} + v{name}
"""


def test_rows_are_gone_through_once_for_all_that_is_collected() -> None:
    text = LOOP.format(name="s", value="a[row]") + "t = x + 1" + LOOP.format(name="n", value="keys[row] + t")
    text += "out[0] = s + n"
    assert (
        after(text, passes.fuse_row_loops).replace("at(row)", "row")
        == dedent(
            """
        s = 0
        t = (x + 1)
        n = 0
        if b:
            for row in range(1, len(used)):
                if used[row]:
                    vs = a[row]
                    s = (s + vs)
                    vn = (keys[row] + t)
                    n = (n + vn)
        out[0] = (s + n)
        """
        ).strip()
    )


@pytest.mark.parametrize("change", [("keys[row] + s", ""), ("keys[row]", "if b:\n    for"), ("keys[row]", "out")])
def test_rows_are_gone_through_again_where_that_depends_on_the_first_time(change: tuple[str, str]) -> None:
    """On its result; or the condition is another one; or one of the loops writes to an array."""
    value, other = change
    second = LOOP.format(name="n", value=value)
    second = second.replace("if b:", "if x < y:") if other.startswith("if") else second
    second = second.replace("n = n + vn", "out[row] = vn") if other == "out" else second
    text = LOOP.format(name="s", value="a[row]") + second
    assert after(text, passes.fuse_row_loops) == after(text)


def test_what_is_the_same_in_each_round_is_computed_before_the_loop() -> None:
    text = "for i in range(0, y):\n    t = x * x\n    u = t + a[i]\n    out[i] = u"
    expected = "t = (x * x)\nfor i in range(0, y):\n    u = (t + a[i])\n    out[i] = u"
    assert after(text, passes.hoist_invariants) == expected


def test_a_round_reads_first_and_writes_last() -> None:
    text = (
        "n = 0\nfor i in range(0, y):\n    out[n] = x\n    n = n + 1\n    t = a[i]\n    out[n] = t + 1\n    n = n + 1"
    )
    given = function(text)
    loop = given.body[1]
    assert isinstance(loop, ir.For)
    pinned = tuple(replace(each, pinned=True) if isinstance(each, ir.Let) else each for each in loop.body)
    given = replace(given, body=(given.body[0], replace(loop, body=pinned)))
    made = run_passes(given, [partial(passes.read_ahead, outputs={"out"}), passes.inline_single_uses])
    assert print_function(made).split("\n")[3:10] == [
        "        t = a[at(i)]",
        "        place0 = n",
        "        n = (n + 1)",
        "        place1 = n",
        "        n = (n + 1)",
        "        out[at(place0)] = x",
        "        out[at(place1)] = (t + 1)",
    ]


def test_memory_is_told_of_rows_some_steps_before() -> None:
    given = function("for i in range(x, y):\n    k = a[i]\n    t = find(used, keys, k * 2)\n    out[i] = t")
    (loop,) = given.body
    assert isinstance(loop, ir.For)
    let = loop.body[0]
    assert isinstance(let, ir.Let)
    given = replace(given, body=(replace(loop, body=(replace(let, pinned=True), *loop.body[1:])),))
    arrays = [ir.Var("used", ir.ArrayType(ir.BOOLEAN)), ir.Var("keys", ir.ArrayType(ir.INTEGER))]
    made = run_passes(given, [partial(passes.prefetch_rows, tables=[arrays])])
    assert print_function(made).split("\n")[2:6] == [
        "        if (len(used) > 65536):",
        "            early_used_0 = first_row(used, a[at(min((i + 24), (y - 1)))])",
        "            soon(used, early_used_0)",
        "            soon(keys, early_used_0)",
    ]


@pytest.mark.parametrize(
    ("body", "what"),
    [
        ((ir.Store(ir.Var("x", ir.INTEGER), ir.TRUE),), "writes"),
        ((ir.ReturnValues((ir.Var("z", ir.INTEGER),)),), "'z' is not bound here"),
        ((ir.ReturnValues((ir.Var("x", ir.FLOAT),)),), "'x' is not bound here as"),
        ((ir.Let("x", ir.integer(1)),), "'x' is bound twice"),
        ((ir.If(ir.integer(1), ()),), "is not a condition"),
        ((ir.ReturnValues((ir.Select(ir.TRUE, ir.integer(1), ir.FALSE),)),), "chooses between"),
        ((ir.ReturnValues((ir.Load(ir.Var("x", ir.INTEGER), (ir.integer(0),)),)),), "more indices"),
        ((ir.ReturnValues((ir.Const(1, ir.BOOLEAN),)),), "1 is no"),
        (
            (ir.If(ir.TRUE, (ir.Let("t", ir.integer(1)),)), ir.ReturnValues((ir.Var("t", ir.INTEGER),))),
            "'t' is not bound",
        ),
    ],
)
def test_code_that_breaks_a_rule_is_refused(body: ir.CodeBlock, what: str) -> None:
    with pytest.raises(MalformedCode, match=what):
        verify(replace(function("pass"), body=body))


def test_operators_refuse_other_types() -> None:
    with pytest.raises(MalformedCode, match=r"'add' is applied to .*'Bool'.*, but takes "):
        op("add", ir.TRUE, ir.integer(1))
    with pytest.raises(MalformedCode, match="no operator 'plus'"):
        op("plus", ir.integer(1))
