"""Processors in lockstep as one function: it does what stepping them one by one does."""

import pytest

from tests.processors.common import stepped
from workbench.builder import pipeline
from workbench.core import function as f
from workbench.core.domain import BOOL, INT, Integer, Overflowing
from workbench.core.function import user_function
from workbench.errors import Overflow, WorkbenchError
from workbench.processors.apply import ApplyFunction
from workbench.processors.cumulate import Cumulate
from workbench.processors.filter import Filter
from workbench.processors.fork import Fork
from workbench.processors.held.group import Group
from workbench.processors.multiplex import Multiplex
from workbench.processors.passthrough import Passthrough
from workbench.processors.trim import Trim


@pipeline(x=INT, y=INT)
def several(x, y):
    left, right = Fork(2)(x)
    return {"sums": Cumulate(f.ADD)(left + y), "as it is": y, "again": Cumulate(f.MAX)(right), "first": left}


@pipeline(x=INT, y=INT)
def nested(x, y):
    sums, *_ = x.builder.add(several, [x, y])
    return Cumulate(f.ADD)(sums) - x


@pipeline(x=INT, y=INT)
def silent(x, y):
    return Filter()(x, y > 0)


@pipeline(x=INT, y=INT)
def late(x, y):
    return Trim(1)(x) + y


@pipeline(x=INT, y=INT)
def merging(x, y):
    return Multiplex()(x, y)


STREAMS = ([3, -1, 4, 1, -5], [2, 7, 1, 8, 2])


@pytest.mark.parametrize("body", [several, nested], ids=str)
def test_a_group_in_lockstep_is_one_function(body):
    group = Group(body)
    assert group.together is not None
    assert stepped(group, STREAMS) == body.denote(STREAMS)


@pytest.mark.parametrize("body", [several, nested], ids=str)
def test_its_state_is_that_of_the_walk(body):
    """So that a state may be saved by one and go on in the other; the end of the stream walks."""
    group = Group(body)
    one = other = group.initial()
    for front in zip(*STREAMS, strict=True):
        one, emitted = group.step(one, front)
        other, carried = group._walk(other, [[value] for value in front], ends=False)
        assert one == other
        assert [[out.value] for out in emitted] == [list(carried[pipe]) for pipe in group._output_positions]


@pytest.mark.parametrize("body", [silent, late, merging], ids=str)
def test_others_are_walked(body):
    group = Group(body)
    assert group.together is None
    if body is not merging:
        assert stepped(group, STREAMS) == body.denote(STREAMS)


def test_what_fails_in_it_fails_as_it_does_alone():
    checked = Integer(4, Overflowing.CHECKED)

    @pipeline(x=checked)
    def bounded(x):
        return Cumulate(f.ADD)(Passthrough()(x))

    @pipeline(x=INT)
    def odd(x):
        return ApplyFunction(user_function(lambda a: 1 // a, result=BOOL, name="inverse"))(x)

    group = Group(bounded)
    state, _ = group.step(group.initial(), (3,))
    with pytest.raises(Overflow, match=r"'\+' on 3, 1 leaves the checked domain int checked 4"):
        group.step(state, (1,))
    with pytest.raises(WorkbenchError, match="'inverse' failed on 0"):
        Group(odd).step(Group(odd).initial(), (0,))
