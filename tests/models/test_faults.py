"""The models with faults: verdicts that are argued for in the files."""

import pytest

import workbench as wb
from workbench.language import read_file

EXPECTED = {
    ("duplicates", "naive"): {"tolerates": "fails"},
    ("duplicates", "numbered"): {
        "tolerates": "holds",
        "response": "holds",
        "always (received.present -> x.present)": "holds",
    },
    ("repetition", "repeated"): {"tolerates": "holds", "always (x.present -> y.present)": "holds"},
    ("repetition", "too_few"): {"tolerates": "fails"},
    ("delays", "joined"): {"tolerates": "holds", "response": "holds"},
    ("delays", "merged"): {"tolerates": "fails"},
    ("delays", "in_step"): {"always (sub = 0)": "holds"},
    ("zeros", "peaks"): {"tolerates": "holds"},
    ("zeros", "every_second"): {"tolerates": "fails"},
    ("zeros", "compared"): {"never-false": "fails", "liveness": "holds"},
}
CASES = [(*where, text, outcome) for where, checks in EXPECTED.items() for text, outcome in checks.items()]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("model", "name", "text", "outcome"), CASES)
def test_verdict(model: str, name: str, text: str, outcome: str) -> None:
    loaded = read_file(f"models/faults/{model}.pipe").get(name)
    (syntax,) = (check for check in loaded.checks if str(check) == text)
    settings = wb.Settings(n=2)  # the smallest that tells values apart: these need no more
    verdict = wb.check(loaded, syntax, settings)
    assert verdict.outcome == outcome
    assert any(line.startswith("fault: events of") for line in verdict.rests_on)
    if verdict.counterexample:
        assert verdict.counterexample.replay == "confirmed by execution"


def test_every_check_of_the_files_is_expected() -> None:
    for model in {model for model, _ in EXPECTED}:
        source = read_file(f"models/faults/{model}.pipe")
        found = {name: {str(check) for check in source.get(name).checks} for name in source.pipelines}
        assert found == {name: set(checks) for (file, name), checks in EXPECTED.items() if file == model}


@pytest.mark.slow
def test_sent_three_times_an_event_survives_exactly_two_losses() -> None:
    source = read_file("models/faults/repetition.pipe")
    assert wb.faults.tolerates(source.get("repeated", k=2).pipeline, wb.Settings(n=2)).outcome == "holds"
    assert wb.faults.tolerates(source.get("too_few", k=2).pipeline, wb.Settings(n=2)).outcome == "fails"


def test_a_delay_needs_as_many_places_as_steps() -> None:
    source = read_file("models/faults/delays.pipe")
    for d in (1, 2, 3):
        found = wb.buffers(source.get("joined", d=d).pipeline)
        assert found.capacities == {"max.left": d, "max.right": 0}
        assert all(buffer.witness is None or not buffer.witness.gap for buffer in found.queues)
