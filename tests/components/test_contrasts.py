import numpy as np
import pytest
from scipy.stats import kurtosis

from mercer.components import contrasts

rng = np.random.default_rng(0)


def test_contrasts_agree_with_references():
    F = rng.normal(size=(500, 3)) ** 3
    F -= F.mean(axis=0)
    np.testing.assert_allclose(contrasts.kurtosis(F), F.var(axis=0) * np.sqrt(np.abs(kurtosis(F))), rtol=1e-10)
    gaussian = np.random.default_rng(0).normal(size=(10**6, 1))
    assert contrasts.negentropy(gaussian)[0] < 1e-3
    g = F / F.std(axis=0)
    expected = np.abs(np.mean(np.log(np.cosh(g)), axis=0) - np.mean(np.log(np.cosh(gaussian))))
    np.testing.assert_allclose(contrasts.negentropy(F), F.var(axis=0) * expected, rtol=1e-2)
    assert np.all(contrasts.negentropy(np.zeros((5, 2))) == 0)
    assert np.all(np.isfinite(contrasts.negentropy(1e4 * F)))


@pytest.mark.parametrize("name", contrasts.CONTRASTS)
def test_contrasts_are_in_units_of_the_variance(name):
    F = rng.exponential(size=(200, 3)) - 1.0
    contrast = contrasts.as_contrast("Owner", name)
    np.testing.assert_allclose(contrast(5.0 * F), 25.0 * contrast(F))


def test_own_functions_are_checked():
    F = rng.normal(size=(20, 3))
    np.testing.assert_array_equal(contrasts.as_contrast("Owner", lambda F: list(F[0]))(F), F[0])
    with pytest.raises(ValueError, match="contrast of Owner must be one of .* or a function, got 3; a function takes"):
        contrasts.as_contrast("Owner", 3)
    with pytest.raises(ValueError, match=r"must return one number for each of 3 columns, got shape \(20,\)"):
        contrasts.as_contrast("Owner", lambda F: F.mean(axis=1))(F)
    for bad, shown in ((np.nan, "nan"), (-np.inf, "-inf")):
        with pytest.raises(ValueError, match=f"contrast of Owner must return finite numbers, got {shown};"):
            contrasts.as_contrast("Owner", lambda F, bad=bad: np.array([1.0, bad, 2.0]))(F)
