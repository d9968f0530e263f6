"""The JSON schema of the config files, so that an editor completes and checks them."""

from typing import Annotated, Any

from pydantic import Field, TypeAdapter

from poscli.experiments.compare import CompareConfig
from poscli.experiments.convert import ConvertConfig
from poscli.experiments.encode import EncodeConfig
from poscli.experiments.extrapolate import ExtrapolateConfig
from poscli.experiments.permute_test import PermuteTestConfig
from poscli.experiments.train import TrainConfig
from poscli.settings import Settings, union

CONFIGS: dict[str, type[Settings]] = {
    "encode": EncodeConfig,
    "compare": CompareConfig,
    "convert": ConvertConfig,
    "permute-test": PermuteTestConfig,
    "extrapolate": ExtrapolateConfig,
    "extrapolate --train": TrainConfig,
}


def json_schema() -> dict[str, Any]:
    """Return one schema for the configs of all commands, told apart by the key command."""
    configs: Any = Annotated[union(CONFIGS.values()), Field(discriminator="command")]
    schema = TypeAdapter[Any](configs).json_schema()
    for name, kind in CONFIGS.items():
        schema["$defs"][kind.__name__]["required"] = ["command"]
        assert schema["$defs"][kind.__name__]["properties"]["command"]["const"] == name
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "poscli", **schema}
