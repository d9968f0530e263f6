"""What --model and --layer put under an experiment's settings, and before its report.

A scheme given by hand is never blended with the model's. encode, which shows one scheme, shows the
one given by hand at the model's sizes; the other commands put it beside the model's. What reads
models is imported where it is used, since every command asks whether there is one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poscli.errors import PoscliError
from poscli.models.model import Kind, Model
from poscli.report import Report

if TYPE_CHECKING:
    from poscli.experiments.extrapolate import ExtrapolateConfig


@dataclass(frozen=True)
class Bench:
    """A model, one of its kinds of layers, and the schemes given by hand; or nothing at all."""

    model: Model | None = None
    kind: Kind | None = None
    asked: str | None = None
    by_hand: tuple[str, ...] = ()

    @property
    def warnings(self) -> Sequence[str]:
        return self.model.found.warnings if self.model else ()

    def one(self) -> dict[str, Any]:
        """Return the settings of a command that takes one scheme."""
        if self.kind is None:
            return {}
        sizes = {"dim": self.kind.width, "heads": self.kind.heads}
        return sizes if self.by_hand else {"scheme": self.kind.settings(), **sizes}

    def several(self) -> dict[str, Any]:
        """Return the settings of a command that takes several schemes."""
        if self.kind is None:
            return {}
        return {"schemes": [self.kind.settings()], **self.kind.toy()}

    def beside(self, given: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
        """Return the schemes given by hand, after the model's."""
        return [self.kind.settings(), *given] if self.kind and given else given

    def lengths(self, last: Any, trained: Any, tried: Any) -> dict[str, Any]:
        """Return the settings of extrapolate; lengths that were given by hand stay."""
        if self.kind is None:
            if last is not None:
                raise PoscliError("--to says how far a --model is looked at; give --model too")
            return {}
        from poscli.experiments.extrapolate import LONGEST
        from poscli.models.past import lengths_up_to

        if last is not None and tried is not None:
            raise PoscliError("--to and --lengths both say which lengths; give one")
        if last is not None and (not isinstance(last, int) or last < 1):
            raise PoscliError(f"--to: expected a whole number, 1 or more; got {last}")
        if last is not None and last > LONGEST:
            raise PoscliError(f"--to: lengths up to {LONGEST:,} are looked at; got {last}")
        settings = self.several()
        if trained is None or isinstance(trained, int):
            given = lengths_up_to(self._trained_at(trained), last)
            settings |= {"length": given[0], "lengths": given[1] if tried is None else tried}
        return settings

    def introduce(self, report: Report) -> Report:
        """Put what the model gave before the report."""
        if self.model is None or self.kind is None:
            return report
        from poscli.models.report import introduce

        return introduce(report, self.model, self.kind, self._note())

    def past(self, settings: "ExtrapolateConfig", report: Report) -> Report:
        """Put what becomes of the model past its trained length into the report."""
        if self.model is None or self.kind is None:
            return report
        from poscli.models.past import add_past

        lengths = sorted(set(settings.lengths or [settings.length]))
        return self.introduce(add_past(report, self._trained_at(settings.length), lengths))

    def explain(self) -> Report:
        """Return the report on the model."""
        if self.model is None:
            raise PoscliError("there is no model to explain; give --model")
        from poscli.models.report import explain

        return explain(self.model, self.asked)

    def _trained_at(self, length: int | None) -> Kind:
        """Return the kind of layer, with another trained length where one is given."""
        assert self.kind is not None
        if length is None:
            return self.kind
        return replace(self.kind, lengths=replace(self.kind.lengths, trained=length))

    def _note(self) -> str:
        if not self.by_hand:
            return ""
        return f"{', '.join(self.by_hand)}; it is taken whole, nothing of it mixes with the model's"


def open_bench(model: Path | None, layer: str | None, by_hand: Sequence[str]) -> Bench:
    """Read the model's config and pick the layer; PoscliError where either cannot be done."""
    if model is None:
        if layer is not None:
            raise PoscliError("--layer picks a layer of a --model; give --model too")
        return Bench()
    from poscli.models.resolve import load

    loaded = load(model)
    return Bench(loaded, loaded.kind(layer), layer, tuple(by_hand))
