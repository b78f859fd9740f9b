import numpy as np
import pytest

from mercer.parameters import check_choice, check_count, check_positive, is_number


def test_what_is_right_is_handed_back():
    assert check_count(np.int64(3), "n", "Owner") == 3
    assert check_count(2, "n", "Owner", least=2) == 2
    assert check_positive(np.float32(0.5), "tol", "Owner", "take another") == 0.5
    assert check_choice("a", ("a", "b"), "mode", "Owner") == "a"


@pytest.mark.parametrize("value", [0, -1, 1.0, True, "2", None])
def test_what_is_no_count(value):
    with pytest.raises(ValueError, match=r"n of Owner must be a whole number >= 1, got .*; ask for 1 or more\."):
        check_count(value, "n", "Owner")


def test_another_least_count():
    with pytest.raises(ValueError, match=r"must be a whole number >= 2, got 1; ask for 2 or more\."):
        check_count(1, "n", "Owner", least=2)


@pytest.mark.parametrize("value", [0, -1.0, np.inf, np.nan, True, "1", None])
def test_what_is_no_positive_number(value):
    with pytest.raises(ValueError, match=r"tol of Owner must be a number > 0, got .*; take another\."):
        check_positive(value, "tol", "Owner", "take another")


@pytest.mark.parametrize("value", ["c", None, 1, ["a"]])
def test_what_is_no_choice(value):
    with pytest.raises(ValueError, match=r"mode of Owner must be one of \('a', 'b'\), got .*; choose one of them\."):
        check_choice(value, ("a", "b"), "mode", "Owner")


def test_numbers():
    assert [is_number(value) for value in (1, 0.5, True, np.nan, "1")] == [True, True, False, False, False]
