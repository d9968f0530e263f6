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
    says nothing. unread are those of base_keys that transformers 5.24 passes over, although the
    readers before it did not.
    """

    base: float
    base_keys: tuple[str, ...] = ("rope_theta",)
    unread: tuple[str, ...] = ()
    scaled: bool = True
    built_in: Mapping[str, Any] = field(default_factory=dict)
    head_dim: int | None = None
    head_key: str = "head_dim"


@dataclass(frozen=True)
class Rotating:
    """A model with RoPE.

    head_dim is the default of the class, where it has one. unread are those of base_keys that
    transformers 5.24 passes over. part is the fraction of the head that
    turns where the file gives none; without one the class turns whole heads and reads none.
    part_keys hold it outside the block. rotary_dim is the same in columns, read from the file too
    where it is given. sliced says that the width is that of a slice of its own, sliced_part that
    the fraction in the block is the share of that slice in a head. original is the original length
    that the class has, whatever the block says. rope_types are those that the class takes, all of
    them if empty. without names the rule for layers that do not turn.

    three_positions is the layout of the pairs of three positions, where the model has that;
    sections are those of the published models. "text" stands for a layout that has no scheme here:
    only what text turns by is told.
    """

    pairing: str = "half"
    base: float = 10000.0
    base_keys: tuple[str, ...] = ("rope_theta",)
    unread: tuple[str, ...] = ()
    head_dim: int | None = None
    head_key: str = "head_dim"
    sliced: bool = False
    sliced_part: bool = False
    part: float | None = None
    part_keys: tuple[str, ...] = ("partial_rotary_factor",)
    rotary_dim: int | None = None
    direction: str = "counter-clockwise"
    original: int | None = None
    rope_types: tuple[str, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)
    built_in: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, Own] = field(default_factory=dict)
    full: Full | None = None
    without: str = ""
    sections: tuple[int, ...] = ()
    three_positions: str = "blocked"
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


def each(names: str, family: Family) -> dict[str, Family]:
    """Return a line of a table per name, all of one family."""
    return dict.fromkeys(names.split(), family)
