"""Leaving out one thing after the other."""

from collections.abc import Iterator

from workbench.conformance.compare.search import minimize

Numbers = list[int]


def one_less(numbers: Numbers) -> Iterator[Numbers]:
    return (numbers[:i] + numbers[i + 1 :] for i in range(len(numbers)))


def test_nothing_can_be_left_out_of_what_is_found() -> None:
    """Numbers fail where they have an even one, and one above 10: of those that fail some have two numbers, or one."""

    def fails(numbers: Numbers) -> Numbers | None:
        return numbers if any(n % 2 == 0 for n in numbers) and any(n > 10 for n in numbers) else None

    assert minimize([1, 2, 3, 11, 4], one_less, fails) == [11, 4]
    assert minimize([1, 12, 3, 2, 11], one_less, fails) == [2, 11]
    assert minimize([1, 12, 3], one_less, fails) == [12]


def test_what_cannot_be_smaller_stays() -> None:
    def fails(numbers: Numbers) -> Numbers | None:
        return numbers if len(numbers) >= 2 else None

    nothing: Numbers = []
    assert minimize(nothing, one_less, fails) == []
    assert minimize([1, 2], one_less, fails) == [1, 2]


def test_a_failure_may_be_of_another_kind_than_its_example() -> None:
    """The failure of a text is its length: letters are left out while there are more than two."""

    def shorter(length: int) -> list[str]:
        return ["x" * (length - 1)]

    def fails(text: str) -> int | None:
        return len(text) if len(text) > 2 else None

    assert minimize(5, shorter, fails) == 3
