import pytest


@pytest.fixture
def labels():
    """What the legend of some axes says."""
    return lambda ax: [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.fixture
def drawn_clear_of_legend():
    """Whether no scattered point lies under the legend."""

    def check(ax):
        ax.figure.draw_without_rendering()
        box = ax.get_legend().get_window_extent()
        return not any(
            box.contains(*ax.transData.transform(point))
            for collection in ax.collections
            for point in collection.get_offsets()
            if len(collection.get_offsets()) > 1
        )

    return check
