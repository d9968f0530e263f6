"""poscli: the bench for positional encodings in transformers.

The experiments are functions here: their keywords are the keys of the config files, and they
return a Report. The schemes, the toy attention and the errors have the same names as inside.

>>> from poscli import Rope, encode
>>> report = encode(scheme=Rope(), positions=[1], vector=[1.0, 2.0, 3.0, 4.0])
>>> report.array.round(6).tolist()
[[-1.14264, 1.922076, 2.959851, 4.0298]]
"""

from typing import Any

__version__ = "0.1.0"

from poscli.attention import Attention, Model, softmax
from poscli.config import build
from poscli.errors import PoscliError
from poscli.experiments.compare import CompareConfig
from poscli.experiments.compare import compare as _compare
from poscli.experiments.convert import ConvertConfig
from poscli.experiments.convert import convert as _convert
from poscli.experiments.encode import EncodeConfig
from poscli.experiments.encode import encode as _encode
from poscli.experiments.extrapolate import ExtrapolateConfig
from poscli.experiments.extrapolate import extrapolate as _extrapolate
from poscli.experiments.identify import IdentifyConfig
from poscli.experiments.identify import identify as _identify
from poscli.experiments.permute_test import PermuteTestConfig
from poscli.experiments.permute_test import permute_test as _permute_test
from poscli.experiments.train import TrainConfig
from poscli.experiments.train import train_and_extrapolate as _train_and_extrapolate
from poscli.report import Check, Grid, Report, Section, Verdict
from poscli.schemes import SCHEMES, Scheme
from poscli.schemes.alibi import Alibi, FalconAlibi
from poscli.schemes.axial import RopeAxial, RopeAxialCentred, RopeAxialPixel
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


def encode(**settings: Any) -> Report:
    """Encode positions with one scheme. Keywords: the settings of EncodeConfig."""
    return _encode(build(EncodeConfig, settings))


def compare(**settings: Any) -> Report:
    """Hold schemes side by side. Keywords: the settings of CompareConfig."""
    return _compare(build(CompareConfig, settings))


def permute_test(**settings: Any) -> Report:
    """Test what attention sees of order. Keywords: the settings of PermuteTestConfig."""
    return _permute_test(build(PermuteTestConfig, settings))


def extrapolate(**settings: Any) -> Report:
    """Look past the trained length. Keywords: the settings of ExtrapolateConfig."""
    return _extrapolate(build(ExtrapolateConfig, settings))


def train_and_extrapolate(**settings: Any) -> Report:
    """Train tiny models and measure them at longer lengths. Keywords: those of TrainConfig."""
    return _train_and_extrapolate(build(TrainConfig, settings))


def identify(**settings: Any) -> Report:
    """Say which convention a dumped array follows. Keywords: the settings of IdentifyConfig."""
    return _identify(build(IdentifyConfig, settings))


def convert(**settings: Any) -> Report:
    """Re-order heads for another RoPE convention. Keywords: the settings of ConvertConfig."""
    return _convert(build(ConvertConfig, settings))
