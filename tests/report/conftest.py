import shutil

import numpy as np
import polars as pl
import pytest

from mercer.report import MapSettings, make_map, map_files, table_from_frame


@pytest.fixture(scope="session")
def curved_map():
    """A map of a bent sheet with a label, a date and a name, fast."""
    rng = np.random.default_rng(0)
    T = rng.uniform(-1, 1, size=(120, 2))
    columns = {"x": T[:, 0], "y": T[:, 1], "z": T[:, 0] ** 2 - T[:, 1], "w": T[:, 0] * T[:, 1]}
    frame = pl.DataFrame({name: values + 0.05 * rng.normal(size=120) for name, values in columns.items()})
    names = [f"<b>row</b> {i}" for i in range(120)]
    frame = frame.with_columns(name=pl.Series(names), kind=pl.Series(np.where(T[:, 0] > 0, "right", "left")))
    return make_map(table_from_frame(frame, "sheet.csv"), MapSettings(method="kpca"), label="kind")


@pytest.fixture(scope="session")
def map_report(curved_map, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_bytes(map_files(curved_map, "mercer map sheet.csv --label kind")["report.html"])
    return path


@pytest.fixture(scope="session")
def browser():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("there is no Chromium on this system")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        # Inside containers there are no user namespaces for the sandbox; the page is our own.
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser):
    """Opens reports from files, without a network; any message on the console is a failure."""
    contexts, said = [], []

    def opened(path, *, colours="light", width=1100):
        context = browser.new_context(offline=True, color_scheme=colours, viewport={"width": width, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_function("document.getElementById('map').dataset.zoom")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert said == []


@pytest.fixture(params=["light", "dark"])
def page(open_page, map_report, request):
    return open_page(map_report, colours=request.param)


@pytest.fixture
def open_map(open_page, tmp_path):
    """Opens the report of a map."""

    def opened(result, **how):
        path = tmp_path / "report.html"
        path.write_bytes(map_files(result, "mercer map")["report.html"])
        return open_page(path, **how)

    return opened
