"""The only module that imports pynusmv: one loaded SMV model as Python operations on sets of states.

It runs in a child process of `worker`, since NuSMV may end its process at any call.
"""

from __future__ import annotations

import collections
import collections.abc
import ctypes
import gc
import importlib
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

# pynusmv 1.0rc8 is older than Python 3.10 and looks for these names where they no longer are.
for _name in collections.abc.__all__:
    if not hasattr(collections, _name):
        setattr(collections, _name, getattr(collections.abc, _name))


def _instead(name: str) -> Any:
    """Return what pynusmv's modules import from its parser: a class, or None for a function that is never called."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(importlib.import_module("pynusmv.exception"), name, None)


# The real parser is for formulas in Python; making it, with pyparsing, would be a third of a worker's start.
_parser = types.ModuleType("pynusmv.parser")
_parser.__dict__["__getattr__"] = _instead
sys.modules[_parser.__name__] = _parser

from pynusmv import glob, init  # noqa: E402
from pynusmv.dd import BDD, BDDList, Cube  # noqa: E402
from pynusmv.exception import NuSMVParsingError, PyNuSMVError  # noqa: E402
from pynusmv.fsm import BddFsm  # noqa: E402
from pynusmv.prop import propTypes  # noqa: E402
from pynusmv_lower_interface.nusmv.cinit import cinit as ns_cinit  # noqa: E402
from pynusmv_lower_interface.nusmv.compile.symb_table import symb_table as ns_symbols  # noqa: E402
from pynusmv_lower_interface.nusmv.dd import _dd  # noqa: E402
from pynusmv_lower_interface.nusmv.dd import dd as ns_dd  # noqa: E402
from pynusmv_lower_interface.nusmv.enc.bdd import bdd as ns_enc  # noqa: E402
from pynusmv_lower_interface.nusmv.fsm.bdd import bdd as ns_fsm  # noqa: E402
from pynusmv_lower_interface.nusmv.ltl import ltl as ns_ltl  # noqa: E402
from pynusmv_lower_interface.nusmv.mc import mc as ns_mc  # noqa: E402
from pynusmv_lower_interface.nusmv.node import node as ns_node  # noqa: E402
from pynusmv_lower_interface.nusmv.opt import opt as ns_opt  # noqa: E402
from pynusmv_lower_interface.nusmv.parser import parser as ns_parser  # noqa: E402
from pynusmv_lower_interface.nusmv.prop import prop as ns_prop  # noqa: E402
from pynusmv_lower_interface.nusmv.utils import utils as ns_utils  # noqa: E402

from .ending import MODEL_FILE, RejectedError  # noqa: E402
from .lasso import Fairness, SymbolicGraph, fair_lasso  # noqa: E402

_ORDER_FILE = "model.ord"
_TYPES = {"invar": "Invariant", "ctl": "CTL", "ltl": "LTL", "longest": "CTL"}
_CTL_OPERATORS = frozenset(
    getattr(ns_parser, name)
    for name in ("AX", "AG", "AF", "AU", "EX", "EG", "EF", "EU", "ABU", "EBU")
    if hasattr(ns_parser, name)
)

# With an order chosen by the caller, sifting is the fallback for a growing BDD; without
# one it must start early, since NuSMV's own order is the order of declaration.
REORDER_FROM_NODES = 100_000
"""Number of BDD nodes from which a model that came with an order is reordered."""


def start() -> None:
    """Initialise NuSMV, which has one model per process."""
    # Not collecting: the registry of wrappers only serves `deinit_nusmv`, for which see `reset`.
    init.init_nusmv(collecting=False)


def reset() -> None:
    """Forget the model. None of its `LoadedModel`, `ParsedQuery` and sets of states may be in use any more."""
    gc.collect()  # pynusmv's wrappers free what they hold, which must not happen in the next model
    # The steps of `deinit_nusmv`, without the bookkeeping that `start` has turned off.
    glob._reset_globals()
    init.__dict__["__collector"] = None
    ns_cinit.NuSMVCore_quit()
    start()


class ParsedQuery:
    """A parsed, type-checked query: NuSMV's property and its expression."""

    def __init__(self, prop: Any) -> None:
        self.prop = prop
        self.node = ns_prop.Prop_get_expr_core(prop)

    def body(self) -> Any:
        """Return the expression without NuSMV's module context."""
        node = self.node
        while node.type == ns_parser.CONTEXT:
            node = ns_node.cdr(node)
        return node

    def always(self) -> Any | None:
        """Return the `f` of a formula `AG f`; None for other formulas."""
        body = self.body()
        return ns_node.car(body) if body.type == ns_parser.AG else None

    def is_temporal(self) -> bool:
        """Whether a CTL operator occurs in the formula."""
        stack = [self.body()]
        while stack:
            node = stack.pop()
            if node is None or node.type in _LEAVES:
                continue
            if node.type in _CTL_OPERATORS:
                return True
            stack += [ns_node.car(node), ns_node.cdr(node)]
        return False


_LEAVES = frozenset(
    getattr(ns_parser, name)
    for name in ("ATOM", "NUMBER", "NUMBER_UNSIGNED_WORD", "NUMBER_SIGNED_WORD", "TRUEEXP", "FALSEEXP", "DOT",
                 "BIT", "ARRAY", "NUMBER_FRAC", "NUMBER_REAL", "NUMBER_EXP")
)  # fmt: skip


class LoadedModel:
    """A loaded model.

    Sets of states are pynusmv `BDD`s; `~`, `&`, `|` and `is_false()` work on them.

    Raises
    ------
    RejectedError: the text does not parse or type-check (details may also be on stderr).
    """

    def __init__(self, text: str, order: Sequence[str] = ()) -> None:
        with open(MODEL_FILE, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            self._build(order)
        except NuSMVParsingError as error:
            raise RejectedError(_describe_syntax(error)) from error
        except PyNuSMVError as error:
            raise RejectedError("", printed=True) from error
        self.fsm = BddFsm(ns_prop.Prop_get_bdd_fsm(ns_prop.PropDb_get_master(_get_database())))
        self._enc = self.fsm.bddEnc._ptr
        self._manager = self.fsm.bddEnc.DDmanager
        self._table = self.fsm.bddEnc.symbTable._ptr
        self.mask = self.fsm.bddEnc.statesMask
        layers = ns_symbols.SymbTable_get_class_layer_names(self._table, None)
        self._state_vars = ns_symbols.SymbTable_get_layers_sf_vars(self._table, layers)
        self._input_vars = ns_symbols.SymbTable_get_layers_i_vars(self._table, layers)
        self.has_inputs = ns_utils.NodeList_get_length(self._input_vars) > 0

    @staticmethod
    def _build(order: Sequence[str]) -> None:
        glob.load_from_file(MODEL_FILE)
        # Otherwise a variable with one value becomes a DEFINE and is missing from traces and orders.
        glob.flatten_hierarchy(keep_single_enum=True)
        if order:
            with open(_ORDER_FILE, "w", encoding="utf-8") as file:
                file.write("\n".join(order) + "\n")
            ns_cudd.Cudd_SetNextReordering(int(ns_cinit.cvar.dd_manager), REORDER_FROM_NODES)
        ns_opt.set_dynamic_reorder(ns_opt.OptsHandler_get_instance())
        ns_dd.dd_autodyn_enable(ns_cinit.cvar.dd_manager, ns_dd.CUDD_REORDER_SIFT)
        glob.encode_variables(variables_ordering=_ORDER_FILE if order else None)
        glob.build_flat_model()
        glob.build_model()

    # ---- formulas -------------------------------------------------------------------------
    def formula(self, kind: str, text: str) -> ParsedQuery:
        """Parse and type-check a query; NuSMV prints errors on stderr."""
        # NuSMV reads the formula as one line, and `--` would hide its own end-of-formula mark.
        line = " ".join(part.split("--")[0] for part in text.splitlines())
        index = ns_prop.PropDb_prop_parse_and_add(_get_database(), self._table, line, propTypes[_TYPES[kind]])
        if index < 0:
            errors = ns_parser.Parser_get_syntax_errors_list()
            if errors is None:
                raise RejectedError("the formula is not correct", where=text, printed=True)
            raise RejectedError(
                _describe_syntax(NuSMVParsingError.from_nusmv_errors_list(errors), lines=False), where=text
            )
        prop = ns_prop.PropDb_get_prop_at_index(_get_database(), index)
        if kind == "invar" and ns_prop.Prop_needs_rewriting(prop):
            raise RejectedError("an invariant speaks of single states: no next(...) and no IVAR in it", where=text)
        return ParsedQuery(prop)

    def satisfying(self, node: Any) -> Any:
        """Return the states in which a (CTL or simple) expression is true."""
        return self._bdd(ns_mc.eval_ctl_spec(self.fsm._ptr, self._enc, node, None))

    def expression(self, text: str) -> Any:
        """Return the states in which a Boolean expression, given as text, is true."""
        return self._bdd(ns_enc.BddEnc_expr_to_bdd(self._enc, self.formula("invar", text).node, None))

    # ---- sets of states -------------------------------------------------------------------
    def _bdd(self, pointer: Any) -> Any:
        return BDD(pointer, self._manager, freeit=True)

    @property
    def initial(self) -> Any:
        """The initial states, which also satisfy the INVAR constraints."""
        return self.fsm.init & self.fsm.state_constraints

    def post(self, states: Any, fsm: Any = None) -> Any:
        """Return the successors of some states, in the model or in another machine."""
        return self._bdd(ns_fsm.BddFsm_get_forward_image((fsm or self.fsm)._ptr, states._ptr))

    def pre(self, states: Any, fsm: Any = None) -> Any:
        """Return the predecessors of some states."""
        return self._bdd(ns_fsm.BddFsm_get_backward_image((fsm or self.fsm)._ptr, states._ptr))

    def without_successor(self) -> Any:
        """Return all states, reachable or not, that have no successor."""
        return self._bdd(ns_fsm.BddFsm_get_not_successor_states(self.fsm._ptr)) & self.mask

    def fair(self) -> Any:
        """Return the states from which a fair path starts (without FAIRNESS, any infinite path)."""
        return self.fsm.fair_states

    def share_reachable(self, states: Any) -> None:
        """Give NuSMV the reachable states, so that its own algorithms do not compute them again."""
        self.fsm.reachable_states = states

    def count(self, states: Any) -> int:
        """Return the number of states in a set."""
        return int(self.fsm.count_states(states))

    # ---- single states --------------------------------------------------------------------
    def pick(self, states: Any) -> Any:
        """Return one state of a set that is not empty."""
        return self._bdd(ns_enc.BddEnc_pick_one_state(self._enc, (states & self.mask)._ptr))

    def values(self, state: Any) -> dict[str, str]:
        """Return the value of every VAR and FROZENVAR in a single state."""
        return dict(self._read_assignment(state, self._state_vars))

    def inputs(self, before: Any, after: Any) -> dict[str, str]:
        """Return the value of every IVAR on one transition from a state to another."""
        if not self.has_inputs:
            return {}
        between = self.fsm.get_inputs_between_states(before, after)
        return dict(self._read_assignment(self.fsm.pick_one_inputs(between), self._input_vars))

    def symbols(self, names: Sequence[str]) -> Any:
        """Return a list of VARs and DEFINEs, for `look`."""
        nodes = ns_utils.NodeList_create()
        for name in names:
            node, failed = ns_parser.ReadIdentifierExprFromString(name)
            if failed:
                raise RejectedError("not a name", where=name)
            resolved = ns_symbols.SymbTable_resolve_symbol(self._table, _strip_context(ns_node.car(node)), None)
            ns_utils.NodeList_append(nodes, ns_symbols.ResolveSymbol_get_resolved_name(resolved))
        return nodes

    def look(self, state: Any, symbols: Any) -> list[str]:
        """Return the values of `symbols` in a single state, in their order."""
        return [value for _, value in self._read_assignment(state, symbols)]

    def _read_assignment(self, bdd: Any, symbols: Any) -> list[tuple[str, str]]:
        values = []
        rest = ns_enc.BddEnc_assign_symbols(self._enc, bdd._ptr, symbols, 0, None)
        while rest:
            pair = ns_node.car(rest)
            values.append((ns_node.sprint_node(ns_node.car(pair)), ns_node.sprint_node(ns_node.cdr(pair))))
            rest = ns_node.cdr(rest)
        return values

    # ---- NuSMV's own explanations -----------------------------------------------------------
    def explain(self, state: Any, node: Any) -> list[Any]:
        """Return a path from `state` that shows why a CTL formula is false in it; [] if no path does."""
        start = ns_node.cons(ns_node.bdd2node(ns_dd.bdd_dup(state._ptr)), None)
        path = ns_mc.explain(self.fsm._ptr, self._enc, start, node, None)
        return [] if path is None else list(self._take_states(ns_node.reverse(path)))

    def ltl(self, formula: ParsedQuery, refuted: Callable[[], None]) -> tuple[bool, list[Any], int | None]:
        """Return whether an LTL formula holds; if not, the states of a counterexample and the start of its loop.

        `refuted` is called as soon as the formula is known not to hold.
        """
        check = ns_ltl.Ltl_StructCheckLtlSpec_create(formula.prop)
        ns_ltl.Ltl_StructCheckLtlSpec_build(check)
        ns_ltl.Ltl_StructCheckLtlSpec_check(check)
        if ns_prop.Prop_get_status(formula.prop) == ns_prop.Prop_True:
            ns_ltl.Ltl_StructCheckLtlSpec_destroy(check)  # its tableau would be a layer of the next query
            return True, [], None
        refuted()
        states, loop = self._find_violation(check)
        cube = ns_enc.BddEnc_get_layer_vars_cube(check.bdd_enc, check.tableau_layer, ns_symbols.VFT_ALL)
        tableau = Cube(cube, dd_manager=self._manager)
        states = [self.pick(state.forsome(tableau)) for state in states]
        ns_ltl.Ltl_StructCheckLtlSpec_destroy(check)
        return False, states, loop

    def _find_violation(self, check: Any) -> tuple[list[Any], int | None]:
        """Return a run that violates a formula, as states of the model and the tableau; its last state closes the loop.

        The loop is found before the tableau's variables are removed: two states that differ in them only are
        not the same point of the counterexample.
        """
        fsm = BddFsm(check.fsm)
        compassion = self._read_compassion(fsm)
        if compassion:  # NuSMV's own algorithm does not terminate on some models
            graph = SymbolicGraph(lambda s: self.post(s, fsm), lambda s: self.pre(s, fsm), self.pick)
            # here `s0` is the set that can be visited for ever, not the start of a run
            start = fsm.init & fsm.state_constraints
            return fair_lasso(graph, start, Fairness(fsm.fairness_constraints, compassion))
        start = BDD(ns_enc.BddEnc_pick_one_state(check.bdd_enc, check.s0), self._manager)
        first = ns_node.cons(ns_node.bdd2node(ns_dd.bdd_dup(start._ptr)), None)
        path = ns_mc.explain(fsm._ptr, check.bdd_enc, first, check.spec_formula, None)
        states = [start] if path is None else list(self._take_states(ns_node.reverse(path)))
        return states, next((k for k, state in enumerate(states[:-1]) if state == states[-1]), None)

    def _read_compassion(self, fsm: Any) -> list[tuple[Any, Any]]:
        """Return the COMPASSION constraints: a run that is infinitely often in the first set is so in the second."""
        pairs = ns_fsm.BddFsm_get_compassion(fsm._ptr)
        iterator, constraints = ns_fsm.FairnessList_begin(ns_fsm.compassionList2fairnessList(pairs)), []
        while not ns_fsm.FairnessListIterator_is_end(iterator):
            both = ns_fsm.CompassionList_get_p(pairs, iterator), ns_fsm.CompassionList_get_q(pairs, iterator)
            constraints.append((self._bdd(both[0]), self._bdd(both[1])))
            iterator = ns_fsm.FairnessListIterator_next(iterator)
        return constraints

    def _take_states(self, path: Any) -> Iterator[Any]:
        """Yield the states of a NuSMV path, a list that alternates states and inputs."""
        for index, bdd in enumerate(BDDList(path, self._manager, freeit=False)):
            if index % 2 == 0:
                yield bdd


def _get_database() -> Any:
    return ns_prop.PropPkg_get_prop_database()


def _strip_context(node: Any) -> Any:
    return ns_node.cdr(node) if node.type == ns_parser.CONTEXT and ns_node.car(node) is None else node


def _describe_syntax(error: NuSMVParsingError, lines: bool = True) -> str:
    """Format NuSMV's syntax errors; in a formula its line numbers are those of the model, and meaningless."""
    prefix = "line {line}: " if lines else ""
    return "\n".join(
        (prefix + "{message} at '{token}'").format(line=line, token=token, message=message)
        for line, token, message in error.errors
    )


def _load_cudd() -> ctypes.CDLL:
    """Load CUDD from pynusmv's library, for the one function that pynusmv does not wrap."""
    library = ctypes.CDLL(_dd.__file__)
    library.Cudd_SetNextReordering.argtypes = [ctypes.c_void_p, ctypes.c_uint]
    library.Cudd_SetNextReordering.restype = None
    return library


ns_cudd = _load_cudd()
