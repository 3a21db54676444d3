"""All independent mistakes of a file are told at once, each at its place (marked § in the text), and no follow-ups."""

import pytest

from workbench.errors import WorkbenchError
from workbench.language import parse

SYNTAX = {
    "statements": """
        pipeline p(x: int) -> int {
            a = trim(x §1)
            b = x + 1
            c = filter(b, b =§= 2)
            return a + c §% 2
        }
    """,
    "several lines each": """
        pipeline p(x: int) -> int {
            a = window(x,
                3 §cumulate(+))
            b = (x + 1
            §c = b * 2
            d = c +
            §return d
        }
    """,
    "pipelines": """
        pipeline p(x §int) -> int { return x }
        pipeline q(x: int) -> int { return x + §}
        function half(v) = v §% 2
        machine m(x: int) -> int {
            state a: x
            a -> b §if x > 1
            state b: 0
        }
        check always (§)
        pipeline r(x: int) -> int {
            return p(q(x)) + half(x) + m(x)
        }
    """,
    "a brace left open": """
        pipeline p(x: int) -> int {
            return x
        §pipeline q(x: int) -> int {
            y = trim(x, 1
            §return y
        }
    """,
    "the last brace": """
        pipeline p(x: int) -> int {
            y = x x
            §return y
        }
        pipeline q(x: int) -> int {
            return x§
    """,
    "a brace on the line": """
        pipeline p(x: int) -> int {
            y = x +§* 2
            return y §% 2 }
        pipeline q(x: int) -> int {
            return §) }
    """,
}

MEANING = {
    "statements": """
        pipeline p(x: int, b: bool) -> int {
            a = §coumt(x)
            c = a + 1
            d = x §+ b
            e = filter(d, c > 1)
            f = §window(x)
            return x + §yy
        }
    """,
    "pipelines": """
        pipeline p(x: §itn, y: int) -> int {
            a = x + 1
            return §z
        }
        pipeline q(x: int) -> §bol {
            a = §p
            return a
        }
        pipeline r(x: int) -> int {
            a = §nothing(x)
            return p(x, q(x)) + a
        }
        function f(v) = §w + 1
        function g(v) = f(v) + §u
        pipeline t(x: int) -> int { return f(x) + g(x) }
        check §livenes
    """,
    "around the statements": """
        pipeline p(x: int, y: int) -> int {
            sum = x + y
            capacity queue(§nowhere) = 3
            capacity queue(sum.left) = (0 §- 1)
            fault lose §z
            fault §loose x
            return sum
        }
        pipeline q(x: int) -> int {
            return trim(x, 1)
        }
        check §livenes
        check always (§zz > 1)
        check liveness
        check equivalent(§nobody)
    """,
    "pipelines that nobody asked for": """
        pipeline a(x: int) -> int { return §u }
        pipeline b<k>(x: int) -> int { return trim(x, k) + v }
        pipeline c<k = 2>(x: int) -> int { return trim(x, k) + §w }
        pipeline d(x: int) -> int { return a(b<3>(x)) }
    """,
    "machines": """
        machine m(x: int) -> int {
            var n: int = §start
            var k: §itn = 0
            state a: §out
            state b: n
            a -> b when §y > 1 / §j := 1
            b -> a when x > 1 / k := 2
        }
    """,
    "machines and their types": """
        machine m(x: 0..9) -> 0..9 {
            var §a: 0..9 = 12
            var b: bool = false
            state §s: b
            state t: x
            s -> t when x > 3 / §a := b, §b := x
            §s -> t when x
            t -> s when x > 3 / a := §yy, §n := 2
        }
        machine n(x: 0..9) -> 0..9 {
            state s: x
            s -> §t
            §s -> s when x > 3
        }
    """,
    "guards and updates": """
        machine m(x: 0..9) -> 0..9 {
            var n: 0..3 = 0
            state s: n
            §s -> s when x / §n := n + 10
            s -> s when x §+ "a" / §n := 7
            s -> s when x > 1 / §n := n + 20
        }
    """,
    "a machine with a misspelt state": """
        machine m(x: int) -> bool {
            var §n: 0..3 = 7
            state closed: §fals
            state open: true
            closed -> §opne when x > 3 / n := §k
            §opened -> closed when x < 3
            open -> closed when x < 3 §and "a"
        }
    """,
    "in one expression": """
        pipeline p(x: int) -> int {
            a = §u + x * §v
            b = max(§w, trim(a, 1))
            c = filter(§nothing(x), §uu > 1)
            return f(§vv, cumulate(§ww, +)) + c
        }
        function f(v, w) = v + §z - §zz
    """,
    "functions in a circle": """
        function §f(v) = g(v)
        function g(v) = f(v)
        function h(v) = f(v) + §w
        pipeline p(x: int) -> int { return h(x) + §y }
    """,
    "twice": """
        check §liveness
        function f(v, §v) = v
        pipeline p(x: int) -> int { return x }
        pipeline §p(x: int) -> int { return x }
        function §p(v) = v
    """,
    "after the return": """
        pipeline p(x: int) -> int {
            a = §u
            return x
            §b = v
            return b
        }
    """,
    "the head": """
        pipeline p(x: int, §x: int, y: §itn) -> a: int, b: §bol {
            c = y + 1
            return c, §v
        }
    """,
}


def found(text):
    """Every mistake of a text."""
    with pytest.raises(WorkbenchError) as caught:
        first(parse(text, "bad.pipe"))
    return caught.value, [caught.value, *caught.value.others]


def first(source):
    return source.get(source.pipelines[0])


@pytest.mark.parametrize("text", [*SYNTAX.values(), *MEANING.values()], ids=[*SYNTAX, *MEANING])
def test_all_mistakes_are_told(text):
    places, clean = [], ""
    for char in text:
        if char == "§":
            places.append((clean.count("\n") + 1, len(clean) - clean.rfind("\n")))
        else:
            clean += char
    error, told = found(clean)
    assert [(each.where.line, each.where.column) for each in told] == places, str(error)
    lines = clean.splitlines()
    for each in told:
        assert each.where.text == lines[each.where.line - 1]
        assert each.message in str(error)


SPANS = [
    # the text that is underlined stands between the marks
    "pipeline p(x: int) -> int {\n return filter(x, §coutn§ > 1) }",
    "pipeline p(x: int) -> int {\n return §cumulat§(x, +) }",
    "pipeline p(x: int) -> int {\n return §window(x)§ }",
    "pipeline p(x: int) -> int {\n return §window(x,§ # the last three\n 3) }",
    "pipeline p(x: §itn§) -> int { return x }",
    "pipeline p(x: int) -> int { a = §then§ return x }",
]


@pytest.mark.parametrize("text", SPANS)
def test_the_whole_text_is_underlined(text):
    before, meant, after = text.split("§")
    error, _ = found(before + meant + after)
    *_, line, carets = error.message.partition("\n  hint")[0].splitlines()
    start = carets.index("^")
    assert line[start:].startswith(meant)
    assert carets == " " * start + "^" * len(meant)


def test_what_was_wrong_once_is_told_again_and_then_forgotten():
    """A pipeline with parameters that are wrong does not spoil it with others."""
    source = parse("pipeline p<k = 0>(x: int) -> int { return window(x, k, cumulate(+)) }")
    for _ in range(2):
        with pytest.raises(WorkbenchError) as caught:
            source.get()
        assert not caught.value.others
    assert source.get(k=2).pipeline.denote([[1, 2, 3]]) == ([3, 5],)


def test_other_pipelines_are_not_looked_into_without_need():
    source = parse("pipeline p(x: int) -> int { return x }\npipeline q(x: int) -> int { return y }")
    assert source.get("p").pipeline.denote([[1]]) == ([1],)
    with pytest.raises(WorkbenchError, match="no stream or parameter 'y'"):
        source.get("q")
    assert source.get("p").pipeline.denote([[1]]) == ([1],)


def test_what_cannot_be_read_is_told_before_what_has_no_meaning():
    _, told = found("pipeline p(x: int) -> int {\n a = trim(x 1)\n b = nothing(x)\n return b +\n}\n")
    assert [each.where.line for each in told] == [2, 5]


def test_a_text_that_is_no_file_at_all():
    error, told = found("a b c d\nfoo bar\n")
    assert (error.where.line, error.where.column) == (1, 1)
    assert len(told) == 1


def test_many_mistakes_are_told_to_a_limit():
    statements = "".join(f" a{i} = trim(x 1)\n" for i in range(50))
    _, told = found("pipeline p(x: int) -> int {\n" + statements + " return a1\n}\n")
    assert [each.where.line for each in told] == list(range(2, 22))


def test_a_long_text_is_not_read_again_and_again():
    mistake = "pipeline p(x: int) -> int {\n a = trim(x 1)\n b = trim(x 1)\n return b\n}\n"
    _, told = found(mistake + "#" * 600_000)
    assert [each.where.line for each in told] == [2]
