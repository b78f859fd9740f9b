"""Tables through the commands: how new rows are read, what rows are called, and what is too much."""

import contextlib
import datetime as dt
import gzip
import io
import json
import os
import re
import threading

import numpy as np
import polars as pl
import pytest

from mercer.cli.exit_codes import ExitCode
from tests.cli.conftest import blob_frame

FAST = ("--method", "pca", "--out", "out")


def output(result):
    return " ".join(result.output.split())


def coordinates(tmp_path, name="c.parquet"):
    return pl.read_parquet(tmp_path / name).select(pl.col("^coordinate_.*$")).to_numpy()


@pytest.mark.parametrize(
    ("header", "lines", "new", "same"),
    [
        ("p,n", ['"1,{:03d}",{}'], '"1,200",3', "1200,3"),
        ("p;n", ["1.{:03d};{},5"], "1.200;3,5", '1200;"3,5"'),
        ("p,n", ["{}.5,{}"], '"1,200",3', "1200.0,3"),
        ("p,n", ['"{},5",{}'], '"1,200",3', '"1,2",3'),
        ("p,n", ["{}%,{}"], "12%,3", "12,3"),
        ("p,n", ["{}/01/2024,{}"], "01/02/2024,3", "2024-02-01,3"),
    ],
    ids=["thousands", "german", "points", "commas", "percent", "days"],
)
def test_new_rows_are_read_as_the_training_rows_were(run, tmp_path, header, lines, new, same):
    rng = np.random.default_rng(0)
    big = rng.choice(np.arange(1, 29), size=20, replace=False)
    body = [lines[0].format(int(x), int(y)) for x, y in zip(big, rng.integers(1, 9, size=20), strict=True)]
    (tmp_path / "t.csv").write_text("\n".join([header, *body]))
    run("map", "t.csv", *FAST)
    for name, row in (("new", new), ("same", same)):
        (tmp_path / f"{name}.csv").write_text(f"{header}\n{row}\n")
        run("apply", "out/model.skops", f"{name}.csv", "--out", f"{name}.parquet")
    np.testing.assert_allclose(coordinates(tmp_path, "new.parquet"), coordinates(tmp_path, "same.parquet"))


def test_options_of_reading_reach_all_commands(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f}^{y:.3f}^{x + y:.3f}".replace(".", ",") for x, y in rng.uniform(1, 9, size=(30, 2))]
    (tmp_path / "t.csv").write_text("\n".join(["a^b^y", *rows]))
    options = ("--separator", "^", "--decimal", ",", "--thousands", ".")
    run("map", "t.csv", *FAST, *options)
    run("apply", "out/model.skops", "t.csv", *options)
    run("fit", "t.csv", "--target", "y", "--out", "machine", *options)
    run("predict", "machine/model.skops", "t.csv", *options)
    run("diagnose", "t.csv", "--target", "y", *options)
    predicted = pl.read_parquet(tmp_path / "t-predictions.parquet")["y"].to_numpy()
    assert 2 < predicted.min() < predicted.max() < 18
    for option, value, words in (
        ("--decimal", ";", "--decimal must be a point or a comma"),
        ("--thousands", "x", "--thousands must be one of"),
        ("--separator", "ab", "--separator must be one character"),
    ):
        assert words in output(run("map", "t.csv", *FAST, option, value, code=ExitCode.USAGE))
    same = run("map", "t.csv", *FAST, "--decimal", ",", "--thousands", ",", code=ExitCode.USAGE)
    assert "--decimal and --thousands must differ" in output(same)


@pytest.mark.parametrize(
    ("trained", "new", "same", "decimal"),
    [
        ("x,z\n{}.5,{}.25\n", "x;z\n1,5;2,25\n", "x,z\n1.5,2.25\n", ","),
        ("x;z\n{},5;{},25\n", "x,z\n1.5,2.25\n", "x;z\n1,5;2,25\n", "."),
    ],
    ids=["points", "commas"],
)
def test_new_rows_with_other_decimal_marks_are_refused(run, tmp_path, trained, new, same, decimal):
    header, row, _ = trained.split("\n")
    rows = [row.format(7 * i % 31, i * i % 29) for i in range(30)]
    (tmp_path / "t.csv").write_text("\n".join([header, *rows]))
    run("map", "t.csv", *FAST)
    run("fit", "t.csv", "--target", "z", "--kernel", "linear", "--out", "machine")
    (tmp_path / "new.csv").write_text(new)
    (tmp_path / "same.csv").write_text(same)
    for command in (("apply", "out/model.skops"), ("predict", "machine/model.skops")):
        said = output(run(*command, "new.csv", "--out", "c.csv", code=ExitCode.INPUT))
        assert f'where the rows of the model had "{"." if decimal == "," else ","}"; give --decimal "{decimal}"' in said
        run(*command, "new.csv", "--decimal", decimal, "--out", "new.parquet", "--force")
        run(*command, "same.csv", "--out", "same.parquet", "--force")
        new_result, same_result = (pl.read_parquet(tmp_path / f"{name}.parquet") for name in ("new", "same"))
        assert new_result.drop("z (given)", strict=False).equals(same_result.drop("z (given)", strict=False))


def test_compact_days_of_new_rows(run, tmp_path):
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=11 * i % 300) for i in range(30)]
    frame = pl.DataFrame({"d": [f"{day:%Y%m%d}" for day in days], "x": [i * i % 17 for i in range(30)]})
    frame.write_csv(tmp_path / "t.csv")
    frame.with_columns(pl.col("d").cast(pl.Int64)).write_parquet(tmp_path / "new.parquet")
    run("map", "t.csv", *FAST)
    for name in ("t.csv", "new.parquet"):
        run("apply", "out/model.skops", name, "--out", f"{name}.places.parquet")
    np.testing.assert_array_equal(
        coordinates(tmp_path, "t.csv.places.parquet"), coordinates(tmp_path, "new.parquet.places.parquet")
    )


def test_all_commands_know_whether_there_is_a_header(run, tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"{x:.3f},{y:.3f},{x + y:.3f}" for x, y in rng.uniform(1, 9, size=(30, 2))]
    (tmp_path / "t.csv").write_text("\n".join(["1.5,2.5,7.25", *lines]))
    run("map", "t.csv", *FAST, "--header")
    run("apply", "out/model.skops", "t.csv", "--header")
    run("fit", "t.csv", "--target", "7.25", "--kernel", "linear", "--out", "machine", "--header")
    run("predict", "machine/model.skops", "t.csv", "--header")
    run("diagnose", "t.csv", "--target", "7.25", "--header", "--out", "diagnosis")
    assert "--header" in json.loads((tmp_path / "diagnosis/summary.json").read_text())["command"]
    assert pl.read_parquet(tmp_path / "t-predictions.parquet").height == 30
    run("map", "t.csv", "--method", "pca", "--out", "other", "--no-header")
    assert json.loads((tmp_path / "other/summary.json").read_text())["n_rows"] == 31
    assert "--no-header" in json.loads((tmp_path / "other/summary.json").read_text())["command"]


def test_empty_names_of_files_are_no_folder(run, blobs):
    for words in (
        ("map", ""), ("fit", "", "--target", "kind"), ("apply", "", "blobs.csv"), ("predict", "m.skops", ""),
        ("map", "blobs.csv", "--out", ""), ("apply", "m.skops", "blobs.csv", "--out", ""), ("demo", "--out", ""),
    ):  # fmt: skip
        said = re.sub(r"[\s│]+", " ", run(*words, code=ExitCode.USAGE).output)
        assert "must be the name of a file or folder, got nothing" in said


def named_frame():
    return blob_frame().with_columns(
        pl.Series("__index_level_0__", [f"row {7 * i % 60}" for i in range(60)]),
        code=pl.Series([f"{7 * i % 60:05d}" for i in range(60)]),
    )


@pytest.mark.parametrize("ending", [".parquet", ".csv"])
def test_rows_keep_their_names(run, tmp_path, ending):
    frame = named_frame()
    path = tmp_path / f"t{ending}"
    frame.write_parquet(path) if ending == ".parquet" else frame.write_csv(path)
    run("map", path.name, "--label", "kind", *FAST)
    run("apply", "out/model.skops", path.name, "--out", "c.parquet")
    run("fit", path.name, "--target", "kind", "--out", "machine")
    run("predict", "machine/model.skops", path.name, "--out", "p.parquet")
    for name in ("out/embedding.parquet", "c.parquet", "p.parquet"):
        result = pl.read_parquet(tmp_path / name)
        assert result["__index_level_0__"].to_list() == frame["__index_level_0__"].to_list(), name
        assert result["code"].to_list() == frame["code"].to_list(), name
    assert pl.read_parquet(tmp_path / "c.parquet")["kind"].to_list() == frame["kind"].to_list()


def test_names_of_columns_that_results_have(run, tmp_path):
    blob_frame().rename({"weight": "row", "height": "distance"}).write_csv(tmp_path / "t.csv")
    run("map", "t.csv", "--label", "row", *FAST)
    run("apply", "out/model.skops", "t.csv", "--impute", "--out", "c.csv")
    assert pl.read_csv(tmp_path / "c.csv").columns[:2] == ["row", "row (given)"]


def test_names_that_are_nearly_right(run, tmp_path):
    blob_frame().rename({"kind": "Segment"}).write_csv(tmp_path / "t.csv")
    for command, option in (("map", "--label"), ("map", "--drop"), ("fit", "--target"), ("diagnose", "--target")):
        fast = FAST if command == "map" else ("--out", "out")
        assert "Did you mean 'Segment'?" in output(run(command, "t.csv", option, "segment", *fast, code=ExitCode.INPUT))


def test_an_empty_name_is_no_column(run, tmp_path):
    blob_frame().rename({"kind": ""}).write_csv(tmp_path / "t.csv")
    assert "There is no column ''" in output(run("map", "t.csv", "--label", "", *FAST, code=ExitCode.INPUT))
    run("map", "t.csv", "--label", "column 5", *FAST)
    blob_frame().rename({"kind": ""}).write_parquet(tmp_path / "t.parquet")
    run("map", "t.parquet", "--label", "column 5", *FAST)


def test_texts_that_are_formulas_elsewhere(run, tmp_path):
    frame = (
        blob_frame()
        .with_columns(pl.col("kind").replace({"big": "$a^{$", "small": "\x1b[31m温度"}))
        .rename({"weight": "$x_{$"})
    )
    frame.write_csv(tmp_path / "t.csv")
    for words in (
        ("map", "--label", "kind", "--method", "pca"),
        ("diagnose", "--target", "kind"),
        ("fit", "--target", "$x_{$"),
    ):
        result = run(words[0], "t.csv", *words[1:], "--out", "out")
        assert "\x1b" not in result.output
        assert "\x1b" not in (tmp_path / "out/report.html").read_text()


def test_lists_are_columns(run, tmp_path):
    vectors = np.random.default_rng(0).normal(size=(30, 3))
    frame = pl.DataFrame(
        {"emb": vectors.tolist(), "n": vectors[:, 0] * 2, "ragged": [[1.0] * (i % 3) for i in range(30)]}
    )
    frame.write_parquet(tmp_path / "t.parquet")
    assert "4 columns of numbers" in output(run("map", "t.parquet", *FAST))
    assert "two usable columns or more" in output(run("map", "t.parquet", "--drop", "emb", *FAST, code=ExitCode.INPUT))
    for command in ("fit", "diagnose"):
        said = output(run(command, "t.parquet", "--target", "ragged", "--out", "out", code=ExitCode.INPUT))
        assert "The target 'ragged' must be a column of numbers or texts, got List(Float64)" in said


def test_coordinates_far_off_the_map_lead_back_to_rows(run, tmp_path):
    frame = blob_frame().with_columns(
        day=pl.date(2024, 1, 1) + pl.duration(days=pl.Series(np.random.default_rng(0).integers(0, 300, size=60))),
        wait=pl.duration(seconds=pl.Series(np.random.default_rng(1).integers(0, 300, size=60))),
    )
    frame.write_parquet(tmp_path / "t.parquet")
    run("map", "t.parquet", *FAST)
    (tmp_path / "z.csv").write_text("coordinate_1,coordinate_2\n1e6,0\n-1e6,1e300\n")
    for result in ("rows.parquet", "rows.csv"):
        run("apply", "out/model.skops", "z.csv", "--inverse", "--out", result)
    rows = pl.read_parquet(tmp_path / "rows.parquet")
    # Nothing is known of days and times that no calendar has.
    assert rows["day"].to_list() == [None, None]
    assert rows["wait"].is_null().to_list() == [False, True]
    assert np.isfinite(rows.select("weight", "height", "width").to_numpy()).all()


def test_coordinates_of_all_types(run, tmp_path):
    blob_frame().write_csv(tmp_path / "t.csv")
    run("map", "t.csv", *FAST)
    refused = "must be a column of numbers for --inverse, got"
    for column, words in (
        (pl.Series([1, 0]), None),
        (pl.Series(["0,5", "0,25"]), None),
        (pl.Series(["1", "0"], dtype=pl.Categorical), None),
        (pl.Series(["x", "0"]), "must be finite numbers"),
        (pl.Series([{"a": 1}] * 2), f"{refused} Struct"),
        (pl.Series([b"1", b"0"]), f"{refused} Binary"),
        (pl.Series([["a"], ["b"]]), f"{refused} List"),
        (pl.Series([dt.date(2024, 1, 1)] * 2), f"{refused} Date"),
        (pl.Series([dt.time(1)] * 2), f"{refused} Time"),
        (pl.Series([dt.timedelta(1)] * 2), f"{refused} Duration"),
        (pl.Series([True, False]), f"{refused} Boolean"),
    ):
        pl.DataFrame({"coordinate_1": column, "coordinate_2": [0.5, 1.0]}).write_parquet(tmp_path / "z.parquet")
        command = ("apply", "out/model.skops", "z.parquet", "--inverse", "--out", "rows.csv", "--force")
        result = run(*command, code=ExitCode.INPUT if words else 0)
        assert (words or "Result: rows.csv") in output(result)


def test_what_is_said_of_copies_ids_and_leaks(run, tmp_path):
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    frame = pl.DataFrame({"customer_id": rng.integers(10_000, 10_040, size=60), "x": rng.normal(size=60), "y": y})
    frame = pl.concat([frame, frame[:5]]).with_columns(twice=2 * pl.col("y") + 1)
    frame.write_csv(tmp_path / "t.csv")
    said = output(run("fit", "t.csv", "--target", "y", "--out", "out"))
    assert "customer_id is not used: its name and its whole numbers say that it tells rows apart" in said
    assert "5 rows repeat another one" in said
    assert "twice gives y away" in said


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_file_names_that_are_no_text(run, tmp_path, options):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.csv")
    with open(path, "wb") as file:
        blob_frame().write_csv(file)
    run("map", path, "--method", "pca", *options)
    (folder,) = tmp_path.glob("*-map")
    assert "caf\ufffd.csv" in json.loads((folder / "summary.json").read_text())["command"]
    run("apply", folder / "model.skops", path, *options)
    assert "no column 'nosuch' in caf\ufffd.csv" in output(run("map", path, "--drop", "nosuch", code=ExitCode.INPUT))
    os.remove(path)
    assert "does not exist" in output(run("map", path, code=ExitCode.INPUT))


# Bounds --------------------------------------------------------------------------------------------------------------


def zeros(n_rows):
    return pl.DataFrame({"a": np.zeros(n_rows), "b": np.zeros(n_rows, dtype=np.int64)})


def bomb(ending):
    """A few kilobytes that become 16 MB or more."""
    file = io.BytesIO()
    if ending == ".parquet":
        zeros(1_000_000).write_parquet(file, compression="zstd")
    elif ending == ".npz":
        np.savez_compressed(file, x=np.zeros((1_000_000, 2)))
    elif ending == ".csv.zst":
        # One frame, and two hundred blocks of 128 kB of the same letter.
        blocks = [(1 << 17 << 3 | 1 << 1 | (i == 199)).to_bytes(3, "little") + b"1" for i in range(200)]
        return bytes.fromhex("28b52ffd0058") + b"".join(blocks)
    else:
        return gzip.compress(b"a,b\n" + b"1,2\n" * 5_000_000)
    return file.getvalue()


@pytest.mark.parametrize("ending", [".parquet", ".npz", ".csv.gz", ".csv.zst"])
def test_bombs_do_not_go_off(run, tmp_path, monkeypatch, ending):
    content = bomb(ending)
    assert len(content) < 2e5
    (tmp_path / f"t{ending}").write_bytes(content)
    monkeypatch.setattr("mercer.tables.memory.available_memory", lambda: 1e7)
    said = output(run("map", f"t{ending}", *FAST, code=ExitCode.MEMORY))
    assert "MB of memory, and 8 MB can be had" in said


def test_text_is_bounded_by_its_size(run, tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,2\n" * 10_000)
    monkeypatch.setattr("mercer.tables.memory.available_memory", lambda: 1e5)
    assert "Reading t.csv would take about 320 kB" in output(run("map", "t.csv", *FAST, code=ExitCode.MEMORY))


def written_into(path, content):
    def write():
        with contextlib.suppress(BrokenPipeError), open(path, "wb") as pipe:
            pipe.write(content)

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    return thread


@pytest.mark.parametrize("name", ["pipe", "pipe.csv", "pipe.parquet"])
def test_pipes(run, tmp_path, monkeypatch, name):
    os.mkfifo(tmp_path / name)
    file = io.BytesIO()
    blob_frame().write_parquet(file) if name.endswith("parquet") else blob_frame().write_csv(file)
    thread = written_into(tmp_path / name, file.getvalue())
    run("map", name, *FAST)
    thread.join()
    if name == "pipe":
        monkeypatch.setattr("mercer.tables.memory.available_memory", lambda: 1e6)
        thread = written_into(tmp_path / name, b"1,2\n" * 2_000_000)
        said = output(run("map", name, *FAST, code=ExitCode.MEMORY))
        assert "Reading pipe would take more than" in said
        thread.join()


def test_devices(run):
    assert "/dev/zero is a device, not a file" in output(run("map", "/dev/zero", *FAST, code=ExitCode.INPUT))


def test_rows_of_which_nothing_is_known_are_far(run, tmp_path):
    blob_frame().drop("colour").write_csv(tmp_path / "t.csv")
    (tmp_path / "new.csv").write_text("weight,height,width\n1,1,1\n?,oops,\n2,,2\n")
    run("map", "t.csv", "--drop", "kind", "--method", "pca", "--out", "o")
    run("fit", "t.csv", "--target", "kind", "--kernel", "linear", "--out", "m")
    for command, folder, words in (
        ("apply", "o", "1 row has no usable entry, and no place on the map: nothing else is known."),
        ("predict", "m", "1 row has no usable entry, and the prediction for a row of means: nothing else is known."),
    ):
        said = " ".join(run(command, f"{folder}/model.skops", "new.csv", "--out", f"{command}.csv").output.split())
        assert words in said
        result = pl.read_csv(tmp_path / f"{command}.csv")
        assert result["far"].to_list() == [False, True, False]
        assert result["distance"].is_null().to_list() == [False, True, False]


@pytest.mark.parametrize("pattern", ["%Y-%m-%d", "%d.%m.%Y", "%Y-%m-%dT%H:%M:%S"])
def test_dates_are_predicted_as_dates(run, tmp_path, pattern):
    x = np.random.default_rng(0).uniform(-2, 2, size=120)
    when = [(dt.datetime(2020, 1, 1) + dt.timedelta(days=round(100 * value))) for value in x]
    pl.DataFrame({"x": x, "when": [date.strftime(pattern) for date in when]}).write_csv(tmp_path / "t.csv")
    said = run("fit", "t.csv", "--target", "when", "--kernel", "linear", "--band", "0.8", "--out", "m").output
    assert re.search(r"predicted to ± \S+ days \(guessing the mean: ± \S+ days\)", " ".join(said.split()))
    run("predict", "m/model.skops", "t.csv", "--out", "p.parquet")
    result = pl.read_parquet(tmp_path / "p.parquet")
    kind = pl.Datetime("us") if "T" in pattern else pl.Date
    assert [result[name].dtype for name in ("when", "when_low", "when_high")] == [kind] * 3
    errors = [abs((found - date.date()).days) for found, date in zip(result["when"].cast(pl.Date), when, strict=True)]
    assert max(errors) <= 3
