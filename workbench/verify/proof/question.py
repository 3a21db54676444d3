"""The question that a certificate is about: as JSON in the file, and as obligations.

The rule of this module: the obligations of a question derive from the program, the property and the settings alone, so
the checker of a certificate derives the same ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.core.domain import Overflowing
from workbench.core.ops import AND
from workbench.core.program import Program
from workbench.errors import InputError, Refused, WorkbenchError
from workbench.language import Loaded, PropertySyntax, load
from workbench.verify.answer.prepare import Prepared
from workbench.verify.answer.problem import Problem, comparison, problem
from workbench.verify.answer.settings import Settings
from workbench.verify.ask.environment import Environment
from workbench.verify.ask.equivalence import Equivalence
from workbench.verify.proof.script import Obligation

FORMAT = 1
"""The number of this format."""


def list_obligations(question: Problem, settings: Settings, *, surely: bool = False) -> list[Obligation]:
    """Return the conditions that have to hold at every step so that the verdict is 'holds'.

    Parameters
    ----------
    settings: with the N and the capacities of the verdict.
    surely: prove that the property holds even if a queue overflows, instead of that none does.

    Raises
    ------
    Refused: the question is not whether conditions hold at every step.
    """
    prepared = Prepared(*question.pose(settings), settings, merged=False)
    main, bound = prepared.main, prepared.bound
    if prepared.question.wanted:
        raise Refused("a run shows that it holds, so no certificate is needed")
    if prepared.trivial:
        return []
    role = "surely" if surely else "property"
    if role not in main.questions:
        raise Refused("the verdict does not hold beyond an overflow")
    good = main.questions[role].invariant
    if good is None:
        raise Refused("it is about infinite runs, but certificates are about single steps")
    parts = [(main, good)]
    if not surely and "overflow" in main.questions:
        never = main.questions["overflow"].invariant
        assert never is not None
        parts = [(main, AND(good, never))]
    if not surely and bound is not None:
        never = bound.questions["overflow"].invariant
        assert never is not None
        parts.append((bound, never))
    return [Obligation(part, term, number) for number, (part, term) in enumerate(parts, 1)]


# --- in the file


def describe_question(question: Problem, settings: Settings, depths: Sequence[int], *, surely: bool) -> str:
    """Return the question as JSON.

    Parameters
    ----------
    depths: of the proofs of its obligations.
    """
    pair = isinstance(question.prop, Equivalence) and question.syntax is None
    sides = question.sides if pair else (question.subject,)
    description = {
        "format": FORMAT,
        "programs": [_describe_program(each) for each in sides],
        "property": question.text,
        "check": _find_position(question),
        "mode": question.prop.mode if pair and isinstance(question.prop, Equivalence) else "",
        "q": settings.q if isinstance(settings.q, int) else dict(settings.q),
        "n": int(settings.n),
        "integers": str(settings.integers),
        "texts": list(settings.texts),
        "floats": settings.floats,
        "inputs": settings.environment.arrivals,
        "fair": settings.environment.fair,
        "abstract": list(settings.abstract),
        "beyond_overflow": surely,
        "depths": list(depths),
    }
    if settings.rules is not None or any(each.pipeline.clocks for each in question.sides):
        raise Refused("a certificate is about pipelines without rules in them")
    return json.dumps(description)


def _list_own(program: Program) -> Sequence[PropertySyntax]:
    """Return the properties that the file of a program states, and those that types and contracts add."""
    return (*program.checks, *program.obligations) if isinstance(program, Loaded) else ()


def _find_position(question: Problem) -> int | None:
    """Return which of the properties of its file a question is about; None: another one."""
    return next((number for number, each in enumerate(_list_own(question.subject)) if each == question.syntax), None)


def _describe_program(program: Any) -> dict[str, Any] | None:
    """Return the data that identify a program; None if it is in no file."""
    if not isinstance(program, Loaded):
        return None
    description: dict[str, Any] = {"file": program.source.file, "name": program.name, "params": dict(program.params)}
    description |= {"faults": list(program.added), "sound": program.sound}
    try:
        json.dumps(description, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Refused("parameters in a certificate are numbers, truth values or texts") from error
    return description


def read_question(source: Mapping[str, Any], question: Problem | None) -> tuple[Problem, Settings, bool]:
    """Return the question that a certificate is about, its settings, and whether it holds even beyond an overflow.

    Parameters
    ----------
    question: the question itself, if its programs are in no file.

    Raises
    ------
    InputError: the question cannot be read.
    """
    try:
        if source["format"] != FORMAT:
            raise InputError(f"this is format {source['format']} of certificates, but this version reads {FORMAT}")
        settings = Settings(
            q=source["q"] if isinstance(source["q"], dict) else int(source["q"]),
            n=int(source["n"]),
            integers=Overflowing(source["integers"]),
            texts=[str(text) for text in source["texts"]],
            floats=None if source["floats"] is None else (int(source["floats"][0]), int(source["floats"][1])),
            environment=Environment(source["inputs"], bool(source["fair"])),
            abstract=[str(name) for name in source["abstract"]],
        )
        surely = bool(source["beyond_overflow"])
        if question is not None:
            return question, settings, surely
        programs = [_read_program(each) for each in source["programs"]]
        if source["mode"]:
            left, right = programs
            return comparison(left, right, source["mode"], settings), settings, surely
        own, position = _list_own(programs[0]), source["check"]
        question = problem(programs[0], str(source["property"]) if position is None else own[position], settings)
        if question.text != source["property"]:
            raise InputError(f"the property is now '{question.text}', but the certificate is of '{source['property']}'")
        return question, settings, surely
    except WorkbenchError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError("the question of this certificate cannot be read") from error


def _read_program(source: Mapping[str, Any] | None) -> Loaded:
    if source is None:
        hint = "pass its question: wb.check_certificate(file, problem)"
        raise InputError("the program of this certificate was built in Python, and is in no file", hint=hint)
    program = load(f"{source['file']}:{source['name']}", **source["params"]).faulty(*source["faults"])
    return program.faultless() if source["sound"] else program
