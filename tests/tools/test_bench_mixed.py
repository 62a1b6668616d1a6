from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tools.bench import mixed


def written(folder, rows, *, seed=0, text=True) -> pa.Table:
    path = folder / f"{rows}-{seed}-{text}.parquet"
    mixed.write(path, rows, seed, text=text)
    return pq.read_table(path)


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> pd.DataFrame:
    return written(tmp_path_factory.mktemp("tables"), 100_000).to_pandas()


def test_a_seed_gives_the_same_rows_and_another_one_others(tmp_path) -> None:
    first = written(tmp_path, 50)
    assert written(tmp_path, 50).equals(first)
    assert not written(tmp_path, 50, seed=1).equals(first)


def test_a_longer_table_begins_with_the_rows_of_a_shorter_one(tmp_path, table) -> None:
    longer = written(tmp_path, mixed.PART + 7)
    assert longer.num_rows == mixed.PART + 7
    assert written(tmp_path, 50).to_pandas().equals(table.head(50))
    assert longer.slice(0, mixed.PART).to_pandas().equals(table)


def test_both_files_hold_the_same_rows(tmp_path) -> None:
    coded, text = written(tmp_path, 500, text=False), written(tmp_path, 500)
    assert pa.types.is_dictionary(coded.schema.field("many_0").type)
    assert pa.types.is_string(text.schema.field("many_0").type)
    assert mixed.as_text(coded).equals(text)


def test_it_is_30_columns_that_become_78(table) -> None:
    features = table.drop(columns=mixed.TARGET)
    assert features.shape[1] == 30
    levels = features[list(mixed.FEW_LEVELS)].nunique()
    assert levels.to_dict() == mixed.FEW_LEVELS
    assert len(mixed.NUMBERS) + levels.sum() + len(mixed.MANY_LEVELS) == 78


def test_as_many_values_are_missing_as_declared(table) -> None:
    missing = table[mixed.NUMBERS].isna().mean().to_numpy()
    assert missing[: len(mixed.MISSING)] == pytest.approx(mixed.MISSING, abs=0.005)
    assert (missing[len(mixed.MISSING) :] == 0).all()


def test_the_target_depends_on_numbers_and_on_categories(table) -> None:
    late = table[mixed.TARGET] == 1
    assert 0.2 < late.mean() < 0.4
    means = table.groupby(late)[["number_00", "number_01"]].mean().diff().iloc[1]
    assert means["number_00"] > 0.2
    assert abs(means["number_01"]) < 0.1
    assert table.groupby("few_3")[mixed.TARGET].mean().std() > 0.02


def test_common_levels_are_not_the_first_in_the_alphabet(table) -> None:
    counts = table["many_0"].value_counts()
    assert counts.iloc[0] > 20 * counts.iloc[-1]
    assert np.corrcoef(counts.index.argsort(), np.arange(len(counts)))[0, 1] < 0.5
