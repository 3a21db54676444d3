"""How a processor is run by itself in these tests."""

from tests.machines import MachineRun
from workbench.core.domain import BOOL
from workbench.core.fields import Tuple
from workbench.core.kinds import Listening, in_turn, stepping
from workbench.core.processor import Maybe, Processor, slots_of


def whole(processor: Processor) -> bool:
    """Whether its fronts are the events of its only stream."""
    return processor.marks or isinstance(processor, Listening)


def stepped(processor: Processor, streams, end=True, each=in_turn):
    """The output streams of a typed processor, front by front, and what it emits at the end."""
    step = stepping(processor, each)
    state, outputs = processor.initial(), [[] for _ in range(processor.out_arity)]

    def emit(results):
        assert len(results) == processor.out_arity
        for stream, emission in zip(outputs, results, strict=True):
            for present, value in slots_of(emission):
                assert isinstance(present, bool)
                if present:
                    stream.append(value)

    for front in zip(*streams, strict=False):
        state, results = step(state, front[0] if whole(processor) else front)
        hash(state)
        emit(results)
    if end:
        emit(processor.finish(state))
    return tuple(outputs)


def machined(processor: Processor, domains, streams):
    """The output streams of the finite machine, its step compiled from terms."""
    finite = processor.machine(tuple(domains))
    if isinstance(processor, Listening):
        heard = finite._replace(step=lambda state, front: finite.step(state, tuple(Maybe(*each) for each in front)))
        machine = MachineRun(heard, [Tuple((BOOL, domain)) for domain in domains])
        nothing = [(False, domain.default) for domain in domains]
        fronts = ([m if m.present else n for m, n in zip(front, nothing, strict=True)] for front in streams[0])
        streams = list(zip(*fronts, strict=True))
    else:
        machine = MachineRun(finite, domains[:1] if processor.merges else domains)
    outputs = [[] for _ in range(processor.out_arity)]
    for front in zip(*streams, strict=False):
        _carry(outputs, machine.step(front))
    _carry(outputs, machine.finish())
    return tuple(outputs)


def _carry(outputs, shown):
    for stream, content in zip(outputs, shown, strict=True):
        if content is not None:
            stream.extend(content if isinstance(content, list) else [content])


def typed(processor: Processor, *domains):
    return processor.specialise(tuple(domains))
