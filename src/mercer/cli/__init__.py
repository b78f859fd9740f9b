"""The `mercer` command."""

from typing import Any

from mercer.cli.main import main

__all__ = ["app", "main"]


def __getattr__(name: str) -> Any:
    if name == "app":
        from mercer.cli.commands import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
