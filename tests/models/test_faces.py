"""Properties of the activations, and the loss."""

import numpy as np
import pytest
import sympy
from hypothesis import given
from hypothesis import strategies as st

from replica.models.losses.square import Square
from replica.registry import ACTIVATIONS, load

pytestmark = pytest.mark.nojit

scores = st.lists(st.floats(-40, 40), min_size=1, max_size=5)


@pytest.mark.parametrize("name", [name for name in sorted(ACTIVATIONS) if name in ("softmax", "softplus")])
@given(chi=scores)
def test_normalised_weights_are_a_law(name, chi):
    sigma = load(ACTIVATIONS, "activation", name)().sigma(np.array(chi))
    assert sigma.sum() == pytest.approx(1, rel=1e-12)
    assert (sigma >= 0).all()


@given(chi=scores, shift=st.floats(-500, 500))
def test_softmax_does_not_see_a_common_shift(chi, shift):
    softmax = load(ACTIVATIONS, "activation", "softmax")()
    np.testing.assert_allclose(
        softmax.sigma(np.array(chi) + shift), softmax.sigma(np.array(chi)), rtol=1e-9, atol=1e-300
    )


def test_square_loss():
    y, f = sympy.symbols("y f")
    loss = Square().expression(y, f)
    assert loss.subs({y: 3, f: 1}) == 2
    assert sympy.simplify(loss.diff(f) + (y - f)) == 0
