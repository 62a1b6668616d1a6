"""The panel "What the model uses" says whether variants use the same columns."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.stats import ttest_1samp

from pipeline.benchmark.record.results import Importance, Results
from pipeline.benchmark.report import columns_used
from pipeline.benchmark.report.columns_used import importance_sentences, uses
from tests.benchmark import fixtures


def sentences(results: Results) -> dict[str, str]:
    parts = (said.partition(": ") for said in importance_sentences(results))
    return {name: rest for name, _, rest in parts}


def changed(**changes: object) -> Results:
    base = fixtures.normal()
    cell = base.cell("forest", "cpu")
    assert cell is not None
    assert cell.importance is not None
    return fixtures.with_cell(base, "forest", "cpu", importance=replace(cell.importance, **changes))


def test_the_interval_is_students() -> None:
    losses = [0.1, 0.13, 0.11, 0.17]
    [found] = uses(Importance(columns=["a"], losses=[losses])).values()
    interval = ttest_1samp(losses, 0).confidence_interval(0.95)
    assert found.mean - found.half == pytest.approx(interval.low)
    assert found.mean + found.half == pytest.approx(interval.high)


SAME = "cpu uses the same columns as the reference."


def test_a_variant_that_uses_another_column_is_told() -> None:
    assert sentences(fixtures.normal())["forest"] == SAME
    swapped = changed(losses=[[0.0, 0.001, -0.001], [0.02, 0.03, 0.04], [0.11, 0.12, 0.13]])
    said = sentences(swapped)["forest"]
    assert said == "cpu uses these columns otherwise than the reference: 'distance', 'day'."


def test_what_differs_by_less_than_the_margin_is_the_same() -> None:
    near = changed(losses=[[0.1215] * 3, [0.03] * 3, [0.0] * 3])
    assert sentences(near)["forest"] == SAME
    exact = fixtures.with_cell(
        near, "forest", "reference",
        importance=Importance(
            metric="roc_auc", rows=5000, columns=["distance", "carrier", "day"],
            losses=[[0.12] * 3, [0.03] * 3, [0.0] * 3],
        ),
    )  # fmt: skip
    assert sentences(exact)["forest"] == SAME
    strict = replace(exact, task=replace(exact.task, margins={"roc_auc": 1e-4}))
    assert "otherwise than the reference: 'distance'." in sentences(strict)["forest"]


def test_the_figure_has_the_largest_first_and_counts_the_rest() -> None:
    random = np.random.default_rng(0)
    means = random.permutation(15) / 100
    used = Importance(
        metric="r2", rows=100, columns=[f"c{n}" for n in range(15)],
        losses=[[mean, mean] for mean in means.tolist()],
    )  # fmt: skip
    base = fixtures.normal()
    many = replace(base, cells=[replace(c, importance=used) for c in base.cells])
    figure = columns_used.importance_figure(many, "forest")
    order = np.argsort(-means)[:10]
    assert [bar.label for bar in figure.bars if bar.label] == [f"c{place}" for place in order]
    assert [bar.text for bar in figure.bars[:2]] == ["reference 0.14 ± 0", "cpu 0.14 ± 0"]
    points = [bar.parts[1].left for bar in figure.bars[::2]]
    assert points == sorted(points, reverse=True)
    assert figure.title.endswith("permutations; 5 columns of less importance in the record")
