"""poscli schema."""

import json

import typer

from poscli.schema import json_schema


def schema_command() -> None:
    """Print the JSON schema of the configs, so that an editor completes them."""
    typer.echo(json.dumps(json_schema(), indent=1))
