"""The names of `import poscli`, which are loaded when the first of them is used."""

from typing import Any

from poscli.attention import Attention as Attention
from poscli.attention import Model as Model
from poscli.attention import softmax as softmax
from poscli.config import build
from poscli.errors import PoscliError as PoscliError
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
from poscli.report import Check as Check
from poscli.report import Grid as Grid
from poscli.report import Report as Report
from poscli.report import Section as Section
from poscli.report import Verdict as Verdict
from poscli.schemes import SCHEMES as SCHEMES
from poscli.schemes import Scheme as Scheme
from poscli.schemes.alibi import Alibi as Alibi
from poscli.schemes.alibi import FalconAlibi as FalconAlibi
from poscli.schemes.axial import RopeAxial as RopeAxial
from poscli.schemes.axial import RopeAxialCentred as RopeAxialCentred
from poscli.schemes.axial import RopeAxialPixel as RopeAxialPixel
from poscli.schemes.cope import Cope as Cope
from poscli.schemes.deberta import Deberta as Deberta
from poscli.schemes.detr import DetrLearned as DetrLearned
from poscli.schemes.detr import DetrSine as DetrSine
from poscli.schemes.fire import Fire as Fire
from poscli.schemes.grid import Sincos2D as Sincos2D
from poscli.schemes.grid import Sincos3D as Sincos3D
from poscli.schemes.kerple import KerpleLog as KerpleLog
from poscli.schemes.kerple import KerplePower as KerplePower
from poscli.schemes.learned import Learned as Learned
from poscli.schemes.llama3 import RopeLlama3 as RopeLlama3
from poscli.schemes.longrope import LongRope as LongRope
from poscli.schemes.mrope import MRope as MRope
from poscli.schemes.nope import NoPE as NoPE
from poscli.schemes.ntk import RopeDynamic as RopeDynamic
from poscli.schemes.ntk import RopeLinear as RopeLinear
from poscli.schemes.ntk import RopeNtk as RopeNtk
from poscli.schemes.ntk import RopeNtkFixed as RopeNtkFixed
from poscli.schemes.ntk import RopeNtkMixed as RopeNtkMixed
from poscli.schemes.proportional import RopeProportional as RopeProportional
from poscli.schemes.rope import Rope as Rope
from poscli.schemes.sandwich import Sandwich as Sandwich
from poscli.schemes.shaw import Shaw as Shaw
from poscli.schemes.sinusoidal import ScaledSinusoidal as ScaledSinusoidal
from poscli.schemes.sinusoidal import Sinusoidal as Sinusoidal
from poscli.schemes.t5 import T5 as T5
from poscli.schemes.transformer_xl import TransformerXL as TransformerXL
from poscli.schemes.window import Window as Window
from poscli.schemes.xpos import XPos as XPos
from poscli.schemes.yarn import RopeYarn as RopeYarn


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
