"""Every task. To add one: write a file beside these, then one import and one entry here."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from poscli.settings import union
from poscli.training.tasks.base import Data, Task
from poscli.training.tasks.lm import LanguageModel
from poscli.training.tasks.order import Order
from poscli.training.tasks.recall import Recall

TASKS: dict[str, type[Task]] = {"lm": LanguageModel, "order": Order, "recall": Recall}


def _expand(given: Any) -> Any:
    return {"name": given} if isinstance(given, str) else given


__all__ = ["TASKS", "AnyTask", "Data", "Task"]

if TYPE_CHECKING:
    AnyTask = Task
else:
    _Union = Annotated[union(TASKS.values()), Field(discriminator="name")]
    AnyTask = Annotated[
        _Union,
        BeforeValidator(_expand, json_schema_input_type=Literal[tuple(TASKS)] | _Union),
    ]
