"""Every scheme. To add one: write a file beside these, then one import and one entry here."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field

from poscli.errors import PoscliError, nearest
from poscli.schemes.alibi import Alibi, FalconAlibi
from poscli.schemes.axial import RopeAxial, RopeAxialCentred, RopeAxialPixel
from poscli.schemes.base import Scheme
from poscli.schemes.cope import Cope
from poscli.schemes.deberta import Deberta
from poscli.schemes.detr import DetrLearned, DetrSine
from poscli.schemes.fire import Fire
from poscli.schemes.grid import Sincos2D, Sincos3D
from poscli.schemes.kerple import KerpleLog, KerplePower
from poscli.schemes.learned import Learned
from poscli.schemes.llama3 import RopeLlama3
from poscli.schemes.longrope import LongRope
from poscli.schemes.mrope import MRope
from poscli.schemes.nope import NoPE
from poscli.schemes.ntk import RopeDynamic, RopeLinear, RopeNtk, RopeNtkFixed, RopeNtkMixed
from poscli.schemes.presets import PRESETS
from poscli.schemes.proportional import RopeProportional
from poscli.schemes.rope import Rope
from poscli.schemes.sandwich import Sandwich
from poscli.schemes.shaw import Shaw
from poscli.schemes.sinusoidal import ScaledSinusoidal, Sinusoidal
from poscli.schemes.t5 import T5
from poscli.schemes.transformer_xl import TransformerXL
from poscli.schemes.window import Window
from poscli.schemes.xpos import XPos
from poscli.schemes.yarn import RopeYarn
from poscli.settings import union

SCHEMES: dict[str, type[Scheme]] = {
    "none": NoPE,
    "sinusoidal": Sinusoidal,
    "scaled-sinusoidal": ScaledSinusoidal,
    "learned": Learned,
    "sincos-2d": Sincos2D,
    "sincos-3d": Sincos3D,
    "detr-sine": DetrSine,
    "detr-learned": DetrLearned,
    "rope": Rope,
    "rope-linear": RopeLinear,
    "rope-ntk": RopeNtk,
    "rope-ntk-fixed": RopeNtkFixed,
    "rope-ntk-mixed": RopeNtkMixed,
    "rope-dynamic": RopeDynamic,
    "rope-yarn": RopeYarn,
    "rope-llama3": RopeLlama3,
    "rope-longrope": LongRope,
    "rope-proportional": RopeProportional,
    "rope-mrope": MRope,
    "rope-axial": RopeAxial,
    "rope-axial-centred": RopeAxialCentred,
    "rope-axial-pixel": RopeAxialPixel,
    "xpos": XPos,
    "alibi": Alibi,
    "alibi-falcon": FalconAlibi,
    "t5": T5,
    "kerple-log": KerpleLog,
    "kerple-power": KerplePower,
    "sandwich": Sandwich,
    "fire": Fire,
    "transformer-xl": TransformerXL,
    "shaw": Shaw,
    "deberta": Deberta,
    "cope": Cope,
    "window": Window,
}


def every_scheme() -> list[Scheme]:
    """Return each scheme with its default settings, in reading order."""
    return [kind.model_validate({}) for kind in SCHEMES.values()]


def no_scheme(name: str) -> str:
    """Return the error for a name that is no scheme: the nearest one, or the preset that it is."""
    if name in PRESETS:
        scheme = PRESETS[name]["name"]
        return f"{name!r} is a preset of {scheme}: write {scheme}:preset={name}"
    return f"there is no scheme {name[:40]!r}; {nearest(name[:40], SCHEMES)}"


def expand(given: Any) -> Any:
    """Turn the short forms of a scheme, its name or a preset, into a mapping of its settings.

    >>> expand({"preset": "llama", "base": 500000.0})
    {'name': 'rope', 'pairing': 'half', 'base': 500000.0}
    """
    if isinstance(given, str):
        return {"name": given}
    if not isinstance(given, dict) or "preset" not in given:
        return given
    preset, own = given["preset"], {k: v for k, v in given.items() if k != "preset"}
    known = [p for p, values in PRESETS.items() if own.get("name") in (None, values["name"])]
    if preset not in known:
        whose = f" of {own['name']}" if own.get("name") else ""
        raise PoscliError(
            f"there is no preset {str(preset)[:40]!r}{whose}; {nearest(str(preset), known)}"
        )
    return {**PRESETS[preset], **own}


__all__ = ["PRESETS", "SCHEMES", "AnyScheme", "Scheme", "every_scheme", "expand", "no_scheme"]

if TYPE_CHECKING:
    AnyScheme = Scheme
else:
    _Union = Annotated[union(SCHEMES.values()), Field(discriminator="name")]

    class _Preset(BaseModel):
        """A preset, by name, and settings that differ from it."""

        preset: Literal[tuple(PRESETS)]

    AnyScheme = Annotated[
        _Union,
        BeforeValidator(expand, json_schema_input_type=Literal[tuple(SCHEMES)] | _Union | _Preset),
    ]
