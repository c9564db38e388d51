"""Special functions and their derivatives, through the lowered code, against mpmath out to |x| = 1000."""

import functools
import math

import mpmath
import numpy as np
import pytest
import sympy

from replica.equations.functions import OPAQUE, log_sum_exp
from tests.lowering.generated import lowered

pytestmark = pytest.mark.nojit

ORDERS = (0, 1, 2)
SIZES = (0.0, 1e-12, 1e-5, 0.3, 1.0, 2.5, 4.99, 5.01, 9.99, 10.01, 19.0, 36.5, 38.5, 100.0, 360.0, 709.5, 746.0, 1e3)
POINTS = sorted({sign * size for size in SIZES for sign in (-1, 1)})


@functools.cache
def exact(x):
    """By name, value and two derivatives in 60 digits, written out by hand."""
    with mpmath.workdps(60):
        x = mpmath.mpf(x)
        s, plus = 1 / (1 + mpmath.exp(-x)), mpmath.log1p(mpmath.exp(x))
        pdf, cdf, above = mpmath.npdf(x), mpmath.erfc(-x / mpmath.sqrt(2)) / 2, mpmath.erfc(x / mpmath.sqrt(2)) / 2
        h = pdf / cdf
        slope = -h * (x + h)
        ds = s / (1 + mpmath.exp(x))
        ratio = s / plus
        d_ratio = ratio * (1 / (1 + mpmath.exp(x)) - ratio)
        return {
            "sigmoid": (s, ds, ds * (1 - 2 * s)),
            "softplus": (plus, s, ds),
            "normal_pdf": (pdf, -x * pdf, (x * x - 1) * pdf),
            "normal_cdf": (cdf, pdf, -x * pdf),
            "inverse_mills": (h, slope, -slope * (x + h) - h * (1 + slope)),
            "log_ndtr": (mpmath.log1p(-above) if x > 0 else mpmath.log(cdf), h, slope),
            "log_softplus": (mpmath.log(plus), ratio, d_ratio),
            "softplus_slope": (ratio, d_ratio, d_ratio * (1 / (1 + mpmath.exp(x)) - 2 * ratio) - ratio * ds),
        }


@pytest.fixture(scope="module")
def values(tmp_path_factory):
    """All functions and derivatives in one generated function."""
    x = sympy.Symbol("x", real=True)
    outputs = {f"{kind.__name__}_{order}": kind(x).diff(x, order) for kind in OPAQUE for order in ORDERS}
    module = lowered(tmp_path_factory.mktemp("leaves"), outputs, ["x"])
    return lambda point: dict(zip(outputs, module.f(point), strict=True))


# derivatives that are small differences of their parts at -inf: each cancellation costs a factor x^2
CANCEL = {("inverse_mills", 1): 1, ("inverse_mills", 2): 2, ("log_ndtr", 2): 1}
CANCEL |= {("log_softplus", 2): 0, ("softplus_slope", 1): 0, ("softplus_slope", 2): 0}


@pytest.mark.parametrize("point", POINTS)
def test_value_and_derivatives(values, point):
    found = values(float(point))
    for kind in OPAQUE:
        name = kind.__name__
        for order, expected in zip(ORDERS, map(float, exact(point)[name]), strict=True):
            # rounding x^2/2 in an exponential
            allowed = (4e-15 + 3e-16 * point**2) * abs(expected) + (1e-307 if abs(point) > 0.1 else 1e-17)
            if point < 0 and (name, order) in CANCEL:
                allowed = 1e-15 * (1 + 4 * point**2) ** CANCEL[name, order] * (1 + abs(expected))
            assert math.isfinite(found[f"{name}_{order}"])
            assert abs(found[f"{name}_{order}"] - expected) <= allowed, (name, order)


@pytest.mark.parametrize("kind", OPAQUE, ids=lambda kind: kind.__name__)
def test_sympy_knows_the_value(kind):
    for point in (-3.7, 0.0, 2.2):
        exact_value = exact(point)[kind.__name__][0]
        assert float(kind(sympy.Float(point, 30)).evalf(25)) == pytest.approx(float(exact_value), rel=1e-15)


def test_values_far_out_are_not_those_of_the_naive_formulas(values):
    """Where the textbook formulas are nan, zero or infinite, the leaves are not."""
    far = values(-700.0)
    assert 0 < far["sigmoid_1"] < 1e-300
    assert far["softplus_0"] == far["sigmoid_0"] > 0
    assert far["log_ndtr_0"] == pytest.approx(-245007.4, rel=1e-6)
    assert values(360.0)["sigmoid_2"] == pytest.approx(-math.exp(-360.0), rel=1e-12)
    assert values(-360.0)["sigmoid_2"] == pytest.approx(math.exp(-360.0), rel=1e-12)


def test_log_sum_exp(tmp_path):
    """Any number of arguments, values and softmax derivatives, out to where e^x overflows."""
    x = sympy.symbols("x0:3", real=True)
    total = log_sum_exp(*x)
    outputs = {"value": total, **{f"d{i}": total.diff(x[i]) for i in range(3)}, "d01": total.diff(x[0], x[1])}
    module = lowered(tmp_path, outputs, ["x0", "x1", "x2"])
    for point in ((0.0, 0.0, 0.0), (1.0, -2.0, 0.5), (1e3, 999.0, -1e3), (-1e3, -1001.0, -998.0)):
        with mpmath.workdps(30):
            weights = [mpmath.exp(mpmath.mpf(value) - max(point)) for value in point]
            norm = mpmath.fsum(weights)
            p = [weight / norm for weight in weights]
            expected = [max(point) + mpmath.log(norm), *p, -p[0] * p[1]]
        np.testing.assert_allclose(module.f(*point), [float(value) for value in expected], rtol=1e-12, atol=1e-300)
