"""What all kernel features share."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from mercer import KernelFeatureAnalysis, KernelPCA
from mercer.kernels import FromFunction, Gaussian, Precomputed

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 3)) * [1.0, 2.0, 0.5] + 1.0
NEW = rng.normal(size=(15, 3)) + 1.0


def test_a_fitted_model_shares_nothing_with_its_input():
    table, kernel = X.copy(), Gaussian(1.5)
    pca = KernelPCA(3, kernel=kernel)
    scores = pca.fit_transform(table)
    expected = pca.transform(NEW)
    table[:] = 0.0
    scores[:] = 0.0
    pca.set_params(kernel__width=3.0)
    np.testing.assert_array_equal(pca.transform(NEW), expected)
    np.testing.assert_allclose(pca.embedding_, pca.transform(X), atol=1e-10)
    assert pca.kernel_.get_params() == {"width": 1.5}
    words = ["kernel", "kennel", "funnel"]
    of_words = KernelPCA(2, kernel=FromFunction(lambda x, y: len(set(x) & set(y)))).fit(words)
    words[0] = ""
    assert of_words.rows_[0] == "kernel"
    given = KernelPCA(2, kernel=Precomputed()).fit(X @ X.T)
    np.testing.assert_array_equal(given.rows_, np.arange(120))


def test_tables_precisions_and_objects():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    pca = KernelPCA(2).set_output(transform="pandas").fit(frame)
    assert list(pca.transform(frame).columns) == ["kernelpca0", "kernelpca1"]
    single = KernelPCA(2, kernel=Gaussian(1.5)).fit(X.astype(np.float32))
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    for table in (X.astype(np.float32), pd.DataFrame(X.astype(np.float32))):
        assert single.fit_transform(table).dtype == single.transform(table).dtype == np.float32
    assert KernelPCA(2, tol=np.float32(1e-6)).fit_transform(X).dtype == np.float64
    double = KernelPCA(2, kernel=Gaussian(1.5)).fit(X)
    np.testing.assert_allclose(single.transform(X), double.transform(X), atol=1e-5)
    rows = sparse.csr_array(X)
    np.testing.assert_allclose(
        KernelPCA(2, kernel=Gaussian(1.5), remove="linear").fit(rows).transform(rows),
        KernelPCA(2, kernel=Gaussian(1.5), remove="linear").fit(X).transform(X),
        atol=1e-10,
    )
    words = ["kernel", "kennel", "funnel", "colonel", "column"]
    common = FromFunction(lambda x, y: len(set(x) & set(y)))
    assert KernelPCA(2, kernel=common).fit(words).transform(["tunnel"]).shape == (1, 2)


@pytest.mark.parametrize("estimator", [KernelPCA(3), KernelFeatureAnalysis(3)], ids=["pca", "features"])
def test_sparse_rows_of_any_format_and_kernel(estimator):
    estimator.set_params(kernel=FromFunction(lambda x, y: (x @ y.T).toarray(), vectorized=True))
    found = [estimator.fit(table).transform(table) for table in (sparse.csr_array(X), sparse.coo_array(X))]
    np.testing.assert_array_equal(*found)
