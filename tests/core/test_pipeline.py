"""Everything that can be wrong with a graph is told before the first event, by the name of the pipe."""

import re

import pytest

import workbench as wb
from workbench.core import function as f
from workbench.core.domain import BOOL, INT, Integer, Range
from workbench.core.pipeline import Node, Pipeline
from workbench.errors import Location, PipelineError, TypingError
from workbench.processors.apply import ApplyFunction
from workbench.processors.cumulate import Cumulate
from workbench.processors.filter import Filter
from workbench.processors.fork import Fork
from workbench.processors.trim import Trim

TRIM, SUM, ADD = Trim(1), Cumulate(f.ADD), ApplyFunction(f.ADD)


def graph(nodes, outputs=(("out", "y"),), inputs=(("x", INT),), **more):
    return Pipeline("p", inputs, tuple(nodes), outputs, **more)


def refused(message, kind=PipelineError):
    return pytest.raises(kind, match=message)


def test_nodes_are_sorted():
    late = Node("add", ADD, ("x", "t"), ("y",))
    early = Node("trim", TRIM, ("x",), ("t",))
    pipeline = graph([late, early])
    assert [n.name for n in pipeline.nodes] == ["trim", "add"]
    assert pipeline == graph([early, late])
    assert hash(pipeline) == hash(graph([early, late]))
    assert pipeline.queues == ("add.left", "add.right")
    assert pipeline.domains == {"x": INT, "t": INT, "y": INT}


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([Node("a", TRIM, ("z",), ("y",))], r"has no pipe 'z' \(an input of 'a'\)[\s\S]*there are: x, y"),
        ([Node("a", TRIM, ("xx",), ("y",))], r"has no pipe 'xx'[\s\S]*did you mean 'x'"),
        ([Node("a", TRIM, ("x",), ("y",)), Node("b", TRIM, ("x",), ("y",))], "two pipes are called 'y'"),
        ([Node("a", TRIM, ("x",), ("x",))], "two pipes are called 'x'"),
        ([Node("a", TRIM, ("x",), ("y",)), Node("a", TRIM, ("x",), ("z",))], "two processors are called 'a'"),
        ([Node("a", ADD, ("x",), ("y",))], r"'a' \(ApplyFunction\(\+\)\) has 2 input pipes, but 1 are connected: x"),
        ([Node("a", Fork(2), ("x",), ("y",))], "'a' .* has 2 output pipes, but 1 are connected"),
        ([Node("a", TRIM, ("y",), ("z",)), Node("b", TRIM, ("z",), ("y",))], "form a cycle: [ab] -> [ab] -> [ab]"),
        ([Node("a", TRIM, ("y",), ("y",))], "form a cycle: a -> a"),
        ([], "has no pipe 'y'"),
    ],
)  # fmt: skip
def test_ill_formed_graphs(nodes, message):
    with refused(message):
        graph(nodes)


def test_a_pipeline_shows_something():
    with refused("p has no output"):
        graph([], outputs=())
    with refused("two outputs are called 'o'"):
        graph([], outputs=(("o", "x"), ("o", "x")))


def test_type_errors_name_the_processor_its_pipes_and_the_place():
    where = Location("f.pipe", 3, 5)
    with refused(r"f\.pipe:3:5: pipeline p: processor 'keep' on x: int, x: int: the condition", TypingError):
        graph([Node("keep", Filter(), ("x", "x"), ("y",), where)])
    with refused("processor 's' on x: 0..3: '[+]' turns", TypingError):
        graph([Node("s", SUM, ("x",), ("y",))], inputs=(("x", Range(0, 3)),))


def test_capacities_are_of_queues_that_exist():
    nodes = [Node("add", ADD, ("x", "x"), ("y",))]
    assert graph(nodes, capacities={"add.left": 2}).capacities == {"add.left": 2}
    with refused(r"has no queue 'add.lft'[\s\S]*did you mean 'add.left'"):
        graph(nodes, capacities={"add.lft": 2})
    assert graph(nodes).with_capacities({"add.right": 0}).capacities == {"add.right": 0}


def test_names_are_looked_up_with_suggestions():
    pipeline = graph([Node("total", SUM, ("x",), ("y",))])
    assert pipeline.pipe("out") == "y"
    assert pipeline.pipe("x") == "x"
    assert pipeline.node("total").processor == SUM
    with refused("did you mean 'total'"):
        pipeline.node("totl")
    with refused("did you mean 'out'"):
        pipeline.pipe("ou")


def test_choosing_n():
    pipeline = graph([Node("total", SUM, ("x",), ("y",))])
    assert pipeline.resolve(Integer(4)).domains == {"x": Integer(4), "y": Integer(4)}
    assert pipeline.domains["y"] == INT


def test_a_start_value_that_the_chosen_domain_lacks():
    pipeline = graph([Node("total", Cumulate(f.ADD, 7), ("x",), ("y",))])
    with pytest.raises(ValueError, match="-N 8"):
        pipeline.resolve(Integer(4))


def test_denotation_of_a_graph():
    nodes = [Node("trim", TRIM, ("x",), ("t",)), Node("add", ADD, ("x", "t"), ("y",))]
    assert graph(nodes).denote([[1, 2, 3]]) == ([3, 5],)
    with refused("has 1 inputs, 2 streams were given"):
        graph(nodes).denote([[1], [2]])


def test_processors_stand_as_given_where_pipes_leave_a_choice():
    """`late` waits for `last`, and nothing else is moved."""
    pipes = {"late": "e", "first": "x", "last": "x", "then": "a"}
    ends = {"late": "y", "first": "a", "last": "e", "then": "z"}
    nodes = [Node(name, TRIM, (pipe,), (ends[name],)) for name, pipe in pipes.items()]
    assert [node.name for node in graph(nodes).nodes] == ["first", "last", "late", "then"]


def test_the_wiring_as_a_graph():
    nodes = [Node("add", ADD, ("x", "x"), ("y",))]
    wiring = graph(nodes).graph
    assert wiring.number_of_edges(("input", "x"), ("node", "add")) == 2
    assert wiring.has_edge(("node", "add"), ("output", "out"))


def test_what_lies_upstream():
    pipeline = graph([
        Node("trim", TRIM, ("x",), ("t",)), Node("sum", SUM, ("t",), ("s",)), Node("alone", TRIM, ("x",), ("a",)),
        Node("add", ADD, ("s", "t"), ("y",)),
    ])  # fmt: skip

    def names(*given):
        return [node.name for node in pipeline.upstream(*given)]

    assert names(["y"]) == ["trim", "sum", "add"]
    assert names(["s"]) == ["trim", "sum"]
    assert names(["a", "t"]) == ["trim", "alone"]
    assert names(["x"]) == []
    assert names(["y"], "t") == ["sum", "add"]
    assert names(["t"], "t") == []


def test_an_input_can_be_shown_as_it_is():
    pipeline = graph([], outputs=(("out", "x"), ("again", "x")), inputs=(("x", BOOL),))
    assert pipeline.denote([[True]]) == ([True], [True])


def test_messages_end_without_traces_of_python():
    with refused("zz") as caught:
        graph([Node("a", TRIM, ("zz",), ("y",))])
    assert not re.search(r"\(<|object at|Traceback", str(caught.value))


@pytest.mark.parametrize("none", [5, {"a": INT}, "0..50", range(3), list])
def test_another_object_is_no_domain(none):
    """Who follows the hint has a pipeline that runs, and the mistake is found where it is made."""

    def copy(x):
        return x

    with pytest.raises(TypingError, match=r"^x=.* is not a domain\n  hint: write a domain: x=wb.INT$"):
        wb.pipeline(x=none)(copy)
    assert wb.run(wb.pipeline(x=wb.INT)(copy), {"x": [1]}) == {"out": [1]}
    with pytest.raises(TypingError, match="domain=int is not a domain"):
        wb.processors.Cast(int)  # type: ignore[arg-type]
