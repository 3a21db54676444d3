"""Translation of written contracts, `assume x <= 100`, into contracts of the core.

A condition is an expression over streams, as in a pipeline: it is built as a pipeline of its own, over the inputs of
the pipeline that states it and, for a guarantee, its outputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from workbench.core.contract import Contract, ContractKind
from workbench.core.domain import Bool, Domain, Value
from workbench.core.pipeline import Pipeline
from workbench.errors import did_you_mean
from workbench.language import syntax as s
from workbench.language.body import Body
from workbench.processors.held.group import flatten

if TYPE_CHECKING:
    from workbench.language.elaborate import Elaborator


def contract(
    file: Elaborator,
    syntax: s.PipelineSyntax,
    statement: s.ContractSyntax,
    pipeline: Pipeline,
    constants: Mapping[str, Value],
) -> Contract:
    """Build a contract of a pipeline; `constants` are its parameters."""
    kind, e = ContractKind(statement.kind), statement.condition
    known: dict[str, Domain] = dict(pipeline.inputs)
    if kind is ContractKind.GUARANTEE:
        known |= {name: pipeline.domains[pipe] for name, pipe in pipeline.outputs}
    name = _name_contract(syntax, statement, pipeline)
    body = Body(file, s.PipelineSyntax(name, syntax.parameters, (), (), (), (), ""), constants)
    body.labels, body.whole = file.labels_in(syntax), (e,)
    for port, domain in known.items():
        body.bind(port, body.builder.input(port, domain), statement.where)
    _check_names(statement, syntax, pipeline, {*body.scope, *body.labels, *file.callables()})
    streams = body.streams(e)
    built = body.builder.build(streams[0])
    if len(streams) > 1 or not isinstance(built.output_domains[0], Bool):
        carried = ", ".join(str(built.domains[each.pipe]) for each in streams)
        raise e.error(f"'{e}' is not a condition: it carries {carried}", "compare it, as in x <= 100")
    plain = flatten(built, faults=False).with_contracts(())
    read = {pipe for node in plain.nodes for pipe in node.inputs} | {pipe for _, pipe in plain.outputs}
    plain = replace(plain, inputs=tuple(each for each in plain.inputs if each[0] in read))
    reads = tuple(port for port, _ in plain.inputs)
    return Contract(kind, name, plain, reads, statement.text, syntax.name, where=statement.where)


def _name_contract(syntax: s.PipelineSyntax, statement: s.ContractSyntax, pipeline: Pipeline) -> str:
    """Return the name of a contract's stream: its kind and a number, such that no pipe or processor has that name."""
    number = 1 + [each is statement for each in syntax.contracts if each.kind == statement.kind].index(True)
    name, names = f"{statement.kind}{number}", {*pipeline.domains, *(node.name for node in pipeline.nodes)}
    while name in names or name in dict(pipeline.outputs):
        name += "_"
    return name


def _check_names(statement: s.ContractSyntax, syntax: s.PipelineSyntax, pipeline: Pipeline, known: set[str]) -> None:
    """Raise LanguageError for a pipe of the pipeline that the contract cannot read."""
    pipes = {*pipeline.domains, *dict(pipeline.outputs)}
    for part in s.walk(statement.condition):
        if isinstance(part, s.Identifier) and part.name in pipes - known:
            if statement.kind == ContractKind.ASSUME:
                what = f"an assumption reads only inputs, and '{part.name}' is not an input of {syntax.name}"
                hint = did_you_mean(part.name, dict(pipeline.inputs), "its inputs are: ")
                raise part.error(what, hint if part.name not in dict(pipeline.outputs) else "write guarantee")
            ports = [*dict(pipeline.inputs), *dict(pipeline.outputs)]
            what = f"a guarantee reads only inputs and outputs, and '{part.name}' is neither in {syntax.name}"
            raise part.error(what, did_you_mean(part.name, ports, "they are: ") + "; or return it, too")
