"""Laws of theta: the transform of uniforms, the sampler and the likelihood ratio agree with each other."""

import numpy as np
import pytest

from replica.errors import InvalidProblem
from replica.heads.signals import Discrete, Gaussian, flipped, onehot, parse

LAWS = [
    flipped(4.0, 2),
    onehot(3.0, 3),
    Gaussian((2.0, 0.5), (1.0, 0.0)),
    Gaussian((2.0, 0.0)),
    Discrete((0.2, 0.8), ((2.0,), (-0.5,))),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.label)
def test_draws_have_the_stated_moments(law):
    mean, covariance = law.moments()
    grid = (np.arange(4000) + 0.5) / 4000
    rng = np.random.default_rng(0)
    uniform = np.stack([rng.permutation(grid) for _ in range(law.uniforms)], axis=1)
    for draws in (law.transform(uniform), law.sample(rng, 40000)):
        assert draws.shape[1] == law.features
        spread = 4 * np.sqrt(np.diag(covariance) / len(draws)) + 1e-3
        assert np.all(np.abs(draws.mean(axis=0) - mean) < spread)
        assert np.allclose(np.cov(draws.T), covariance, atol=0.15)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.label)
def test_likelihood_ratio_is_the_expectation_over_theta(law):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(5, law.features))
    theta = law.sample(rng, 200000)
    terms = np.exp(x @ theta.T - (theta**2).sum(axis=1) / 2)
    gap = terms.mean(axis=1) - np.exp(law.log_ratio(x))
    assert np.all(np.abs(gap) < 5 * terms.std(axis=1) / np.sqrt(len(theta)) + 1e-12)


@pytest.mark.parametrize(
    ("law", "symmetric"), [(LAWS[0], True), (LAWS[1], False), (LAWS[2], False), (LAWS[3], True), (LAWS[4], False)]
)
def test_symmetry_is_recognised(law, symmetric):
    assert law.symmetric is symmetric


def test_signs_that_keep_the_law_are_found():
    assert Gaussian((2.0, 1.0)).mirrors == ((1, 1), (1, -1))
    assert LAWS[2].mirrors == ((1, 1), (1, -1))  # the second mean is zero
    assert flipped(4.0, 3).mirrors == ((1, 1, 1), (1, 1, -1), (1, -1, 1), (1, -1, -1))
    assert onehot(3.0, 2).mirrors == ((1, 1),)
    tied = Discrete((0.5, 0.5), ((2.0, 1.0), (-2.0, -1.0)))
    assert tied.mirrors == ((1, 1),)
    assert tied.symmetric
    assert not tied.separable
    assert flipped(4.0, 3).separable
    assert Gaussian((1.0,) * 8).mirrors == ((1,) * 8,)


def test_text_and_file_give_the_law(tmp_path):
    assert parse("flipped:nu=6") == flipped(6.0)
    assert parse("onehot:nu=6,features=3") == onehot(6.0, 3)
    assert parse("gaussian:8,3;mean=1,0") == Gaussian((8.0, 3.0), (1.0, 0.0))
    path = tmp_path / "law.csv"
    path.write_text("weight,theta_1,theta_2\n0.25,1,0\n0.75,0,-2\n", encoding="utf-8")
    law = parse(f"discrete:{path}")
    assert law.weights == (0.25, 0.75)
    assert law.points == ((1.0, 0.0), (0.0, -2.0))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("flipped", "not understood"),
        ("flipped:mu=3", "not understood"),
        ("flipped:nu=0", "is zero"),
        ("flipped:nu=-1", "negative"),
        ("flipped:nu=1,features=1.5", "features = 1.5"),
        ("flipped:nu=1,features=1e9", "features = 1e"),
        ("flipped:nu=1,nu=2", "not understood"),
        ("flipped:nu=1e300", "too large"),
        ("gaussian:1;mean=", "not a number"),
        ("gaussian:", "not a number"),
        ("gaussian:1,x", "not a number"),
        ("gaussian:1,2;mean=1", "2 variances and 1 means"),
        ("gaussian:nan", "nan"),
        ("discrete:absent.csv", "cannot be read"),
        ("tree:1", "not understood"),
    ],
)
def test_bad_text_is_refused_in_one_line(text, reason):
    with pytest.raises(InvalidProblem, match=reason) as caught:
        parse(text)
    assert "\n" not in str(caught.value)


def test_a_file_from_a_spreadsheet_is_read(tmp_path):
    path = tmp_path / "law.csv"
    path.write_bytes(b"\xef\xbb\xbfweight,theta_1\r\n0.5,1\r\n0.5,-1\r\n")
    assert parse(f"discrete:{path}").symmetric


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "header"),
        ("a,b\n1,2\n", "header"),
        ("weight,theta_1\n", "at least one"),
        ("weight,theta_1\n0.5,1\n0.6,2\n", "sum to 1.1"),
        ("weight,theta_1\n\n1,x\n", "row 3"),
        ('weight,theta_1\n1,"' + "x" * 200000, "field larger"),
        ("weight,theta_1\n0.5,1\n0.5,1,2\n", "differ in length"),
        ("weight,theta_1\n-1,1\n2,1\n", "negative"),
    ],
)
def test_bad_file_is_refused(tmp_path, content, reason):
    path = tmp_path / "law.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidProblem, match=reason):
        parse(f"discrete:{path}")


def test_the_label_tells_laws_in_files_of_one_name_apart(tmp_path):
    labels = []
    for folder, theta in (("a", 1.0), ("b", 2.0), ("c", 1.0)):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "law.csv"
        path.write_text(f"weight,theta_1\n0.5,{theta}\n0.5,-1\n", encoding="utf-8")
        labels.append(parse(f"discrete:{path}").label)
    assert labels[0].startswith("discrete:law.csv#")
    assert labels[0] == labels[2] != labels[1]
