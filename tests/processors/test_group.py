import pytest
from hypothesis import given

from experiments.stream_check import check_streams
from tests.machines import GroupMachine
from workbench.builder import Builder, pipeline
from workbench.conformance.compare.differential import check
from workbench.conformance.compare.executables import Denoting, Running
from workbench.conformance.generate.pipelines import pipelines_and_traces
from workbench.core import function as f
from workbench.core.domain import BOOL, INT, Integer, Range
from workbench.core.pipeline import Node, Pipeline
from workbench.errors import Overflow, Refused, TypingError
from workbench.executors.reference.executor import Reference
from workbench.processors.apply import ApplyFunction
from workbench.processors.cumulate import Cumulate
from workbench.processors.filter import Filter
from workbench.processors.held.group import Group, flatten
from workbench.processors.trim import Trim


@pipeline(x=INT, y=INT)
def pair(x, y):
    return {"sum": x + y, "same": x}


@pipeline(a=INT)
def outer(a):
    added, same = a.builder.add(pair, [a, Trim(1)(a)])
    return {"added": added.named("added"), "kept": same}


def test_a_group_is_replaced_by_its_contents():
    flat = flatten(outer)
    assert [n.name for n in flat.nodes] == ["trim", "pair.add", "pair.pair2"]
    assert flat.queues == ("pair.add.left", "pair.add.right")
    assert dict(flat.outputs) == {"added": "added", "kept": "pair2"}
    assert flatten(flat) == flat
    assert flat.denote([[1, 2, 3]]) == outer.denote([[1, 2, 3]]) == ([3, 5], [1, 2, 3])


def test_groups_in_groups():
    builder = Builder("top")
    a = builder.input("a")
    added, _ = builder.add(outer, [a])
    top = builder.build(Cumulate(f.ADD)(added))
    assert "outer.pair.add" in [n.name for n in flatten(top).nodes]
    assert flatten(top).denote([[1, 2, 3]]) == top.denote([[1, 2, 3]]) == ([3, 8],)


def test_the_inputs_of_a_group_do_not_wait_for_each_other():
    two = Builder("two")
    apart = two.build([Trim(1)(two.input("x")), Trim(0)(two.input("y"))])
    group = Group(apart)
    assert group.denote(([1, 2, 3], [])) == ([2, 3], [])
    top = Builder("top")
    x, y = top.input("x"), top.input("y")
    whole = top.build(top.add(group, [x, y]))
    steps = [{"x": 1}, {"x": 2}, {"y": 5}]
    check(whole, steps, Running(whole), Denoting(whole))
    assert [o.pipes["two1"] for o in Running(whole).trace(steps)] == [None, 2, None]


def test_capacities_of_a_body_are_kept():
    top = Builder("top")
    x, y = top.input("x"), top.input("y")
    limited = top.build(list(top.add(pair.with_capacities({"add.left": 1}), [x, y])))
    assert limited.queues == ()
    assert flatten(limited).capacities == {"pair.add.left": 1}
    running = Reference(limited)
    running.push(1, "x")
    with pytest.raises(Overflow, match=r"queue 'pair\.add\.left'"):
        running.push(2, "x")
    assert Reference(limited, {"pair.add.left": 2}).run([[1, 2], []]) == {"out1": [], "out2": [1, 2]}


def test_a_body_with_the_name_of_its_call():
    """`y = id2(x)` where id2 has a processor y, and shows its input as well."""
    body = Pipeline("id2", (("x", INT),), (Node("y", Trim(1), ("x",), ("y",)),), (("out", "x"),))
    call = Pipeline("p", (("x", INT),), (Node("y", Group(body), ("x",), ("y",)),), (("out", "y"),))
    assert flatten(call).denote([[1]]) == ([1],)


def test_groups_are_typed_by_their_declaration():
    two = Builder("two")
    a, b = two.input("a", Integer(4)), two.input("b", BOOL)
    with pytest.raises(TypingError, match="input 'x' of pipeline pair carries int, not int mod 4"):
        two.build(list(two.add(pair, [a, b])))


def test_resolving_reaches_into_groups():
    small = outer.resolve(Integer(3))
    assert flatten(small).domains["added"] == Integer(3)
    assert small.denote([[1, 2, 2]]) == ([0, 1], [1, 2, 2])


def test_a_group_is_one_machine_where_its_queues_are_bounded():
    """`x + trim(x, 1)`: one event waits on the left, none on the right, however many fronts come."""
    whole = outer.resolve(Integer(3))
    machine = Group(whole).machine((Integer(3),))
    assert [slot.domain for slot in machine.slots if slot.name.endswith("lead")] == [Range(0, 1)]
    steps = [{"a": value} for value in (1, 2, 0, 2, 2)]
    check(whole, steps, Running(whole), GroupMachine(whole, None))
    builder = Builder("odd")
    x = builder.input("x", Integer(3))
    kept = Filter()(x, ApplyFunction(f.ODD)(x))
    with pytest.raises(Refused, match=r"the queues of 'add' in odd may get longer and longer"):
        Group(builder.build(x + kept)).machine((Integer(3),))


def test_ports_are_the_inputs():
    assert Group(pair).ports == ("x", "y")
    assert Group(pair).out_arity == 2
    assert ApplyFunction(f.ADD).in_arity == 2


@given(pipelines_and_traces(depth=2, max_nodes=3))
def test_flattening_keeps_the_meaning(given_):
    pipeline, steps = given_
    flat = flatten(pipeline)
    check(pipeline, steps, Running(pipeline), Running(flat))
    check_streams(flat, steps)
