"""The parts of a domain, down to scalars, and those of its values: what variables, wires and columns are made for."""

from __future__ import annotations

from collections.abc import Iterator

from workbench.core.domain import Domain, FrozenMap, Map, Tuple, Value


def parts(domain: Domain) -> tuple[tuple[str, Domain], ...]:
    """The parts that a value of the domain has in a model, with their names; none for a scalar."""
    if isinstance(domain, Tuple):
        return tuple(zip(domain.names(), domain.fields, strict=True))
    if isinstance(domain, Map) and domain.finite:
        return tuple((name, domain.slot) for _, name in domain.slots)
    return ()


def within(domain: Domain) -> Iterator[Domain]:
    """The domain and all its parts, those of maps (keys and values) included."""
    yield domain
    inside = (domain.key, domain.value) if isinstance(domain, Map) else getattr(domain, "fields", ())
    for part in inside:
        yield from within(part)


def scalars(domain: Domain) -> tuple[tuple[tuple[str, ...], Domain], ...]:
    """The scalar parts of a domain with the path of field names that leads to each."""
    inside = parts(domain)
    if inside or isinstance(domain, Tuple):
        return tuple(((name, *path), part) for name, field in inside for path, part in scalars(field))
    return (((), domain),)


def split(domain: Domain, value: Value) -> Iterator[Value]:
    """The values of the scalar parts of a value, in the order of `scalars`."""
    if isinstance(domain, Tuple):
        for field, item in zip(domain.fields, value, strict=True):
            yield from split(field, item)
    elif isinstance(domain, Map) and domain.finite:
        for key, _ in domain.slots:
            yield key in value
            yield from split(domain.value, value.get(key, domain.value.default))
    else:
        yield value


def fitted(domain: Domain, value: Value) -> Value:
    """A value of a domain as the domain's arithmetic leaves it: a whole number on float becomes a float."""
    return joined(
        domain, (part.fit(leaf) for (_, part), leaf in zip(scalars(domain), split(domain, value), strict=True))
    )


def joined(domain: Domain, flat: Iterator[Value]) -> Value:
    """The value of a domain whose scalar parts come next in `flat`: the inverse of `split`."""
    if isinstance(domain, Tuple):
        return tuple(joined(field, flat) for field in domain.fields)
    if isinstance(domain, Map) and domain.finite:
        found = [(key, joined(domain.slot, flat)) for key, _ in domain.slots]
        return FrozenMap({key: value for key, (present, value) in found if present})
    return next(flat)
