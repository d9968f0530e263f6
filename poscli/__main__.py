"""Run the command line as `python -m poscli`."""

from poscli.cli import app

app(prog_name="poscli")
