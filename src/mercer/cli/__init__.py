"""The `mercer` command."""

from mercer.cli.main import app, main

__all__ = ["app", "main"]
