"""A range of rows of a generated table, in memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from datasets._tables import fold
from datasets.synthetic import features, target
from datasets.synthetic.draws import Floats
from datasets.synthetic.recipe import INFORMATIVE, Recipe


def table(recipe: Recipe, start: int, stop: int) -> pa.Table:
    """Return a range of rows of a generated table.

    Parameters
    ----------
    recipe : Recipe
        Of the table.
    start, stop : int
        First row, and the row after the last.

    Returns
    -------
    pyarrow.Table
        Of ``stop - start`` rows, with the columns of ``recipe.schema()``.
    """
    values, effects = {}, list[Floats]()
    for feature in recipe.features():
        values[feature.name], effect = features.make(recipe, feature, start, stop)
        if feature.index < INFORMATIVE:
            effects.append(effect)
    if recipe.kind == "ranking":
        values["query"] = pa.array(target.queries(start, stop))
    if recipe.fold:
        drawn = values["query"].to_numpy() if "query" in values else np.arange(start, stop)
        values["fold"] = pa.array(fold(drawn))
    values["target"] = pa.array(target.target(recipe, effects, start, stop))
    return pa.table(values)
