"""Whatever is in a folder of images, commands end as documented."""

import numpy as np
import pytest

from tests.fuzz.running import run_commands, run_many, run_seeds

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
    run_commands(commands(seed), codes)


def test_some_folders(tmp_path, monkeypatch):
    codes = run_seeds(run_folders, range(10), tmp_path, monkeypatch)
    assert codes["map", 0] > 3


@pytest.mark.slow
def test_many_folders(tmp_path, monkeypatch):
    run_many(run_folders, "MERCER_FUZZ_FOLDERS", 400, tmp_path, monkeypatch)
