"""The command line: one file per command, the options they share, and one place for errors."""

from poscli.cli.app import Command, app
from poscli.cli.compare import compare_command
from poscli.cli.convert import convert_command
from poscli.cli.encode import encode_command
from poscli.cli.extrapolate import extrapolate_command
from poscli.cli.permute_test import permute_test_command
from poscli.cli.schema import schema_command
from poscli.cli.schemes import schemes_command

__all__ = ["app"]

for _name, _command, _example in (
    ("encode", encode_command, "poscli encode --scheme sinusoidal --len 8"),
    ("compare", compare_command, "poscli compare sinusoidal rope alibi"),
    ("permute-test", permute_test_command, 'poscli permute-test "dog bites man"'),
    ("extrapolate", extrapolate_command, "poscli extrapolate --len 16 rope alibi"),
    ("convert", convert_command, "poscli convert --from rope/adjacent --to rope/half --dim 8"),
    ("schemes", schemes_command, "poscli schemes rope"),
    ("schema", schema_command, "poscli schema > configs/schema.json"),
):
    app.command(_name, cls=Command, epilog=f"Example: {_example}")(_command)
