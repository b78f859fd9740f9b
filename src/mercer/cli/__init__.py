"""The `mercer` command."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["app", "main"]


def main() -> None:
    """Run the command with the arguments of the process; signals are heard before anything else is imported."""
    from mercer.cli.early import has_room, leave_for_lack_of_memory, listen_early

    listen_early()
    try:
        from mercer.cli.process import run

        run()
    except Exception:
        # Commands turn their errors into messages; modules that cannot be imported for lack of memory raise any kind.
        if has_room():
            raise
        leave_for_lack_of_memory()


def __getattr__(name: str) -> Any:
    if name == "app":
        from mercer.cli.commands import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
