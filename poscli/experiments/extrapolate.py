"""extrapolate: what is new past the trained length, read off the schemes themselves."""

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from poscli.errors import PoscliError
from poscli.positions import refuse_size
from poscli.report import Grid, Report, Section
from poscli.schemes import AnyScheme, every_scheme
from poscli.settings import Settings

LONGEST = 2**24
_MULTIPLES = (1, 2, 4, 8, 16)


class ExtrapolateConfig(Settings):
    """Settings of `poscli extrapolate`."""

    command: Literal["extrapolate"] = "extrapolate"
    schemes: Annotated[list[AnyScheme], Field(min_length=1)] = Field(
        default_factory=every_scheme,
        description="the schemes to look at",
    )
    length: int = Field(16, ge=1, le=LONGEST, description="the trained length, in positions")
    lengths: (
        Annotated[list[Annotated[int, Field(ge=1, le=LONGEST)]], Field(min_length=1)] | None
    ) = Field(None, description="the lengths to try; 1, 2, 4, 8 and 16 times the trained one")
    dim: int = Field(32, ge=1, le=2**14, description="width of a token's vector")
    heads: int = Field(4, ge=1, le=2**10, description="attention heads; they divide dim")

    @model_validator(mode="after")
    def _sizes_fit(self) -> Self:
        if self.dim % self.heads:
            raise PoscliError(f"heads must divide dim; got {self.heads} heads and dim {self.dim}")
        return self


def extrapolate(config: ExtrapolateConfig) -> Report:
    """Ask every scheme whether it can run at each length, and what it meets there."""
    lengths = sorted(set(config.lengths or [m * config.length for m in _MULTIPLES]))
    what = f"{max(lengths):,} positions of width {config.dim}"
    labels, rows, sections = [], [], []
    trained = [scheme.trained_at(config.length) for scheme in config.schemes]
    for scheme in trained:
        refuse_size(scheme.size_beyond(max(lengths), config.dim), what)
        scheme.check_width(scheme.table_width(config.dim, config.heads), config.heads)
        try:
            scheme.check_positions(scheme.coordinates(np.arange(config.length)))
        except PoscliError as error:
            raise PoscliError(
                f"{scheme.name} cannot be trained at length {config.length}: {error}"
            ) from None
        beyond = scheme.beyond(config.length, lengths, config.dim, config.heads)
        for length, cell in zip(lengths, beyond.cells, strict=True):
            labels.append((scheme.label(), str(length), f"{length / config.length:g}x"))
            rows.append(["no" if (scheme.limit or length) < length else "yes", cell])
        sections.append(Section(scheme.label(), beyond.facts, beyond.grids, beyond.checks))
    result = Grid(
        f"Trained at length {config.length}",
        ("scheme", "length", "times"),
        ("can run", "what is new"),
        labels,
        rows,
    )
    return Report(
        title="extrapolate: what is new past the trained length?",
        settings=config.model_copy(update={"schemes": trained}).model_dump(exclude_none=True),
        sections=[Section(grids=[result]), *sections],
        result=result,
    )
