"""T5's relative bias: a learned number per head and bucket of distances.

Source: Raffel et al. 2020 (arXiv 1910.10683), section 2.1, and its code in Mesh TensorFlow: half
of the buckets of a side hold one distance each, the others grow with its logarithm up to
max_distance, and the last takes all that lie beyond. Distance is key minus query. T5 itself does
not divide q.k by sqrt(k); x-transformers and GPT-NeoX multiply the bias by a scale.
"""

from typing import ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from poscli.arrays import Array
from poscli.errors import PoscliError
from poscli.schemes.base import require_whole
from poscli.schemes.log_buckets import log_steps
from poscli.schemes.trained import Matrix, Trained
from poscli.text import figure, plain


class T5(Trained):
    """Past keys only have buckets of their own, or keys after the query have as many again.

    One-sided, every key after the query shares bucket 0 with the query itself: hiding those keys
    is up to the mask.
    """

    name: Literal["t5"] = "t5"
    summary: ClassVar[str] = "a learned bias per bucket of distances (T5)"
    source: ClassVar[str] = "Raffel 2020, section 2.1"
    formula: ClassVar[str] = "scale * table[bucket(j - i), h]"
    users: ClassVar[str] = "T5, mT5, UMT5, LongT5, MPNet"

    bidirectional: bool = Field(True, description="buckets for keys after the query too")
    buckets: int = Field(32, ge=2, le=2**16, description="buckets of both sides together")
    max_distance: int = Field(128, ge=2, description="from here on distances share a bucket")
    scale: float = Field(1.0, description="what the table's numbers are multiplied by")
    table: Matrix = Field(
        None, description="a row per bucket, a column per head, or a .npy file of them"
    )

    @model_validator(mode="after")
    def _buckets_fit(self) -> Self:
        if self.bidirectional and self.buckets % 2:
            raise PoscliError(f"two sides need an even number of buckets; got {self.buckets}")
        if self._side < 2:
            raise PoscliError(
                "each side needs 2 buckets or more: one for single distances, one for the far "
                f"ones; got {self._side}"
            )
        if self.max_distance <= self._exact:
            raise PoscliError(
                f"max_distance must be greater than {self._exact}, the number of distances with "
                f"a bucket each; got {self.max_distance}"
            )
        return self

    @property
    def _side(self) -> int:
        return self.buckets // 2 if self.bidirectional else self.buckets

    @property
    def _exact(self) -> int:
        return self._side // 2

    def shapes(self, width: int, heads: int) -> dict[str, tuple[int, ...]]:
        return {"table": (self.buckets, heads)}

    def check_positions(self, positions: Array) -> None:
        super().check_positions(positions)
        require_whole(self.name, positions)

    def bucket(self, distances: Array) -> Array:
        """Return the row of the table for each distance, key minus query.

        >>> T5().bucket(np.array([-3, 3, -200])).tolist()
        [3, 19, 15]
        """
        far = np.abs(distances) if self.bidirectional else np.maximum(-distances, 0)
        exact, side = self._exact, self._side
        steps, _ = log_steps(np.maximum(far, exact), exact, self.max_distance, side - exact)
        row = np.where(far < exact, far, np.minimum(exact + steps, side - 1))
        after = (distances > 0) & self.bidirectional
        return np.asarray(row + side * after, np.int64)

    def bias(
        self, queries: Array, keys: Array, query_positions: Array, key_positions: Array
    ) -> Array:
        heads, width = queries.shape[-3], queries.shape[-1]
        buckets = self.bucket(-self.offsets(query_positions, key_positions))
        table = self.scale * self.values("table", width, heads)
        return table.T[:, buckets].astype(queries.dtype)

    def bias_gradient(
        self, gradient: Array, query_positions: Array, key_positions: Array
    ) -> dict[str, Array]:
        buckets = self.bucket(-self.offsets(query_positions, key_positions))
        table = np.zeros((self.buckets, len(gradient)))
        np.add.at(table, buckets, self.scale * gradient.transpose(1, 2, 0))
        return {"table": table}

    def score_step(self, value: float, head: int, query: float, key: float, heads: int) -> str:
        bucket = self.bucket(np.array([key - query]))[0]
        return (
            f"key - query = {plain(key - query)}; bucket {bucket} of {self.buckets}: "
            f"{figure(value)}"
        )
