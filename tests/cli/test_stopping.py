"""Signals, limits and streams, with real processes; the fuzz of `tests/fuzz` sends signals at random moments."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import mercer
from mercer.address_space import _LEAST
from mercer.cli.exit_codes import ExitCode
from mercer.cli.messages import Conversation
from mercer.cli.stopping import Stopping
from mercer.tables.errors import InputError, ReportError

MERCER = [sys.executable, "-m", "mercer"]


@pytest.fixture
def process(tmp_path, blobs):
    """Runs a command as a process of its own, in the folder of a table."""

    def run(*words, code=0, **options):
        options = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 120, **options}
        done = subprocess.run([*MERCER, *words], check=False, **options)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == code, (done.returncode, done.stderr)
        return done

    return run


def test_help_imports_nothing_large(tmp_path):
    code = (
        "import sys\n"
        "from mercer.cli import app\n"
        "for words in (['--help'], ['map', '--help'], ['fit', '--help'], ['--version']):\n"
        "    app(words, standalone_mode=False)\n"
        "large = ('numpy', 'scipy', 'numba', 'polars', 'sklearn', 'matplotlib')\n"
        "print([name for name in large if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("command", ["map", "fit", "diagnose", "relate"])
def test_help_says_what_the_time_limit_leaves_out(run, command):
    words = run(command, "--help").output.replace("│", " ").split()
    assert "its report is drawn and written after that" in " ".join(words)


def test_options_know_what_modules_do():
    from mercer.cli import options
    from mercer.manifolds.latent.space import TOPOLOGIES
    from mercer.report import METHODS
    from mercer.tables.targets import TASKS
    from mercer.workflows.kernel_choice import KERNELS, METRICS
    from mercer.workflows.loss_choice import LOSSES

    known = (("auto", *METHODS), LOSSES, KERNELS, METRICS, TASKS, TOPOLOGIES)
    told = (options.METHODS, options.LOSSES, options.KERNELS, options.METRICS, options.TASKS, options.TOPOLOGIES)
    assert told == known


def test_every_exit_code_is_documented(run):
    page = Path(__file__).parents[2].joinpath("docs/command-line.md").read_text()
    said = run("--help").output
    for code in ExitCode:
        assert f"| {code.value} |" in page
        assert re.search(rf"\b{code.value}: ", said)


def test_signals_are_heard_before_anything_is_imported():
    code = (
        "import os, sys\n"
        "before = set(sys.modules)\n"
        "from mercer.cli import early\n"
        "print(sorted(set(sys.modules) - before - {'__future__'}))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(mercer.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "['mercer', 'mercer.cli', 'mercer.cli.early']"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_two_signals_at_once_are_told_once(number):
    # The second comes while the line of the first is being written.
    code = (
        "import os, signal\n"
        "from mercer.cli import early\n"
        "early.listen_early()\n"
        "write = os.write\n"
        "def slowly(*words):\n"
        "    write(*words)\n"
        f"    signal.raise_signal({number.value})\n"
        "os.write = slowly\n"
        f"signal.raise_signal({number.value})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (128 + number, "mercer: stopped before there was anything to write.\n")


def test_a_signal_while_it_is_said_why_the_command_ends(run, tmp_path, blobs, monkeypatch):
    complain = Conversation.complain

    def interrupted(self, words):
        signal.raise_signal(signal.SIGINT)
        complain(self, words)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(Conversation, "complain", interrupted)
    assert "none.csv does not exist" in run("map", "none.csv", "--out", "o", code=ExitCode.INPUT).output


def test_a_limit_before_there_is_a_result(process, tmp_path):
    said = process("map", "blobs.csv", "--time-limit", "0.1", code=ExitCode.TIME).stderr
    assert said == "mercer: the limit of 0.1 s passed before there was a result; give it more time, or fewer rows.\n"
    assert not (tmp_path / "blobs-map").exists()


def test_a_limit_interrupts_a_read_that_waits(run, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    # Somebody who holds the pipe open and writes nothing.
    handle = os.open(tmp_path / "pipe.csv", os.O_RDWR)
    said = run("map", "pipe.csv", "--time-limit", "0.5", "--out", "o", code=ExitCode.TIME).output
    os.close(handle)
    assert "the limit of 0.5 s passed before there was a result" in said


@pytest.mark.parametrize("limit", ["inf", "1e300"])
def test_limits_that_never_come(run, blobs, limit):
    run("map", blobs.name, "--method", "pca", "--time-limit", limit, "--out", "o")


@pytest.mark.parametrize("limit", ["nan", "0", "-3"])
def test_limits_that_make_no_sense(run, blobs, limit):
    assert "must be 0.1 or more" in run("map", blobs.name, "--time-limit", limit, code=ExitCode.USAGE).output


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_give_what_there_is(run, tmp_path, blobs, monkeypatch, number, code):
    from mercer.manifolds import PrincipalManifold

    def interrupted(*words, **options):
        signal.raise_signal(number)

    monkeypatch.setattr(PrincipalManifold, "fit", interrupted)
    assert "Partial: the work was stopped" in run("map", blobs.name, "--out", "o", code=code).output
    assert json.loads((tmp_path / "o/summary.json").read_bytes())["partial"]
    monkeypatch.setattr("mercer.report.read_table", interrupted)
    assert "stopped before there was anything to write" in run("map", blobs.name, "--out", "p", code=code).output
    assert not (tmp_path / "p").exists()


def test_a_signal_while_files_are_written_decides_the_code_only(run, tmp_path, blobs, monkeypatch):
    from mercer.report import map_files

    def interrupted(n_times, result, command):
        for _ in range(n_times):
            signal.raise_signal(signal.SIGTERM)
        return map_files(result, command)

    monkeypatch.setattr("mercer.report.map_files", lambda *words: interrupted(1, *words))
    run("map", blobs.name, "--method", "pca", "--out", "o", code=ExitCode.TERMINATED)
    assert not json.loads((tmp_path / "o/summary.json").read_bytes())["partial"]
    monkeypatch.setattr("mercer.report.map_files", lambda *words: interrupted(2, *words))
    run("map", blobs.name, "--method", "pca", "--out", "p", code=ExitCode.TERMINATED)
    assert not (tmp_path / "p").exists()


def test_a_limit_that_passes_when_the_result_is_there_changes_nothing(run, tmp_path, blobs, monkeypatch):
    from mercer.workflows.map_choice import MapChoice

    made = MapChoice.made

    def slowly(self):
        time.sleep(2.5)
        return made(self)

    monkeypatch.setattr(MapChoice, "made", slowly)
    run("map", blobs.name, "--method", "pca", "--time-limit", "2", "--out", "o")
    assert not json.loads((tmp_path / "o/summary.json").read_bytes())["partial"]


def test_what_other_code_makes_of_an_interruption_is_one(run, tmp_path, blobs, monkeypatch):
    def translated(*words, **options):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise ImportError("could not be imported") from None

    monkeypatch.setattr("mercer.report.read_table", translated)
    assert "stopped before there was" in run("map", blobs.name, "--out", "o", code=ExitCode.STOPPED).output


def test_an_interruption_that_python_ignores_comes_again():
    class Deaf:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    with Stopping() as stopping:
        thing = Deaf()
        del thing
        with pytest.raises(KeyboardInterrupt):
            time.sleep(10)
        assert stopping.cause is ExitCode.STOPPED


def test_standard_output_on_a_full_disk(process, tmp_path):
    with open("/dev/full", "w") as full:
        for words in (("map", "blobs.csv", "--method", "pca", "--out", "o"), ("--help",)):
            done = subprocess.run([*MERCER, *words], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, check=False)
            assert done.returncode == ExitCode.OUTPUT
            assert done.stderr.startswith(b"mercer: standard output cannot be written: No space left on device.")
            assert done.stderr.count(b"\n") == 1
    assert (tmp_path / "o/report.html").exists()


def test_both_streams_on_a_full_disk(tmp_path, blobs):
    with open("/dev/full", "w") as full:
        for words in (("map", "blobs.csv", "--method", "pca", "--out", "o"), ("--help",)):
            done = subprocess.run([*MERCER, *words], cwd=tmp_path, stdout=full, stderr=full, check=False)
            assert done.returncode == ExitCode.OUTPUT
    assert (tmp_path / "o/report.html").exists()


def test_readers_that_have_read_enough(tmp_path, blobs):
    for words in (("map", "blobs.csv", "--method", "pca", "--out", "o"), ("map", "--help")):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run([*MERCER, *words], cwd=tmp_path, stdout=writing, stderr=subprocess.PIPE, check=False)
        os.close(writing)
        assert (done.returncode, done.stderr) == (0, b"")


def test_streams_that_are_closed(tmp_path, blobs):
    command = f"{sys.executable} -m mercer map blobs.csv --method pca --out o <&- >&- 2>&-"
    assert subprocess.run(["bash", "-c", command], cwd=tmp_path, check=False).returncode == 0
    assert (tmp_path / "o/report.html").exists()


@pytest.mark.parametrize("gigabytes", [0.6, 1.0])
@pytest.mark.parametrize("words", [("map", "blobs.csv"), ("fit", "blobs.csv", "--target", "kind")])
def test_a_low_limit_of_the_address_space(process, words, gigabytes):
    n_bytes = int(gigabytes * 1e9)
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (n_bytes, n_bytes))}
    said = process(*words, code=ExitCode.MEMORY, **limit).stderr
    assert "Mercer takes about 1500 MB of address space to begin, and" in said
    assert "raise the limit (ulimit -v)." in said


@pytest.mark.parametrize("megabytes", [20, 25, 30, 40, 50, 60])
def test_a_limit_that_leaves_no_room_for_the_command_itself(tmp_path, blobs, megabytes):
    command = [*MERCER, "map", "blobs.csv", "--out", "o"]
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (megabytes * 10**6, megabytes * 10**6))  # noqa: E731
    done = subprocess.run(command, cwd=tmp_path, preexec_fn=limit, capture_output=True, text=True, check=False)
    assert done.returncode == ExitCode.MEMORY, done.stderr
    assert done.stderr.startswith(f"mercer: Mercer takes about {_LEAST / 1e6:.0f} MB of address space to begin")
    assert done.stderr.endswith("raise the limit (ulimit -v).\n")


def test_what_the_address_space_leaves_is_enough(process):
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (2 * 10**9, 2 * 10**9))}
    process("map", "blobs.csv", "--method", "pca", "--out", "o", env=environment, **limit)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError("Unable to allocate 3.2 GiB for an array"), "(Unable to allocate 3.2 GiB for an array)"),
        (ImportError("x.so: failed to map segment from shared object"), "failed to map segment"),
        (RuntimeError("can't start new thread"), "can't start new thread"),
        (OSError(12, "Cannot allocate memory"), "Cannot allocate memory"),
        (MemoryError(), "there was not enough memory; give fewer rows"),
    ],
)
def test_memory_that_is_not_there(run, blobs, monkeypatch, error, words):
    def fails(*words, **options):
        raise error

    monkeypatch.setattr("mercer.report.make_map", fails)
    said = run("map", blobs.name, "--out", "o", code=ExitCode.MEMORY).output
    assert words in said
    assert "give fewer rows or columns" in said


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (ValueError, "could not spawn a new thread"),
        (RuntimeError, "the column spawn"),
        (OSError, "memory allocation plan"),
    ],
)
def test_errors_that_only_sound_like_a_lack_of_memory(kind, words):
    assert Conversation(quiet=False, as_json=False).explain(kind(words))[1] is ExitCode.BUG


@pytest.mark.parametrize(
    "words",
    ["failed to spawn thread: Os { code: 11 }", "could not spawn threads", "memory allocation of 8 bytes failed"],
)
def test_panics_for_lack_of_memory(words):
    error = pl.exceptions.PanicException(words)
    assert Conversation(quiet=False, as_json=False).explain(error)[1] is ExitCode.MEMORY


def test_errors_of_the_system_are_not_of_standard_output(process, tmp_path):
    broken = "import mercer.report\nfrom mercer.cli import main\ndef fails(*a, **k): raise {}\n"
    broken += "mercer.report.read_table = fails\nmain()"
    for error, environment in (("BrokenPipeError(32, 'Broken pipe')", ""), ("OSError(5, 'I/O')", "1")):
        command = [sys.executable, "-c", broken.format(error), "map", "blobs.csv", "--out", "o"]
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, "MERCER_TRACEBACK": environment}, capture_output=True, check=False
        )
        assert done.returncode == ExitCode.BUG
        assert b"standard output" not in done.stderr
        assert (b"Traceback" in done.stderr) == bool(environment)


def test_the_exit_code_tells_where_standard_error_cannot_be_written(tmp_path):
    with open("/dev/full", "w") as full:
        done = subprocess.run([*MERCER, "map", "none.csv"], cwd=tmp_path, stderr=full, check=False)
    assert done.returncode == ExitCode.INPUT


def test_errors_of_other_kinds_have_the_code_of_their_parent():
    class Unreadable(InputError):
        pass

    talk = Conversation(quiet=False, as_json=False)
    assert talk.explain(Unreadable("no")) == ("no", ExitCode.INPUT)
    assert talk.explain(ReportError("no")) == ("no", ExitCode.BUG)


def test_names_of_files_that_are_no_text(process, tmp_path, blobs):
    blobs.rename(tmp_path / os.fsdecode(b"bl\xffobs.csv"))
    process("map", b"bl\xffobs.csv", "--method", "pca", "--out", "o")
    process("map", b"bl\xffobs.csv", "--method", "pca", "--out", "o", "--json")
    json.loads((tmp_path / "o/summary.json").read_bytes())


def test_names_are_no_commands_to_the_terminal(run, tmp_path):
    rows = "\n".join(f"{i * 7 % 13},{i * 5 % 11},1" for i in range(20))
    (tmp_path / "t.csv").write_text(f"a,b,evil\x1b]0;title\x07\x9b31m\u202e\n{rows}")
    said = run("map", "t.csv", "--method", "pca", "--out", "o").output
    assert "evil ]0;title 31m is not used" in said
    said += run("map", "t.csv", "--label", "no\x1b[2J", "--out", "o", code=ExitCode.INPUT).output
    printed = run("map", "t.csv", "--method", "pca", "--out", "o", "--json").output
    assert "evil ]0;title 31m is not used" in " ".join(json.loads(printed)["notes"])
    assert not set(said + printed) & set("\x1b\x07\x9b\u202e")


def test_an_interruption_of_executed_text_has_its_code(tmp_path, blobs):
    code = "import mercer.report\nfrom mercer.cli import main\n"
    code += "mercer.report.read_table = lambda *a, **k: exec('raise KeyboardInterrupt')\nmain()"
    (tmp_path / "interrupted.py").write_text(code)
    command = [sys.executable, "-m", "interrupted", "map", "blobs.csv", "--out", "o"]
    done = subprocess.run(command, cwd=tmp_path, check=False)
    assert done.returncode == ExitCode.STOPPED


@pytest.fixture
def wide_table(tmp_path):
    """1,500 rows of 300 columns near a surface."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2)) @ rng.normal(size=(2, 300)) + 0.1 * rng.normal(size=(1500, 300))
    pl.DataFrame(X).write_csv(tmp_path / "wide.csv")
    return "wide.csv"


@pytest.mark.parametrize("where", ["fit", "measure", "between"])
def test_after_a_signal_no_other_fit_begins_and_the_end_is_near(run, tmp_path, wide_table, monkeypatch, where):
    from mercer.manifolds import PrincipalManifold, UnsupervisedKernelRegression
    from mercer.workflows import mapping

    begun, stages_begin, heard = [], mapping.Stages.begin, []

    def signalled(*words, **options):
        if not heard:
            heard.append(time.process_time())
            signal.raise_signal(signal.SIGTERM)

    def begin(stages, words):
        if where == "between" and words.startswith("fitting a principal"):
            signalled()
        stages_begin(stages, words)
        begun.append(words)

    def fits(estimator, *words, **options):
        signalled()

    monkeypatch.setattr(mapping.Stages, "begin", begin)
    for kind in (PrincipalManifold, UnsupervisedKernelRegression):
        monkeypatch.setattr(kind, "fit", fits)
    if where == "measure":
        monkeypatch.setattr(mapping, "measure", signalled)
    said = run("map", wide_table, "--out", "o", code=ExitCode.TERMINATED).output
    assert "Partial: the work was stopped" in said
    # Drawing and writing the report is among this.
    assert time.process_time() - heard[0] < 3.0
    expected = {"fit": 3, "measure": 2, "between": 2}[where]
    assert len(begun) == expected, begun
