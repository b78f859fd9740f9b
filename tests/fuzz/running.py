"""Commands for many seeds, each in a folder of its own: they must end as documented."""

import os
import signal
from collections import Counter

from typer.testing import CliRunner

from mercer.cli import app
from mercer.cli.exit_codes import ExitCode

DOCUMENTED = {code.value for code in ExitCode} - {ExitCode.BUG.value}
# Seconds for the commands of a seed, which take less than one each on a table of sixty rows.
TOO_LONG = 120
# The first seed of long runs; short ones begin at zero.
FIRST_OF_MANY = 1000


def ends_well(words):
    """The exit code of a command, which must be a documented one."""
    result = CliRunner().invoke(app, words)
    told = f"{words}: {result.exit_code} {result.output} {result.exception!r}"
    assert "Traceback" not in result.output, told
    assert result.exit_code in DOCUMENTED, told
    return result.exit_code


def run_commands(commands, codes):
    """Run commands one after the other until one fails, and count their exit codes."""
    for words in commands:
        code = ends_well(words)
        codes[words[0], code] += 1
        if code != 0:
            break


def run_seeds(run_one, seeds, folder, monkeypatch):
    """Run something for each seed, in a folder of its own, and count the exit codes of commands."""

    def too_long(signum, frame):
        raise TimeoutError("a command hangs")

    codes = Counter()
    before = signal.signal(signal.SIGALRM, too_long)
    try:
        for seed in seeds:
            place = folder / str(seed)
            place.mkdir()
            monkeypatch.chdir(place)
            signal.alarm(TOO_LONG)
            try:
                run_one(seed, place, codes)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}: {error}") from None
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    return codes


def run_many(run_one, variable, usual, folder, monkeypatch):
    """Run as many seeds as a variable of the environment says, or the usual number, and print the exit codes."""
    n_seeds = int(os.environ.get(variable, usual))
    codes = run_seeds(run_one, range(FIRST_OF_MANY, FIRST_OF_MANY + n_seeds), folder, monkeypatch)
    print(dict(sorted(codes.items())))
