from dataclasses import replace

import numpy as np
import pytest

from mercer import UnsupervisedKernelRegression
from mercer.datasets import make_arc, make_spiral
from mercer.manifolds.ukr import training
from mercer.manifolds.ukr.rows import DataRows
from mercer.manifolds.ukr.settings import settings_of
from mercer.manifolds.ukr.training import train

X, ANGLES = make_arc(100, angle=3.0, noise=0.05, random_state=0)


def trained(X, **parameters):
    parameters = UnsupervisedKernelRegression(**{"n_components": 1, "random_state": 0, **parameters}).get_params(
        deep=False
    )
    return train(parameters, settings_of(parameters, len(X)), DataRows(X), None)


def test_the_table_tells_errors_at_the_best_scale():
    result = trained(X, init="isomap")
    table = result.candidates
    assert table["start"] == ["isomap-5", "isomap-8", "isomap-12"]
    best = int(np.argmin(table["objective"]))
    assert result.init == table["start"][best]
    assert result.fit.history[0] == pytest.approx(table["objective"][best])
    assert np.all(np.array(table["leave_one_out_error"]) < np.array(table["objective"]))


def test_methods_are_compared_after_a_short_descent(monkeypatch):
    X, _ = make_spiral(120, random_state=1)
    tried, fit_latent = {}, training.fit_latent

    def noting(objective, start, **options):
        fit = fit_latent(objective, start, **options)
        if options["max_iter"] == training._SHORT:
            tried[fit.history[0]] = fit.objective
        return fit

    monkeypatch.setattr(training, "fit_latent", noting)
    result = trained(X, init="auto", max_iter=40)
    table = {name: np.array(column) for name, column in result.candidates.items()}
    methods = np.array([name.partition("-")[0] for name in table["start"]])
    compared = ~np.isnan(table["descended"])
    assert sorted(methods[compared]) == sorted(set(methods)) == ["eigenmaps", "isomap", "lle", "pca"]
    for i in np.flatnonzero(compared):  # the best of its method
        assert table["objective"][i] == min(table["objective"][methods == methods[i]])
    np.testing.assert_allclose(sorted(table["descended"][compared]), sorted(tried.values()), rtol=1e-12)
    assert result.init == table["start"][np.nanargmin(table["descended"])]


def test_an_interrupted_descent_ends_the_comparison(monkeypatch):
    fit_latent, calls = training.fit_latent, []

    def interrupting(*arguments, **options):
        calls.append(1)
        fit = fit_latent(*arguments, **options)
        return replace(fit, status="interrupted") if len(calls) == 2 else fit

    monkeypatch.setattr(training, "fit_latent", interrupting)
    result = trained(X, init="auto", max_iter=5)
    assert np.sum(~np.isnan(result.candidates["descended"])) == 1
    assert result.init == result.candidates["start"][int(np.nanargmin(result.candidates["descended"]))]


def test_an_interrupt_ends_the_comparison(monkeypatch):
    grid_scale, calls = training.grid_scale, []

    def interrupting(*arguments):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return grid_scale(*arguments)

    monkeypatch.setattr(training, "grid_scale", interrupting)
    result = trained(X, init="isomap")
    assert result.candidates["start"] == ["isomap-5"]
    monkeypatch.setattr(training, "grid_scale", lambda *arguments: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        trained(X, init="isomap")


def test_no_start_at_all_is_an_error(monkeypatch):
    monkeypatch.setattr(training, "candidates", lambda *arguments: {})
    with pytest.raises(ValueError, match="init of .* must give finite coordinates that differ, got none from 'lle-5'"):
        trained(X, init="lle-5")


@pytest.mark.parametrize("init", ["isomap-8", ANGLES[:, None]], ids=["isomap", "given"])
@pytest.mark.parametrize("density_kernel", ["gaussian", "quartic"])
def test_starts_on_a_sample_are_like_those_on_all_rows(monkeypatch, init, density_kernel):
    whole = trained(X, init=init, density_kernel=density_kernel)
    monkeypatch.setattr(training, "_START_ROWS", 60)
    sampled = trained(X, init=init, density_kernel=density_kernel)
    assert not sampled.objective.isolated(sampled.fit.Z).any()
    ratio = np.ptp(sampled.fit.Z) / np.ptp(whole.fit.Z)
    assert 0.5 < ratio < 2
    assert sampled.fit.objective < 2 * whole.fit.objective


def test_an_interrupted_homotopy_is_the_fit(monkeypatch):
    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("mercer.manifolds.ukr.objective.LatentObjective.density", interrupt)
    result = trained(X, init="pca", homotopy=True)
    assert result.fit.status == "interrupted"
    assert result.fit.n_iter == 0
