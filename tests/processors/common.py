"""How a processor is run by itself in these tests."""

from tests.machines import MachineRun
from workbench.core.kinds import in_turn, stepping
from workbench.core.processor import Processor, slots_of


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
        state, results = step(state, front[0] if processor.marks else front)
        hash(state)
        emit(results)
    if end:
        emit(processor.finish(state))
    return tuple(outputs)


def machined(processor: Processor, domains, streams):
    """The output streams of the finite machine, its step compiled from terms."""
    machine = MachineRun(processor.machine(tuple(domains)), domains[:1] if processor.merges else domains)
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
    return processor.typed(tuple(domains))
