import numpy as np
import polars as pl
import pytest

from mercer.report import LearningProblem, MachineSettings, fit_machine, table_from_frame


def drawn(n, d, rng):
    """Rows whose targets have a noise that doubles half-way."""
    X = rng.uniform(-3, 3, size=(n, d))
    signal = np.sinc(X[:, 0]) if d == 1 else np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2]
    return X, signal + (0.2 + 0.2 * (X[:, 0] > 0)) * rng.normal(size=n)


def frame(X, y):
    return pl.DataFrame({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, "y": y})


@pytest.mark.parametrize(("n", "d"), [(40, 1), (40, 6), (120, 6)])
def test_bands_hold_their_share_of_new_rows_also_with_few_rows(n, d):
    shares = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        problem = LearningProblem.read(table_from_frame(frame(*drawn(n, d, rng))), "y")
        model = fit_machine(problem, MachineSettings(kernel="gaussian", band=0.8)).model
        X, y = drawn(1000, d, rng)
        low, high = (
            model.predict(model.schema.matrix(frame(X, y))[0])[f"y_{end}"].to_numpy() for end in ("low", "high")
        )
        shares.append(np.mean((low <= y) & (y <= high)))
    # Without a margin bands of so few rows are far too narrow.
    assert 0.72 < np.mean(shares) < 0.92
