"""Every scheme. To add one: write a file beside these, then one import and one entry here."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from poscli.schemes.alibi import Alibi
from poscli.schemes.base import Scheme
from poscli.schemes.learned import Learned
from poscli.schemes.nope import NoPE
from poscli.schemes.rope import Rope
from poscli.schemes.sinusoidal import Sinusoidal
from poscli.settings import union

SCHEMES: dict[str, type[Scheme]] = {
    "none": NoPE,
    "sinusoidal": Sinusoidal,
    "learned": Learned,
    "rope": Rope,
    "alibi": Alibi,
}


def every_scheme() -> list[Scheme]:
    """Return each scheme with its default settings, in reading order."""
    return [kind.model_validate({}) for kind in SCHEMES.values()]


def _from_name(given: Any) -> Any:
    return {"name": given} if isinstance(given, str) else given


__all__ = ["SCHEMES", "AnyScheme", "Scheme", "every_scheme"]

if TYPE_CHECKING:
    AnyScheme = Scheme
else:
    _Union = Annotated[union(SCHEMES.values()), Field(discriminator="name")]
    AnyScheme = Annotated[
        _Union,
        BeforeValidator(_from_name, json_schema_input_type=Literal[tuple(SCHEMES)] | _Union),
    ]
