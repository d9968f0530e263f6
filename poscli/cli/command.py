"""How every command reads its options."""

import re
from typing import Any

from typer.core import TyperCommand

from poscli.errors import PoscliError, nearest
from poscli.room import forced


class Command(TyperCommand):
    """A command that reads -3 as a number, and suggests the option that was meant."""

    ignore_unknown_options = True

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        options = {
            name: option
            for option in self.get_params(ctx)
            if option.param_type_name == "option"
            for name in option.opts
        }
        value_follows = False
        for arg in args:
            if arg == "--":
                break
            if value_follows:
                value_follows = False
            elif re.match(r"--|-[A-Za-z]", arg):
                name = arg.partition("=")[0]
                if name not in options:
                    raise PoscliError(f"there is no option {name}; {nearest(name, options)}")
                value_follows = "=" not in arg and not getattr(options[name], "is_flag", False)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with forced(ctx.params.get("force", False)):
            return super().invoke(ctx)
