"""From one block of rope settings, old style or new, to the settings of a scheme."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from math import log
from typing import Any

from poscli.errors import nearest
from poscli.models.families import Own, Rotating
from poscli.models.fields import Fields
from poscli.models.model import Lengths
from poscli.models.reading import shown
from poscli.text import figure, plain

SCHEMES_OF = {
    "default": "rope",
    "linear": "rope-linear",
    "dynamic": "rope-dynamic",
    "yarn": "rope-yarn",
    "llama3": "rope-llama3",
    "longrope": "rope-longrope",
    "proportional": "rope-proportional",
}
"""The scheme of every rope type."""

ORIGINAL = "original_max_position_embeddings"
FILE_KEYS = {
    "base": "rope_theta",
    "original_length": ORIGINAL,
    "sections": "mrope_section",
}
"""What a setting of a scheme is called in a file, where it is called something else."""

_COMMON = (
    "type",
    "rope_type",
    "rope_theta",
    "partial_rotary_factor",
    "mrope_section",
    "mrope_interleaved",
    "xdrope_section",
    "llama_4_scaling_beta",
    "max_position_embeddings",
)
_KEYS: dict[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "dynamic": ("factor", "alpha"),
    "yarn": (
        "factor",
        ORIGINAL,
        "beta_fast",
        "beta_slow",
        "attention_factor",
        "mscale",
        "mscale_all_dim",
        "truncate",
    ),
    "llama3": ("factor", ORIGINAL, "low_freq_factor", "high_freq_factor"),
    "longrope": (
        "factor",
        ORIGINAL,
        "attention_factor",
        "short_factor",
        "long_factor",
        "short_mscale",
        "long_mscale",
    ),
    "proportional": ("factor",),
}
_ELSEWHERE = {
    "attn_factor": "transformers does not read it (where it is read, it multiplies the factor "
    "computed, while attention_factor replaces it)",
    "finetuned": "nothing reads it any more",
}
_KNOWN = {*_COMMON, *_ELSEWHERE, *(key for keys in _KEYS.values() for key in keys)}


@dataclass(frozen=True)
class Block:
    """A block of rope settings inside a config, and what is around it.

    fields is the block, empty where the file has none; outer is the config. own is given where the
    block is that of one layer type.
    """

    fields: Fields
    outer: Fields
    family: Rotating
    own: Own | None
    model_type: str

    def rope_type(self) -> str:
        """Return the rope type; PoscliError where two keys disagree, or where it is not known."""
        fields = self.fields
        named = [key for key in ("rope_type", "type") if fields.has(key)]
        types = [self.family.aliases.get(t, t) for t in map(fields.text, named)]
        if len(set(types)) > 1:
            a, b = (shown(fields.content[key]) for key in named)
            raise fields.error("rope_type", f"says {a}, but type says {b}; they must agree")
        if not types:
            scaling = [k for keys in _KEYS.values() for k in keys if fields.has(k)]
            if scaling:
                raise fields.error("rope_type", f"is missing, although {scaling[0]} is given")
            return "default"
        if types[0] not in SCHEMES_OF:
            raise fields.error(
                named[0],
                f"there is no rope type {types[0]!r} in {self.model_type}; "
                f"{nearest(types[0], [*SCHEMES_OF, *self.family.aliases])}",
            )
        allowed = self.family.rope_types
        if allowed and types[0] not in allowed:
            raise fields.error(
                named[0], f"{self.model_type} takes {' and '.join(allowed)} only; got {types[0]!r}"
            )
        fields.record("rope type", types[0], named[0])
        return types[0]

    def check_keys(self, kind: str) -> None:
        """Refuse a misspelt key, and warn of one that this rope type has no use for."""
        for key in self.fields.content:
            if key in _ELSEWHERE:
                self.fields.found.warn(f"{self.fields.path}{key} is not used: {_ELSEWHERE[key]}")
            elif key not in _KNOWN:
                close = get_close_matches(key, _KNOWN, n=1, cutoff=0.8)
                if close and close[0] not in self.fields.content:
                    raise self.fields.error(key, f"is no key of a rope; did you mean {close[0]}?")
                self.fields.found.warn(f"{self.fields.path}{key} is not known, and not used")
            elif self.fields.has(key) and key not in (*_COMMON, *_KEYS[kind]):
                self.fields.found.warn(
                    f"{self.fields.path}{key} is not used: rope type {kind} has no use for it"
                )

    def base(self) -> float:
        fields, found = self.fields, self.fields.found
        rules = self.family if self.own is None else self.own
        where, key = self._first(rules.base_keys)
        stated = where.number(key) if key else None
        name = f"{where.path}{key}"
        if fields.has("rope_theta"):
            value = fields.number("rope_theta")
            fields.record("base", value, "rope_theta")
            if stated is not None and stated != value:
                found.warn(
                    f"{fields.path}rope_theta is {plain(value)} and is used; "
                    f"{name} says {plain(stated)}"
                )
            return value
        if stated is not None:
            where.record("base", stated, key)
            if name.removeprefix(self.outer.path) in rules.unread and stated != rules.base:
                of = f" for {fields.subject}" if fields.subject else ""
                found.warn(
                    f"{name} is {plain(stated)} and is used{of}; transformers 5.24 does not read "
                    f"it there, and takes {plain(rules.base)}"
                )
            return stated
        fields.trace("base", rules.base, "default of the model type")
        if not self.family.plain_only:
            self._warn_of_default(rules.base_keys, rules.base)
        return rules.base

    def _warn_of_default(self, keys: Sequence[str], base: float) -> None:
        outer, of = self.outer, f" for {self.fields.subject}" if self.fields.subject else ""
        if "rope_theta" not in keys and outer.has("rope_theta"):
            text = f"rope_theta is not used{of}: {self.model_type} does not read it there, and "
            outer.found.warn(f"{outer.path}{text}{plain(base)} is assumed, its default")
            return
        where = f"{outer.path}{keys[0].split('.')[-1] if keys else 'rope_theta'}"
        outer.found.warn(
            f"{where}{'' if keys else of} is not in the file: {plain(base)} assumed, the default "
            f"of {self.model_type}"
        )

    def _first(self, keys: Sequence[str]) -> tuple[Fields, str]:
        """Return the first key that is given and the object that it is in; no key if none is."""
        for dotted in keys:
            *parents, key = dotted.split(".")
            where = self.outer
            for parent in parents:
                where = where.inner(parent) if where.has(parent) else replace(where, content={})
            if where.has(key):
                return where, key
        return self.outer, ""

    def part(self, kind: str, width: int) -> dict[str, Any]:
        """Return how much of a head turns, as a setting; nothing where all of it does.

        A class that turns whole heads passes over a part that is given. For a rope type other than
        default transformers makes a table for that part all the same, which then does not fit.
        """
        fields, outer, family, name = self.fields, self.outer, self.family, "partial_rotary_factor"
        if family.sliced_part:
            return {}
        top = outer.first(family.part_keys)
        where, key = (fields, name) if fields.has(name) else (outer, top or "")
        whole = family.part is None and kind != "proportional"
        if whole and key and where.content[key] != 1:
            text = f"{where.path}{key} is not used: {self.model_type} turns whole heads"
            if kind == "default":
                fields.found.warn(text)
                return {}
            fields.found.warn(
                f"{where.path}{key} is used; {self.model_type} turns whole heads in transformers "
                f"5.24, which makes a {kind} table for the part and fails"
            )
        if key:
            value, origin = where.number(key), f"{where.path}{key}"
        elif family.rotary_dim is not None and outer.has("rotary_dim"):
            columns = outer.whole("rotary_dim")
            outer.record("columns that turn", columns, "rotary_dim")
            return {"rotary_dim": columns}
        elif family.rotary_dim:
            fields.trace("columns that turn", family.rotary_dim, "default of the model type")
            return {"rotary_dim": family.rotary_dim}
        else:
            value, origin = family.part or 1.0, "default of the model type"
            if self.own is not None and value != 1 and kind != "default":
                fields.found.warn(
                    f"{fields.path}{name} is not in the file: {plain(value)} assumed, the default "
                    f"of {self.model_type}; transformers 5.24 takes 1 for rope type {kind}"
                )
        fields.trace("part of a head that turns", value, origin)
        if name not in family.part_keys and outer.has(name) and outer.content[name] != value:
            fields.found.warn(
                f"{outer.path}{name} is not used: {self.model_type} does not read it there"
            )
        return {} if value == 1 and kind != "proportional" else {name: value}

    def original_length(self, longest: int | None) -> int:
        """Return L: the field beside the block, else the one in it, else the longest length.

        Where layer types have blocks of their own, what is beside them does not count.
        """
        fields, outer, beside = self.fields, self.outer, self._original_beside()
        inside = fields.whole(ORIGINAL) if fields.has(ORIGINAL) else None
        if outer.has(ORIGINAL) and self.own is not None:
            fields.found.warn(
                f"{outer.path}{ORIGINAL} is not used: {self.model_type} has one per layer type"
            )
        if beside is not None:
            value, origin = beside
            fields.trace("original length", value, origin)
            if inside is not None and inside != value:
                which = "" if outer.has(ORIGINAL) else " by default"
                fields.found.warn(
                    f"{outer.path}{ORIGINAL} is {value}{which} and is used; "
                    f"{fields.path}{ORIGINAL} says {inside}"
                )
            return value
        if inside is not None:
            fields.record("original length", inside, ORIGINAL)
            return inside
        if longest is None:
            raise fields.error(ORIGINAL, "is missing, and so is max_position_embeddings")
        fields.trace("original length", longest, "max_position_embeddings")
        fields.found.warn(
            f"{fields.path}{ORIGINAL} is not in the file: {longest} assumed, "
            "max_position_embeddings"
        )
        return longest

    def _original_beside(self) -> tuple[int, str] | None:
        """Return the original length that wins over the block's, and where it came from."""
        if self.own is not None:
            return None
        if self.outer.has(ORIGINAL):
            return self.outer.whole(ORIGINAL), f"{self.outer.path}{ORIGINAL}"
        if self.family.original is not None:
            return self.family.original, "default of the model type"
        return None

    def scaling(self, kind: str, longest: int | None) -> tuple[dict[str, Any], Lengths]:
        """Return the settings that the rope type adds, and the lengths."""
        if kind == "dynamic" and self._has_alpha():
            return {"name": "rope-ntk", "factor": self._number("alpha")}, Lengths(longest, longest)
        rules = {
            "linear": self._linear,
            "dynamic": self._dynamic,
            "yarn": self._yarn,
            "llama3": self._llama3,
            "longrope": self._longrope,
            "proportional": self._proportional,
        }
        if kind in rules:
            return rules[kind](longest)
        return {}, Lengths(longest, longest)

    def _has_alpha(self) -> bool:
        if not self.fields.has("alpha") or self.family.reads_alpha:
            return self.fields.has("alpha")
        self.fields.found.warn(
            f"{self.fields.path}alpha is not used: {self.model_type} does not read it"
        )
        return False

    def _number(self, key: str) -> float:
        if not self.fields.has(key):
            raise self.fields.error(key, "is missing; this rope type needs it")
        value = self.fields.number(key)
        self.fields.record(key, value, key)
        return value

    def _optional(self, *keys: str) -> dict[str, float]:
        return {key: self._number(key) for key in keys if self.fields.has(key)}

    def _linear(self, longest: int | None) -> tuple[dict[str, Any], Lengths]:
        return {"factor": self._number("factor")}, Lengths(
            longest, longest, "max_position_embeddings, as it stands"
        )

    def _proportional(self, longest: int | None) -> tuple[dict[str, Any], Lengths]:
        return {**self._optional("factor")}, Lengths(longest, longest)

    def _dynamic(self, longest: int | None) -> tuple[dict[str, Any], Lengths]:
        if longest is None:
            raise self.outer.error("max_position_embeddings", "is missing; dynamic needs it")
        settings = {"factor": self._number("factor"), "original_length": longest}
        return settings, Lengths(
            longest, longest, "max_position_embeddings; the base grows past it, without an end"
        )

    def _llama3(self, longest: int | None) -> tuple[dict[str, Any], Lengths]:
        settings: dict[str, Any] = {
            key: self._number(key) for key in ("factor", "low_freq_factor", "high_freq_factor")
        }
        settings["original_length"] = self.original_length(longest)
        return settings, self._extended(settings["original_length"], settings["factor"], longest)

    def _yarn(self, longest: int | None) -> tuple[dict[str, Any], Lengths]:
        original = self.original_length(longest)
        factor = self._factor(original, longest)
        settings: dict[str, Any] = {"factor": factor, "original_length": original}
        for key in ("beta_fast", "beta_slow"):
            if self.fields.has(key) and self.fields.number(key) != 0:
                settings[key] = self._number(key)
        if self.fields.has("truncate"):
            settings["truncate"] = self.fields.truth("truncate")
            self.fields.record("truncate", settings["truncate"], "truncate")
            if self.own is not None and not settings["truncate"]:
                self.fields.found.warn(
                    f"{self.fields.path}truncate is false and is used; transformers 5.24 does not "
                    "see it inside a layer type, and truncates"
                )
        settings |= self._attention_factor(factor)
        self._check_ratio(factor, original, longest)
        return settings, self._extended(original, factor, longest)

    def _attention_factor(self, factor: float) -> dict[str, float]:
        found, path = self.fields.found, self.fields.path
        given = self._optional("attention_factor")
        pair = self._optional("mscale", "mscale_all_dim")
        if given:
            for key in pair:
                found.warn(f"{path}{key} is not used: attention_factor is given")
            pair = {}
        elif len(pair) == 1:
            (key,) = pair
            other = "mscale_all_dim" if key == "mscale" else "mscale"
            found.warn(f"{path}{key} is not used: it counts together with {other} only")
            pair = {}
        elif pair and not all(pair.values()):
            found.warn(f"{path}mscale and mscale_all_dim are not used: one of them is 0")
            pair = {}
        if self.family.sliced and pair:
            scale = (0.1 * pair["mscale_all_dim"] * log(max(factor, 1.0)) + 1.0) ** 2
            found.note(f"scores are also multiplied by g(mscale_all_dim)^2 = {figure(scale)}")
        return {**given, **pair}

    def _longrope(self, longest: int | None) -> tuple[dict[str, Any], Lengths]:
        original = self.original_length(longest)
        factor = self._factor(original, longest)
        settings: dict[str, Any] = {"factor": max(factor, 1.0), "original_length": original}
        for key in ("short_factor", "long_factor"):
            if not self.fields.has(key):
                raise self.fields.error(key, "is missing; this rope type needs it")
            settings[key] = self.fields.numbers(key)
            self.fields.record(key, f"{len(settings[key])} divisors", key)
        settings |= self._optional("attention_factor", "short_mscale", "long_mscale")
        self._check_ratio(factor, original, longest)
        return settings, self._extended(original, factor, longest)

    def _factor(self, original: int, longest: int | None) -> float:
        """Return the factor given, else the ratio of the lengths."""
        if self.fields.has("factor"):
            return self._number("factor")
        if longest is None:
            raise self.fields.error("factor", "is missing, and so is max_position_embeddings")
        ratio = longest / original
        self.fields.trace("factor", ratio, f"max_position_embeddings / {ORIGINAL}")
        return ratio

    def _check_ratio(self, factor: float, original: int, longest: int | None) -> None:
        if longest is None or longest == original:
            return
        ratio = longest / original
        if abs(ratio - factor) > 1e-6 * ratio:
            self.fields.found.warn(
                f"{self.fields.path}factor is {plain(factor)} and is used; the lengths say "
                f"{longest} / {original} = {figure(ratio)}"
            )

    def _extended(self, original: int, factor: float, longest: int | None) -> Lengths:
        """The longest length counts the factor already, unless it is still the original one."""
        stated = self._original_beside() is not None or self.fields.has(ORIGINAL)
        if longest is not None and not stated:
            return Lengths(original, longest, f"max_position_embeddings, as there is no {ORIGINAL}")
        if longest is None or longest == original:
            name = ORIGINAL if longest is None else f"{ORIGINAL}, which max_position_embeddings is"
            return Lengths(original, int(original * factor), f"{name}, times the factor")
        if longest < original:
            self.fields.found.warn(
                f"{ORIGINAL} is {original}, more than max_position_embeddings, {longest}"
            )
        return Lengths(
            original,
            longest,
            "max_position_embeddings, which counts the factor already: it is not multiplied again",
        )


def empty(fields: Fields, built_in: Mapping[str, Any]) -> Fields:
    """Return a block that is not in the file: what the model type has built in."""
    return Fields(fields.file, "(built in) ", dict(built_in), fields.found)
