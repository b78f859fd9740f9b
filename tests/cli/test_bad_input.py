"""Input as it comes: a clear message, the right exit code, no traceback, and nothing half-written."""

import numpy as np
import polars as pl
import pytest

from mercer.cli.exit_codes import ExitCode
from tests.cli.conftest import blob_frame, only_file_is

FAST = ("--method", "pca", "--out", "out")
RESULTS = ("embedding.parquet", "model.skops", "report.html", "summary.json", "times.json")


def refused(run, tmp_path, name, content, words, command=("map",), code=ExitCode.INPUT):
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content)
    result = run(*command, name, *(FAST if command == ("map",) else ("--out", "out")), code=code)
    assert words in " ".join(result.output.split()), result.output
    if (tmp_path / "out").exists():
        only_file_is(tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", "", "is empty"),
        ("blank.csv", "\n \n", "is empty"),
        ("header.csv", "a,b,c\n", "a header but no rows"),
        ("one_row.csv", "a,b\n1,2\n", "no column that can be used"),
        ("few_rows.csv", "a,b\n1,2\n3,5\n", "must have 5 rows or more for a map, got 2"),
        ("one_column.csv", "a\n" + "\n".join(map(str, [3, 1, 4, 1, 5, 9])), "two usable columns or more"),
        ("all_text.csv", "a,b\n" + "\n".join(f"name{i},thing{7 * i}" for i in range(40)), "names, not categories"),
        ("constant.csv", "a,b\n" + "1,x\n" * 10, "it is the same in all rows"),
        ("broken.csv", "a,b\n1,2\n1,2,3,4\n5,6\n", "cannot be read as a table"),
        ("latin.csv", "gr\xf6\xdfe,b\n1,2\n".encode("latin-1"), "--encoding latin-1"),
        ("wide.csv", "a,b\n1,2\n".encode("utf-16"), "--encoding utf-16"),
        ("binary.csv", b"a,b\n\x00\x01,2\n", "zero bytes"),
        ("table.xlsx", b"PK", "ending that is not known"),
        ("objects.npy", None, "cannot be read as a table"),
        ("words.npy", None, "must hold numbers"),
        ("half.parquet", None, "cannot be read as a table"),
        ("half.npz", None, "cannot be read as a table"),
    ],
    ids=lambda value: value if isinstance(value, str) and "." in value and len(value) < 20 else "",
)
def test_files_that_cannot_be_used(run, tmp_path, name, content, words):
    refused(run, tmp_path, name, content if content is not None else broken_file(tmp_path, name), words)


def broken_file(tmp_path, name):
    path = tmp_path / "whole"
    if name == "objects.npy":
        np.save(path, np.array([{}, {}], dtype=object), allow_pickle=True)
        return path.with_suffix(".npy").read_bytes()
    if name == "words.npy":
        np.save(path, np.array(["a", "b"]))
        return path.with_suffix(".npy").read_bytes()
    if name == "half.npz":
        np.savez(path, X=np.eye(50))
        data = path.with_suffix(".npz").read_bytes()
    else:
        blob_frame().write_parquet(path)
        data = path.read_bytes()
    return data[: len(data) // 2]


def test_files_and_folders_that_are_not_there(run, tmp_path):
    assert "does not exist" in run("map", "nothing.csv", *FAST, code=ExitCode.INPUT).output
    (tmp_path / "folder").mkdir()
    assert "holds no images" in run("map", "folder", *FAST, code=ExitCode.INPUT).output


def test_labels_and_drops_that_are_not_there(run, blobs):
    for option in ("--label", "--drop"):
        result = run("map", blobs.name, option, "nosuch", *FAST, code=ExitCode.INPUT)
        assert "There is no column 'nosuch' in blobs.csv; its columns are weight" in " ".join(result.output.split())


def mapped(run, tmp_path, frame, *options):
    frame.write_csv(tmp_path / "table.csv")
    result = run("map", "table.csv", *FAST, *options)
    only_file_is(tmp_path / "out", *RESULTS)
    return " ".join(result.output.split())


def test_constant_columns_are_left_out(run, tmp_path):
    said = mapped(run, tmp_path, blob_frame().with_columns(unit=pl.lit("cm"), zero=pl.lit(0)))
    assert "unit is not used: it is the same in all rows" in said
    assert "zero is not used: it is the same in all rows" in said


def test_columns_that_count_rows_are_left_out(run, tmp_path):
    assert "id is not used: it counts the rows" in mapped(run, tmp_path, blob_frame().with_row_index("id"))


def test_column_names_that_come_twice(run, tmp_path):
    lines = "\n".join(f"{i * 7 % 13},{i * 5 % 11},{i % 4}" for i in range(20))
    (tmp_path / "twice.csv").write_text("a,a,\n" + lines)
    said = " ".join(run("map", "twice.csv", *FAST).output.split())
    assert "were changed: a (2), column 3" in said


def test_mixed_types_infinities_and_huge_numbers(run, tmp_path):
    frame = blob_frame()
    weight = frame["weight"].cast(pl.String).to_list()
    weight[3] = "heavy"
    height = frame["height"].to_list()
    height[1], height[2] = np.inf, -np.inf
    width = frame["width"].to_list()
    width[5] = 1e300
    said = mapped(
        run, tmp_path, frame.with_columns(weight=pl.Series(weight), height=pl.Series(height), width=pl.Series(width))
    )
    assert "weight: 1 entry is not a number and counts as missing" in said
    assert "height: 2 entries are infinite and count as missing" in said
    assert "width: 1 entry counts as" in said


def test_dates_and_numbers_with_commas(run, tmp_path):
    rng = np.random.default_rng(0)
    days = [f"2024-0{1 + i % 9}-1{i % 7}" for i in range(30)]
    lines = [f"{day};{str(round(x, 3)).replace('.', ',')}" for day, x in zip(days, rng.normal(size=30), strict=True)]
    (tmp_path / "dates.csv").write_text("day;size\n" + "\n".join(lines))
    assert "1 column of numbers, 1 date" in " ".join(run("map", "dates.csv", *FAST).output.split())


def test_a_file_without_a_header(run, tmp_path):
    rows = np.random.default_rng(0).normal(size=(20, 3))
    (tmp_path / "plain.csv").write_text("\n".join(",".join(map(str, row)) for row in rows))
    assert "The first line holds numbers" in run("map", "plain.csv", *FAST).output
    assert pl.read_parquet(tmp_path / "out/embedding.parquet").height == 20


@pytest.mark.parametrize("method", ["pca", "manifold"])
def test_many_missing_entries(run, tmp_path, method):
    frame = blob_frame(40)
    rng = np.random.default_rng(1)
    holes = [pl.Series(s.name, [None if rng.uniform() < 0.3 else v for v in s], dtype=s.dtype) for s in frame[:, :4]]
    frame.with_columns(holes).write_csv(tmp_path / "holes.csv")
    said = " ".join(run("map", "holes.csv", "--label", "kind", "--method", method, "--out", "out").output.split())
    assert "of the entries are missing" in said
    run("apply", "out/model.skops", "holes.csv", "--impute", "--out", "filled.csv")
    filled = pl.read_csv(tmp_path / "filled.csv")
    assert filled.select("weight", "height", "width", "colour").null_count().sum_horizontal().item() == 0


def test_a_label_is_no_feature_and_its_twin_is_named(run, tmp_path):
    frame = blob_frame().with_columns(code=pl.col("kind").replace_strict({"big": 1.5, "small": 0.5}))
    said = mapped(run, tmp_path, frame, "--label", "kind")
    assert "code says the same as the label kind" in said
    label = frame["weight"].round(0)
    said = mapped(run, tmp_path, frame.with_columns(weight=label), "--label", "weight")
    schema = __import__("json").loads((tmp_path / "out/summary.json").read_text())
    assert "weight" not in schema["reconstruction_error"]


def test_output_that_cannot_be_written(run, tmp_path, blobs, monkeypatch):
    (tmp_path / "taken").write_text("a file")
    result = run("map", blobs.name, "--method", "pca", "--out", "taken/inside", code=ExitCode.OUTPUT)
    assert "Nothing was written to" in result.output
    monkeypatch.setattr("tempfile.TemporaryFile", no_permission)
    assert "not permitted" in run("map", blobs.name, *FAST, code=ExitCode.OUTPUT).output


def no_permission(*args, **options):
    raise PermissionError(13, "Permission denied")


def test_a_full_disk_leaves_what_was_there(run, tmp_path, blobs, monkeypatch):
    from mercer.report import drafts

    run("map", blobs.name, *FAST)
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    write, written = drafts.write_through, []

    def nearly_full(path, content):
        if len(written) == 2:
            raise OSError(28, "No space left on device")
        written.append(path)
        write(path, content)

    monkeypatch.setattr(drafts, "write_through", nearly_full)
    result = run("map", blobs.name, "--label", "kind", *FAST, code=ExitCode.OUTPUT)
    assert "the disk is full" in result.output
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before
    written.clear()
    monkeypatch.setattr(
        drafts, "write_through", lambda path, content: nearly_full(*(written.extend([1, 1]) or (path, content)))
    )
    run("apply", "out/model.skops", blobs.name, "--out", "c.parquet", code=ExitCode.OUTPUT)
    only_file_is(tmp_path, "blobs.csv", "out")


def test_too_little_memory(run, tmp_path, blobs, monkeypatch):
    monkeypatch.setattr("mercer.tables.memory.available_memory", lambda: 1e3)
    result = run("map", blobs.name, *FAST, code=ExitCode.MEMORY)
    assert "give fewer rows or columns" in " ".join(result.output.split())
    monkeypatch.setattr("mercer.tables.memory.available_memory", lambda: 1e8)
    result = run("map", blobs.name, "--method", "manifold", "--out", "out", code=ExitCode.MEMORY)
    assert "Fitting a principal manifold to 60 rows" in " ".join(result.output.split())
    only_file_is(tmp_path / "out")


def test_options_that_make_no_sense(run, blobs):
    for options, words in (
        (("--method", "magic"), "must be one of auto"),
        (("--dim", "zero"), "must be a whole number"),
        (("--thorough", "--method", "pca"), "is for --method auto"),
        (("--topology", "sphere"), "must be auto, or made of interval and circle"),
        (("--topology", "circle,interval", "--dim", "3"), "one for each of the 3"),
        (("--topology", "circle", "--method", "pca"), "is for --method manifold"),
    ):
        result = run("map", blobs.name, *options, code=ExitCode.USAGE)
        assert words in " ".join(result.output.replace("│", " ").split())
    assert "--dim must be from 1 to" in run("map", blobs.name, "--dim", "9", *FAST, code=ExitCode.INPUT).output


def test_an_error_in_mercer_itself_is_a_message(run, blobs, monkeypatch):
    monkeypatch.setattr("mercer.report.make_map", lambda *args, **options: 1 / 0)
    assert "an error in Mercer" in run("map", blobs.name, *FAST, code=ExitCode.BUG).output


@pytest.mark.parametrize("command", ["diagnose", "fit"])
@pytest.mark.parametrize(
    ("column", "target", "words"),
    [
        (None, "nosuch", "There is no column 'nosuch'"),
        (pl.lit("x"), "y", "must have two classes or more, got x only"),
        (pl.lit(1.5), "y", "must differ between rows"),
        (pl.lit(None, dtype=pl.String), "y", "must have two classes or more, got nothing"),
        (pl.int_range(60).cast(pl.String) + "st", "y", "at most 50 classes"),
        (pl.col("weight") * 1e300, "y", "must be below 1e140"),
        (pl.col("weight") * 1e-310, "y", "must be below 1e140 and reach 1e-140"),
        ((pl.int_range(60) % 40).cast(pl.String) + "st", "y", "must have two rows or more for each class"),
    ],
)  # fmt: skip
def test_targets_that_cannot_be_learned(run, tmp_path, command, column, target, words):
    frame = blob_frame() if column is None else blob_frame().with_columns(y=column)
    frame.write_csv(tmp_path / "t.csv")
    result = run(command, "t.csv", "--target", target, "--out", "out", code=ExitCode.INPUT)
    assert words in " ".join(result.output.split())
    only_file_is(tmp_path / "out")


@pytest.mark.parametrize("command", ["apply", "predict"])
def test_a_result_never_replaces_what_it_is_made_from(run, tmp_path, blobs, command):
    before = blobs.read_bytes()
    model = tmp_path / "model.csv"  # it is not opened
    model.write_text("a")
    for source in (blobs, model):
        result = run(command, model, blobs, "--out", source, code=ExitCode.USAGE)
        assert "must not be" in result.output
    assert (blobs.read_bytes(), model.read_text()) == (before, "a")


def test_seeds_that_are_too_large(run, blobs):
    assert "--seed" in run("map", blobs, "--seed", 2**32, code=ExitCode.USAGE).output
