"""No positional encoding: the control of every experiment.

Source: Kazemnejad et al. 2023 (arXiv 2305.19466), where it is called NoPE.
"""

from typing import ClassVar, Literal

from poscli.schemes.base import Scheme


class NoPE(Scheme):
    """Nothing is added, turned or biased. Without a mask attention cannot see order."""

    name: Literal["none"] = "none"
    summary: ClassVar[str] = "no positions at all (NoPE): the control"
    source: ClassVar[str] = "Kazemnejad 2023"
    formula: ClassVar[str] = "x, q, k and the scores stay as they are"
    users: ClassVar[str] = "the NoPE layers of Llama 4, SmolLM3 and Cohere 2; Jamba"
    sees_order: ClassVar[bool] = False
