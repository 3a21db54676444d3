"""Linear spaces of relations, over the rational numbers.

A relation is a vector: a factor for each of some monomials, such that the sum is 0. If equations hold modulo N, the
relations are all vectors of integers in a space: 2x = 2y alone would not make x = y there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from workbench.verify.decide.algebra.polynomial import Generators, Monomial, Polynomial, accumulate

Vector = dict[Monomial, Fraction]
"""Factors by monomial, none of them 0."""


def kernel(space: list[Vector], images: Mapping[Monomial, Polynomial], generators: Generators) -> list[Vector]:
    """Return a basis of the vectors that are mapped to 0 when each monomial is mapped to its image."""
    pivots: dict[Monomial, tuple[Vector, Vector]] = {}
    basis = []
    for row in space:
        vector, image = dict(row), _image(row, images)
        while image:
            first = next((monomial for monomial in image if monomial in pivots), None)
            if first is None:
                pivots[next(iter(image))] = image, vector
                break
            pivot, of = pivots[first]
            factor = -image[first] / pivot[first]
            generators.spend(len(pivot) + len(of))
            _combine(image, pivot, factor)
            _combine(vector, of, factor)
        else:
            basis.append(vector)
    return basis


def _image(row: Vector, images: Mapping[Monomial, Polynomial]) -> Vector:
    image: Vector = {}
    for monomial, factor in row.items():
        _combine(image, images[monomial], factor)
    return image


def integral(space: list[Vector], generators: Generators) -> list[Polynomial]:
    """Return a basis in reduced echelon form, each vector as integers without a common divisor."""
    rows: dict[Monomial, Vector] = {}
    for vector in space:
        row = dict(vector)
        for first in [monomial for monomial in row if monomial in rows]:
            _combine(row, rows[first], -row[first])
        if not row:
            continue
        first = min(row, key=lambda monomial: (len(monomial), monomial))
        scale = row[first]
        row = {monomial: factor / scale for monomial, factor in row.items()}
        for other in rows.values():
            if first in other:
                generators.spend(len(row))
                _combine(other, row, -other[first])
        rows[first] = row
    return [_whole(row) for row in rows.values()]


def _whole(row: Vector) -> Polynomial:
    scale = math.lcm(*(factor.denominator for factor in row.values()))
    whole = {monomial: int(factor * scale) for monomial, factor in row.items()}
    divisor = math.gcd(*whole.values())
    return {monomial: factor // divisor for monomial, factor in whole.items()}


def _combine(row: Vector, other: Vector | Polynomial, factor: Fraction) -> None:
    for monomial, coefficient in other.items():
        accumulate(row, monomial, factor * coefficient)
