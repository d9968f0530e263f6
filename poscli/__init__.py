"""poscli: the bench for positional encodings in transformers.

The experiments are functions here: their keywords are the keys of the config files, and they
return a Report. The schemes, the toy attention and the errors have the same names as inside.

>>> from poscli import Rope, encode
>>> report = encode(scheme=Rope(), positions=[1], vector=[1.0, 2.0, 3.0, 4.0])
>>> report.array.round(6).tolist()
[[-1.14264, 1.922076, 2.959851, 4.0298]]
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from poscli.api import *

__version__ = "0.1.0"

__all__ = [
    "SCHEMES",
    "T5",
    "Alibi",
    "Attention",
    "Check",
    "Cope",
    "Deberta",
    "DetrLearned",
    "DetrSine",
    "FalconAlibi",
    "Fire",
    "Grid",
    "KerpleLog",
    "KerplePower",
    "Learned",
    "LongRope",
    "MRope",
    "Model",
    "NoPE",
    "PoscliError",
    "Report",
    "Rope",
    "RopeAxial",
    "RopeAxialCentred",
    "RopeAxialPixel",
    "RopeDynamic",
    "RopeLinear",
    "RopeLlama3",
    "RopeNtk",
    "RopeNtkFixed",
    "RopeNtkMixed",
    "RopeProportional",
    "RopeYarn",
    "Sandwich",
    "ScaledSinusoidal",
    "Scheme",
    "Section",
    "Shaw",
    "Sincos2D",
    "Sincos3D",
    "Sinusoidal",
    "TransformerXL",
    "Verdict",
    "Window",
    "XPos",
    "compare",
    "convert",
    "encode",
    "extrapolate",
    "identify",
    "permute_test",
    "softmax",
    "train_and_extrapolate",
]


def __getattr__(name: str) -> Any:
    """Load the names when one is used, so that `poscli --help` waits for none of them."""
    if name in __all__:
        return getattr(import_module("poscli.api"), name)
    raise AttributeError(f"module 'poscli' has no attribute {name!r}")


class _Package(ModuleType):
    """Python sets a package's name to a subpackage once that is imported: identify stays ours."""

    def __setattr__(self, name: str, value: object) -> None:
        if not (name == "identify" and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
