"""What a dump is held to be evidence of: arrays with a role, and the positions they stand at."""

from dataclasses import dataclass, field

from poscli.arrays import Array
from poscli.identify.dumps import Stored
from poscli.schemes.forms import Form


@dataclass(frozen=True)
class Evidence:
    """One array, or two that belong together, read in one way.

    kind says how: see the files beside this one. positions are (n,) or (n, axes), where the dump
    or the user states them; else they are taken to follow each other from an unknown first one.
    form is how cos and sin were laid out where that was not by columns. source is the file, and
    has_positions says whether it holds the positions itself.
    """

    kind: str
    array: Stored
    other: Stored | None = None
    positions: Array | None = None
    key_positions: Array | None = None
    names: tuple[str, ...] = field(default=())
    form: Form | None = None
    source: str = ""
    has_positions: bool = False
