import warnings

from sklearn.exceptions import ConvergenceWarning

from mercer.report.fit_warnings import in_plain_words, unsettled


def test_warnings_of_estimators_in_plain_words():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("set max_iter", ConvergenceWarning, stacklevel=1)
        warnings.warn("rows are equal", UserWarning, stacklevel=1)
        warnings.warn("rows are equal", UserWarning, stacklevel=1)
        warnings.warn("old name", FutureWarning, stacklevel=1)
    assert unsettled("a map", caught) == ["The fit of a map was ended before the last details had settled."]
    assert in_plain_words("a map", caught) == ["While fitting a map: rows are equal"]
    assert unsettled("a map", []) == in_plain_words("a map", []) == []
