import numpy as np
import polars as pl
import pytest

from mercer.tables.labels import are_classes, labels_of
from mercer.tables.reading import table_from_frame


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        ([f"name {i}" for i in range(300)], True),
        ([True, False] * 150, True),
        (np.arange(300) % 20, True),
        (np.arange(300) % 26, True),  # letters as numbers
        (np.arange(300), False),
        (np.arange(300) % 40, False),  # hardly any of them twice
        (np.arange(300) % 3 * 1.0, True),
        (np.arange(300) / 10, False),
        (pl.Series(np.arange(300)).cast(pl.Date), False),
    ],
)
def test_labels_that_are_classes(values, classes):
    table = table_from_frame(pl.DataFrame({"label": values}))
    assert are_classes(table.frame["label"]) == classes
    labels, found = labels_of(table, np.arange(300), "label")
    assert found == classes
    assert (labels.dtype == np.float64) != classes


def test_missing_labels():
    table = table_from_frame(pl.DataFrame({"label": [1.0, 2.0, None]}))
    assert labels_of(table, np.arange(3), "label")[0].tolist() == ["1.0", "2.0", "(missing)"]
