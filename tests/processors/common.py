"""How a processor is run by itself in these tests."""

from workbench.conformance.executables import MachineRun
from workbench.core.processor import Processor


def stepped(processor: Processor, streams, end=True):
    """The output streams of a typed processor, front by front, and what it emits at the end."""
    state, outputs = processor.initial(), [[] for _ in range(processor.out_arity)]

    def emit(results):
        assert len(results) == processor.out_arity
        for stream, (present, value) in zip(outputs, results, strict=True):
            assert isinstance(present, bool)
            if present:
                stream.append(value)

    for front in zip(*streams, strict=False):
        state, results = processor.step(state, front)
        hash(state)
        emit(results)
    if end:
        emit(processor.finish(state))
    return tuple(outputs)


def machined(processor: Processor, domains, streams):
    """The output streams of the finite machine, its step compiled from terms."""
    machine = MachineRun(processor.machine(tuple(domains)), domains)
    outputs = [[] for _ in range(processor.out_arity)]
    for front in zip(*streams, strict=False):
        for stream, value in zip(outputs, machine.step(front), strict=True):
            if value is not None:
                stream.append(value)
    return tuple(outputs)


def typed(processor: Processor, *domains):
    return processor.typed(tuple(domains))
