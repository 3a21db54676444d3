import itertools

import pytest

from workbench.core import function as f
from workbench.core import ops
from workbench.core.domain import BOOL, FLOAT, INT, STR, Enum, Integer, Overflowing, Range
from workbench.core.evaluate import compile_terms
from workbench.core.fields import Record, Tuple
from workbench.core.function import LIBRARY, Function, as_function, same_domain, user_function
from workbench.core.named_operators import TEXT_OPERATORS
from workbench.core.term import var
from workbench.errors import DomainError, Overflow, PipelineError, Refused, TypingError, WorkbenchError

CHECKED = Integer(4, Overflowing.CHECKED)


ON_MAPS = {"get", "has", "put", "remove", "size", "all_values", "any_value", "sum_values"}  # tests/core/test_maps.py
ON_TEXTS = {op.symbol for op in TEXT_OPERATORS} - {"+", "to_text", "to_int", "to_float"}  # test_named_operators.py

ON_BITS = {"xor", "bit_and", "bit_or", "shift_left", "shift_right"}


@pytest.mark.parametrize("name", [name for name in LIBRARY if name not in ON_MAPS | ON_TEXTS])
def test_typed_functions_agree_with_themselves_untyped(name):
    function = LIBRARY[name]
    logical = name in ("and", "or", "not", "->")
    numbers = Range(0, 6) if name in ON_BITS else Range(-3, 3)
    domains = [BOOL if logical or (name == "if" and i == 0) else numbers for i in range(function.arity)]
    typed = function.specialise(domains)
    for args in itertools.product(*(d.values() for d in domains)):
        assert repr(typed(*args)) == repr(function(*args))  # NaN is not equal to itself
        assert typed(*args) in typed.result


def test_the_start_values_of_cumulations():
    assert [LIBRARY[n].start_in(INT) for n in ("+", "-", "*", "and", "or")] == [0, 0, 1, True, False]
    assert f.MIN.start_in(Integer(4)) == 3
    assert f.MAX.start_in(Range(-2, 5)) == -2
    assert f.MIN.start_in(INT) == float("inf")
    assert f.DIV.start_in(INT) is None


def test_functions_type_check_themselves():
    with pytest.raises(TypingError, match="needs numbers"):
        f.ADD.specialise((BOOL, BOOL))
    with pytest.raises(PipelineError, match=r"takes 2 arguments, not 1"):
        f.ADD.specialise((INT,))


def test_checked_arithmetic_raises_when_it_leaves():
    add = f.ADD.specialise((CHECKED, CHECKED))
    assert add(1, 2) == 3
    with pytest.raises(Overflow, match=r"'\+' on 2, 2 leaves the checked domain int checked 4"):
        add(2, 2)


def test_checked_arithmetic_does_not_raise_in_the_branch_not_taken():
    bounded = Function("bounded", 1, lambda x: ops.ite(x < 3, x + 1, 0)).specialise((CHECKED,))
    assert [bounded(x) for x in range(4)] == [1, 2, 3, 0]
    condition = Function("condition", 1, lambda x: ops.ite(x < 3, ops.EQ(x + 1, 2), False)).specialise((CHECKED,))
    assert [condition(x) for x in range(4)] == [False, True, False, False]


def test_branches_are_lazy_and_operators_total():
    safe = Function("safe", 2, lambda a, b: ops.ite(ops.EQ(b, 0), 0, a // b)).specialise((INT, INT))
    assert safe(6, 0) == 0
    assert safe(7, 2) == 3


def test_tuples_with_constants_in_them():
    tagged = Function("tagged", 1, lambda x: (x, True, 3)).specialise((Integer(4),))
    assert tagged.result == Tuple((Integer(4), BOOL, Range(3, 3)))
    assert tagged(2) == (2, True, 3)
    always = Function("always", 1, lambda x: (1, (False,))).specialise((Integer(4),))
    assert always(2) == (1, (False,))


def test_records_are_tuples():
    record = Record((Integer(4), BOOL), ("price", "sold"))
    assert same_domain(record, Tuple((Integer(4), BOOL)))
    swap = Function("swap", 1, lambda r: (r[1], r[0])).specialise((record,))
    assert swap((3, True)) == (True, 3)
    assert f.EQ.specialise((record, record))((1, True), (1, True)) is True


def test_opaque_functions_run_and_are_tabulated():
    parity = user_function(lambda x: bin(x).count("1") % 2 == 1, result=BOOL, name="parity")
    typed = parity.specialise((Integer(8),))
    x = var("x", Integer(8))
    run = compile_terms([typed.apply((x,))], [x])
    assert [run(v)[0] for v in range(8)] == [typed(v) for v in range(8)]
    assert typed.obstacle == ""


def test_opaque_functions_of_several_and_of_tuples():
    pair = Tuple((Integer(2), Enum(("red", "green"))))
    odd = user_function(lambda t, b: (b, len(t[1]) + t[0]), result=Tuple((BOOL, Range(3, 6))), name="odd")
    typed = odd.specialise((pair, BOOL))
    t, b = var("t", pair), var("b", BOOL)
    run = compile_terms([typed.apply((t, b))], [t, b])
    for value, flag in itertools.product(pair.values(), (False, True)):
        assert run(*value, flag) == typed(value, flag) == (flag, len(value[1]) + value[0])


def test_large_tables_compile():
    typed = user_function(lambda x: x % 7, result=Range(0, 6), name="seven").specialise((Integer(1000),))
    x = var("x", Integer(1000))
    run = compile_terms([typed.apply((x,))], [x])
    assert [run(v)[0] for v in range(1000)] == [v % 7 for v in range(1000)]


def test_opaque_functions_on_infinite_domains_have_no_translation():
    typed = user_function(abs, result=INT, arity=1).specialise((INT,))
    assert typed(-3) == 3
    assert "function 'abs' has no translation and its domain int is not finite" in typed.obstacle
    with pytest.raises(Refused, match="no translation"):
        typed.apply((var("x", INT),))
    many = user_function(lambda a, b: a, result=Integer(100), name="many").specialise((Integer(100), Integer(100)))
    assert "more than 4096" in many.obstacle


def test_opaque_functions_must_say_their_result():
    with pytest.raises(TypingError, match="does not declare the domain"):
        Function("f", 1, abs, opaque=True).specialise((INT,))


def test_a_failing_opaque_function_is_named():
    bad = user_function(lambda x: 1 // x, result=INT, name="inverse").specialise((INT,))
    with pytest.raises(WorkbenchError, match=r"'inverse' failed on 0: ZeroDivisionError") as caught:
        bad(0)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    small = user_function(lambda x: 1 // x, result=Integer(4), name="inverse").specialise((Integer(4),))
    assert small(1) == 1  # what it fails on may never come
    with pytest.raises(
        Refused, match=r"'inverse' has no translation: .* failed on 0: ZeroDivisionError: .*test_function"
    ):
        small(var("x", Integer(4)))


def test_results_of_opaque_functions_are_checked():
    bad = user_function(lambda x: x / 2, result=BOOL, name="half").specialise((FLOAT,))
    with pytest.raises(DomainError, match=r"half\(3\) = 1.5 is not in its result domain bool"):
        bad(3)


def test_as_function():
    assert as_function("+") is f.ADD
    assert as_function(ops.ADD).name == "+"
    with pytest.raises(PipelineError, match="is not a function"):
        as_function(abs)
    assert f.NEG.specialise((Integer(5),))(2) == 3
    assert f.ABS.specialise((Range(-3, 2),)).result == Range(-3, 3)
    assert f.EQ.specialise((STR, STR))("a", "b") is False
