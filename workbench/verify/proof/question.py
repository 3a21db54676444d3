"""The question that a certificate is about: as JSON in the file, and as obligations.

The rule of this module: the obligations of a question are made from the program, the property and the settings alone,
so that whoever checks a certificate makes the same ones.
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


def list_obligations(asked: Problem, settings: Settings, *, surely: bool = False) -> list[Obligation]:
    """Return the conditions that have to hold at every step so that the verdict is 'holds'.

    Parameters
    ----------
    settings: with the N and the capacities of the verdict.
    surely: prove that the property holds even if a queue overflows, instead of that none does.

    Raises
    ------
    Refused: the question is not whether conditions hold at every step.
    """
    prepared = Prepared(*asked.pose(settings), settings, merged=False)
    main, bound = prepared.main, prepared.bound
    if prepared.question.wanted:
        raise Refused("a run shows that it holds, and no certificate is needed")
    if prepared.trivial:
        return []
    role = "surely" if surely else "property"
    if role not in main.asked:
        raise Refused("the verdict does not hold beyond an overflow")
    good = main.asked[role].invariant
    if good is None:
        raise Refused("it is about infinite runs, and certificates are about conditions of every step")
    parts = [(main, good)]
    if not surely and "overflow" in main.asked:
        never = main.asked["overflow"].invariant
        assert never is not None
        parts = [(main, AND(good, never))]
    if not surely and bound is not None:
        never = bound.asked["overflow"].invariant
        assert never is not None
        parts.append((bound, never))
    return [Obligation(part, term, number) for number, (part, term) in enumerate(parts, 1)]


# --- in the file


def describe_question(asked: Problem, settings: Settings, depths: Sequence[int], *, surely: bool) -> str:
    """Return the question as JSON.

    Parameters
    ----------
    depths: of the proofs of its obligations.
    """
    pair = isinstance(asked.prop, Equivalence) and asked.syntax is None
    sides = asked.sides if pair else (asked.subject,)
    found = {
        "format": FORMAT,
        "programs": [_describe_program(each) for each in sides],
        "property": asked.text,
        "check": _find_position(asked),
        "mode": asked.prop.mode if pair and isinstance(asked.prop, Equivalence) else "",
        "q": settings.q if isinstance(settings.q, int) else dict(settings.q),
        "n": int(settings.n),
        "integers": str(settings.integers),
        "texts": list(settings.texts),
        "floats": settings.floats,
        "inputs": settings.environment.arrivals,
        "fair": settings.environment.fair,
        "beyond_overflow": surely,
        "depths": list(depths),
    }
    if settings.rules is not None or any(each.pipeline.clocks for each in asked.sides):
        raise Refused("a certificate is about pipelines without rules in them")
    return json.dumps(found)


def _list_own(program: Program) -> Sequence[PropertySyntax]:
    """Return the properties that the file of a program states, and those that types and contracts add."""
    return (*program.checks, *program.obligations) if isinstance(program, Loaded) else ()


def _find_position(asked: Problem) -> int | None:
    """Return which of the properties of its file a question is about; None: another one."""
    return next((number for number, each in enumerate(_list_own(asked.subject)) if each == asked.syntax), None)


def _describe_program(program: Any) -> dict[str, Any] | None:
    """Return what finds a program again; None for one that is in no file."""
    if not isinstance(program, Loaded):
        return None
    found: dict[str, Any] = {"file": program.source.file, "name": program.name, "params": dict(program.params)}
    found |= {"faults": list(program.added), "sound": program.sound}
    try:
        json.dumps(found, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Refused("a certificate has parameters only that are numbers, truth values or texts") from error
    return found


def read_question(given: Mapping[str, Any], asked: Problem | None) -> tuple[Problem, Settings, bool]:
    """Return the question that a certificate is about, its settings, and whether it holds even beyond an overflow.

    Parameters
    ----------
    asked: the question, if its programs are in no file.

    Raises
    ------
    InputError: the question cannot be read.
    """
    try:
        if given["format"] != FORMAT:
            raise InputError(f"this is format {given['format']} of certificates, and this version reads {FORMAT}")
        settings = Settings(
            q=given["q"] if isinstance(given["q"], dict) else int(given["q"]),
            n=int(given["n"]),
            integers=Overflowing(given["integers"]),
            texts=[str(text) for text in given["texts"]],
            floats=None if given["floats"] is None else (int(given["floats"][0]), int(given["floats"][1])),
            environment=Environment(given["inputs"], bool(given["fair"])),
        )
        surely = bool(given["beyond_overflow"])
        if asked is not None:
            return asked, settings, surely
        programs = [_read_program(each) for each in given["programs"]]
        if given["mode"]:
            left, right = programs
            return comparison(left, right, given["mode"], settings), settings, surely
        own, position = _list_own(programs[0]), given["check"]
        asked = problem(programs[0], str(given["property"]) if position is None else own[position], settings)
        if asked.text != given["property"]:
            raise InputError(f"the property is now '{asked.text}', and the certificate is of '{given['property']}'")
        return asked, settings, surely
    except WorkbenchError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError("the question of this certificate cannot be read") from error


def _read_program(given: Mapping[str, Any] | None) -> Loaded:
    if given is None:
        hint = "give its question: wb.check_certificate(file, problem)"
        raise InputError("the program of this certificate was made in Python, and is in no file", hint=hint)
    found = load(f"{given['file']}:{given['name']}", **given["params"]).faulty(*given["faults"])
    return found.faultless() if given["sound"] else found
