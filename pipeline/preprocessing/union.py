"""FeatureUnion as a node: branches that all read the same columns, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import FunctionTransformer

from pipeline.preprocessing.nodes import Columns, Leaf, Node, Passthrough, Read, joined
from pipeline.preprocessing.table import Data


class Union(Node):
    """A `FeatureUnion`: every branch gets every column.

    Behind another step, each branch makes that step's blocks anew, so that
    nothing is kept that is as long as the table.

    Parameters
    ----------
    spec : FeatureUnion
        Unfitted; its weights are used.
    branches : sequence of (str, Node)
        The branches that are not dropped.
    """

    def __init__(self, spec: FeatureUnion, branches: Sequence[tuple[str, Node]]) -> None:
        self.spec, self.branches = spec, branches
        self.weights = spec.transformer_weights or {}
        self.row: Any = None

    def fit(self, table: Data, source: Columns, y: Any) -> Columns:
        """Fit the branches one after the other."""
        self.row = _row(table, source)
        reads = [node.fit(table, source, y).blocks for _, node in self.branches]
        return self.then(source, self._joined(reads))

    def apply(self, source: Columns) -> Read:
        """Apply every branch."""
        return self._joined([node.apply(source) for _, node in self.branches])

    def known(self) -> Mapping[Any, np.ndarray]:
        """Return those of the branches."""
        return {name: cell for _, node in self.branches for name, cell in node.known().items()}

    def _joined(self, reads: Sequence[Read | None]) -> Read:
        return joined(reads, [self.weights.get(name) for name, _ in self.branches])

    def original(self) -> FeatureUnion:
        """Return a `FeatureUnion` of fitted originals."""
        fitted = {name: self._fitted(node) for name, node in self.branches}
        parts = [(name, fitted.get(name, "drop")) for name, _ in self.spec.transformer_list]
        return clone(self.spec).set_params(transformer_list=parts)

    def leaves(self) -> Iterator[Leaf]:
        """Return those of branch after branch."""
        for _, node in self.branches:
            yield from node.leaves()

    def _fitted(self, node: Node) -> Any:
        # What scikit-learn's own fit puts in the place of the word.
        if isinstance(node, Passthrough):
            return FunctionTransformer(feature_names_out="one-to-one").fit(self.row)
        return node.original()


def _row(table: Data, source: Columns) -> Any:
    """Return a row of zeros with the source's columns: a frame where they have names."""
    if source.names is None:
        assert source.blocks is not None
        return np.zeros((1, source.blocks(table.first()).width))
    row = np.zeros((1, len(source.names)))
    return pd.DataFrame(row, columns=list(source.names)) if source.framed else row
