"""What processors remember, by their definitions."""

import pytest

from tests.processors.common import typed
from workbench.core import function as f
from workbench.core.domain import BOOL, INT, Integer, Overflowing
from workbench.core.function import user_function
from workbench.ir.lookback import find_history_bound, find_settled_states
from workbench.processors.apply import ApplyFunction
from workbench.processors.cast import Cast
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.filter import Filter
from workbench.processors.freeze import Freeze
from workbench.processors.held.history import History
from workbench.processors.held.window import Window
from workbench.processors.insert import Insert
from workbench.processors.keep_last import KeepLast
from workbench.processors.passthrough import Passthrough
from workbench.processors.prefix import Prefix
from workbench.processors.stutter import Stutter
from workbench.processors.trim import Trim
from workbench.processors.turn_into import TurnInto

N5 = Integer(5)
SAT = Integer(5, Overflowing.SATURATING)
OPAQUE = user_function(lambda a: a * a, result=INT, name="square")


@pytest.mark.parametrize(
    ("processor", "domains", "history"),
    [
        (Passthrough(), [INT], 1),
        (ApplyFunction(f.ADD), [INT, INT], 1),
        (ApplyFunction(OPAQUE), [INT], 1),
        (TurnInto(1), [INT], 1),
        (Cast(N5), [INT], 1),
        (Filter(), [INT, BOOL], 1),
        (Stutter(2), [INT], 1),
        (KeepLast(), [INT], 2),  # its state is the last event; as a state it is the one before
        (Trim(0), [INT], 1),
        (Trim(3), [INT], 4),  # is it the fourth or a later one?
        (Prefix(2), [INT], 3),
        (Insert(1, 2), [INT], 2),  # is it the first one?
        (Window(1, Cumulate(f.ADD)), [INT], 1),
        (Window(3, Cumulate(f.ADD), "events"), [INT], 3),
        (Window(3, Cumulate(f.ADD), "copies"), [INT], 3),
        (Window(3, CountDecimate(2)), [INT], 3),
        (Window(2, Window(3, Cumulate(f.MAX))), [INT], 2),
        (Window(40, Cumulate(f.ADD)), [INT], 40),
        (History(4, Cumulate(f.ADD)), [INT], 4),
        (Cumulate(f.ADD), [INT], None),
        (Cumulate(f.ADD), [N5], None),
        (Cumulate(f.MAX), [INT], None),
        (Cumulate(f.Function("latest", 2, lambda _, e: e), 0), [INT], 2),
        (Freeze(), [INT], None),
        (CountDecimate(3), [INT], None),
    ],
    ids=str,
)
def test_how_many_fronts_determine_what_is_done(processor, domains, history):
    assert find_history_bound(typed(processor, *domains), domains) == history


@pytest.mark.parametrize(
    ("processor", "domain", "states"),
    [
        (Trim(2), INT, [{0: 2}]),
        (Prefix(2), INT, [{0: 2}]),
        (Freeze(), INT, [{0: True}]),
        (Insert(1, 2), INT, [{0: True}]),
        (Cumulate(f.ADD), SAT, [{0: 4}]),  # more than the greatest value it cannot become
        (Cumulate(f.MUL), N5, [{0: 0}]),
        (Cumulate(f.AND), BOOL, [{0: False}]),
        (Cumulate(f.OR), BOOL, [{0: True}]),
        (Cumulate(f.ADD), N5, []),
        (Cumulate(f.ADD), INT, []),
        (CountDecimate(2), INT, []),
        (Window(2, Cumulate(f.ADD)), INT, []),
    ],
    ids=str,
)
def test_states_that_nothing_changes(processor, domain, states):
    assert list(find_settled_states(typed(processor, domain), [domain])) == states
