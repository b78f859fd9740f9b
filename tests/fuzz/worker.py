"""A process that opens and uses model files, one after another, and says how each ended.

It runs on its own, so that a crash or a hang ends this process and is seen as what it is.
"""

import json
import resource
import sys
import warnings
from pathlib import Path

from typer.testing import CliRunner

from mercer.cli import app

MEMORY = 4 * 2**30
COMMANDS = {
    "map": (("apply", "{model}", "{table}", "--impute"), ("apply", "{model}", "{places}", "--inverse")),
    "machine": (("predict", "{model}", "{table}"),),
}


def used(case):
    """Exit codes and last words of the commands that use a model."""
    codes, words = [], []
    for command in COMMANDS[case["kind"]]:
        arguments = [word.format(**case) for word in command]
        result = CliRunner().invoke(app, [*arguments, "--out", case["out"], "--force"])
        codes.append(result.exit_code)
        words.append(result.output[-600:] + ("Traceback" if "Traceback" in result.output else ""))
        if result.exit_code:
            break
    return codes, " | ".join(words)


def peak_memory(*, reset=False):
    """Largest memory of this process since the last reset, in bytes."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("VmHWM:")[1].split()[0])


def serve():
    """Answer each line of the input, a case, by a line: exit codes, memory and words."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")
    answers = sys.stdout
    for line in sys.stdin:
        case = json.loads(line)
        before = peak_memory(reset=True)
        codes, words = used(case)
        answers.write(json.dumps({"codes": codes, "memory": peak_memory() - before, "words": words}) + "\n")
        answers.flush()


if __name__ == "__main__":
    serve()
