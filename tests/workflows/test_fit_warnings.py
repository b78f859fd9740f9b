import warnings

from sklearn.exceptions import ConvergenceWarning

from mercer.workflows.fit_warnings import in_plain_words, unsettled


def test_warnings_of_estimators_in_plain_words():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("set max_iter", ConvergenceWarning, stacklevel=1)
        for _ in range(2):
            warnings.warn("The graph has 2 parts (part_of_), joined now; raise n_neighbors.", UserWarning, stacklevel=1)
        warnings.warn("old name", FutureWarning, stacklevel=1)
    assert unsettled("a map", caught) == ["The fit of a map was ended before the last details had settled."]
    assert in_plain_words("a map", caught) == ["While fitting a map: the graph has 2 parts, joined now."]
    assert unsettled("a map", []) == in_plain_words("a map", []) == []
