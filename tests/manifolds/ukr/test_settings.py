import pytest

from mercer import UnsupervisedKernelRegression
from mercer.manifolds.ukr.fitting import THRESHOLDS
from mercer.manifolds.ukr.settings import automatic_n_excluded, settings_of


def settings(n_rows=400, **parameters):
    return settings_of(UnsupervisedKernelRegression(**parameters), n_rows)


@pytest.mark.parametrize(
    ("n_rows", "q", "expected"),
    [
        (4, 1, 1),
        (20, 1, 2),
        (100, 1, 5),
        (300, 1, 7),
        (1000, 1, 20),
        (3000, 1, 20),
        (300, 2, 5),
        (1000, 2, 6),
        (3000, 2, 18),
        (24_000, 2, 72),  # rows within reach grow as N^(2/3)
        (96_000, 1, 320),  # and as N^(4/5)
    ],
)
def test_neighbours_that_are_left_out(n_rows, q, expected):
    assert automatic_n_excluded(n_rows, q) == expected
    assert settings(n_rows, n_components=q, init="pca").n_excluded == expected


@pytest.mark.parametrize(
    ("n_rows", "n_excluded", "q", "expected"),
    [
        (3000, 60, 1, 60),
        (3300, 60, 1, 56),  # 60 (3000 / 3300)^(4/5)
        (24_000, 60, 2, 15),  # 60 (1 / 8)^(2/3)
        (96_000, 1, 1, 1),
        (30_000, 29_997, 2, 2997),
        (24_000, "auto", 2, 18),
        (96_000, "auto", 1, 20),
    ],
)
def test_a_part_of_the_rows_leaves_out_the_share_within_reach(n_rows, n_excluded, q, expected):
    given = settings(n_rows, n_components=q, n_excluded=n_excluded, init="pca")
    assert given.n_excluded_of_part(3000, n_rows) == expected
    assert settings(n_rows, n_components=q, objective="leave_one_out").n_excluded_of_part(3000, n_rows) == 0


def test_of_very_many_rows_a_fast_fit_regresses_some():
    assert settings(20_000).n_rows == 20_000
    assert (settings(20_001).n_rows, settings(20_001).n_excluded) == (10_000, settings(10_000).n_excluded)
    assert settings(20_001, init="pca").n_rows == 20_001
    with pytest.raises(ValueError, match="n_excluded of .* must leave two rows or more of 10000 to predict from"):
        settings(20_001, n_excluded=9_998)


def test_what_auto_stands_for():
    left_out, single = settings(), settings(objective="leave_one_out")
    assert left_out.n_excluded > single.n_excluded == 0
    assert (left_out.optimizer, single.optimizer) == ("rprop", "rprop+lbfgs")
    assert settings(optimizer="lbfgs").optimizer == "lbfgs"
    assert len(left_out.names) > 5
    assert settings(init=[[0.0, 1.0]]).names == []
    assert left_out.max_iter == 500


def test_thresholds():
    assert settings().thresholds == ()
    assert settings(homotopy=True).thresholds == THRESHOLDS
    assert settings(homotopy=[0.5, 0.2]).thresholds == (0.5, 0.2)
