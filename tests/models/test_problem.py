"""A Problem refuses what makes no sense, in one line, and is a value."""

import math

import numpy as np
import pytest

import replica
from replica.analysis.discretise import node_counts
from replica.analysis.token_nodes import token_nodes
from replica.errors import InvalidProblem
from replica.models.activations.erf import Erf
from replica.models.checks import LARGEST, parse_number
from replica.models.data.max_slr import MaxSLR
from replica.models.data.spiked_slr import SpikedSLR
from replica.models.problem import Problem
from replica.registry import ACTIVATIONS, DATA_MODELS, load

pytestmark = pytest.mark.nojit


def test_defaults():
    problem = Problem(data=SpikedSLR())
    assert (problem.alpha, str(problem.length), problem.noise, problem.reg_k, problem.reg_v) == (
        1.0,
        "2",
        0.0,
        1.0,
        1.0,
    )
    assert problem.data.nu == 2.0
    assert MaxSLR().nu == math.inf
    assert problem.activation.name == "softmax"


def test_problems_are_values():
    one, two = (Problem(data=MaxSLR(3), alpha=np.float64(2), length="2:5") for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert type(one.alpha) is float
    assert one != Problem(data=MaxSLR(3), alpha=2.5)
    with pytest.raises(AttributeError):
        one.alpha = 3.0


@pytest.mark.parametrize("name", ["alpha", "reg_k", "reg_v"])
@pytest.mark.parametrize("value", [0, 0.0, -1, -1e-300, math.nan, "2", None, True, 10**400])
def test_must_be_positive(name, value):
    with pytest.raises(InvalidProblem) as refusal:
        Problem(data=SpikedSLR(), **{name: value})
    message = str(refusal.value)
    assert message.startswith(f"{name} = ")
    assert f"allowed: {name} > 0" in message
    assert "\n" not in message


@pytest.mark.parametrize("name", ["noise", "reg_k", "reg_v"])
def test_must_be_finite(name):
    with pytest.raises(InvalidProblem, match=f"{name} = inf is not finite; allowed"):
        Problem(data=SpikedSLR(), **{name: math.inf})


@pytest.mark.parametrize("value", [-0.1, -math.inf, math.nan, "0"])
def test_noise_must_not_be_negative(value):
    with pytest.raises(InvalidProblem, match=r"noise = .*allowed: noise >= 0"):
        Problem(data=SpikedSLR(), noise=value)


def test_zero_regularisation_says_how_to_extrapolate():
    with pytest.raises(InvalidProblem, match=r"reg_v = 0 is zero; .*extrapolate"):
        Problem(data=SpikedSLR(), reg_v=0.0)


def test_alpha_may_be_infinite_and_says_so():
    assert Problem(data=SpikedSLR(), alpha=math.inf).is_population
    assert not Problem(data=SpikedSLR(), alpha=1e30).is_population


@pytest.mark.parametrize("kind", [SpikedSLR, MaxSLR])
@pytest.mark.parametrize("value", [-1e-9, math.nan, "2", None, False])
def test_nu(kind, value):
    with pytest.raises(InvalidProblem, match=r"nu = .*allowed: nu >= 0"):
        kind(nu=value)


def test_spiked_nu_must_be_finite():
    with pytest.raises(InvalidProblem, match=r"nu = inf is not finite; .*max-slr"):
        SpikedSLR(nu=math.inf)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, "x"])
def test_erf_offset(value):
    with pytest.raises(InvalidProblem, match="erf offset"):
        Erf(offset=value)


def test_wrong_kinds_of_ingredients():
    with pytest.raises(InvalidProblem, match="not a data model; allowed"):
        Problem(data="max-slr")
    with pytest.raises(InvalidProblem, match="not an activation; allowed"):
        Problem(data=MaxSLR(), activation="softmax")


@pytest.mark.parametrize(
    ("text", "value"), [("0.5", 0.5), ("1e-3", 1e-3), ("inf", math.inf), ("-inf", -math.inf), ("Infinity", math.inf)]
)
def test_numbers_from_text(text, value):
    assert parse_number("nu", text) == value


@pytest.mark.parametrize("text", ["1e999", "-1e999", "", "two", "1/2", "1_0x", "0x10", "os.getpid()"])
def test_text_that_is_no_number(text):
    with pytest.raises(InvalidProblem) as refusal:
        parse_number("nu", text)
    assert str(refusal.value).startswith(f"nu = {text!r} ")


@pytest.mark.parametrize(("registry", "kind"), [(DATA_MODELS, "model"), (ACTIVATIONS, "activation")])
def test_registries(registry, kind):
    for name in registry:
        assert load(registry, kind, name)().name == name
    with pytest.raises(InvalidProblem) as refusal:
        load(registry, kind, "nonsense")
    assert str(refusal.value) == f"{kind} = 'nonsense' is unknown; known: {', '.join(registry)}"


def test_public_names_exist_and_are_documented():
    for name in replica.__all__:
        value = getattr(replica, name)
        assert name == "__version__" or value.__doc__
    with pytest.raises(AttributeError, match="nonsense"):
        _ = replica.nonsense


@pytest.mark.parametrize("name", ["alpha", "noise", "reg_k", "reg_v"])
def test_numbers_whose_squares_overflow_are_refused(name):
    assert getattr(Problem(data=SpikedSLR(), **{"alpha": 2.0, name: LARGEST}), name) == LARGEST
    with pytest.raises(InvalidProblem, match=rf"{name} = 1e\+51 is too large; .*at most 1e\+50"):
        Problem(data=SpikedSLR(), **{"alpha": 2.0, name: 1e51})


@pytest.mark.parametrize("kind", [SpikedSLR, MaxSLR])
def test_nu_is_bounded(kind):
    with pytest.raises(InvalidProblem, match=r"nu = 1e\+51 is too large; .*at most 1e\+50"):
        kind(nu=1e51)


def test_length_is_bounded():
    with pytest.raises(InvalidProblem, match="99999999999 tokens are too many; allowed: L <= 1000000000"):
        Problem(data=SpikedSLR(), length="1:1,99999999999:1")


@pytest.mark.parametrize("option", [{"rtol": "x"}, {"rtol": True}, {"damping": "x"}, {"seed": 1.5}, {"seed": "a"},
                                    {"start": 3}, {"threads": 0}, {"threads": 1.5}])  # fmt: skip
@pytest.mark.parametrize("estimator", ["erm", "bayes"])
def test_options_of_the_wrong_type_are_refused(option, estimator):
    (name,) = option
    with pytest.raises(InvalidProblem, match=rf"{name} = .* allowed: "):
        replica.solve(Problem(data=SpikedSLR()), estimator=estimator, **option)


def test_only_problems_are_solved():
    with pytest.raises(InvalidProblem, match="problem = 3 is not a problem"):
        replica.solve(3)


@pytest.mark.parametrize("length", [8_000, 20_000, 10**6])
def test_more_tokens_than_there_are_random_numbers_for(length):
    problem = Problem(data=MaxSLR(), length=length)
    with pytest.raises(InvalidProblem, match="length: so many tokens"):
        token_nodes(problem, length, node_counts(length, affine=False)[0], (0,), affine=False)
