"""What scikit-learn's own tests expect of its configuration of pytest."""

import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "no_check_spmatrix: scikit-learn's, without meaning here")


@pytest.fixture
def global_random_seed():
    """The seed that scikit-learn takes if none is asked for."""
    return 42
