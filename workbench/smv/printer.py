"""The SMV printer, which prints a transition system as a readable NuSMV model.

One MODULE per processor (instances of equal modules share it), `main` shows the wiring as TIME 2021's Figure 3
does, and names come from the source. A pipe is an instance with `present` and `value`; only queues, counters and
memories are variables. Integer domains of 2^k values are words of k bits, other integers are ranges.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import count
from typing import Any

from workbench.budget import phase
from workbench.core.domain import Domain, Enum, Integer
from workbench.core.fold import postorder
from workbench.core.ops import AND, ITE, NOT
from workbench.core.term import Term
from workbench.ir.reduce import FLAG
from workbench.ir.system import Instance, System, by_instance, instance_of, local_of
from workbench.smv.terms import SmvTerms, as_word, bare, constant, enum_labels, type_of

RESERVED = frozenset(
    """MODULE DEFINE MDEFINE CONSTANTS VAR IVAR FROZENVAR INIT TRANS INVAR SPEC CTLSPEC LTLSPEC PSLSPEC COMPUTE
    NAME INVARSPEC FAIRNESS JUSTICE COMPASSION ISA ASSIGN CONSTRAINT SIMPWFF CTLWFF LTLWFF PSLWFF COMPWFF IN MIN
    MAX MIRROR PRED PREDICATES process array of boolean integer real word word1 bool signed unsigned extend resize
    sizeof uwconst swconst EX AX EF AF EG AG E F O G H X Y Z A U S V T BU EBF ABF EBG ABG case esac mod next init
    union in xor xnor self TRUE FALSE count toint abs max min main""".split()
)


MAX_REPEATED = 400
"""Maximum length of a part of a term that is written several times."""


@dataclass(frozen=True)
class SmvModel:
    """A model for SMV engines: the variable order, the translation of names and values, and its text.

    Attributes
    ----------
    write: writes the text, when an engine reads it.
    """

    write: Callable[[], str]
    order: tuple[str, ...]
    names: Mapping[str, str]
    """Qualified name of an input leaf, variable or definition to its SMV name."""
    domains: Mapping[str, Domain]
    terms: SmvTerms = field(compare=False)
    watch: tuple[str, ...] = ()
    """Inputs that are definitions, whose values a trace must show nevertheless."""

    @cached_property
    def text(self) -> str:
        """The model as text."""
        return self.write()

    def share(self, terms: Iterable[Term]) -> SharedTerms:
        """Return a translation of terms over the system's names into SMV expressions in `main`."""
        used = {name.partition(".")[0] for name in self.names.values()}
        return SharedTerms(self.names, self.terms.labels, terms, used, "formula_part")

    def value(self, name: str, text: str) -> object:
        """Return the Python value that NuSMV printed for a qualified name."""
        return self.terms.parse(self.domains[name], text)

    def read(self, state: Mapping[str, str], name: str) -> object | None:
        """Return the value of a qualified name in a state that an engine printed; None if it has none there."""
        text = state.get(self.names.get(name, ""))
        return None if text is None else self.value(name, text)

    def write_state(self, values: Mapping[str, Any]) -> dict[str, str]:
        """Return the values of qualified names as an engine prints them."""
        labels = self.terms.labels
        return {self.names[name]: constant(self.domains[name], value, labels) for name, value in values.items()}


@dataclass(frozen=True)
class Surroundings:
    """The SMV text around a model, which drives its inputs.

    Parameters
    ----------
    modules: the text of modules, kept as it is.
    name, module: the instance in `main` that drives the inputs, and its module.
    inputs: qualified name of an input leaf to the SMV expression for it, over that instance.
    taken: identifiers of the text, which are not available as names.
    """

    modules: str
    name: str
    module: str
    inputs: Mapping[str, str]
    taken: frozenset[str]


def print_model(
    system: System,
    *,
    assume: Sequence[Term] = (),
    fair: Sequence[Term] = (),
    header: Sequence[str] = (),
    surroundings: Surroundings | None = None,
) -> SmvModel:
    """Return the model of a system, whose text is not yet written.

    Parameters
    ----------
    assume: conditions on the inputs that hold at every step (INVAR).
    fair: conditions that hold infinitely often (JUSTICE).
    header: comment lines for the top of the file.
    surroundings: the text that drives inputs, which are then not free.
    """
    return _Printer(system, surroundings).model(assume, fair, header)


def _find_domains(system: System) -> list[Domain]:
    """Return the domains of all terms: an enumeration may occur only inside a term, in a comparison."""
    terms = [*(v.next for v in system.variables), *(d.term for d in system.definitions)]
    return list(dict.fromkeys(term.domain for term in postorder(terms)))


class _Printer:
    def __init__(self, system: System, around: Surroundings | None) -> None:
        self.system = system
        self.around = around
        self.driven: Mapping[str, str] = around.inputs if around else {}
        self.taken: Set[str] = {around.name, around.module, *around.taken} if around else set()
        self.domains = system.domains
        self.instance_names = _make_unique([i.name for i in system.instances], self.taken)
        known = [*self.domains.values(), *_find_domains(system)]
        inside = {*map(_local, self.domains), *(role for i in system.instances for role, _ in i.roles)}
        self.labels = enum_labels(known, {*self.instance_names.values(), *RESERVED, *(inside - self.taken)})
        self.locals = self._name_locals()
        self.names = {name: f"{self.instance_names[instance_of(name)]}.{self.locals[name]}" for name in self.domains}
        self.initial = {v.name: v for v in system.variables}
        self.members = by_instance(system.names())
        self.leaves = by_instance(dict.fromkeys((*system.free, *self.driven)))
        self.bodies: dict[str, str] = {}
        """Module body to module name."""
        self.module_names = set(self.taken)
        self.numbers: dict[str, int] = {}
        """Per base name of several modules, the latest number used."""
        self.modules: list[str] = []

    def _name_locals(self) -> dict[str, str]:
        """Return the names inside their modules; NuSMV forbids constants of the surroundings, too."""
        local_names: dict[str, str] = {}
        for names in by_instance(self.domains).values():
            used = set(self.taken)
            for name in names:
                text = _local(name)
                while text in used:  # different names such as `slot_1.1` and `slot.1.1` may clash
                    text += "_"
                used.add(text)
                local_names[name] = text
        return local_names

    def model(self, assume: Sequence[Term], fair: Sequence[Term], header: Sequence[str]) -> SmvModel:
        watch = tuple(self.names[name] for name in self.driven if name in self.names)
        terms = SmvTerms(self.names, self.labels)
        write = partial(self._write, assume, fair, header)
        return SmvModel(write, self._order_bits(), self.names, self.domains, terms, watch)

    @phase("printing the model")
    def _write(self, assume: Sequence[Term], fair: Sequence[Term], header: Sequence[str]) -> str:
        lines = []
        rows = [(self.instance_names[i.name], *self._print_instance(i), i.comment) for i in self.system.instances]
        wide = max((len(f"{n} : {m}{p};") for n, m, p, _ in rows), default=0)
        for name, module, params, comment in rows:
            text = f"{name} : {module}{params};"
            lines.append(f"    {text.ljust(wide)}  -- {comment}" if comment else f"    {text}")
        if self.around:
            lines.insert(0, f"    {self.around.name} : {self.around.module};")
        main = ["MODULE main", *self._print_constants(), *(["  VAR", *lines] if lines else [])]
        used = {*self.instance_names.values(), *self.taken}
        terms = SharedTerms(self.names, self.labels, [*assume, *fair], used, "condition_part")
        conditions = [*(f"  INVAR {terms(term)};" for term in assume), *(f"  JUSTICE {terms(term)};" for term in fair)]
        main += [*terms.define_parts(), *conditions]
        top = [f"-- {line}".rstrip() for line in header]
        modules = [self.around.modules, *self.modules] if self.around else self.modules
        return "\n".join([*top, "", *modules, *main, ""])

    def _print_constants(self) -> list[str]:
        """Return a declaration of the enumeration labels that no variable's type declares."""
        held = {*self.system.free, *self.initial} - set(self.driven)
        declared = {label for n in held if isinstance(d := self.domains[n], Enum) for label in d.labels}
        missing = [smv for label, smv in self.labels.items() if label not in declared]
        return [f"  CONSTANTS {', '.join(missing)};"] if missing else []

    def _print_instance(self, instance: Instance) -> tuple[str, str]:
        """Print an instance: return its module name and actual parameters."""
        own = self.members.get(instance.name, {})
        used = {t.name: None for t in postorder(own.values()) if t.is_var}
        others = list(dict.fromkeys(other for other in map(instance_of, used) if other != instance.name))
        roles = {source: role for role, source in reversed(instance.roles)}
        if len(others) > 1 and FLAG in others:
            others.remove(FLAG)
            others.append(FLAG)
        ranks = {source: rank for rank, (_, source) in reversed(list(enumerate(instance.roles)))}
        others.sort(key=lambda o: ranks.get(o, len(roles)))
        inside = {self.locals[name] for name in (*own, *self.leaves.get(instance.name, ())) if name in self.locals}
        formal = _make_unique([roles.get(o, o) for o in others], self.taken | inside)
        params = {o: formal[roles.get(o, o)] for o in others}
        body = self._print_body(instance, own, used, params)
        formals, actuals = list(params.values()), [self.instance_names[o] for o in others]
        if self.around and not self.driven.keys().isdisjoint(self.leaves.get(instance.name, ())):
            formals, actuals = [self.around.name, *formals], [self.around.name, *actuals]
        name = self._print_module(instance, f"{_list_names(formals)}\n{body}")
        return name, _list_names(actuals)

    def _print_body(
        self, instance: Instance, own: Mapping[str, Term], used: Iterable[str], params: Mapping[str, str]
    ) -> str:
        local = {}
        for name in (*own, *(name for name in used if name in self.locals)):
            owner = instance_of(name)
            local[name] = self.locals[name] if owner == instance.name else f"{params[owner]}.{self.locals[name]}"
        names = {*local.values(), *(self.locals[n] for n in self.leaves.get(instance.name, ()) if n in self.locals)}
        terms = SharedTerms(local, self.labels, own.values(), self.taken | names | {*params.values()})
        variables = [name for name in own if name in self.initial]
        leaves = self.leaves.get(instance.name, ())
        free = [name for name in leaves if name not in self.driven]
        inputs = {n: self.driven[n] for n in leaves if n in self.driven and n in self.domains}
        lines = []
        if variables or free:
            lines.append("  VAR")
            lines += [f"    {self.locals[n]} : {type_of(self.domains[n], self.labels)};" for n in (*free, *variables)]
        definitions = {self.locals[n]: bare(terms(own[n])) for n in own if n not in self.initial}
        steps = {self.locals[n]: _print_cases(own[n], terms) for n in variables}
        defined = {**{self.locals[n]: text for n, text in inputs.items()}, **terms.parts, **definitions}
        if defined:
            lines.append("  DEFINE")
            lines += [f"    {name} := {text};" for name, text in defined.items()]
        if variables:
            lines.append("  ASSIGN")
        for name in variables:
            initial = constant(self.domains[name], self.initial[name].initial, self.labels)
            lines.append(f"    init({self.locals[name]}) := {initial};")
            lines.append(f"    next({self.locals[name]}) := {steps[self.locals[name]]};")
        return "\n".join(lines) + "\n"

    def _print_module(self, instance: Instance, body: str) -> str:
        if body in self.bodies:
            return self.bodies[body]
        words = re.sub(r"\S+", lambda m: SIGNS.get(m[0], m[0]), re.sub(r"([(),])", r" \1 ", instance.module))
        base = as_word(re.sub(r"\W+", "_", words).strip("_")) or "Module"
        base = base if base not in RESERVED and base[0].isalpha() else f"M_{base}"
        name = base
        while name in self.module_names:
            self.numbers[base] = self.numbers.get(base, 1) + 1
            name = f"{base}_{self.numbers[base]}"
        self.module_names.add(name)
        self.bodies[body] = name
        self.modules.append(f"MODULE {name}{body}")
        return name

    def _order_bits(self) -> tuple[str, ...]:
        """Return the bit order: control first, then the data bits interleaved, highest level first (rule 3)."""
        flags: list[str] = []
        data: list[str] = []
        present = {i.present.name for i in self.system.inputs}
        stored = [v.name for v in self.system.variables]
        for name in [*(n for n in self.system.free if n not in self.driven), *stored]:
            control = name in present or not isinstance(self.domains[name], Integer)
            (flags if control else data).append(name)
        width = {name: bit_count(self.domains[name]) for name in (*flags, *data)}
        first = [bit for name in flags for bit in _name_bits(self.names[name], width[name])]
        deepest = max((width[n] for n in data), default=0)
        mixed = [
            _name_bits(self.names[n], width[n])[level] for level in range(deepest) for n in data if level < width[n]
        ]
        return (*first, *mixed)


SIGNS = {
    "+": "plus", "-": "minus", "*": "times", "=": "equals", "!=": "differs", "<": "less", "<=": "at_most",
    ">": "greater", ">=": "at_least", "->": "implies", "%": "mod",
}  # fmt: skip
"""The names of signs in module names."""


def bit_count(domain: Domain) -> int:
    """Return the number of Boolean variables that NuSMV uses for a domain; 0: a Boolean, named without a bit number."""
    size = domain.size or 1
    return 0 if str(domain) == "bool" else (size - 1).bit_length()


def _name_bits(name: str, width: int) -> list[str]:
    return [f"{name}.{i}" for i in reversed(range(width))] if width else [name]


def _local(name: str) -> str:
    text = as_word(local_of(name))
    return f"{text}_" if text in RESERVED else text


def _list_names(names: Sequence[str]) -> str:
    return f"({', '.join(names)})" if names else ""


class SharedTerms(SmvTerms):
    """A translation of terms, where long parts that occur several times are definitions.

    Parameters
    ----------
    roots: the terms.
    used: identifiers that are not available as names of parts.
    prefix: the beginning of these names.

    Attributes
    ----------
    parts: the definitions, name to text.
    """

    def __init__(
        self,
        names: Mapping[str, str],
        labels: Mapping[str, str],
        roots: Iterable[Term],
        used: Set[str],
        prefix: str = "part",
    ) -> None:
        super().__init__(names, labels)
        self.parts: dict[str, str] = {}
        self._free_names = (name for i in count(1) if (name := f"{prefix}_{i}") not in used)
        self._uses = Counter(arg for term in postorder(roots) for arg in term.args)

    def visit(self, term: Term) -> str:
        """Translate a term; its long arguments become definitions first."""
        text = super().visit(term)
        parts = {arg: self.memo[arg] for arg in term.args if len(self.memo[arg]) > MAX_REPEATED}
        repeated = [arg for arg, part in parts.items() if self._uses[arg] > 1 or text.count(part) > 1]
        for arg in repeated:
            name = next(self._free_names)
            self.parts[name], self.memo[arg] = bare(parts[arg]), name
        return super().visit(term) if repeated else text

    def define_parts(self) -> list[str]:
        """Return the lines that define the parts."""
        return [f"  DEFINE {name} := {text};" for name, text in self.parts.items()]


def _make_unique(names: Sequence[str], other_names: Set[str] = frozenset()) -> dict[str, str]:
    """Return SMV identifiers for names, without parentheses; clashes (also with `other_names`) get a number."""
    identifiers: dict[str, str] = {}
    used = set(other_names)
    for name in names:
        base = as_word(name.strip("()"))
        base = f"{base}_" if base in RESERVED or not (base[0].isalpha() or base[0] == "_") else base
        candidate, count = base, 1
        while candidate in used:
            count += 1
            candidate = f"{base}{count}"
        identifiers[name] = candidate
        used.add(candidate)
    return identifiers


def _print_cases(term: Term, terms: SmvTerms) -> str:
    """Print a next-state term with its conditionals as one case expression, a line per case."""
    rows = []
    if term.op is AND and term.args[0].op is NOT:  # a Boolean that the condition makes false
        negated, term = term.args
        rows.append((bare(terms(negated.args[0])), "FALSE"))
    while term.op is ITE:
        condition, then, term = term.args
        rows.append((bare(terms(condition)), bare(terms(then))))
    if not rows:
        return bare(terms(term))
    rows.append(("TRUE", bare(terms(term))))
    return "case\n" + "".join(f"        {c} : {v};\n" for c, v in rows) + "      esac"
