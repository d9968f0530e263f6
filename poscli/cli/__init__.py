"""The command line: one file per command, the options they share, and one place for errors."""

from poscli.cli.app import app

__all__ = ["app"]
