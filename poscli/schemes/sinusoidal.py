"""Sinusoidal encoding: fixed sines and cosines of the position.

Source: Vaswani et al. 2017 (arXiv 1706.03762), section 3.5:
PE(p, 2i) = sin(p / base^(2i/d)) and PE(p, 2i+1) = cos(p / base^(2i/d)). Scaled by one learned
number, which starts at d^(-1/2), as in x-transformers' ScaledSinusoidalEmbedding.
"""

from typing import ClassVar, Literal

from pydantic import Field

from poscli.schemes.sines import Sines


class Sinusoidal(Sines):
    """The table as it is; the defaults are the paper's."""

    name: Literal["sinusoidal"] = "sinusoidal"
    summary: ClassVar[str] = "sines and cosines of the position"
    source: ClassVar[str] = "Vaswani 2017, section 3.5"
    formula: ClassVar[str] = "dim 2i: sin(p / base^(2i/d)); dim 2i + 1: cos(p / base^(2i/d))"
    users: ClassVar[str] = "the original Transformer; XLM, DistilBERT, Marian, Whisper, M2M100"


class ScaledSinusoidal(Sines):
    """The whole table times one number that training finds."""

    name: Literal["scaled-sinusoidal"] = "scaled-sinusoidal"
    summary: ClassVar[str] = "sines and cosines of the position, times a learned number"
    source: ClassVar[str] = "x-transformers, ScaledSinusoidalEmbedding"
    formula: ClassVar[str] = "g sin(p / base^(2i/d)), then g cos(p / base^(2i/d)); g = d^(-1/2)"
    users: ClassVar[str] = "x-transformers (scaled_sinu_pos_emb)"

    layout: Literal["interleaved", "concatenated", "cos-first"] = Field(
        "concatenated",
        description="sine and cosine in turn; all sines, then all cosines; or cosines first",
    )
    odd: Literal["lone-sine", "cut", "zero-column", "refuse"] = Field(
        "refuse", description="what an odd width does about the cosine it has no place for"
    )
    scale: float | None = Field(
        None, description="the learned number; d^(-1/2), where training begins, if not given"
    )

    def amplitude(self, width: int) -> float:
        return float(width**-0.5) if self.scale is None else self.scale

    def parameters(self, width: int, heads: int) -> int:
        return 1
