"""Each rule of the papers is read; letters that stand for lengths, values and operators are filled in."""

import pytest

from workbench.tesla.check import parse_rules

THESIS = "\n".join(
    f"declare {name}({attributes})"
    for name, attributes in {
        "SE": "att1: int, att2: int",
        "A": "Val: int, att0: int",
        "B": "att2: int",
        "C": "",
        "CE": "",
        "fact SD": "att1: int, att2: int",
    }.items()
)
OLDER = [
    "define New() from SE()",
    "define New() from SE(att1 > 1, att2 <= 2)",
    "define New(att1, att2) from SE() where att1 = SE.att1, att2 = SE.att1 + SE.att2",
    *(f"define New() from A() and {policy} B() within 5 from A" for policy in ("each", "last", "first", "not")),
    "define New() from A() and each B() within 5 from A and each C() between A and B",
    "define New() from A(att0 = $x) and each B(att2 < $x) within 5 from A",
    "define New() from A() and each B() within 5 from A consuming B",
    "define RepA(Times, Val) from A()where Times = 1 and Val = A.Val\n"
    "define RepA(Times, Val) from A($x)and last RepA(Val <= $x) within 3min from A"
    " where Times = RepA.Times + 1 and Val = $x consuming RepA\n"
    "define New(Times) from RepA() where Times = RepA.Times",
    "define New from B and not New within 5 from B",
    "define New from A as A1 and not A within 5 from A1",
]
EXTENDED = [
    "from SE and each SD emit CE",
    "from SE and not SD emit CE",
    "from SE and first SD order by att1 asc emit CE",
    "from SE and first SD order by att1 asc, att2 desc emit CE",
    "from SE and each SD(att1 > 3) emit CE",
    "from SE[$par = att1]() and each SD(att1 == $par) emit CE",
    "from SE and $par = SUM(SD.att1) where $par > 3 emit CE",
    "from SE(att1 == 1) and each A(Val == 1) within 9.5 s from SE and each B(att2 == 1) within 10.2 s from A emit CE",
    "declare Found(x: int) from SE(att1 == 1) and each A[$p1 = Val, $p2 = att0](Val == 1) within 10 s from SE"
    " and each SD[$c0 = att1](att2 >= $p1, att2 < $p2) emit Found(x = $c0)",
]
FIRE = "declare Smoke(area: string)\ndeclare Temp(area: string, value: float)\n"
PARALLEL = [
    FIRE + "define Fire(area: string, measuredTemp: double)\nfrom\n"
    f"Smoke(area=$a) and {condition} within 5 min. from Smoke{end}\nwhere\narea=Smoke.area and measuredTemp={value}"
    for condition, end, value in (
        ("each Temp(area=$a and value>45)", "", "Temp.value"),
        ("last Temp(area=$a and value>45)", "", "Temp.value"),
        ("45 < $t=Avg(Temp(area=$a).value", ")", "$t"),
    )
] + [
    "declare A(p: int) declare B(p: int, v: int) declare C(p: int)\ndefine ComplexEvent() from C(p=$x)"
    " and each B(p=$x and v>10) within 8 min. from C and last A(p=$x) within 3 min. from B",
    "declare A(att: int, value: int) declare B(att: int) declare C(att: int)\ndefine CE(att1: int, att2: int)"
    " from C(att=$x) and last B(att=$x) within 100000 from C and last A(att=$x) within 100000 from B\n"
    "where att1=$x and att2=Sum(A(att=$x).value within 100000 from B)",
]


@pytest.mark.parametrize("text", [*(f"{THESIS}\n{rule}" for rule in OLDER + EXTENDED), *PARALLEL])
def test_rules_of_the_papers_are_read(text):
    made = parse_rules(text)
    again = parse_rules(str(made))
    assert (again.declarations, again.rules) == (made.declarations, made.rules)
