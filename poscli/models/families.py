"""What a table of model types is made of: one small record per way of finding a scheme."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LENGTHS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "context_length")


@dataclass(frozen=True)
class Full:
    """Which layers attend to everything: every nth, the last or the first of each n.

    keys name the field that holds n in a file without layer_types.
    """

    every: int
    keys: tuple[str, ...] = ()
    at: str = "last"
    last_layer: bool = False


@dataclass(frozen=True)
class Own:
    """What one layer type has of its own in a model with a rope per layer type.

    scaled says whether an old rope_scaling reaches it; built_in is what it has where the file
    says nothing.
    """

    base: float
    base_keys: tuple[str, ...] = ("rope_theta",)
    scaled: bool = True
    built_in: Mapping[str, Any] = field(default_factory=dict)
    head_dim: int | None = None
    head_key: str = "head_dim"


@dataclass(frozen=True)
class Rotating:
    """A model with RoPE.

    head_dim is the default of the class, where it has one; part is a fraction of the head that
    turns by default, rotary_dim the same in columns, read from the file too where it is given.
    sliced says that the width is that of a slice of its own. without names the rule for layers
    that do not turn. assumed_sections are those of the published models.
    """

    pairing: str = "half"
    base: float = 10000.0
    base_keys: tuple[str, ...] = ("rope_theta",)
    head_dim: int | None = None
    head_key: str = "head_dim"
    sliced: bool = False
    part: float = 1.0
    part_keys: tuple[str, ...] = ("partial_rotary_factor",)
    part_is_fixed: bool = False
    rotary_dim: int | None = None
    direction: str = "counter-clockwise"
    aliases: Mapping[str, str] = field(default_factory=dict)
    built_in: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, Own] = field(default_factory=dict)
    full: Full | None = None
    without: str = ""
    assumed_sections: tuple[int, ...] = ()
    sections_layout: str = "blocked"
    plain_only: bool = False
    reads_alpha: bool = False
    note: str = ""


@dataclass(frozen=True)
class Rows:
    """A learned table. offset None stands for padding_idx + 1; added: rows come on top of N."""

    offset: int | None = 0
    skips_padding: bool = False
    added: bool = False
    keys: tuple[str, ...] = LENGTHS
    rows: int | None = None
    pad: int = 1


@dataclass(frozen=True)
class Patches:
    """A learned row per patch of a picture, after so many rows for special tokens."""

    special: int = 1


@dataclass(frozen=True)
class Waves:
    """Sinusoids added to the embeddings; behind_padding puts position 0 at padding_idx + 1."""

    settings: Mapping[str, Any]
    behind_padding: bool = False
    keys: tuple[str, ...] = LENGTHS


@dataclass(frozen=True)
class Read:
    """A setting of a scheme that a key of the file holds; a negative value counts as not given."""

    keys: tuple[str, ...]
    default: Any
    add: int = 0


@dataclass(frozen=True)
class Plain:
    """A scheme with constant settings and some read from the file.

    patches names the settings that take the rows and columns of the picture's patches.
    """

    scheme: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    read: Mapping[str, Read] = field(default_factory=dict)
    patches: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Nothing:
    """Attention, where there is any, has no position code; rope fields in the file are ignored."""

    note: str = ""


@dataclass(frozen=True)
class Choice:
    """One field decides between families."""

    key: str
    default: Any
    options: Mapping[Any, "Family"]


@dataclass(frozen=True)
class Parts:
    """Several schemes at once, by the name of the part that has it."""

    parts: Mapping[str, "Family"]


Family = Rotating | Rows | Patches | Waves | Plain | Nothing | Choice | Parts
