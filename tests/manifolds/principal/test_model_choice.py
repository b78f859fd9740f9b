import itertools

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.decomposition import PCA

from mercer import PrincipalManifold
from mercer.datasets import make_arc, make_s_sheet, make_spiral, make_torus
from mercer.kernels import Gaussian
from mercer.manifolds import LatentBasis, LatentSpace
from mercer.manifolds.principal.model_choice import PENALTIES, WIDTHS, ModelChoice

BOX = np.linspace(-1, 1, 1000)[:, None]


def noise(seed):
    return np.random.default_rng(seed).normal(size=(100, 5))


def line(seed):
    rng = np.random.default_rng(seed)
    return np.outer(rng.uniform(-1, 1, 100), rng.normal(size=5)) + 0.1 * rng.normal(size=(100, 5))


def spiral_error(seed, **parameters):
    """Rank correlation with the true order, and mean squared distance from the true curve."""
    t = np.linspace(0, 1, 2000)
    truth = (0.2 + t)[:, None] * np.column_stack([np.cos(4 * np.pi * t), np.sin(4 * np.pi * t)])
    X, t = make_spiral(300, random_state=seed)
    model = PrincipalManifold(1, random_state=0, **parameters).fit(X)
    distances = cdist(model.inverse_transform(BOX), truth).min(axis=1)
    return abs(spearmanr(model.embedding_[:, 0], t)[0]), np.mean(distances**2)


def test_spiral():
    rank, distance = spiral_error(0, width=0.28)
    assert rank >= 0.99
    assert distance < 0.0005


@pytest.mark.slow
def test_spirals():
    results = np.array([spiral_error(seed) for seed in range(20)])
    assert np.sum((results[:, 0] >= 0.99) & (results[:, 1] < 0.0005)) >= 18


def test_settings_are_followed_while_held_out_rows_get_likelier():
    X, t = make_spiral(700, random_state=4)
    model = PrincipalManifold(1, init="isomap", random_state=0).fit(X)
    table = {name: np.array(column) for name, column in model.candidates_.items()}
    assert np.isfinite(table["held_out"]).all()
    best = np.argmax(table["held_out"])
    assert table["width"][best] == model.kernel_.width
    assert table["penalty"][best] == model.penalty_
    # Narrower and wider kernels, and smaller and larger penalties, were tried beside the best.
    settings = set(zip(table["width"][2:], table["penalty"][2:], strict=True))
    width, penalty = WIDTHS[0].index(model.kernel_.width), PENALTIES.index(model.penalty_)
    beside = [(w, penalty) for w in (width - 1, width + 1) if 0 <= w < len(WIDTHS[0])]
    beside += [(width, p) for p in (penalty - 1, penalty + 1) if 0 <= p < len(PENALTIES)]
    assert settings >= {(WIDTHS[0][w], PENALTIES[p]) for w, p in beside}
    assert abs(spearmanr(model.embedding_[:, 0], t)[0]) >= 0.99


@pytest.mark.parametrize(("n", "n_judged"), [(60, 60), (400, 160), (900, 180)])
def test_few_rows_are_held_out_in_more_folds(n, n_judged):
    X, _ = make_arc(n, angle=3.0, noise=0.05, random_state=0)
    space = LatentSpace(("interval",))
    choice = ModelChoice(
        X, X, lambda space, width: LatentBasis(space, Gaussian(0.5), (5,)), lambda space: {"first": X[:, :1]},
        [[space]], widths=[0.5], penalties=[1e-3], soft=True, random_state=0,
    )  # fmt: skip
    best, _ = choice.choose()
    assert best.rung == "manifold"
    assert {len(candidate.log_densities) for candidate in choice.candidates} == {n_judged}


def test_refuses_noise():
    X = noise(0)
    model = PrincipalManifold(1, random_state=0).fit(X)
    assert model.chosen_.startswith("the mean; not 1 principal components")
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), np.tile(X.mean(axis=0), (len(X), 1)))
    assert model.init_ == "mean"
    assert model.noise_variance_ == pytest.approx(X.var(axis=0).mean(), rel=1e-6)


def test_keeps_principal_components_of_a_line():
    X = line(0)
    model = PrincipalManifold(1, random_state=0).fit(X)
    assert "; 1 principal components (+" in model.chosen_
    assert "; not a curve" in model.chosen_
    pca = PCA(1).fit(X)
    inner = np.abs(model.embedding_[:, 0]) < 1
    expected = pca.inverse_transform(pca.transform(X))
    np.testing.assert_allclose(model.inverse_transform(model.transform(X))[inner], expected[inner], atol=1e-6)
    table = model.candidates_
    assert set(table) == {"rung", "n_components", "topology", "width", "penalty", "start", "held_out"}
    assert {len(column) for column in table.values()} == {len(table["rung"])}
    assert np.isfinite(table["held_out"]).all()


@pytest.mark.slow
@pytest.mark.parametrize(("make", "rungs"), [(noise, ("mean", "pca")), (line, ("pca",))])
def test_flat_models_are_kept(make, rungs):
    kept = [PrincipalManifold(1, random_state=0).fit(make(seed)).init_ in rungs for seed in range(10)]
    assert sum(kept) >= 9


@pytest.mark.slow
def test_finds_the_dimension_of_a_sheet():
    X, _ = make_s_sheet(300, n_columns=10, random_state=0)
    assert PrincipalManifold("auto", random_state=0).fit(X).embedding_.shape == (300, 2)


def arc(angle, noise):
    t = np.linspace(0, angle, 1000)
    return 1, make_arc(300, angle=angle, noise=noise, random_state=0)[0], np.column_stack([np.cos(t), np.sin(t)])


def spiral(noise):
    t = np.linspace(0, 1, 1000)
    truth = (0.2 + t)[:, None] * np.column_stack([np.cos(4 * np.pi * t), np.sin(4 * np.pi * t)])
    return 1, make_spiral(300, noise=noise, random_state=0)[0], truth


def sheet(noise):
    X, _ = make_s_sheet(300, noise=noise, random_state=0)
    return 2, X, make_s_sheet(4000, noise=0.0, random_state=1)[0]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*did not converge:sklearn.exceptions.ConvergenceWarning")
def test_near_the_best_of_the_grid():
    ratios = []
    arcs = [arc(*setting) for setting in ((4.0, 0.05), (4.0, 0.15), (4.0, 0.3), (2.0, 0.1), (6.0, 0.1))]
    for q, X, truth in [*arcs, spiral(0.03), spiral(0.05), sheet(0.05), sheet(0.15)]:
        box = BOX if q == 1 else np.stack(np.meshgrid(*[np.linspace(-1, 1, 60)] * 2), axis=-1).reshape(-1, 2)
        distances = []
        for width, penalty in [("auto", "auto"), *itertools.product(WIDTHS[q - 1], PENALTIES)]:
            model = PrincipalManifold(q, width=width, penalty=penalty, assignment="soft", random_state=0)
            images = model.set_params(init="auto" if width == "auto" else "isomap").fit(X).inverse_transform(box)
            # Both ways: a manifold that is too small is near to the truth.
            both = cdist(images, truth)
            distances.append(np.sqrt(np.mean(both.min(axis=1) ** 2) + np.mean(both.min(axis=0) ** 2)))
        ratios.append(distances[0] / min(distances))
    assert np.exp(np.mean(np.log(ratios))) <= 1.5


def test_number_of_coordinates():
    X, _ = make_arc(80, angle=3.0, noise=0.05, random_state=0)
    model = PrincipalManifold("auto", width=0.5, penalty=1e-3, random_state=0, init="isomap").fit(X)
    assert model.embedding_.shape == (80, 1)
    assert "a curve" in model.chosen_
    with pytest.raises(
        ValueError, match="topology of PrincipalManifold must be one word for all if n_components is 'a"
    ):
        PrincipalManifold("auto", topology=("circle",)).fit(X)


@pytest.mark.parametrize("assignment", ["auto", "hard"])
def test_penalty_of_closed_curves(assignment):
    X, _ = make_arc(100, noise=0.1, random_state=0)
    model = PrincipalManifold(1, topology="circle", width=0.5, init="pca", assignment=assignment, random_state=0).fit(X)
    radius = np.linalg.norm(model.inverse_transform(BOX), axis=1)
    assert abs(radius.mean() - 1) < 0.03
    assert radius.std() < 0.05
    assert model.assignment_ == ("both" if assignment == "auto" else "hard")
    assert set(model.candidates_["width"][1:]) == {0.5}


def test_missing_entries():
    X, _ = make_arc(60, angle=3.0, noise=0.05, random_state=0)
    X[::7, 0] = np.nan
    model = PrincipalManifold(1, width=0.5, init="isomap", random_state=0).fit(X)
    assert model.assignment_ in ("soft", "both")
    assert np.isfinite(model.log_likelihood(X)).all()
    hard = PrincipalManifold(1, width=0.5, init="isomap", assignment="hard", random_state=0).fit(X)
    assert hard.assignment_ == "hard"
    X_new, _ = make_arc(300, angle=3.0, noise=0.05, random_state=1)
    assert model.log_likelihood(X_new).mean() > hard.log_likelihood(X_new).mean() - 0.05


def test_rules_for_few_rows_and_other_costs():
    X, _ = make_arc(60, angle=3.0, noise=0.05, random_state=0)
    for model in (PrincipalManifold(1).fit(X[:49]), PrincipalManifold(1, cost="huber").fit(X)):
        assert model.chosen_ == "as given, or by rule"
        assert model.candidates_ == {}
        assert model.assignment_ == "hard"
    with pytest.raises(
        ValueError, match="assignment of PrincipalManifold must be 'hard' for other costs than 'squared'"
    ):
        PrincipalManifold(1, cost="huber", assignment="soft").fit(X)
    with pytest.raises(ValueError, match="assignment of PrincipalManifold must be one of .* got 'firm'"):
        PrincipalManifold(1, assignment="firm").fit(X)


def test_many_rows_and_warm_start():
    X, t = make_arc(800, angle=3.0, noise=0.05, random_state=0)
    model = PrincipalManifold(1, width=0.5, init="isomap", random_state=0, warm_start=True).fit(X)
    assert len(model.embedding_) == 800
    assert abs(spearmanr(model.embedding_[:, 0], t)[0]) > 0.99
    model.fit(X)
    assert model.init_ == "warm_start"
    assert model.assignment_ == "both"


def test_end_of_soft_fits():
    X, _ = make_arc(400, angle=4.0, noise=0.05, random_state=0)
    options = {"width": 0.5, "init": "isomap", "random_state": 0}
    soft, both, auto = (PrincipalManifold(1, assignment=a, **options).fit(X) for a in ("soft", "both", "auto"))
    assert (soft.assignment_, both.assignment_, auto.assignment_) == ("soft", "both", "both")
    np.testing.assert_array_equal(auto.embedding_, both.embedding_)
    assert both.objective_ < soft.objective_
    # EM, and the density that it has found, are not touched.
    assert both.history_ == soft.history_
    np.testing.assert_array_equal(both.log_likelihood(X), soft.log_likelihood(X))
    np.testing.assert_array_equal(both.sample(5, random_state=0), soft.sample(5, random_state=0))
    new, _ = make_arc(5000, angle=4.0, noise=0.05, random_state=1)
    assert both.score(new) > soft.score(new)


def test_much_noise_has_no_hard_end():
    X, _ = make_arc(400, noise=0.4, random_state=0)
    model = PrincipalManifold(1, topology="circle", width=0.5, init="pca", random_state=0).fit(X)
    assert model.assignment_ == "soft"
    radius = np.linalg.norm(model.inverse_transform(BOX), axis=1)
    assert abs(radius.mean() - 1) < 0.1


@pytest.mark.parametrize("options", [{"width": [0.5, 0.8]}, {"kernel": Gaussian(0.6)}], ids=["widths", "kernel"])
def test_penalty_alone(options):
    X, _ = make_s_sheet(80, random_state=0)
    model = PrincipalManifold(2, init="isomap", random_state=0, **options).fit(X)
    assert "a surface of width 0.5, 0.8 and" in model.chosen_ or "a surface of width auto and" in model.chosen_


def test_callback_during_the_choice():
    X, _ = make_arc(100, angle=3.0, noise=0.05, random_state=0)
    seen = []
    PrincipalManifold(1, width=0.5, init="isomap", random_state=0, callback=lambda *told: seen.append(told)).fit(X)
    assert [n for n, _ in seen][:5] == [1, 2, 3, 4, 5]
    assert all(fit.Z.shape == (100, 1) for _, fit in seen)
    model = PrincipalManifold(1, init="isomap", random_state=0, callback=lambda n_iter, fit: True).fit(X)
    assert model.status_ == "interrupted"
    assert model.chosen_.startswith("interrupted: ")


def test_likelihood_and_samples():
    X, _ = make_arc(200, angle=3.0, noise=0.1, random_state=0)
    model = PrincipalManifold(1, width=0.5, penalty=1e-3, init="isomap", assignment="soft").fit(X)
    assert model.noise_variance_ == pytest.approx(0.01, rel=0.3)
    new, _ = make_arc(200, angle=3.0, noise=0.1, random_state=1)
    assert model.log_likelihood(new).shape == (200,)
    far = model.log_likelihood(new + 1).mean()
    assert far < model.log_likelihood(new).mean()
    drawn = model.sample(500, random_state=0)
    assert abs(model.log_likelihood(drawn).mean() - model.log_likelihood(new).mean()) < 0.2
    np.testing.assert_array_equal(drawn, model.sample(500, random_state=0))
    with pytest.raises(ValueError, match="n_samples of PrincipalManifold must be a whole number >= 1, got 0"):
        model.sample(0)


def test_interruption_and_progress(monkeypatch, capsys):
    X, _ = make_arc(100, angle=3.0, noise=0.05, random_state=0)
    from mercer.manifolds.principal.choice import folds

    calls = []

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) > 14:  # more than the five folds of a candidate
            raise KeyboardInterrupt
        return soft_map(*arguments, **options)

    soft_map = folds.soft_map
    monkeypatch.setattr(folds, "soft_map", interrupted)
    model = PrincipalManifold(1, verbose=True, random_state=0).fit(X)
    assert model.status_ == "interrupted"
    assert model.chosen_.startswith("interrupted: a curve")
    assert model.transform(X).shape == (100, 1)
    assert "Model choice" in capsys.readouterr().err


def seen_from_all_sides(n_sides=72, n_columns=60):
    """Rows on a loop that winds through many columns, as pictures of a thing that turns do."""
    angles = 2 * np.pi * np.arange(n_sides) / n_sides
    waves = np.column_stack([wave(k * angles) / k for k in range(1, 6) for wave in (np.cos, np.sin)])
    return waves @ np.random.default_rng(0).normal(size=(10, n_columns))


def test_a_thing_seen_from_72_sides_is_a_circle():
    X = seen_from_all_sides()
    model = PrincipalManifold(1, topology="auto", random_state=0).fit(X)
    assert model.topology_ == ("circle",)
    steps = np.diff(np.append(model.embedding_[:, 0], model.embedding_[0, 0]))
    steps = (steps + 1) % 2 - 1
    assert abs(steps.sum()) == pytest.approx(2)  # once around
    assert (steps > 0).all() or (steps < 0).all()
    assert set(model.candidates_["topology"]) == {("interval",), ("circle",)}
    again = PrincipalManifold(1, topology="auto", random_state=0, warm_start=True).fit(X)
    assert again.fit(X).init_ == "warm_start"
    assert again.topology_ == ("circle",)
    assert again.set_params(n_components=2, topology=("circle", "interval"), width=0.5).fit(X).init_ != "warm_start"
    assert again.set_params(n_components=1, topology="auto").fit(X).topology_ == ("circle",)


def test_an_open_curve_is_none():
    X, _ = make_arc(150, angle=4.0, noise=0.1, random_state=0)
    assert PrincipalManifold(1, topology="auto", width=0.5, random_state=0).fit(X).topology_ == ("interval",)


@pytest.mark.slow
def test_topologies_of_surfaces():
    sheet, torus = make_s_sheet(400, random_state=0)[0], make_torus(800, random_state=0)[0]
    assert PrincipalManifold(2, topology="auto", random_state=0).fit(sheet).topology_ == ("interval", "interval")
    assert PrincipalManifold(2, topology="auto", random_state=0).fit(torus).topology_[0] == "circle"


def test_topology_by_rule_where_there_is_no_choice():
    X, _ = make_arc(40, random_state=0)
    assert PrincipalManifold(1, topology="auto").fit(X).topology_ == ("interval",)


def test_surfaces_of_many_rows_have_narrower_kernels(monkeypatch):
    from mercer.manifolds.principal import training

    monkeypatch.setattr(training, "TUNING", training.TrainingTuning(choice_rows=100))
    X, _ = make_s_sheet(400, random_state=0)
    model = PrincipalManifold(2, penalty=1e-3, init="isomap", random_state=0).fit(X)
    chosen = model.candidates_["width"][int(np.argmax(model.candidates_["held_out"]))]
    assert model.kernel_.width == pytest.approx(chosen * 4 ** (-1 / 6))
    assert model.penalty_ == pytest.approx(1e-3 / 4)
    given = PrincipalManifold(2, width=0.5, init="isomap", random_state=0).fit(X)
    assert given.kernel_.width == 0.5


@pytest.mark.parametrize("turned", [0, 1])
def test_a_loop_on_a_map_of_two_coordinates_is_no_torus(turned):
    rng = np.random.default_rng(turned)
    a = rng.uniform(0, 2 * np.pi, 500)
    axes = np.linalg.qr(rng.normal(size=(8, 3)))[0]
    X = np.column_stack([np.cos(a), np.sin(a), 0.3 * np.cos(2 * a)]) @ axes.T + 0.05 * rng.normal(size=(500, 8))
    model = PrincipalManifold(2, topology="auto", random_state=0).fit(X)
    assert model.topology_ != ("circle", "circle")
    assert model.embedding_.shape == (500, 2)
    assert PrincipalManifold(1, topology="auto", random_state=0).fit(X).topology_ == ("circle",)
