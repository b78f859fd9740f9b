"""Whatever is in a folder of images, commands end as documented."""

import os

import numpy as np
import pytest

from tests.fuzz.test_tables import ends_well, run_seeds

pytest.importorskip("PIL.Image")


def commands(seed):
    """Commands for a folder: mostly maps, which are then applied to another folder."""
    rng = np.random.default_rng(seed)
    chance = rng.uniform()
    if chance < 0.1:
        work = "diagnose" if chance < 0.05 else "fit"
        return [[work, "a", "--target", str(rng.choice(["class", "file", "pixel_0_0"])), "--time-limit", "5"]]
    options = [[], ["--label", "file"], ["--drop", "class"], ["--keep", "file"], ["--keep", "pixel_0_0"]]
    first = ["map", "a", "--method", "pca", "--out", "m", *options[int(rng.choice(5, p=[0.6, 0.1, 0.1, 0.1, 0.1]))]]
    return [first, ["apply", "m/model.skops", "a", "--impute", "--out", "a.csv"], ["apply", "m/model.skops", "b"]]


def run_folders(seed, place, codes):
    from tests.fuzz.random_images import write_random_folder

    for name, number in (("a", seed), ("b", seed + 1)):
        write_random_folder(number, place / name)
    for words in commands(seed):
        code = ends_well(words)
        codes[words[0], code] += 1
        if code != 0:
            break


def test_some_folders(tmp_path, monkeypatch):
    codes = run_seeds(run_folders, range(10), tmp_path, monkeypatch)
    assert codes["map", 0] > 3


@pytest.mark.slow
def test_many_folders(tmp_path, monkeypatch):
    n_folders = int(os.environ.get("MERCER_FUZZ_FOLDERS", "400"))
    print(dict(sorted(run_seeds(run_folders, range(1000, 1000 + n_folders), tmp_path, monkeypatch).items())))
