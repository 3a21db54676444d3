"""A check of the reference executor by itself: all ways of running it give the streams that definitions do."""

from collections.abc import Callable

from workbench.conformance.compare.executables import InputSequence, OutputStreams, Pulled, Running, Streams
from workbench.conformance.generate.python_source import body
from workbench.core.determinism import same
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END
from workbench.errors import Overflow
from workbench.executors.reference.executor import Reference
from workbench.processors.held.group import flatten


def check_streams(pipeline: Pipeline, steps: InputSequence) -> None:
    """Denotation, push mode, pull mode and a second run after `reset` give the same output streams.

    Where a checked domain is left, the denotation and push mode both say so (pull mode need not come there).
    """
    if any(processor.is_timed for processor in flatten(pipeline).typed.values()):
        return  # what it emits depends on the steps
    streams = pipeline.ports.received(steps)
    ending = [*(events for events in steps if events is not END), END]
    pushed = Streams(Running(pipeline), pipeline)

    def named(shown: OutputStreams) -> OutputStreams:
        return {name: shown[pipe] for name, pipe in pipeline.outputs}

    names = [name for name, _ in pipeline.outputs]
    specified = _unless_overflow(lambda: dict(zip(names, pipeline.denote(list(streams.values())), strict=True)))
    ways: dict[str, Callable[[], OutputStreams]] = {
        "push mode": lambda: named(pushed.streams(ending)),
        "pull mode": lambda: named(Pulled(pipeline).streams(ending)),
        "push mode after reset": lambda: named(pushed.streams(ending)),
        "a run in lockstep": lambda: Reference(pipeline).run(streams),
    }
    for how, run in ways.items():
        found = _unless_overflow(run)
        if not _same_streams(specified, found):
            raise AssertionError(
                f"the denotation gives {specified or 'an overflow'}, {how} gives {found or 'an overflow'}\n"
                f"inputs: {streams}\npipeline:\n{body(pipeline)}"
            )
        if specified is None:
            break


def _unless_overflow(run: Callable[[], OutputStreams]) -> OutputStreams | None:
    try:
        return run()
    except Overflow:
        return None


def _same_streams(a: OutputStreams | None, b: OutputStreams | None) -> bool:
    if a is None or b is None:
        return a is b
    return a.keys() == b.keys() and all(same(tuple(a[name]), tuple(b[name])) for name in a)
