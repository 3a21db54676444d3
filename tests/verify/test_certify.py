import pytest

from workbench.builder import Builder, pipeline
from workbench.core import function as f
from workbench.core.domain import BOOL, INT, Integer, Range
from workbench.core.function import user_function
from workbench.language import parse
from workbench.processors.apply import ApplyFunction
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.freeze import Freeze
from workbench.processors.held.window import Window
from workbench.processors.multiplex import Multiplex
from workbench.processors.past import Once
from workbench.processors.stutter_by import StutterBy
from workbench.processors.trim import Trim
from workbench.verify.analyses.certify import NotCertified, certify, certify_nodes
from workbench.verify.answer.settings import Settings


def alone(processor, *domains):
    builder = Builder("p")
    made = builder.add(processor, [builder.input("xyz"[i], domain) for i, domain in enumerate(domains)])
    return builder.build(made)


@pipeline(x=INT)
def pairs(x):
    return x * 2 + Trim(1)(x)


@pipeline(x=INT)
def total(x):
    return Cumulate(f.ADD)(x * 2)


@pytest.mark.parametrize(
    ("processor", "domains", "history", "settled"),
    [
        (ApplyFunction(f.EVEN), [INT], 1, None),
        (ApplyFunction(f.ADD), [INT, INT], 1, None),
        (Window(3, Cumulate(f.ADD)), [INT], 3, None),
        (Trim(2), [INT], 3, None),
        (Freeze(), [INT], 1, ({0: True},)),
        (Cumulate(f.OR), [BOOL], 1, ({0: True},)),
    ],
    ids=str,
)
def test_certified_by_structure(processor, domains, history, settled):
    certificate = certify(alone(processor, *domains))
    assert certificate.history == history
    assert certificate.settled == settled
    assert "whatever the values" in certificate.rests_on or "has no state" in certificate.rests_on


def alarm(domain):
    return pipeline(x=domain)(lambda x: Once()(x > 3))


def test_certified_by_the_model_checker():
    """Modulo 4 nothing is more than 3. The certificate says for which domains it is; by default there are more."""
    certificate = certify(alarm(INT), settings=Settings(n=4))
    assert certificate.history == 1
    assert certificate.domains[0] == Integer(4)
    assert "over int mod 4 only, not over all integers" in certificate.rests_on
    assert "over int mod 4 has no memory" in str(certificate)
    with pytest.raises(NotCertified):
        certify(alarm(INT))


def test_over_finite_domains_it_is_a_proof():
    certificate = certify(alarm(Range(0, 3)))
    assert "checked over its domains" in certificate.rests_on
    assert certificate.domains[0] == Range(0, 3)


def latch():
    return (
        parse(
            """
        machine latch(v: int) -> bool {
            state off: false
            state on: true
            off -> on when v > 3
        }
        pipeline p(x: int) -> bool { return latch(x) }
        """
        )
        .get("p")
        .pipeline
    )


@pytest.mark.parametrize("width", [50, pytest.param(300, marks=pytest.mark.slow)])
def test_long_windows_are_certified_by_structure(width):
    assert certify(alone(Window(width, Cumulate(f.ADD)), INT)).history == width


def test_long_delays_are_certified_by_structure():
    assert certify(alone(Trim(256), INT)).history == 257
    assert certify(pairs).history == certify(pairs, history=3).history == 2


def test_a_machine_with_a_state_that_it_never_leaves():
    certificate = certify(latch())
    assert certificate.settled == ({0: "on"},)
    assert str(certificate) == str(*certify_nodes(latch()).values())


def test_what_remembers_is_refused_with_the_counterexample():
    with pytest.raises(NotCertified, match="depends on more than the last 2 events") as caught:
        certify(total, history=2)
    run = caught.value.verdict.counterexample
    # three events are needed to tell a sum from the sum of the last two
    assert len(run.steps) == 3
    assert run.steps[0].inputs["x"] != 0
    assert "total" in str(caught.value)
    assert "pipelined" in str(caught.value)
    with pytest.raises(NotCertified, match="more than the last 3 events"):
        certify(alone(CountDecimate(2), INT))


def test_a_claim_that_is_too_small_is_refused():
    with pytest.raises(NotCertified, match="more than the last 1 event:"):
        certify(pairs, history=1)
    with pytest.raises(NotCertified, match="more than the last 2 events:"):
        certify(alone(Window(3, Cumulate(f.ADD)), INT), history=2)


def test_what_has_no_model_is_not_certified():
    square = user_function(lambda a: a * a, result=INT, name="square")

    @pipeline(x=INT)
    def opaque(x):
        return ApplyFunction(square)(x * 2)

    with pytest.raises(NotCertified, match=r"cannot be certified: .*square"):
        certify(opaque)
    assert certify(alone(ApplyFunction(square), INT)).history == 1


def test_what_cannot_be_pipelined():
    @pipeline(x=INT, y=INT)
    def two(x, y):
        return x * 2 + y

    with pytest.raises(ValueError, match="has 2 inputs and several processors"):
        certify(two)
    with pytest.raises(ValueError, match="has 2 inputs"):
        certify(alone(Multiplex(), Integer(3), Integer(3)))


def test_certificates_of_the_processors_of_a_pipeline():
    @pipeline(x=INT)
    def mixed(x):
        windows = Window(3, Cumulate(f.ADD))(x * 2)
        return {"a": Cumulate(f.ADD)(windows), "b": Trim(1)(windows)}

    found = {name: certificate.history for name, certificate in certify_nodes(mixed).items()}
    assert found == {"mul": 1, "window": 3, "trim": 2}


def test_what_emits_any_number_of_events_in_a_window():
    """It has no machine over all integers, so there is no argument of structure; over finite ones there is another."""
    window = alone(Window(2, StutterBy()), INT, INT)
    assert certify_nodes(window) == {}
    assert certify(window).history == 2
